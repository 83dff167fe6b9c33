//! The tasks of a call, from the queue to their reports, and the answer that they make up.

use std::cell::OnceCell;

use model::{Plan, Record, RunId, RunResult, Status, Usage};
use runner::{Change, Report, Submitted, TaskId};
use session::view::{Phase, TaskView};
use store::Claim;

use super::siblings::{self, DiskChanges, WrittenFiles};
use crate::{
    Appearance, InlineAnswer, PlannedCall, SessionBook, ShownTask, StartedRun, SubagentArguments,
    inline_answers, now_ms, subagent_answer, under_heading,
};

/// The tools that run tasks while the caller waits.
#[derive(Clone, Debug)]
pub enum CallKind {
    /// `delegate_to_subagents`.
    Delegate,
    /// `subagent`.
    Subagent(SubagentArguments),
}

/// The tasks of one call, in their order.
#[derive(Debug)]
pub struct RunningCall {
    kind: CallKind,
    pub(super) submitted: Submitted,
    tasks: Vec<CallTask>,
    /// Whether the answer of `delegate_to_subagents` holds what the tasks said.
    has_inline_answers: bool,
    /// What the caller should know about fields that were left out.
    ignored: Vec<String>,
    /// What tasks that share a directory changed there.
    disk: DiskChanges,
    /// Found out once, when all tasks have ended.
    siblings: OnceCell<Vec<String>>,
    /// As long as they are held, no other call continues the same sessions.
    _claims: Vec<Claim>,
}

/// One task of a call.
#[derive(Debug)]
pub struct CallTask {
    /// What its window shows.
    pub shown: ShownTask,
    /// The profile or preset in a few words.
    pub definition: Option<String>,
    /// What to do on the command line if it could not be started.
    pub start_hint: Option<&'static str>,
    /// How it ended, if it has.
    pub report: Option<Box<Report>>,
    pub(super) written: WrittenFiles,
}

impl RunningCall {
    /// The tasks of a call, which `submit` puts into the queue.
    pub(super) fn new(
        kind: CallKind,
        planned: PlannedCall,
        has_inline_answers: bool,
        appearance: &Appearance,
        submit: impl FnOnce(&mut dyn Iterator<Item = Box<Plan>>) -> Submitted,
    ) -> RunningCall {
        let mut tasks = Vec::with_capacity(planned.tasks.len());
        let mut plans = planned.tasks.into_iter().map(|task| {
            tasks.push(CallTask {
                shown: ShownTask::queued(task.plan.meta.clone(), appearance),
                start_hint: task.start_hint(),
                definition: task.definition,
                report: None,
                written: WrittenFiles::default(),
            });
            task.plan
        });
        let submitted = submit(&mut plans);
        drop(plans);
        let PlannedCall { ignored, claims: _claims, .. } = planned;
        let (disk, siblings) = (DiskChanges::default(), OnceCell::new());
        RunningCall { kind, submitted, tasks, has_inline_answers, ignored, disk, siblings, _claims }
    }

    /// The tool that was called.
    pub fn kind(&self) -> &CallKind {
        &self.kind
    }

    /// All tasks.
    pub fn tasks(&self) -> &[CallTask] {
        &self.tasks
    }

