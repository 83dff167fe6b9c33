//! Speaking to a running agent, whichever program started its run.
//!
//! A message is a file of the run directory. The supervisor takes it, and its events say what became of
//! it. A run that ends without having taken a message has refused it.

use std::time::Instant;

use model::{Event, Message, Record};
use store::{EVENTS, RunDir, StoreError, Tail, Watch};

use crate::control::{supervisor_marker, wait_for_change};
use crate::durations::REQUEST_ANSWER;
use crate::recover::recover;
use process::{KillTarget, Signal};

/// How far a message must have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TellUntil {
    /// The supervisor has taken it.
    Accepted,
    /// The agent has read it.
    Delivered,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Told {
    /// Its number in the run, unless it was refused before it had one.
    pub number: Option<u64>,
    pub fate: Fate,
}

/// How far a message has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It will be delivered, or refused if the agent ends before.
    Accepted,
    /// The agent has read it, and its model has begun to answer.
    Delivered,
    /// The agent has not got it and never will, for this reason.
    Refused(String),
}

/// Nothing can be said about a message.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum TellError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the supervisor of the run does not answer; message {0} waits in the run directory, and is \
         delivered or refused when the supervisor goes on"
    )]
    NoAnswer(u64),
    #[error("the message was left, but what becomes of it cannot be waited for: {0}")]
    Wait(std::io::Error),
}

const ENDED: &str = "the run has ended";

/// Tells the agent of a run something, and waits until the message has come as far as is asked for, or
/// was refused.
pub fn tell_run(dir: &RunDir, message: &Message, until: TellUntil) -> Result<Told, TellError> {
    let refused = |reason: &str| Told { number: None, fate: Fate::Refused(reason.to_owned()) };
    if recover(dir)?.result().is_some() {
        return Ok(refused(ENDED));
    }
    let meta = dir.meta()?;
    if !meta.takes_messages {
        return Ok(refused("it was started by an earlier version, which takes no messages"));
    }
    let mut watch = Watch::new();
    watch.add_with_writes(dir.path());
    let number = match dir.leave_message(message) {
        Ok(Some(number)) => number,
        Ok(None) => {
            let full = format!("the run has had {} messages, which is the limit", Message::MOST);
            return Ok(refused(&full));
        }
        // Its directory is tidied up when it ends.
        Err(_) if recover(dir)?.result().is_some() => return Ok(refused(ENDED)),
        Err(error) => return Err(error.into()),
    };
    if dir.is_original(&meta) {
        // The supervisor of a foreground run looks once a second unless it is told to.
        KillTarget::Marked(supervisor_marker(&meta)).signal(Signal::Continue);
    }
    let mut following = Following { number, events: dir.tail(EVENTS), fate: None };
    let deadline = Instant::now() + REQUEST_ANSWER;
    loop {
        watch.drain();
        // Looked for first, so that no event of a run that has ended is missed.
        let has_ended = recover(dir)?.result().is_some();
        let is_over = following.read()?;
        match following.fate {
            Some(Fate::Accepted) if until == TellUntil::Delivered || has_ended => {}
            Some(fate) => return Ok(Told { number: Some(number), fate }),
            None if !has_ended && Instant::now() >= deadline => {
                return Err(TellError::NoAnswer(number));
            }
            None => {}
        }
        if has_ended || is_over {
            // The last event stands before the result.
            following.read()?;
            let fate = match following.fate {
                Some(fate @ (Fate::Delivered | Fate::Refused(_))) => fate,
                Some(Fate::Accepted) | None => Fate::Refused(ENDED.to_owned()),
            };
            return Ok(Told { number: Some(number), fate });
        }
        wait_for_change(&watch, &[]);
    }
}

/// Reads what the events of a run say about one message.
struct Following {
    number: u64,
    events: Tail,
    fate: Option<Fate>,
}

impl Following {
    /// Reads on. True if the run has ended.
    fn read(&mut self) -> Result<bool, StoreError> {
        while let Some(line) = self.events.next_line()? {
            // A line that is not an event is passed over.
            let Ok(Record { event, .. }) = serde_json::from_slice(&line) else { continue };
            match event {
                Event::MessageAccepted { number, .. } if number == self.number => {
                    self.fate = Some(Fate::Accepted);
                }
                Event::MessageDelivered { number } if number == self.number => {
                    self.fate = Some(Fate::Delivered);
                }
                Event::MessageRefused { number, reason } if number == self.number => {
                    self.fate = Some(Fate::Refused(reason));
                }
                Event::RunEnded { .. } => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }
}
