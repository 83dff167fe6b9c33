//! What the agent asks: which questions are answered at once, which wait for a user, and what becomes of
//! those that get no answer. Pure: the time comes from outside.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use model::{
    Access, Answer, AnsweredBy, Event, LeftAnswer, Limits, Question, QuestionKind, ToolEffect,
};

pub(crate) struct Questions {
    access: Access,
    /// How long a question waits.
    patience: Duration,
    open: Vec<Open>,
    /// The numbers of those that began to wait since they were asked for.
    new: Vec<u64>,
    /// How many have waited for a user.
    asked: u64,
    /// The tools that the user has allowed for this run.
    allowed: BTreeSet<String>,
    /// Whether the agent gets no answers any more.
    is_over: bool,
    /// Whether another supervisor answers what needs no user, and what has waited too long.
    is_relayed: bool,
}

struct Open {
    number: u64,
    question: Question,
    /// `None` if it is beyond what a clock can hold.
    deadline: Option<Instant>,
    /// Whether the agent itself waits no longer.
    is_of_agent: bool,
}

/// A question that has its answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    pub(crate) number: u64,
    pub(crate) answer: Answer,
    by: AnsweredBy,
    /// The name of the MCP client in which the user has answered.
    client: Option<String>,
    /// The words of an option that was chosen.
    option: Option<String>,
}

const ENDED: &str = "the run ended before the question was answered";
const WITHDRAWN: &str = "the agent does not wait for the answer any more";
const EARLY: &str = "an answer was there before the question, so it is no user's";
const RECORD_FULL: &str = "Denied: the record of the run is full, so the user cannot be asked.";

impl Questions {
    pub(crate) fn new(access: Access, limits: &Limits) -> Questions {
        Questions {
            access,
            patience: Duration::from_millis(limits.question_timeout_ms),
            open: Vec::new(),
            new: Vec::new(),
            asked: 0,
            allowed: BTreeSet::new(),
            is_over: false,
            is_relayed: false,
        }
    }

    /// The questions of an agent whose own supervisor is elsewhere.
    pub(crate) fn relayed(self, is_relayed: bool) -> Questions {
        Questions { is_relayed, ..self }
    }

    /// The answer to a question that cannot be recorded.
    pub(crate) fn not_recorded() -> Answer {
        Answer::No(Some(RECORD_FULL.to_owned()))
    }

    /// Takes a question, of which the agent's own text had this many bytes. Returns its answer if it does
    /// not wait.
    pub(crate) fn ask(
        &mut self,
        number: u64,
        question: Question,
        bytes: usize,
        effect: ToolEffect,
        agent_patience: Option<Duration>,
        now: Instant,
    ) -> Option<Settled> {
        let tool = question.tool.as_ref().filter(|_| question.kind == QuestionKind::Permission);
        let by_access = tool.and_then(|_| self.access.answers(effect));
        let denied = |by, reason: String| settled(number, Answer::No(Some(reason)), by);
        if self.is_over {
            return Some(denied(AnsweredBy::End, ENDED.to_owned()));
        }
        match by_access {
            Some(true) => return Some(settled(number, Answer::Yes, AnsweredBy::Access)),
            Some(false) => {
                let access = self.access.word();
                let reason = format!("Denied: access \"{access}\" does not permit it.");
                return Some(denied(AnsweredBy::Access, reason));
            }
            None => {}
        }
        if bytes > Question::TEXT_BYTES {
            let reason = format!(
                "Denied: it has {bytes} bytes, and a user is shown at most {}. Use a file instead.",
                Question::TEXT_BYTES
            );
            return Some(denied(AnsweredBy::Limit, reason));
        }
        if tool.is_some_and(|tool| self.allowed.contains(tool)) && !self.is_relayed {
            return Some(settled(number, Answer::Yes, AnsweredBy::Always));
        }
        if self.open.len() == Question::OPEN {
            let reason = format!("Denied: {} questions wait for the user already.", Question::OPEN);
            return Some(denied(AnsweredBy::Limit, reason));
        }
        if self.asked == Question::MOST {
            let reason =
                format!("Denied: the run has asked {} questions, the limit.", Question::MOST);
            return Some(denied(AnsweredBy::Limit, reason));
        }
        self.asked += 1;
        let is_of_agent = agent_patience.is_some_and(|patience| patience < self.patience);
        let patience = if is_of_agent { agent_patience.unwrap_or_default() } else { self.patience };
        let deadline = now.checked_add(patience).filter(|_| !self.is_relayed);
        self.new.push(number);
        self.open.push(Open { number, question, deadline, is_of_agent });
        None
    }

