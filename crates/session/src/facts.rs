//! What is known about a run: a fold of its events.

use crate::text::cut_chars;
use model::{
    Activity, Changes, CheckResult, Event, Leftovers, OpenQuestion, Outcome, Record, Status,
    StopCause, StopReason, Usage, Waiting,
};

/// What decides the outcome of a run, and what its result says. What few runs have is boxed: a call can have thousands
/// of tasks. Its size does not grow with the run, except for the messages to the agent, of which there is a limit.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Facts {
    /// What its start waits for.
    pub waiting: Option<Box<Waiting>>,
    /// When the child was started, in milliseconds since 1970.
    pub started_at: Option<u64>,
    /// In milliseconds since 1970.
    pub ended_at: Option<u64>,
    /// `None` while it runs.
    pub outcome: Option<Outcome>,
    /// `None` unless the run has failed.
    pub error: Option<String>,
    /// The child's exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that killed the child, if one did.
    pub signal: Option<i32>,
    /// The cause that decides, if the run was stopped.
    pub stopping: Option<StopCause>,
    /// What the rule saw that stopped the run.
    pub stopping_seen: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    /// The models that have failed before another one continued.
    pub failed_models: Vec<String>,
    /// Whether the model that continues has said nothing yet.
    pub is_unanswered: bool,
    /// Why the model stopped the last time.
    pub stop_reason: Option<StopReason>,
    /// The provider's error in the last message.
    pub provider_error: Option<String>,
    /// Whether a later message could not be read.
    pub message_lost: bool,
    pub assistant_messages: u64,
    /// The last text of the model.
    pub output: String,
    /// The sum over all messages.
    pub usage: Usage,
    /// Whether an agent or a model was replaced that had not told what it cost, so that the price of all is unknown.
    pub is_cost_lost: bool,
    pub tool_calls: u64,
    /// The last lines of the child's standard error.
    pub last_stderr: Vec<String>,
    /// What users should know although it does not decide the outcome.
    pub warnings: Vec<String>,
    /// What was perhaps left of the run when it ended.
    pub leftovers: Option<Leftovers>,
    /// How the last answer compares with its schema, if it was compared: the problem, if there is one.
    pub answer: Option<Result<(), String>>,
    /// The check of the work behind the last answer. It has not passed while it runs.
    pub check: Option<Box<CheckResult>>,
    /// What the agent changed, if it worked in a worktree of its own.
    pub changes: Option<Box<Changes>>,
    /// The numbers of messages to the agent that were accepted, and neither delivered nor refused yet.
    pub open_messages: Vec<u64>,
    /// What the agent asks, and has no answer to yet.
    pub open_questions: Vec<OpenQuestion>,
    /// How long questions and a run that was parked have waited, in milliseconds. The clock of the timeout stood still.
    pub waited_ms: u64,
    /// Since when a question waits, in milliseconds since 1970.
    pub asking_since: Option<u64>,
}

impl Facts {
    /// The reason for a failure is seldom in the last line alone.
    const STDERR_LINES: usize = 4;
    /// More warnings are dropped.
    pub const WARNINGS: usize = 20;

    /// The facts after all these events.
    pub fn replay(records: impl IntoIterator<Item = Record>) -> Facts {
        let mut facts = Facts::default();
        for record in records {
            facts.apply(&record);
        }
        facts
    }

