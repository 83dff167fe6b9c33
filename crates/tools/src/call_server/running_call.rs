//! The tasks of a call, from the queue to their reports, and the answer that they make up.

use model::{Plan, Record, RunId, RunResult, Status, Usage};
use runner::{Change, Report, Submitted, TaskId};
use session::view::{Phase, TaskView};
use store::Claim;

use crate::{
    Appearance, PlannedCall, SessionBook, ShownTask, StartedRun, SubagentArguments, now_ms,
    subagent_answer,
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
    pub report: Option<Report>,
    started: StartedRun,
}

impl RunningCall {
    /// The tasks of a call, which `submit` puts into the queue.
    pub(super) fn new(
        kind: CallKind,
        planned: PlannedCall,
        appearance: &Appearance,
        submit: impl FnOnce(Vec<Plan>) -> Submitted,
    ) -> RunningCall {
        let (mut tasks, mut plans) = (Vec::new(), Vec::new());
        for task in planned.tasks {
            tasks.push(CallTask {
                shown: ShownTask::queued(task.plan.meta.clone(), appearance),
                start_hint: task.start_hint(),
                definition: task.definition,
                report: None,
                started: StartedRun::of(&task.plan),
            });
            plans.push(task.plan);
        }
        RunningCall { kind, submitted: submit(plans), tasks, _claims: planned.claims }
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
        self.tasks.iter().filter_map(|task| task.report.as_ref())
    }

    /// What the user should know about the tasks that have ended.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.tasks.iter().flat_map(CallTask::warnings)
    }

    /// What the model reads when all tasks have ended.
    pub fn answer(&self) -> String {
        let mut text = match &self.kind {
            CallKind::Delegate => {
                let lines = self.tasks.iter().filter_map(|task| task.summary(|error| error));
                lines.collect::<Vec<String>>().join("\n")
            }
            CallKind::Subagent(arguments) => {
                let results: Vec<RunResult> = self.results().cloned().collect();
                subagent_answer(arguments, &results)
            }
        };
        for warning in self.warnings() {
            text.push_str(&format!("\nWarning: {warning}"));
        }
        text
    }

    /// Whether none of the tasks that have ended has completed.
    pub fn is_failure(&self) -> bool {
        self.results().all(|result| result.status != Status::Completed)
    }

    /// What all tasks together have used, if anything is known of it.
    pub fn usage(&self) -> Option<Usage> {
        let mut sum = Usage::default();
        self.results().for_each(|result| sum += result.usage);
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
    pub(super) fn running(&self) -> impl Iterator<Item = &StartedRun> {
        let running = self.tasks.iter().filter(|task| task.shown.phase == Phase::Running);
        running.map(|task| &task.started)
    }

    pub(super) fn task_mut(&mut self, index: usize) -> &mut CallTask {
        &mut self.tasks[index]
    }
}

impl CallTask {
    /// The last line about a task that has ended. Where its error was shown already, `shorten` leaves
    /// out what would be said twice.
    pub fn summary(&self, shorten: impl FnOnce(&str) -> &str) -> Option<String> {
        let result = &self.report.as_ref()?.result;
        Some(session::summary_line(
            &result.name,
            result.status,
            result.error.as_deref().map(shorten),
            &result.session_id,
            self.definition.as_deref(),
        ))
    }

    /// What the user should know about a task that has ended.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.report.iter().flat_map(|report| {
            let warnings = report.result.warnings.iter().chain(&report.warnings);
            warnings.map(|warning| format!("{}: {warning}", report.result.name))
        })
    }

    pub(super) fn run_id(&self) -> &RunId {
        &self.started.run_id
    }

    /// Applies a change to the window and to the book. Returns the event of the run, if the change is
    /// one, and its words.
    pub(super) fn apply(
        &mut self,
        change: Change,
        book: &mut SessionBook,
    ) -> Option<(Record, Option<String>)> {
        let words = self.shown.apply(&change);
        match change {
            Change::Started { .. } => book.start(self.started.clone()),
            Change::Activity(_) => {}
            Change::Record(record) => {
                book.apply(self.run_id(), &record);
                return Some((record, words));
            }
            Change::Ended(report) => {
                if !book.knows_run(self.run_id()) {
                    // No directory could be made for it.
                    book.start(self.started.clone());
                }
                book.end(self.run_id(), &report.result);
                self.report = Some(*report);
            }
        }
        None
    }
}
