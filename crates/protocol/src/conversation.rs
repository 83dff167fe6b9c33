//! What an agent was told while it works, and how its own stream proves that it got it.

use std::collections::VecDeque;

/// What became of a message to the agent, by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The agent has read it, and its model has begun to answer.
    Delivered(u64),
    /// The agent does not take it, for this reason.
    Refused(u64, String),
}

/// The messages that the agent has not been proven to have read.
///
/// An agent shows every message of its user in its stream when it takes it into the conversation. That
/// is before the model is asked, so that only the beginning of the next answer is the proof.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Whether the agent has shown its prompt, which is the first message.
    has_prompt: bool,
    /// Written to the agent, and not shown by it yet.
    written: VecDeque<(u64, String)>,
    /// Shown by the agent, and not answered yet.
    shown: Vec<u64>,
}

impl Told {
    /// The message was written to the agent.
    pub(crate) fn write(&mut self, number: u64, text: &str) {
        self.written.push_back((number, text.to_owned()));
    }

    /// The agent shows a message of its user. Others than ours are possible: an extension can speak
    /// for the user.
    pub(crate) fn show(&mut self, text: &str) {
        if !std::mem::replace(&mut self.has_prompt, true) {
            return;
        }
        let is_meant = |(_, written): &(u64, String)| written.trim() == text.trim();
        // A command is replaced by what it stands for, so that its text is another.
        let is_command = || self.written.front().is_some_and(|(_, text)| text.starts_with('/'));
        let position = self.written.iter().position(is_meant).or_else(|| is_command().then_some(0));
        let found = position.and_then(|position| self.written.remove(position));
        self.shown.extend(found.map(|(number, _)| number));
    }

    /// The model begins to answer: it was asked with everything that was shown.
    pub(crate) fn answer(&mut self) -> Vec<Delivery> {
        self.shown.drain(..).map(Delivery::Delivered).collect()
    }

    /// The agent does not take a message. Nothing if it has shown it already.
    pub(crate) fn refuse(&mut self, number: u64, reason: &str) -> Option<Delivery> {
        let position = self.written.iter().position(|(written, _)| *written == number)?;
        self.written.remove(position);
        Some(Delivery::Refused(number, reason.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::Delivery::{Delivered, Refused};
    use super::*;

    #[test]
    fn a_message_is_delivered_when_it_was_shown_and_then_answered() {
        let mut told = Told::default();
        told.write(1, "again");
        told.show("again");
        assert_eq!(told.answer(), [], "that was the prompt, which has the same words");
        told.write(2, "again");
        told.show("of an extension");
        assert_eq!(told.answer(), []);
        told.show(" again\n");
        told.show("again");
        assert_eq!(told.answer(), [Delivered(1), Delivered(2)]);
        assert_eq!(told.answer(), [], "each once");
    }

    #[test]
    fn a_command_is_shown_as_what_it_stands_for() {
        let mut told = Told::default();
        told.show("prompt");
        told.write(1, "/review src");
        told.show("Review the files in src.");
        assert_eq!(told.answer(), [Delivered(1)]);
    }

    #[test]
    fn what_was_shown_cannot_be_refused() {
        let mut told = Told::default();
        told.show("prompt");
        told.write(1, "a");
        told.write(2, "b");
        assert_eq!(told.refuse(1, "busy"), Some(Refused(1, "busy".to_owned())));
        told.show("b");
        assert_eq!((told.refuse(2, "late"), told.refuse(9, "unknown")), (None, None));
        assert_eq!(told.answer(), [Delivered(2)]);
    }
}
