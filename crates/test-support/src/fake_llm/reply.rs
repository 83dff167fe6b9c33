//! What the protocols have in common.

use serde_json::Value;

use super::script::Turn;

/// One answer of the model: a turn, and what tells it from other answers.
pub(super) struct Reply<'request> {
    /// The number of this answer; unique per server.
    pub(super) number: u64,
    /// When it was made, in seconds since 1970.
    pub(super) created: u64,
    pub(super) model: &'request str,
    pub(super) turn: &'request Turn,
}

/// What is answered instead.
pub(super) struct Failure<'request> {
    pub(super) status: u16,
    pub(super) message: &'request str,
    /// What the error is called, if not by the usual name of its status.
    pub(super) kind: Option<&'request str>,
    /// After how many seconds the client may try again.
    pub(super) retry_after: Option<u64>,
}

/// An answer in the words of a protocol.
pub(super) trait Protocol {
    /// The server-sent events that carry the answer. There is always one, for its beginning.
    fn delta_events(&self) -> Vec<String>;

    /// The server-sent events that follow the answer: why it ended, and what it cost.
    fn closing_events(&self) -> Vec<String>;

    /// The whole answer, for clients that do not want a stream.
    fn whole(&self) -> Value;
}
