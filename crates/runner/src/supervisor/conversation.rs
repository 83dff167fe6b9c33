//! What the agent is told while it works: which messages wait, which are on their way, and when there is
//! nothing more to say. Pure: the time comes from outside.

use std::collections::VecDeque;
use std::time::Instant;

use model::{Event, Message, MessageTiming};
use protocol::{Delivery, LastWord, Reading};

use crate::durations::SILENCE_PATIENCE;

pub(crate) struct Conversation {
    /// Why the agent cannot be spoken to, if it cannot.
    deafness: Option<&'static str>,
    /// Whether the agent shows what it is told, so that it is known when it has begun with it.
    shows_messages: bool,
    /// Whether another supervisor decides when the agent reads a message.
    is_relayed: bool,
    phase: Phase,
    /// Accepted, and not written to the agent.
    waiting: VecDeque<(u64, Message)>,
    /// Written to the agent, and not proven to have been read.
    written: Vec<u64>,
}

/// What the agent is doing, as far as it matters to whoever wants to speak to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It was told something, and has not shown that it has begun. What comes now could be taken for
    /// another prompt.
    Asked,
    Working,
    /// It was told to leave what it is doing.
    Interrupted,
    /// It waits for what it is told next.
    Idle {
        since: Instant,
    },
    /// It is told nothing more.
    Over,
}

/// What to do for the first message that can be brought on its way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Tell {
        number: u64,
        message: Message,
    },
    /// Stop what the agent is doing.
    Interrupt,
}

pub(crate) const ENDED: &str = "the agent has ended";
const UNREAD: &str = "the agent ended before it read the message";
pub(crate) const RECORD_FULL: &str = "the record of the run is full";

impl Conversation {
    pub(crate) fn new(deafness: Option<&'static str>, shows_messages: bool) -> Conversation {
        Conversation {
            deafness,
            shows_messages,
            is_relayed: false,
            phase: Phase::Asked,
            waiting: VecDeque::new(),
            written: Vec::new(),
        }
    }

    /// The conversation with an agent whose own supervisor is elsewhere: it gets each message at once.
    pub(crate) fn relayed(self, is_relayed: bool) -> Conversation {
        Conversation { is_relayed, ..self }
    }

    /// Takes a message, or says why not. The event says which.
    pub(crate) fn accept(&mut self, number: u64, message: Message) -> Event {
        let reason = if let Some(deafness) = self.deafness {
            Some(deafness.to_owned())
        } else if self.phase == Phase::Over {
            Some(ENDED.to_owned())
        } else {
            problem(&message)
        };
        match reason {
            Some(reason) => Event::MessageRefused { number, reason },
            None => {
                let (text, timing) = (message.text.clone(), message.timing);
                self.waiting.push_back((number, message));
                Event::MessageAccepted { number, text, timing }
            }
        }
    }

    /// The agent was started once more, with its prompt and nothing else.
    pub(crate) fn restart(&mut self) {
        self.phase = Phase::Asked;
    }

