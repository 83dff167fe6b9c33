//! Starting the agent of a run, and other agents in its place.

use std::path::Path;

use model::{AgentKind, Meta, Secrets, paths};
use process::{Cgroup, ChildSpec};
use protocol::{Assignment, Opening, Protocol, Reader};

use super::confined_start::{Confines, NotStarted, Started};
use super::review::step::{SHELL, shell_arguments};
use super::workplace::Workplace;
use crate::worktree::Worktree;

/// Everything that an agent is started with.
pub(crate) struct AgentStarter {
    /// As in the record, but with the directory of its worktree, if the run has one.
    pub(super) meta: Meta,
    pub(super) protocol: Protocol,
    pub(super) prompt: String,
    pub(super) worktree: Option<Worktree>,
    pub(super) secrets: Secrets,
    pub(super) confines: Confines,
}

impl AgentStarter {
    /// The agent works in this worktree.
    pub(super) fn enter(&mut self, worktree: Worktree) {
        self.meta.cwd.clone_from(&worktree.directory);
        self.worktree = Some(worktree);
    }

    pub(super) fn workplace(&self, agent: &Meta) -> Workplace {
        Workplace::new(agent, self.worktree.as_ref(), self.confines.bounds.as_ref())
    }

    /// Starts the agent itself, in its directory and with its secrets. `agent` says how, where another model is tried.
    pub(super) fn start(&mut self, agent: &Meta) -> Result<Started, NotStarted> {
        let (program, args) = agent
            .command
            .split_first()
            .map_or(("", &[][..]), |(program, args)| (program.as_str(), args));
        let Workplace { cwd, mut environment } = self.workplace(agent);
        for (name, value) in self.secrets.reveal() {
            environment.insert(name.to_owned(), Some(value.to_owned()));
        }
        // Our own agent and the relay are this very program, also after its file has been replaced.
        let is_relay = program == paths::OWN_PROGRAM && self.protocol.is_relayed();
        let is_own = agent.agent == Some(AgentKind::Builtin) || is_relay;
        let own = is_own.then(process::own_executable).and_then(Result::ok);
        let own = own.as_deref().map(Path::to_string_lossy);
        let spec = ChildSpec {
            program: own.as_deref().unwrap_or(program),
            name: own.is_some().then_some(program),
            args,
            cwd: &cwd,
            environment: &environment,
        };
        self.confines.start(&self.meta, spec)
    }

    /// Starts an agent in the place of one that is gone, in the cgroup that it leaves.
    pub(super) fn start_again(
        &mut self,
        agent: &Meta,
        cgroup: Option<Cgroup>,
    ) -> Result<Started, NotStarted> {
        self.confines.cgroup = cgroup;
        self.start(agent)
    }

    /// Starts a command of the user in the directory of the agent, without its secrets.
    pub(super) fn start_command(&mut self, command: &str) -> Result<Started, NotStarted> {
        let workplace = self.workplace(&self.meta);
        let (args, environment) = (shell_arguments(command), workplace.without_key());
        let (cwd, environment) = (&workplace.cwd, &environment);
        let spec = ChildSpec { program: SHELL, name: None, args: &args, cwd, environment };
        self.confines.start(&self.meta, spec)
    }

    /// What an agent is told first, and what reads its answer.
    pub(super) fn first_words(&self, agent: &Meta, prompt: String) -> (Opening, Reader) {
        let assignment = Assignment::new(agent, prompt);
        (self.protocol.opening(&assignment), self.protocol.reader(assignment))
    }
}