    /// Takes the next event.
    pub fn apply(&mut self, record: &Record) {
        match &record.event {
            Event::Waiting { waiting } => self.waiting = Some(Box::new(waiting.clone())),
            Event::RunStarted { .. } => {
                let waiting = self.waiting.take();
                if self.started_at.is_some() {
                    let since = waiting.map_or(record.at, |waiting| waiting.since);
                    self.waited_ms = self.waited_ms.saturating_add(record.at.saturating_sub(since));
                    self.forget_agent();
                }
                self.started_at.get_or_insert(record.at);
            }
            Event::AssistantMessage { text, model, stop_reason, error, usage } => {
                self.assistant_messages += 1;
                self.is_unanswered = false;
                // What was found before says nothing about what the agent has done since.
                (self.answer, self.check) = (None, None);
                self.message_lost = false;
                self.add_usage(*usage);
                if model.is_some() {
                    self.model.clone_from(model);
                }
                self.stop_reason.clone_from(stop_reason);
                self.provider_error.clone_from(error);
                if !text.trim().is_empty() {
                    self.output.clone_from(text);
                }
            }
            Event::UsageReported { usage } => self.add_usage(*usage),
            Event::MessageAccepted { number, .. } => self.open_messages.push(*number),
            Event::MessageDelivered { number } | Event::MessageRefused { number, .. } => {
                self.open_messages.retain(|open| open != number);
            }
            Event::QuestionAsked { number, question } => {
                let (number, question, asked_at) = (*number, question.clone(), record.at);
                self.asking_since.get_or_insert(asked_at);
                self.open_questions.push(OpenQuestion { number, question, asked_at });
            }
            Event::QuestionAnswered { number, .. } => self.close_question(*number, record.at),
            Event::MessageLost { .. } => self.message_lost = true,
            Event::ToolCall { .. } => self.tool_calls += 1,
            Event::Stderr { text } => {
                if self.last_stderr.len() == Facts::STDERR_LINES {
                    self.last_stderr.remove(0);
                }
                self.last_stderr.push(cut_chars(text.trim(), 500).to_owned());
            }
            Event::Stopping { cause, seen } => {
                // The first cause decides, except that stopping a child that had finished hides neither a
                // loop in its stream nor that the check of its work was stopped.
                let is_open = self.stopping.is_none_or(StopCause::is_cleanup);
                if is_open {
                    self.stopping = Some(*cause);
                    self.stopping_seen.clone_from(seen);
                }
            }
            Event::ChangesKept { changes } => {
                if let Some(warning) = warning_about(changes) {
                    self.warn(warning);
                }
                self.changes = Some(Box::new(changes.clone()));
            }
            Event::LogFull { log } => {
                self.warn(format!("{log} is full; later entries were not kept"));
            }
            Event::Warning { message } => self.warn(message.clone()),
            Event::AnswerChecked { problem } => {
                self.answer = Some(problem.clone().map_or(Ok(()), Err));
            }
            Event::CheckStarted { command } => {
                let command = command.clone();
                self.check = Some(Box::new(CheckResult { command, ..CheckResult::default() }));
            }
            Event::CheckEnded { passed, problem, exit_code, signal, output } => {
                let command = self.check.take().map(|check| check.command).unwrap_or_default();
                self.check = Some(Box::new(CheckResult {
                    command,
                    passed: *passed,
                    problem: problem.clone(),
                    exit_code: *exit_code,
                    signal: *signal,
                    output: output.clone(),
                }));
            }
            Event::ModelFallback { from, to, .. } => {
                self.failed_models.push(from.clone());
                self.model = Some(to.clone());
                self.forget_agent();
            }
            Event::RunEnded { outcome, error, exit_code, signal, leftovers } => {
                self.waiting = None;
                self.ended_at = Some(record.at);
                self.outcome = Some(*outcome);
                self.error.clone_from(error);
                self.exit_code = *exit_code;
                self.signal = *signal;
                self.leftovers.clone_from(leftovers);
            }
            Event::PreparationStarted { .. } => self.waiting = None,
            Event::PreparationEnded { .. }
            | Event::UserMessage { .. }
            | Event::ToolResult { .. }
            | Event::RetryScheduled { .. }
            | Event::UnreadableLine { .. }
            | Event::TimeoutExtended
            | Event::Unknown => {}
        }
    }

    /// The status in the words of sessions.
    pub fn status(&self) -> Status {
        self.outcome.map_or(Status::Running, Outcome::status)
    }

    /// The activity of the run, as far as its events show it. A program that is connected to the
    /// supervisor knows it more precisely.
    pub fn activity(&self) -> Activity {
        match (self.started_at, self.outcome) {
            (_, Some(_)) => Activity::Done,
            (None, None) => Activity::Starting,
            (Some(_), None) => Activity::Waiting,
        }
    }

    /// What the model before said, and how its agent ended, says nothing about the next one.
    fn forget_agent(&mut self) {
        self.is_cost_lost |= self.usage.cost.is_none() && self.usage.all_tokens() > 0;
        (self.stop_reason, self.provider_error) = (None, None);
        self.is_unanswered = true;
        self.message_lost = false;
        self.last_stderr.clear();
        self.stopping = self.stopping.filter(|cause| !cause.is_cleanup());
    }

