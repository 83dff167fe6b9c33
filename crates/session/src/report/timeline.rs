//! What an agent did when: a fold of its events into spans and marks.

use model::{Event, StopCause, Usage};

use crate::export::ExportedRun;
use crate::preview::{PreviewContext, preview};
use crate::text::{one_line, shorten};
use crate::{Progress, usage_words};

/// The times of a run, in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Timeline {
    /// When it was asked for.
    pub(super) from: u64,
    /// When it ended; while it runs, the latest moment that is known.
    pub(super) to: u64,
    /// When its agent was started, or from which moment on it worked.
    pub(super) started: u64,
    /// By the moment at which they begin.
    pub(super) spans: Vec<Span>,
    pub(super) marks: Vec<Mark>,
    /// What was used at which moment.
    pub(super) spent: Vec<(u64, Usage)>,
}

/// A time in which an agent did one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) kind: SpanKind,
    /// What it was, in words.
    pub(super) what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanKind {
    /// It was asked for, and not yet started.
    Waiting,
    /// It was started, and was not yet told its task.
    Starting,
    Model,
    Tool,
    /// A tool that failed, or did not finish.
    FailedTool,
    /// The pause before the provider is asked again.
    Retry,
}

/// Something that happened at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) at: u64,
    pub(super) kind: MarkKind,
    pub(super) what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkKind {
    Retry,
    /// The agent was told something while it worked.
    Message,
    Stop,
    Warning,
}

impl Timeline {
    /// The times of a run. `latest` is the latest moment that the page knows of.
    pub(super) fn new(run: &ExportedRun, latest: u64) -> Timeline {
        let mut fold = Fold::new(run);
        let mut ended = None;
        for record in &run.records {
            // A clock that was set back does not turn spans around.
            fold.now = fold.now.max(record.at);
            fold.apply(&record.event);
            if let Event::RunEnded { .. } = record.event {
                ended = Some(fold.now);
            }
        }
        let ended = ended.or(run.result.as_ref().map(|result| result.ended_at));
        let to = ended.unwrap_or(latest).max(fold.now);
        fold.now = to;
        fold.end(ended.is_some());
        fold.timeline.to = to;
        fold.timeline.spans.iter_mut().for_each(|span| span.to = span.to.min(to));
        fold.timeline.spans.sort_by_key(|span| span.from);
        fold.timeline
    }

    /// The time that was spent on one kind of thing. Tools that run side by side count once each.
    pub(super) fn total(&self, kinds: &[SpanKind]) -> u64 {
        let spans = self.spans.iter().filter(|span| kinds.contains(&span.kind));
        spans.fold(0, |sum, span| sum.saturating_add(span.to.saturating_sub(span.from)))
    }
}

/// The latest moment that a run's files tell of.
pub(super) fn latest(run: &ExportedRun) -> u64 {
    let events = run.records.iter().map(|record| record.at);
    let ended = run.result.as_ref().map(|result| result.ended_at);
    events.chain(ended).max().unwrap_or_default().max(run.meta.created_at)
}

/// The activity since the last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Waiting,
    Starting,
    /// The model was asked.
    Model,
    /// The model has answered. What comes next tells whether it goes on.
    Answered,
    /// Tools run.
    Tools,
}

/// The id of a check among the calls, all of which come from agents and are never blank.
const COMMAND: &str = " ";

struct OpenCall<'a> {
    id: &'a str,
    from: u64,
    what: String,
}

struct Fold<'a> {
    timeline: Timeline,
    now: u64,
    doing: Doing,
    since: u64,
    was_told: bool,
    open: Vec<OpenCall<'a>>,
    context: PreviewContext,
    progress: Progress,
}

impl<'a> Fold<'a> {
    /// More open calls are drawn until the end of the run.
    const OPEN_CALLS: usize = 64;

