//! Another model in the place of one whose provider has refused, in an agent that is started once more.

use model::{Event, Outcome, StopCause};
use process::{Cgroup, Keep};
use protocol::{Opening, Reader};
use session::Demands;

use super::Supervision;
use crate::supervisor::access::Bounds;
use crate::supervisor::child_streams::{Input, Source};
use crate::supervisor::confined_start::Started;
use crate::supervisor::interpreter::Interpreter;
use crate::supervisor::pid_of;
use crate::supervisor::stopper::Stopper;

impl Supervision {
    /// What the provider complained about, if another model may begin anew: before any tool has run, nothing is done twice,
    /// and an agent that was told nothing but its prompt has nothing to know that the next one would not.
    pub(crate) fn failure_of_model(&self) -> Option<String> {
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

    /// Hands over what the agent that is gone has left to the one in its place.
    pub(crate) fn release(&mut self) -> (Option<Bounds>, Option<Cgroup>) {
        (self.bounds.take(), self.tree.release_cgroup())
    }

    /// Watches over the agent that was started with another model.
    pub(crate) fn restart(
        &mut self,
        to: String,
        reason: String,
        started: Started,
        opening: Opening,
        reader: Reader,
    ) {
        let sink = &self.interpreter.sink;
        let from = sink.facts.model.clone().or_else(|| sink.meta.model.clone());
        let from = from.unwrap_or_else(|| "the agent's own model".to_owned());
        self.interpreter.record([Event::ModelFallback { from, to, reason }]);
        self.replace_agent(started, opening, reader);
    }

    /// An agent was started in the place of the one that is gone.
    pub(super) fn replace_agent(&mut self, started: Started, opening: Opening, reader: Reader) {
        let Started { child, process } = started;
        self.interpreter.sink.started(pid_of(&child), process);
        self.interpreter.restart(reader);
        self.tree = child.tree;
        self.input = Input::new(child.stdin, opening);
        self.stdout = Source::new(child.stdout, self.keep);
        self.stderr = Source::new(child.stderr, |_| Keep::Ends);
        self.stopper = Stopper::default();
        (self.exit, self.exited_at, self.is_gone) = (None, None, false);
    }
}
