//! A background run whose provider gives nothing more until a time which it names: it waits without an agent, and goes on.

use std::fs;
use std::time::Instant;

use governor::{Parked, Slot, quota_ends};
use model::{Event, Lifetime, Meta, Outcome, Status};
use protocol::{Opening, Protocol, Reader};
use session::{Demands, PastRun, continued, resume_transcript};
use store::RunDir;

use super::Supervision;
use crate::supervisor::admission::await_slot;
use crate::supervisor::confined_start::Started;
use crate::supervisor::early_stop::EarlyStop;

/// What the agent is told that goes on.
const GO_ON: &str = "What your provider allows was used up, so you were stopped. You can go on now: do the rest of the task.";

impl Supervision {
    /// What the run waits for, if its agent has ended at a quota and another one can go on later. The parent of a foreground
    /// run is told at once instead.
    pub(crate) fn quota(&self) -> Option<Parked> {
        let sink = &self.interpreter.sink;
        if sink.meta.lifetime != Lifetime::Background || self.is_stopped() {
            return None;
        }
        let verdict = self.verdict(Demands::default());
        let words = verdict.error.filter(|_| verdict.outcome == Outcome::Quota)?;
        let of_provider = sink.facts.provider_error.as_deref().and_then(quota_ends);
        let until = of_provider.or_else(|| quota_ends(&words))?;
        Some(Parked { words, until })
    }

    /// Waits until the agent may go on. Returns nothing if the run is stopped meanwhile.
    pub(crate) fn park(&mut self, parked: Parked, dir: &RunDir) -> Option<Slot> {
        let began = Instant::now();
        let mut stop = EarlyStop::new(&mut self.signals, &mut self.interpreter.sink, dir);
        match await_slot(&mut stop, dir, Some(parked)) {
            Ok(slot) => {
                // That time was not the agent's.
                self.interpreter.rules.grant(began.elapsed());
                Some(slot)
            }
            Err(unprepared) => {
                let stopping = unprepared.cause.map(|cause| Event::Stopping { cause, seen: None });
                self.interpreter.record(stopping);
                None
            }
        }
    }

    /// The prompt for the agent that goes on. Where the conversation is kept, it has the rest of it already.
    pub(crate) fn prompt_to_go_on(
        &mut self,
        meta: &Meta,
        protocol: Protocol,
        dir: &RunDir,
    ) -> String {
        let kept = protocol.conversation_file(&meta.command).map(fs::metadata);
        if kept.is_some_and(|kept| kept.is_ok_and(|kept| kept.len() > 0)) {
            return GO_ON.to_owned();
        }
        self.interpreter.sink.flush();
        let past = PastRun {
            status: Status::Error,
            error: self.interpreter.sink.facts.provider_error.clone(),
            prompt: None,
            records: dir.events().into_iter().flatten(),
        };
        continued(&resume_transcript(vec![past]), GO_ON)
    }

    /// Watches over the agent that goes on.
    pub(crate) fn go_on(&mut self, started: Started, opening: Opening, reader: Reader) {
        self.replace_agent(started, opening, reader);
        self.interpreter.record([Event::UserMessage { text: GO_ON.to_owned() }]);
    }
}
