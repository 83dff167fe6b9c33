//! A call whose tasks run: what has become of them, and what the caller is told in the end.

use std::ops::Range;

use model::{RunId, RunResult, Status, Usage};
use runner::{Change, Dispatcher, LaneId, Launcher, Report, StopForce, TaskId, Update};
use session::view::{Phase, TaskView};
use store::Claim;

use crate::{
    Appearance, PlannedCall, SessionBook, ShownTask, StartedRun, SubagentArguments, now_ms,
    subagent_answer,
};

/// Which tool was called, for those that run tasks while the caller waits.
#[derive(Clone, Debug)]
pub enum CallKind {
    /// `delegate_to_subagents`.
    Delegate,
    /// `subagent`.
    Subagent(SubagentArguments),
}

/// The tasks of one call, from the queue to their reports.
#[derive(Debug)]
pub struct RunningCall {
    kind: CallKind,
    lane: LaneId,
    numbers: Range<TaskId>,
    tasks: Vec<CallTask>,
    /// Nobody else continues the same sessions meanwhile.
    _claims: Vec<Claim>,
}

#[derive(Debug)]
struct CallTask {
    shown: ShownTask,
    started: StartedRun,
    /// The profile or preset in a few words.
    definition: Option<String>,
    report: Option<Report>,
}

impl RunningCall {
    /// Queues the tasks of a call, so many at a time.
    pub fn submit(
        dispatcher: &mut Dispatcher,
        launcher: Launcher,
        concurrency: usize,
        (kind, planned): (CallKind, PlannedCall),
        appearance: &Appearance,
    ) -> RunningCall {
        let (mut tasks, mut plans) = (Vec::new(), Vec::new());
        for task in planned.tasks {
            tasks.push(CallTask {
                shown: ShownTask::queued(task.plan.meta.clone(), appearance),
                started: StartedRun::of(&task.plan),
                definition: task.definition,
                report: None,
            });
            plans.push(task.plan);
        }
        let submitted = dispatcher.submit(launcher, concurrency, plans);
        let (lane, numbers) = (submitted.lane, submitted.tasks);
        RunningCall { kind, lane, numbers, tasks, _claims: planned.claims }
    }

    /// Stops all tasks, also those that wait for their turn.
    pub fn stop(&self, dispatcher: &mut Dispatcher) {
        dispatcher.stop(self.lane, StopForce::Gracefully);
    }

    /// Which tool was called.
    pub fn kind(&self) -> &CallKind {
        &self.kind
    }

    /// Whether a task is one of this call.
    pub fn has(&self, task: TaskId) -> bool {
        self.numbers.contains(&task)
    }

    /// Takes in what the dispatcher tells of one of its tasks, and puts it into the book. Where a
    /// run began or ended, it is returned: whoever keeps a log writes that down.
    pub fn take(&mut self, update: Update, book: &mut SessionBook) -> Option<RunId> {
        let index = update.task.checked_sub(self.numbers.start)?;
        let task = self.tasks.get_mut(index)?;
        match update.change {
            Change::Started { .. } => {
                task.shown.phase = Phase::Running;
                book.start(task.started.clone());
            }
            Change::Record(record) => {
                task.shown.state.apply(&record);
                book.apply(&task.started.run_id, &record);
                return None;
            }
            Change::Ended(report) => {
                task.shown.phase = Phase::Ended;
                if !book.knows_run(&task.started.run_id) {
                    // It never left the queue, or nobody could make a record of it.
                    book.start(task.started.clone());
                }
                book.end(&task.started.run_id, &report.result);
                task.report = Some(*report);
            }
            Change::Activity(_) => return None,
        }
        Some(task.started.run_id.clone())
    }

    /// Whether all tasks have ended.
    pub fn is_over(&self) -> bool {
        self.tasks.iter().all(|task| task.report.is_some())
    }

    /// The runs that have begun and not ended.
    pub fn running(&self) -> impl Iterator<Item = &StartedRun> {
        let running = self.tasks.iter().filter(|task| task.shown.phase == Phase::Running);
        running.map(|task| &task.started)
    }

    /// All tasks, in their order.
    pub fn tasks(&self) -> impl Iterator<Item = &ShownTask> {
        self.tasks.iter().map(|task| &task.shown)
    }

    /// How all tasks look now.
    pub fn views(&self) -> Vec<TaskView<'_>> {
        let now = now_ms();
        self.tasks().map(|task| task.view(now)).collect()
    }

    /// How those tasks ended that have.
    pub fn results(&self) -> impl Iterator<Item = &RunResult> {
        self.reports().map(|report| &report.result)
    }

    /// What people should know besides.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.reports().flat_map(|report| {
            let warnings = report.result.warnings.iter().chain(&report.warnings);
            warnings.map(|warning| format!("{}: {warning}", report.result.name))
        })
    }

    /// What the model reads when all tasks have ended.
    pub fn answer(&self) -> String {
        let mut text = match &self.kind {
            CallKind::Delegate => self.summaries(),
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

    /// What was used, if anything is known of it.
    pub fn usage(&self) -> Option<Usage> {
        let usage = self.results().fold(Usage::default(), |mut sum, result| {
            sum += result.usage;
            sum
        });
        (usage != Usage::default()).then_some(usage)
    }

    /// The reports of those tasks that have ended.
    pub fn reports(&self) -> impl Iterator<Item = &Report> {
        self.tasks.iter().filter_map(|task| task.report.as_ref())
    }

    fn summaries(&self) -> String {
        let lines = self.tasks.iter().filter_map(|task| {
            let result = &task.report.as_ref()?.result;
            Some(session::summary_line(
                &result.name,
                result.status,
                result.error.as_deref(),
                &result.session_id,
                task.definition.as_deref(),
            ))
        });
        lines.collect::<Vec<String>>().join("\n")
    }
}
