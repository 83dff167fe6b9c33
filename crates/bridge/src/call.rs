//! A call whose tasks run: what has become of them, and what is told about it.

use std::ops::Range;
use std::time::{Duration, Instant};

use model::{Record, RunResult, Status, Usage};
use runner::{LaneId, Report, TaskId};
use serde_json::{Value, json};
use session::view::{self, Extent, Phase, TaskView};
use store::Claim;
use tools::{Appearance, PlannedTask, ShownTask, StartedRun, SubagentArguments, now_ms};

use crate::wire;

/// How often a screen is told at most.
const FRAME: Duration = Duration::from_millis(50);
/// How often the clocks in the windows are set, and how often those are told who draw nothing.
const SECOND: Duration = Duration::from_secs(1);

/// Which tool was called.
#[derive(Debug)]
pub(crate) enum CallKind {
    Delegate,
    Subagent(SubagentArguments),
}

/// One call of a tool that runs tasks in the foreground.
pub(crate) struct Call {
    pub(crate) id: String,
    /// The request that is answered in the end.
    pub(crate) request: Value,
    pub(crate) lane: LaneId,
    kind: CallKind,
    numbers: Range<TaskId>,
    tasks: Vec<CallTask>,
    /// Whether somebody draws the windows.
    is_drawn: bool,
    told: Option<Instant>,
    is_changed: bool,
    /// Nobody else continues the same sessions meanwhile.
    _claims: Vec<Claim>,
}

struct CallTask {
    shown: ShownTask,
    started: StartedRun,
    /// The profile or preset in a few words.
    definition: Option<String>,
    report: Option<Report>,
}

/// What a call is answered with.
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) details: Value,
    pub(crate) usage: Option<Usage>,
    pub(crate) is_error: bool,
}

impl Answer {
    pub(crate) fn into_json(self) -> Value {
        let Answer { text, details, usage, is_error } = self;
        // What agents say is shown in a terminal, and of no use to a model with escape sequences.
        let text = session::clean(&text);
        json!({"text": text, "details": details, "usage": usage, "isError": is_error})
    }
}

/// The tasks of a call before they are handed to a dispatcher.
pub(crate) struct Tasks(Vec<CallTask>);

impl Tasks {
    pub(crate) fn new(planned: &[PlannedTask], appearance: &Appearance) -> Tasks {
        let tasks = planned.iter().map(|task| CallTask {
            shown: ShownTask::queued(task.plan.meta.clone(), appearance),
            started: StartedRun::of(&task.plan),
            definition: task.definition.clone(),
            report: None,
        });
        Tasks(tasks.collect())
    }
}

impl Call {
    pub(crate) fn new(
        (id, request): (String, Value),
        kind: CallKind,
        Tasks(tasks): Tasks,
        submitted: runner::Submitted,
        claims: Vec<Claim>,
        is_drawn: bool,
    ) -> Call {
        Call {
            id,
            request,
            lane: submitted.lane,
            kind,
            numbers: submitted.tasks,
            tasks,
            is_drawn,
            told: None,
            is_changed: true,
            _claims: claims,
        }
    }

    pub(crate) fn has(&self, task: TaskId) -> bool {
        self.numbers.contains(&task)
    }

    /// A task has left the queue.
    pub(crate) fn start(&mut self, task: TaskId) -> Option<&StartedRun> {
        let task = self.task(task)?;
        task.shown.phase = Phase::Running;
        Some(&task.started)
    }

    /// Something happened in a task.
    pub(crate) fn apply(&mut self, task: TaskId, record: &Record) -> Option<&StartedRun> {
        let task = self.task(task)?;
        task.shown.state.apply(record);
        Some(&task.started)
    }

    /// Nothing of a task is left.
    pub(crate) fn end(&mut self, task: TaskId, report: Report) -> Option<&StartedRun> {
        let task = self.task(task)?;
        task.shown.phase = Phase::Ended;
        task.report = Some(report);
        Some(&task.started)
    }

    fn task(&mut self, task: TaskId) -> Option<&mut CallTask> {
        self.is_changed = true;
        self.tasks.get_mut(task.checked_sub(self.numbers.start)?)
    }

    /// The runs that have begun and not ended.
    pub(crate) fn running(&self) -> impl Iterator<Item = StartedRun> {
        let running = self.tasks.iter().filter(|task| task.shown.phase == Phase::Running);
        running.map(|task| task.started.clone())
    }

    /// The task of a run.
    pub(crate) fn shown(&self, run: &str) -> Option<&ShownTask> {
        let mut tasks = self.tasks.iter().map(|task| &task.shown);
        tasks.find(|shown| shown.meta.run_id.as_str() == run)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.tasks.iter().all(|task| task.report.is_some())
    }

    /// How long until something is to be told, as things stand.
    pub(crate) fn next_word(&self) -> Duration {
        let interval = if self.is_changed && self.is_drawn { FRAME } else { SECOND };
        self.told.map_or(Duration::ZERO, |told| interval.saturating_sub(told.elapsed()))
    }

    /// What is told now, if it is time for it.
    pub(crate) fn word(&mut self) -> Option<Value> {
        if !self.next_word().is_zero() {
            return None;
        }
        self.told = Some(Instant::now());
        let is_news = std::mem::take(&mut self.is_changed);
        if !is_news && !self.is_drawn {
            // Nobody looks at the clocks.
            return None;
        }
        let views = self.views();
        let lines = if self.is_drawn {
            view::render(&views, Extent::Collapsed)
        } else {
            let running = views.iter().filter(|task| task.phase == Phase::Running);
            [view::overview(&views)].into_iter().chain(running.map(view::window_header)).collect()
        };
        let text = view::streaming_text(&views);
        let details =
            json!({"status": "running", "lines": wire::kept(&lines), "runs": self.runs()});
        Some(json!({"callId": self.id, "text": text, "details": details}))
    }

    /// The answer when all tasks have ended.
    pub(crate) fn answer(&self) -> Answer {
        let reports: Vec<&Report> =
            self.tasks.iter().filter_map(|task| task.report.as_ref()).collect();
        let results: Vec<RunResult> = reports.iter().map(|report| report.result.clone()).collect();
        let mut text = match &self.kind {
            CallKind::Delegate => self.summaries(),
            CallKind::Subagent(arguments) => tools::subagent_answer(arguments, &results),
        };
        for report in &reports {
            for warning in report.result.warnings.iter().chain(&report.warnings) {
                text.push_str(&format!("\nWarning: {}: {warning}", report.result.name));
            }
        }
        let usage = results.iter().fold(Usage::default(), |mut sum, result| {
            sum += result.usage;
            sum
        });
        let lines = view::render(&self.views(), Extent::Collapsed);
        let sessions: Vec<Value> = results
            .iter()
            .map(|result| {
                json!({
                    "name": result.name,
                    "sessionId": result.session_id.as_str(),
                    "status": result.status.word(),
                })
            })
            .collect();
        Answer {
            text,
            details: json!({
                "status": "done",
                "sessions": sessions,
                "lines": wire::kept(&lines),
                "runs": self.runs(),
            }),
            usage: (usage != Usage::default()).then_some(usage),
            is_error: results.iter().all(|result| result.status != Status::Completed),
        }
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

    fn views(&self) -> Vec<TaskView<'_>> {
        let now = now_ms();
        self.tasks.iter().map(|task| task.shown.view(now)).collect()
    }

    fn runs(&self) -> Vec<&str> {
        self.tasks.iter().map(|task| task.shown.meta.run_id.as_str()).collect()
    }
}
