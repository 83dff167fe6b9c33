//! What one line of an agent's output means, in no agent's words.

use model::{Activity, Event, Verdict};
use process::Line;

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
    /// How the run ended in the judgement of another supervisor, whose events these are.
    pub verdict: Option<Verdict>,
    /// What to answer on the agent's standard input.
    pub reply: Vec<u8>,
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
