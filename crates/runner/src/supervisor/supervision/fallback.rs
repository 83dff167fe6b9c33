//! Another model in the place of one whose provider has refused, in an agent that is started once more.

use model::{Event, FallbackStart, Meta, Outcome, StopCause};
use process::Keep;
use protocol::{Opening, Reader};
use session::Demands;

use super::Supervision;
use crate::supervisor::child_streams::{Input, Source};
use crate::supervisor::confined_start::{NotStarted, Started};
use crate::supervisor::interpreter::Interpreter;
use crate::supervisor::stopper::Stopper;

impl Supervision {
    /// What the provider complained about, if another model may begin anew: before any tool has run, nothing is done twice,
    /// and an agent that was told nothing but its prompt has nothing to know that the next one would not.
    fn failure_of_model(&self) -> Option<String> {
        let interpreter = &self.interpreter;
        let facts = &interpreter.sink.facts;
        let has_acted = facts.tool_calls > 0 || interpreter.has_talked;
        if self.is_stopped() || has_acted {
            return None;
        }
        let verdict = self.verdict(Demands::default());
        let error = facts.provider_error.clone().or(verdict.error);
        error.filter(|_| matches!(verdict.outcome, Outcome::ProviderError | Outcome::Quota))
    }

    /// Whether the run is stopped, or its agent has left something behind, so that no other agent takes its place.
    pub(super) fn is_stopped(&self) -> bool {
        let Interpreter { sink, rules, .. } = &self.interpreter;
        rules.is_stop_requested()
            || self.quit.is_some()
            || sink.facts.stopping.is_some_and(|cause| !StopCause::is_cleanup(cause))
            || self.leftovers.is_some()
    }

    /// How agents with other models are started, in their order.
    pub(crate) fn fallbacks(&self) -> Vec<FallbackStart> {
        self.starter.meta.fallback_starts.clone()
    }

    /// Starts an agent with another model, if the one before has failed in a way that permits it. Returns whether it has.
    pub(crate) fn fall_back(&mut self, fallback: FallbackStart) -> bool {
        let Some(reason) = self.failure_of_model() else { return false };
        let to = fallback.model.clone();
        let agent = self.starter.meta.with_fallback(fallback);
        let Some(started) = self.start_again(&agent) else { return false };
        let sink = &self.interpreter.sink;
        let from = sink.facts.model.clone().or_else(|| sink.meta.model.clone());
        let from = from.unwrap_or_else(|| "the agent's own model".to_owned());
        self.interpreter.record([Event::ModelFallback { from, to, reason }]);
        let prompt = self.starter.prompt.clone();
        let (opening, reader) = self.starter.first_words(&agent, prompt);
        self.replace_agent(started, opening, reader);
        true
    }

    /// Starts an agent in the place of the one that is gone, and says why if that is impossible.
    pub(super) fn start_again(&mut self, agent: &Meta) -> Option<Started> {
        let started = self.starter.start_again(agent, self.tree.release_cgroup());
        if let Err(NotStarted { reason, .. }) = &started {
            self.warn(vec![format!("The agent could not be started again: {reason}")]);
        }
        started.ok()
    }

    /// An agent was started in the place of the one that is gone.
    pub(super) fn replace_agent(&mut self, started: Started, opening: Opening, reader: Reader) {
        let pid = started.pid();
        let Started { child, process } = started;
        self.interpreter.sink.started(pid, process);
        self.interpreter.restart(reader);
        self.tree = child.tree;
        self.input = Input::new(child.stdin, opening);
        self.stdout = Source::new(child.stdout, self.keep);
        self.stderr = Source::new(child.stderr, |_| Keep::Ends);
        self.stopper = Stopper::default();
        (self.exit, self.exited_at, self.is_gone) = (None, None, false);
    }
}