    fn new(run: &ExportedRun) -> Fold<'a> {
        let created = run.meta.created_at;
        let timeline = Timeline {
            from: created,
            to: created,
            started: created,
            spans: Vec::new(),
            marks: Vec::new(),
            spent: Vec::new(),
        };
        let cwd = run.meta.cwd.display().to_string();
        Fold {
            timeline,
            now: created,
            doing: Doing::Waiting,
            since: created,
            was_told: false,
            open: Vec::new(),
            context: PreviewContext { cwd, width: 100, ..PreviewContext::default() },
            progress: Progress::default(),
        }
    }

    fn apply(&mut self, event: &'a Event) {
        match event {
            // It was started once more: with another model, or because a quota is over.
            Event::RunStarted { .. } if self.was_told => {
                if self.doing == Doing::Waiting {
                    self.finish(SpanKind::Waiting, "waiting for the provider");
                }
                self.turn_to(Doing::Starting);
            }
            Event::Waiting { .. } if self.was_told => {
                self.warn(event);
                self.turn_to(Doing::Waiting);
            }
            Event::RunStarted { .. } => {
                self.timeline.started = self.now;
                self.finish(SpanKind::Waiting, "waiting for its turn");
                self.turn_to(Doing::Starting);
            }
            Event::UserMessage { text } if self.was_told => {
                self.mark(MarkKind::Message, &format!("told: {}", shorten(text, 200)));
                if self.doing == Doing::Answered {
                    self.turn_to(Doing::Model);
                }
            }
            Event::UserMessage { .. } => {
                self.was_told = true;
                self.finish(SpanKind::Starting, "starting");
                self.turn_to(Doing::Model);
            }
            Event::AssistantMessage { usage, error, .. } => {
                let mut words = vec!["model".to_owned()];
                words.extend(usage_words(usage));
                words.extend(error.as_ref().map(|error| format!("failed: {error}")));
                self.finish(SpanKind::Model, &words.join(", "));
                self.timeline.spent.push((self.now, *usage));
                self.turn_to(Doing::Answered);
            }
            Event::UsageReported { usage } => self.timeline.spent.push((self.now, *usage)),
            Event::ToolCall { id, tool, args } => {
                if self.doing != Doing::Answered {
                    self.finish(SpanKind::Model, "model");
                }
                if self.open.len() == Fold::OPEN_CALLS {
                    self.close(0, SpanKind::FailedTool, "no end is known");
                }
                let what = one_line(&preview(tool, args, &self.context)).into_owned();
                self.open.push(OpenCall { id, from: self.now, what });
                self.turn_to(Doing::Tools);
            }
            Event::ToolResult { id, is_error, .. } => {
                let Some(index) = self.open.iter().position(|call| call.id == id) else { return };
                if *is_error {
                    self.close(index, SpanKind::FailedTool, "failed");
                } else {
                    self.close(index, SpanKind::Tool, "");
                }
                if self.open.is_empty() {
                    self.turn_to(Doing::Model);
                }
            }
            Event::RetryScheduled { delay_ms, .. } => {
                let words = self.progress.words(event).unwrap_or_default();
                self.finish(SpanKind::Model, "model, failed");
                self.mark(MarkKind::Retry, &words);
                self.turn_to(Doing::Model);
                self.since = self.now.saturating_add(*delay_ms);
                self.span(self.now, self.since, SpanKind::Retry, &words);
            }
            Event::ModelFallback { .. } => {
                let words = self.progress.words(event).unwrap_or_default();
                self.mark(MarkKind::Retry, &words);
                self.turn_to(Doing::Model);
            }
            Event::MessageLost { .. } => {
                self.finish(SpanKind::Model, "model");
                self.turn_to(Doing::Answered);
                self.warn(event);
            }
            // An agent that had finished is stopped only to clean up.
            Event::Stopping { cause, .. } => {
                if !matches!(cause, StopCause::LastWord | StopCause::Leftovers) {
                    self.mark(MarkKind::Stop, cause.words());
                }
            }
            Event::PreparationStarted { command } => {
                self.finish(SpanKind::Waiting, "waiting for its turn");
                let what = format!("preparation: {}", one_line(command));
                self.open.push(OpenCall { id: COMMAND, from: self.now, what });
                self.turn_to(Doing::Tools);
            }
            Event::CheckStarted { command } => {
                let what = format!("check: {}", one_line(command));
                self.open.push(OpenCall { id: COMMAND, from: self.now, what });
                self.turn_to(Doing::Tools);
            }
            Event::CheckEnded { passed: is_good, .. }
            | Event::PreparationEnded { succeeded: is_good, .. } => {
                let Some(index) = self.open.iter().position(|call| call.id == COMMAND) else {
                    return;
                };
                if *is_good {
                    self.close(index, SpanKind::Tool, "");
                } else {
                    self.close(index, SpanKind::FailedTool, "failed");
                }
                self.turn_to(Doing::Answered);
            }
            Event::Warning { .. }
            | Event::AnswerChecked { problem: Some(_) }
            | Event::MessageRefused { .. }
            | Event::Waiting { .. }
            | Event::TimeoutExtended
            | Event::LogFull { .. } => self.warn(event),
            // It is marked when the agent reads it.
            Event::MessageAccepted { .. }
            | Event::QuestionAsked { .. }
            | Event::QuestionAnswered { .. }
            | Event::MessageDelivered { .. }
            | Event::Stderr { .. }
            | Event::UnreadableLine { .. }
            | Event::AnswerChecked { problem: None }
            | Event::ChangesKept { .. }
            | Event::RunEnded { .. }
            | Event::Unknown => {}
        }
    }

    /// Draws what was not finished when the run ended, or is not finished yet.
    fn end(&mut self, has_ended: bool) {
        let how = if has_ended { "did not finish" } else { "runs" };
        let kind = if has_ended { SpanKind::FailedTool } else { SpanKind::Tool };
        while !self.open.is_empty() {
            self.close(0, kind, how);
        }
        match self.doing {
            Doing::Waiting if self.was_told => {
                self.finish(SpanKind::Waiting, "waiting for the provider");
            }
            Doing::Waiting if has_ended => self.finish(SpanKind::Waiting, "never started"),
            Doing::Waiting => self.finish(SpanKind::Waiting, "waiting for its turn"),
            Doing::Starting => self.finish(SpanKind::Starting, "starting"),
            Doing::Model if has_ended => self.finish(SpanKind::Model, "model, cut off"),
            Doing::Model => self.finish(SpanKind::Model, "model"),
            Doing::Answered | Doing::Tools => {}
        }
    }

    fn turn_to(&mut self, doing: Doing) {
        self.doing = doing;
        self.since = self.now;
    }

    /// Draws what was done until now, unless it was tools, which are drawn one by one.
    fn finish(&mut self, kind: SpanKind, what: &str) {
        if self.doing != Doing::Tools || self.open.is_empty() {
            self.span(self.since, self.now, kind, what);
        }
    }

    fn close(&mut self, index: usize, kind: SpanKind, how: &str) {
        let OpenCall { from, what, .. } = self.open.remove(index);
        let comma = if how.is_empty() { "" } else { ", " };
        self.span(from, self.now, kind, &format!("{what}{comma}{how}"));
    }

    fn span(&mut self, from: u64, to: u64, kind: SpanKind, what: &str) {
        // Between a call and the answer before it there is no time worth a bar.
        if to > from || matches!(kind, SpanKind::Tool | SpanKind::FailedTool) {
            let what = one_line(what).into_owned();
            self.timeline.spans.push(Span { from, to: to.max(from), kind, what });
        }
    }

    fn warn(&mut self, event: &Event) {
        let words = self.progress.words(event).unwrap_or_default();
        self.mark(MarkKind::Warning, &words);
    }

    fn mark(&mut self, kind: MarkKind, what: &str) {
        let what = one_line(what).into_owned();
        self.timeline.marks.push(Mark { at: self.now, kind, what });
    }
}