    /// The numbers of the questions that wait for an answer.
    pub(crate) fn waiting(&self) -> Vec<u64> {
        self.open.iter().map(|open| open.number).collect()
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    /// The numbers of the questions that began to wait since this was called last.
    pub(crate) fn take_new(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.new)
    }

    /// A program has left an answer, or something else in its place, which denies.
    pub(crate) fn answer(
        &mut self,
        number: u64,
        left: Result<LeftAnswer, String>,
    ) -> Option<Settled> {
        let Open { question, .. } = self.take(number)?;
        let by = left.as_ref().ok().map(|left| left.by).filter(|by| by.is_user());
        let by = by.unwrap_or(AnsweredBy::Shell);
        let client = left.as_ref().ok().and_then(|left| left.client.clone());
        let client = client.filter(|_| by == AnsweredBy::Mcp);
        let answer = left.and_then(|left| question.read_answer(&left.text));
        let answer = answer.unwrap_or_else(|problem| Answer::No(Some(problem)));
        if let (Answer::Always, Some(tool)) = (&answer, &question.tool) {
            self.allowed.insert(tool.clone());
        }
        let option = match &answer {
            Answer::Option(index) => question.options.get(*index).cloned(),
            _ => None,
        };
        Some(Settled { number, answer, by, client, option })
    }

    pub(crate) fn refuse_early_answer(&mut self, number: u64) -> Option<Settled> {
        self.take(number)
            .map(|open| settled(open.number, Answer::No(Some(EARLY.to_owned())), AnsweredBy::Limit))
    }

    /// Another supervisor has answered a question. False if it had its answer here before.
    pub(crate) fn close(&mut self, number: u64) -> bool {
        self.take(number).is_some()
    }

    /// The agent does not ask any more.
    pub(crate) fn withdraw(&mut self, number: u64) -> Option<Settled> {
        let Open { number, .. } = self.take(number)?;
        Some(settled(number, Answer::No(Some(WITHDRAWN.to_owned())), AnsweredBy::Agent))
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.open.iter().filter_map(|open| open.deadline).min()
    }

    /// Denies what has waited too long.
    pub(crate) fn check(&mut self, now: Instant) -> Vec<Settled> {
        let seconds = self.patience.as_secs_f64();
        let is_due = |open: &mut Open| open.deadline.is_some_and(|deadline| now >= deadline);
        let due = self.open.extract_if(.., is_due);
        due.map(|Open { number, is_of_agent, .. }| {
            let (reason, by) = if is_of_agent {
                (WITHDRAWN.to_owned(), AnsweredBy::Agent)
            } else {
                let reason = format!(
                    "Denied: the user did not answer within {seconds} s. Go on without it, or say \
                     what you would have done."
                );
                (reason, AnsweredBy::Deadline)
            };
            settled(number, Answer::No(Some(reason)), by)
        })
        .collect()
    }

    /// The agent gets no answers any more: what it asked is denied, and so is what it asks from here on.
    pub(crate) fn stop(&mut self) -> Vec<Settled> {
        self.is_over = true;
        let ended =
            |open: Open| settled(open.number, Answer::No(Some(ENDED.to_owned())), AnsweredBy::End);
        self.open.drain(..).map(ended).collect()
    }

    fn take(&mut self, number: u64) -> Option<Open> {
        let position = self.open.iter().position(|open| open.number == number)?;
        Some(self.open.remove(position))
    }
}

fn settled(number: u64, answer: Answer, by: AnsweredBy) -> Settled {
    Settled { number, answer, by, client: None, option: None }
}

impl Settled {
    pub(crate) fn into_event(self) -> Event {
        let Settled { number, answer, by, client, option } = self;
        let kind = answer.kind();
        let text = match answer {
            Answer::Yes | Answer::Always => None,
            Answer::No(reason) => reason,
            Answer::Option(_) => option,
            Answer::Text(text) => Some(text),
        };
        Event::QuestionAnswered { number, answer: kind, text, by, client }
    }
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
