//! How agents are started and how they speak. Each agent has a folder of its own, and nothing
//! outside of it knows the agent's arguments or records.
//!
//! [`Protocol::invocation`] turns a [`Start`], a description in no agent's words, into a command
//! line, an environment, files and secrets. A [`Reader`] turns the lines that an agent prints into [`Reading`]s: our events, what the agent
//! is doing, what to answer on its standard input, and whether it has said its last word. Readers
//! do no IO. How long lines are cut ([`Protocol::keep`] only says what must stay whole), how broken
//! JSON is mended ([`mend`]) and how long a text may be (`model::Event::bounded`) is the same for all.

mod api_key;
mod events;
mod json;
mod pi;
mod reading;
mod start;

use model::Argument;
use process::{Keep, Line};

pub use api_key::ApiKey;
pub use json::mend;
pub use reading::{LastWord, Reading};
pub use start::{Configuration, Invocation, Origin, Start, StartError, ThinkingLevel};

/// The protocols that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// pi's JSON mode, which the built-in agent speaks as well.
    Pi,
    /// Our own events, a line each as in `events.jsonl`: a run that another supervisor carries out.
    Events,
}

impl Protocol {
    const ALL: [Protocol; 2] = [Protocol::Pi, Protocol::Events];

    /// The protocol of a word in `meta.json`. Runs of earlier versions have none and speak pi's.
    pub fn of(word: Option<&str>) -> Option<Protocol> {
        match word {
            None => Some(Protocol::Pi),
            Some(word) => Protocol::ALL.into_iter().find(|protocol| protocol.word() == word),
        }
    }

    /// The word in `meta.json`.
    pub fn word(self) -> &'static str {
        match self {
            Protocol::Pi => "pi",
            Protocol::Events => "events",
        }
    }

    /// How an agent of this protocol is started.
    pub fn invocation(self, start: Start<'_>) -> Result<Invocation, StartError> {
        match self {
            Protocol::Pi => pi::start::invocation(start),
            // The other supervisor makes a command of its own.
            Protocol::Events => {
                let command = start.program.into_iter().map(Argument::from).collect();
                Ok(Invocation { command, ..Invocation::default() })
            }
        }
    }

    /// Whether a long line must be kept whole, judged by its beginning.
    pub fn keep(self) -> fn(&[u8]) -> Keep {
        match self {
            Protocol::Pi => pi::stream::keep,
            Protocol::Events => events::keep,
        }
    }

    /// What the agent is told on its standard input when it starts.
    pub fn opening(self, prompt: String) -> Opening {
        match self {
            Protocol::Pi => Opening { bytes: prompt.into_bytes(), stays_open: false },
            Protocol::Events => Opening { bytes: events::opening(&prompt), stays_open: true },
        }
    }

    /// Reads one agent's output from its beginning.
    pub fn reader(self) -> Reader {
        match self {
            Protocol::Pi => Reader::Pi,
            Protocol::Events => Reader::Events(events::EventReader::default()),
        }
    }
}

/// The beginning of an agent's standard input.
#[derive(Debug, PartialEq, Eq)]
pub struct Opening {
    /// The prompt, as the protocol puts it.
    pub bytes: Vec<u8>,
    /// Whether the input stays open behind it, so that replies can follow.
    pub stays_open: bool,
}

/// Reads what one agent prints, line by line.
#[derive(Debug)]
pub enum Reader {
    /// Every line of pi stands for itself.
    Pi,
    /// Our own events are numbered.
    Events(events::EventReader),
}

impl Reader {
    /// Reads the next line.
    pub fn read(&mut self, line: Line<'_>) -> Reading {
        match self {
            Reader::Pi => pi::stream::read(line),
            Reader::Events(reader) => reader.read(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_is_found_by_its_word() {
        for protocol in Protocol::ALL {
            assert_eq!(Protocol::of(Some(protocol.word())), Some(protocol));
        }
        assert_eq!(Protocol::of(None), Some(Protocol::Pi), "a run of an earlier version");
        assert_eq!(Protocol::of(Some("telepathy")), None);
    }
}
