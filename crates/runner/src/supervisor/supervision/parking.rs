//! A background run whose provider gives nothing more until a time which it names: it waits without an agent, and goes on.

use std::fs;
use std::time::Instant;

use governor::{Parked, Slot, quota_ends};
use model::{Event, Lifetime, Outcome, Status};
use session::{Demands, PastRun, continued, resume_transcript};
use store::RunDir;

use super::Supervision;
use crate::now_ms;
use crate::supervisor::admission::await_slot;
use crate::supervisor::agent_starter::AgentStarter;
use crate::supervisor::early_stop::EarlyStop;

/// What the agent is told that goes on.
const GO_ON: &str = "What your provider allows was used up, so you were stopped. You can go on now: do the rest of the task.";

/// So many milliseconds after the time that was named, an agent goes on: times are rounded, and clocks differ.
const GRACE: u64 = 60_000;

impl Supervision {
    /// What the run waits for, if its agent has ended at a quota and another one can go on later. The parent of a foreground
    /// run is told at once instead, and a relayed run has ended on its worker.
    pub(crate) fn quota(&mut self) -> Option<Parked> {
        let sink = &self.interpreter.sink;
        let is_relayed = self.starter.protocol.is_relayed();
        if sink.meta.lifetime != Lifetime::Background || is_relayed || self.is_stopped() {
            return None;
        }
        let verdict = self.verdict(Demands::default());
        let words = verdict.error.filter(|_| verdict.outcome == Outcome::Quota)?;
        let of_provider = sink.facts.provider_error.as_deref().and_then(quota_ends);
        let named = of_provider.or_else(|| quota_ends(&words))?;
        // A provider that names the same time again, when it has passed, would be asked for ever.
        if self.quota_named.is_some_and(|before| named <= before) {
            return None;
        }
        self.quota_named = Some(named);
        Some(Parked { words, until: named.max(now_ms()).saturating_add(GRACE) })
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

    /// Starts an agent that goes on. Returns whether it has.
    pub(crate) fn go_on(&mut self, dir: &RunDir) -> bool {
        let agent = self.starter.meta.clone();
        let Some(started) = self.start_again(&agent) else { return false };
        let prompt = self.prompt_to_go_on(dir);
        let (opening, reader) = self.starter.first_words(&agent, prompt);
        self.replace_agent(started, opening, reader);
        self.interpreter.record([Event::UserMessage { text: GO_ON.to_owned() }]);
        true
    }

    /// The prompt for the agent that goes on. Where the conversation is kept, it has the rest of it already.
    fn prompt_to_go_on(&mut self, dir: &RunDir) -> String {
        let AgentStarter { meta, protocol, .. } = &self.starter;
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
}
