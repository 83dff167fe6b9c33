//! A child's stream without a child.

use model::{Event, Secrets};
use process::{Line, LineBuffer};

use crate::dialect::pi;
use crate::supervisor::Redactor;

/// What a child's stream tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retold {
    /// What happened.
    pub events: Vec<Event>,
    /// The lines that are kept in its log.
    pub log: Vec<Vec<u8>>,
}

/// What a supervisor makes of a stream, which may arrive in any pieces. For checks that have a stream
/// and neither a process nor a run directory.
pub fn retell<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, secrets: &Secrets) -> Retold {
    let redactor = Redactor::new(secrets);
    let mut retold = Retold::default();
    let mut take = |line: Line<'_>| {
        let reading = pi::read(line);
        if !reading.is_delta {
            retold.log.push(redactor.line(line).into_owned());
        }
        retold.events.extend(reading.event.map(|event| redactor.event(event)));
    };
    let mut lines = LineBuffer::new(pi::keep);
    for piece in pieces {
        lines.push(piece);
        while let Some(line) = lines.next_line() {
            take(line);
        }
    }
    if let Some(line) = lines.rest() {
        take(line);
    }
    retold
}
