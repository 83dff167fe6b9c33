//! An agent's output without an agent.

use model::{Event, Secrets};
use process::{Line, LineBuffer};
use protocol::{Assignment, Protocol};

use crate::supervisor::Sanitizer;

/// What a supervisor makes of an agent's output.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Interpretation {
    pub events: Vec<Event>,
    /// The lines that are kept in `stdout.log`.
    pub log: Vec<Vec<u8>>,
}

/// Interprets output that arrives in any pieces. For checks that have output and neither a process
/// nor a run directory.
pub fn interpret<'a>(
    protocol: Protocol,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    secrets: &Secrets,
) -> Interpretation {
    let sanitizer = Sanitizer::new(secrets);
    let mut reader = protocol.reader(Assignment::default());
    let mut interpretation = Interpretation::default();
    let mut take = |line: Line<'_>| {
        let reading = reader.read(line);
        if !reading.is_delta {
            interpretation.log.push(sanitizer.line(line).into_owned());
        }
        let events = reading.events.into_iter();
        interpretation.events.extend(events.map(|event| sanitizer.event(event)));
    };
    let mut lines = LineBuffer::new(protocol.keep());
    for piece in pieces {
        lines.push(piece);
        while let Some(line) = lines.next_line() {
            take(line);
        }
    }
    if let Some(line) = lines.rest() {
        take(line);
    }
    let events = reader.finish().events.into_iter();
    interpretation.events.extend(events.map(|event| sanitizer.event(event)));
    interpretation
}
