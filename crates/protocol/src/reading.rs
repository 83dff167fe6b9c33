//! What one line of an agent's output means, in no agent's words.

use model::{Activity, Event, Verdict};
use process::Line;

use crate::{Asked, Delivery};

/// The most of an unreadable line that is looked at.
const UNREADABLE_BYTES: usize = 64 * 1024;

/// What one line of an agent's output means.
#[derive(Debug, Default, PartialEq)]
pub struct Reading {
    /// What happened and is kept, in its order.
    pub events: Vec<Event>,
    /// What the agent is doing now, if the line tells.
    pub activity: Option<Activity>,
    /// Whether a tool call started, reported or ended.
    pub is_tool_activity: bool,
    /// What the line says about the end of the work.
    pub last_word: LastWord,
    /// How the run ended, in the words of the agent or of another supervisor whose events these are.
    /// A later one takes its place.
    pub verdict: Option<Verdict>,
    /// What to answer on the agent's standard input.
    pub reply: Vec<u8>,
    /// Whether the agent has its prompt, so that it can be told more. An agent that shows what it is told says so by
    /// the events.
    pub is_under_way: bool,
    /// What has become of messages to the agent.
    pub deliveries: Vec<Delivery>,
    /// What the agent asks. Each question gets an answer ([`crate::Reader::answer`]).
    pub questions: Vec<Asked>,
    /// The numbers of questions that the agent does not ask any more. They get no answer.
    pub withdrawn: Vec<u64>,
    /// The answers that another supervisor's record has to questions, as events.
    pub answered: Vec<Event>,
    /// Whether the line only repeats or prepares what a later one says in full.
    pub is_delta: bool,
}

/// What a line says about the end of the agent's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastWord {
    /// Nothing.
    #[default]
    Unchanged,
    /// The work goes on.
    NotYet,
    /// A message ended in a way that may be the last.
    MessageEnded,
    /// The agent has finished, although it may still have something to do.
    AgentEnded,
    /// The agent has finished, and waits for what it is told next.
    Idle {
        /// Whether it says that nothing else is left to do, so that it exits at once when its input
        /// ends.
        is_settled: bool,
    },
    /// The agent will not say anything any more.
    Said,
}

impl Reading {
    /// A line that is not a record. Nothing may look like success when the model's last message was
    /// lost, so the protocol says whether this line may have been one.
    pub(crate) fn unreadable(line: Line<'_>, may_be_message: bool) -> Reading {
        let head = &line.head()[..line.head().len().min(UNREADABLE_BYTES)];
        let text = String::from_utf8_lossy(head).into_owned();
        let bytes = line.bytes();
        let event = if may_be_message {
            Event::MessageLost { bytes, text }
        } else {
            Event::UnreadableLine { bytes, text }
        };
        Reading { events: vec![event], ..Reading::default() }
    }
}
