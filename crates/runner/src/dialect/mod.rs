//! From what a child prints to our own events. Nothing behind a dialect knows which agent ran.

pub(crate) mod pi;

use model::{Activity, Event};

/// What one line of a child's stream means.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// What happened, if it is worth keeping.
    pub(crate) event: Option<Event>,
    /// What the child is doing now, if the line tells.
    pub(crate) activity: Option<Activity>,
    /// Whether a tool call started, reported or ended.
    pub(crate) is_tool_activity: bool,
    /// What the line says about the end of the work.
    pub(crate) last_word: LastWord,
    /// Whether the line only repeats or prepares what a later one says in full.
    pub(crate) is_delta: bool,
}

/// What a line says about the end of the agent's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LastWord {
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