    fn add_usage(&mut self, usage: Usage) {
        self.usage += usage;
        if self.is_cost_lost {
            self.usage.cost = None;
        }
    }

    fn close_question(&mut self, number: u64, at: u64) {
        self.open_questions.retain(|open| open.number != number);
        if self.open_questions.is_empty()
            && let Some(since) = self.asking_since.take()
        {
            self.waited_ms = self.waited_ms.saturating_add(at.saturating_sub(since));
        }
    }

    fn warn(&mut self, message: String) {
        if self.warnings.len() < Facts::WARNINGS {
            self.warnings.push(message);
        }
    }
}

/// What users should know about changes that are not where they look for them.
fn warning_about(changes: &Changes) -> Option<String> {
    let directory = changes.directory.as_ref().map(|directory| directory.display());
    let problem = changes.problem.as_deref();
    let reason = problem.unwrap_or("the reason is not known");
    match (directory, &changes.reference) {
        (Some(directory), Some(reference)) => Some(format!(
            "The worktree {directory} was not removed: {reason}. Everything else is kept as {reference}."
        )),
        (Some(directory), None) => Some(format!(
            "The changes of this run were not kept as a ref, and are in {directory}: {reason}"
        )),
        (None, Some(reference)) => problem.map(|problem| {
            format!("Files of this run may be lost: {problem}. The rest is kept as {reference}.")
        }),
        (None, None) => problem
            .map(|problem| format!("The changes of this run were not kept as a ref: {problem}")),
    }
}

#[cfg(test)]
mod tests {
    use model::{Cost, WaitReason};

    use super::*;

    fn facts(events: &[Event]) -> Facts {
        let records = events.iter().cloned().zip(1..);
        Facts::replay(records.map(|(event, seq)| Record { seq, at: 10 * seq, event }))
    }

    fn used(cost: Option<f64>) -> Event {
        let cost = cost.map(|total| Cost { total, ..Cost::default() });
        Event::UsageReported {
            usage: Usage { output: 5, total_tokens: 5, cost, ..Usage::default() },
        }
    }

    fn started() -> Event {
        Event::RunStarted { pid: 1, agent: None }
    }

    fn fallback() -> Event {
        Event::ModelFallback { from: "a".into(), to: "b".into(), reason: "no".into() }
    }

    #[test]
    fn the_price_of_a_later_model_is_not_that_of_all() {
        let cost = |events: &[Event]| facts(events).usage.cost.map(|cost| cost.total);
        assert_eq!(cost(&[started(), used(None), fallback(), used(Some(1.0))]), None);
        assert_eq!(cost(&[started(), used(None), fallback(), started(), used(Some(1.0))]), None);
        assert_eq!(cost(&[started(), used(Some(1.0)), fallback(), used(Some(2.0))]), Some(3.0));
        assert_eq!(cost(&[started(), fallback(), used(Some(2.0))]), Some(2.0), "it used nothing");
        // An agent may tell its cost at the end.
        assert_eq!(cost(&[started(), used(None), used(Some(1.0))]), Some(1.0));
    }

    #[test]
    fn an_agent_that_goes_on_after_a_quota_has_not_failed_yet() {
        let reason = WaitReason::Quota { words: "resets 3pm".to_owned(), until: 90 };
        let waiting = Event::Waiting { waiting: Waiting { reason, since: 30 } };
        let refused = Event::AssistantMessage {
            text: String::new(),
            model: None,
            stop_reason: Some(StopReason::Error),
            error: Some("You've hit your limit".to_owned()),
            usage: Usage::default(),
        };
        let parked = facts(&[started(), refused.clone(), waiting.clone()]);
        assert!(parked.waiting.is_some() && parked.provider_error.is_some());
        let going = facts(&[started(), refused, waiting, started()]);
        assert!(going.waiting.is_none() && going.provider_error.is_none() && going.is_unanswered);
        assert_eq!((going.started_at, going.waited_ms), (Some(10), 10), "its clock stood still");
    }
}