    /// Whether the agent waits for a word. What it is told now is the next that it does.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle { .. })
    }

    /// Says something of our own to the agent, before everything that waits.
    pub(crate) fn say(&mut self, text: String) {
        let message = Message { text, timing: MessageTiming::Steer };
        self.waiting.push_front((OWN, message));
    }

    /// Says something of our own to an agent that works, if it can be spoken to.
    pub(crate) fn urge(&mut self, text: &str) {
        let is_at_work = matches!(self.phase, Phase::Asked | Phase::Working);
        if self.deafness.is_none() && is_at_work {
            self.say(text.to_owned());
        }
    }

    /// Takes note of what the agent has printed. What it says about a message that was given up is
    /// dropped: a message has one end.
    pub(crate) fn observe(&mut self, reading: &mut Reading, now: Instant) {
        let is_shown = reading.is_under_way
            || reading.events.iter().any(|event| matches!(event, Event::UserMessage { .. }));
        self.phase = match (reading.last_word, self.phase) {
            (_, Phase::Over) => Phase::Over,
            (LastWord::Idle { .. }, _) => Phase::Idle { since: now },
            (_, Phase::Asked | Phase::Idle { .. }) if is_shown => Phase::Working,
            // It goes on by itself, or with what it was told at the last moment.
            (LastWord::NotYet, Phase::Idle { .. }) => self.told_phase(),
            (_, phase) => phase,
        };
        reading.deliveries.retain(|delivery| {
            let (Delivery::Delivered(number) | Delivery::Refused(number, _)) = delivery;
            let position = self.written.iter().position(|written| written == number);
            position.map(|position| self.written.remove(position)).is_some()
        });
        let is_refused = |delivery: &Delivery| matches!(delivery, Delivery::Refused(..));
        if reading.deliveries.iter().any(is_refused)
            && self.phase == Phase::Asked
            && self.written.is_empty()
        {
            // That was the prompt for which it was asked.
            self.phase = Phase::Idle { since: now };
        }
    }

    /// What to do next, if anything: messages are brought on their way in their order, except that those
    /// for the end wait for it, and that nothing overtakes an interruption.
    pub(crate) fn next_step(&mut self) -> Option<Step> {
        let is_idle = matches!(self.phase, Phase::Idle { .. });
        if !is_idle && self.phase != Phase::Working {
            return None;
        }
        // What was written at the last moment begins a turn of its own.
        let is_free = self.is_relayed || is_idle && self.written.is_empty();
        let is_next =
            |(_, message): &(u64, Message)| message.timing != MessageTiming::After || is_free;
        let position = self.waiting.iter().position(is_next)?;
        let interrupts = !self.is_relayed && !is_idle;
        if interrupts && self.waiting[position].1.timing == MessageTiming::Interrupt {
            self.phase = Phase::Interrupted;
            return Some(Step::Interrupt);
        }
        let (number, message) = self.waiting.remove(position)?;
        self.written.push(number);
        if is_idle {
            self.phase = self.told_phase();
        }
        Some(Step::Tell { number, message })
    }

    /// What an idle agent does that was told something. One that does not show it is taken to have begun: it might
    /// say nothing for long, and can be interrupted.
    fn told_phase(&self) -> Phase {
        if self.shows_messages { Phase::Asked } else { Phase::Working }
    }

    /// Whether the agent waits for a word, and there is none.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Idle { .. })
            && self.waiting.is_empty()
            && self.written.is_empty()
    }

    /// Whether the agent is told nothing more.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// When to give up what was written to an agent that has finished and does not react to it.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Idle { since } if !self.written.is_empty() => Some(since + SILENCE_PATIENCE),
            _ => None,
        }
    }

    /// Refuses what the agent did not react to, if it is time.
    pub(crate) fn check(&mut self, now: Instant) -> Vec<Event> {
        if self.next_deadline().is_none_or(|deadline| now < deadline) {
            return Vec::new();
        }
        unread(self.written.drain(..))
    }

    /// Says nothing more to the agent. Returns the events for the messages that it will not get. It may
    /// still read those that are on their way.
    pub(crate) fn stop(&mut self) -> Vec<Event> {
        self.phase = Phase::Over;
        let waiting = self.waiting.drain(..).map(|(number, _)| number);
        unread(waiting)
    }

    /// The agent is gone. Returns the events for the messages that it has not read.
    pub(crate) fn end(&mut self) -> Vec<Event> {
        let mut events = self.stop();
        events.extend(unread(self.written.drain(..)));
        events
    }
}

/// The number of what we say ourselves. Messages of others are counted from one.
pub(crate) const OWN: u64 = 0;

/// The events for messages that the agent has not read. Of our own words no program waits for the end.
fn unread(numbers: impl Iterator<Item = u64>) -> Vec<Event> {
    numbers.filter(|number| *number != OWN).map(|number| refused(number, UNREAD)).collect()
}

pub(crate) fn refused(number: u64, reason: impl Into<String>) -> Event {
    Event::MessageRefused { number, reason: reason.into() }
}

/// What is wrong with a message, whoever left it.
fn problem(message: &Message) -> Option<String> {
    let bytes = message.text.len();
    if message.text.trim().is_empty() {
        Some("the message is empty".to_owned())
    } else if bytes > Message::TEXT_BYTES {
        Some(format!("the message has {bytes} bytes, and the limit is {}", Message::TEXT_BYTES))
    } else {
        None
    }
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