    /// What the windows of all tasks show now.
    pub fn views(&self) -> Vec<TaskView<'_>> {
        let now = now_ms();
        self.tasks.iter().map(|task| task.shown.view(now)).collect()
    }

    /// How those tasks ended that have.
    pub fn results(&self) -> impl Iterator<Item = &RunResult> {
        self.reports().map(|report| &report.result)
    }

    /// The reports of those tasks that have ended.
    pub fn reports(&self) -> impl Iterator<Item = &Report> {
        self.tasks.iter().filter_map(|task| task.report.as_deref())
    }

    /// What the user should know about the call and the tasks that have ended.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let of_tasks = self.tasks.iter().flat_map(CallTask::warnings);
        self.ignored.iter().cloned().chain(of_tasks).chain(self.sibling_warnings().iter().cloned())
    }

    /// What the user should know about tasks that got into each other's way, when all have ended.
    pub fn sibling_warnings(&self) -> &[String] {
        if !self.is_over() {
            return &[];
        }
        self.siblings.get_or_init(|| siblings::warnings(&self.tasks, &self.disk))
    }

    /// What the tasks said, as far as the answer to the call holds it; nothing if the settings keep it
    /// out. `rest` says how the whole of an answer is read.
    pub fn answers(&self, rest: impl Fn(&Report) -> String) -> Vec<InlineAnswer> {
        if matches!(self.kind, CallKind::Delegate) && !self.has_inline_answers {
            return Vec::new();
        }
        let reports: Vec<&Report> = self.reports().collect();
        let outputs = reports.iter().map(|report| report.result.output.as_str());
        inline_answers(outputs, |index| rest(reports[index]))
    }

    /// What the model reads when all tasks have ended. `answers` come from [`RunningCall::answers`].
    pub fn answer(&self, answers: &[InlineAnswer]) -> String {
        let results: Vec<&RunResult> = self.results().collect();
        let warnings = self.warnings().map(|warning| format!("\nWarning: {warning}"));
        let warnings = warnings.collect::<String>();
        match &self.kind {
            CallKind::Delegate => {
                let lines = self.tasks.iter().filter_map(CallTask::summary);
                let mut text = lines.collect::<Vec<String>>().join("\n") + &warnings;
                let said = results.iter().zip(answers);
                for said in said.filter_map(|(result, said)| under_heading(result, &said.text)) {
                    text.push_str(&format!("\n\n{said}"));
                }
                text
            }
            CallKind::Subagent(arguments) => {
                subagent_answer(arguments, &results, answers) + &warnings
            }
        }
    }

    /// Whether none of the tasks that have ended has completed.
    pub fn is_failure(&self) -> bool {
        self.results().all(|result| result.status != Status::Completed)
    }

    /// What all tasks together have used, if anything is known of it.
    pub fn usage(&self) -> Option<Usage> {
        let sum: Usage = self.results().map(|result| result.usage).sum();
        (sum != Usage::default()).then_some(sum)
    }

    /// Whether all tasks have ended.
    pub(super) fn is_over(&self) -> bool {
        self.tasks.iter().all(|task| task.report.is_some())
    }

    /// The index of a task of the dispatcher among those of this call.
    pub(super) fn index(&self, task: TaskId) -> Option<usize> {
        let tasks = &self.submitted.tasks;
        tasks.contains(&task).then(|| task - tasks.start)
    }

    /// The runs that have begun and not ended.
    pub(super) fn running(&self) -> impl Iterator<Item = &CallTask> {
        self.tasks.iter().filter(|task| task.shown.phase == Phase::Running)
    }

    /// A task has ended: what is on the disk now is its work, or that of a task that runs.
    pub(super) fn look_at_disk(&mut self) {
        let mut sharing = self.tasks.iter().filter(|task| task.shares_directory());
        if let (Some(task), Some(_)) = (sharing.next(), sharing.next()) {
            let is_last = self.tasks.iter().all(|task| task.report.is_some());
            self.disk.look(&task.shown.meta.cwd, is_last);
        }
    }

    pub(super) fn task_mut(&mut self, index: usize) -> &mut CallTask {
        &mut self.tasks[index]
    }
}

impl CallTask {
    /// The last line about a task that has ended.
    pub fn summary(&self) -> Option<String> {
        let result = &self.report.as_ref()?.result;
        Some(session::summary_line(
            &result.name,
            result.status,
            result.error.as_deref(),
            &result.session_id,
            self.definition.as_deref(),
            result.changes.as_deref(),
        ))
    }

    /// What the user should know about a task that has ended.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.report.iter().flat_map(|report| {
            let warnings = report.result.warnings.iter().chain(&report.warnings);
            warnings.map(|warning| format!("{}: {warning}", report.result.name))
        })
    }

    /// Whether it works in a directory in which other tasks can work, too.
    pub(super) fn shares_directory(&self) -> bool {
        self.shown.meta.worktree.is_none()
    }

    pub(super) fn run_id(&self) -> &RunId {
        &self.shown.meta.run_id
    }

    /// Applies a change to the window and to the book, if there is one. Returns the event of the run, if the change is
    /// one, and its words.
    pub(super) fn apply(
        &mut self,
        change: Change,
        book: Option<&mut SessionBook>,
    ) -> Option<(Record, Option<String>)> {
        let words = self.shown.apply(&change);
        match change {
            Change::Started { .. } => {
                if let Some(book) = book {
                    book.start(StartedRun::of(&self.shown.meta));
                }
            }
            Change::Waiting(_) | Change::Activity(_) => {}
            Change::Record(record) => {
                self.written.apply(&record, &self.shown.meta.cwd);
                if let Some(book) = book {
                    book.apply(self.run_id(), &record);
                }
                return Some((record, words));
            }
            Change::Ended(report) => {
                if let Some(book) = book {
                    if !book.knows_run(self.run_id()) {
                        // No directory could be made for it.
                        book.start(StartedRun::of(&self.shown.meta));
                    }
                    book.end(self.run_id(), &report.result);
                }
                self.report = Some(report);
            }
        }
        None
    }
}
