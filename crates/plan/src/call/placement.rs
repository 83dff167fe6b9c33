//! Where a task is carried out: on this machine, or on one of the fleet. What differs between the two is decided here,
//! and nothing else asks which of them it is.

use std::env;
use std::sync::Arc;

use model::{AccessPaths, Admission, AgentKind, FleetPool, Limits, PlannedFallback, RemoteTask};
use protocol::{Configuration, Invocation, Origin, Protocol, Start, VersionQuestion};

use super::Planner;
use super::fallbacks::plan_fallbacks;
use super::inputs::TaskInputs;
use super::remote::{is_in_repository, relay_limits};
use crate::access::access_paths;
use crate::{Agent, Refusal, Workspace};

/// What depends on where a task is carried out.
pub(super) struct Placement {
    pub(super) protocol: Protocol,
    /// Nothing, if the task is refused.
    pub(super) start: PlannedStart,
    pub(super) refusal: Option<Refusal>,
    pub(super) limits: Limits,
    pub(super) access_paths: Option<Box<AccessPaths>>,
    pub(super) admission: Option<Arc<Admission>>,
    /// None if the machine that carries the task out chooses it.
    pub(super) agent: Option<AgentKind>,
    /// The agent whose program was not found, if it was not.
    pub(super) missing_agent: Option<AgentKind>,
    pub(super) worktree_need: WorktreeNeed,
    /// Whether the prompt tells the schema of the answer.
    pub(super) tells_schema: bool,
}

/// The program that is started on this machine.
#[derive(Default)]
pub(super) struct PlannedStart {
    pub(super) invocation: Invocation,
    pub(super) fallbacks: Vec<PlannedFallback>,
    /// What is sent to a machine of the fleet, and to which of them, if the program stands for an agent there.
    pub(super) remote: Option<Box<(FleetPool, RemoteTask)>>,
}

/// Whether a task has a worktree on this machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WorktreeNeed {
    /// The agent works in it, if the user, the task, its definition or its session says so.
    IfAsked,
    /// What an agent elsewhere changes arrives in it.
    Always,
    /// The agent works elsewhere, and here is no repository to which its changes could come.
    Never,
}

impl Planner<'_> {
    /// The agent is started on this machine.
    pub(super) fn place_here(
        &self,
        inputs: &TaskInputs,
        permitted: Result<(), Refusal>,
    ) -> Placement {
        let TaskInputs { run_id, agent, access, .. } = inputs;
        let configuration = inputs.configuration();
        let protocol = agent.protocol().with_arguments(&configuration.extra_args);
        let start = |configuration: &Configuration| self.start(inputs, protocol, configuration);
        let started = permitted.and_then(|()| {
            let mut invocation = start(configuration)?;
            let fallbacks = plan_fallbacks(agent, configuration, &mut invocation, start)?;
            Ok(PlannedStart { invocation, fallbacks, remote: None })
        });
        let (mut start, refusal) = start_or_refusal(started);
        let state = std::mem::take(&mut start.invocation.state);
        let Workspace { settings, surroundings, .. } = self.workspace;
        Placement {
            protocol,
            start,
            refusal,
            limits: self.limits(inputs),
            access_paths: access_paths(*access, run_id, state, settings, surroundings),
            admission: Some(Arc::clone(&self.shared.admission)),
            agent: Some(agent.kind()),
            missing_agent: agent.is_missing(surroundings).then(|| agent.kind()),
            worktree_need: WorktreeNeed::IfAsked,
            tells_schema: true,
        }
    }

    /// A relay is started on this machine, and the agent on one of the fleet. A pool that cannot be understood refuses
    /// the task: it must not be carried out here instead.
    pub(super) fn place_remotely(
        &mut self,
        inputs: &TaskInputs,
        pool: Result<FleetPool, Refusal>,
        permitted: Result<(), Refusal>,
    ) -> Placement {
        let limits = self.limits(inputs);
        let started = permitted.and(pool).and_then(|pool| {
            let task = RemoteTask { limits, ..self.remote_task(inputs)? };
            let invocation = self.relay(&pool, &task)?;
            let remote = Some(Box::new((pool, task)));
            Ok(PlannedStart { invocation, fallbacks: Vec::new(), remote })
        });
        let (start, refusal) = start_or_refusal(started);
        let agent = match start.remote.as_deref() {
            Some((_, task)) => task.agent.clone().map(AgentKind::from),
            None => Some(inputs.agent.kind()),
        };
        let comes_back = is_in_repository(&inputs.cwd);
        Placement {
            protocol: Protocol::Events,
            start,
            refusal,
            limits: relay_limits(limits),
            access_paths: None,
            // A relay takes next to nothing of this machine; the worker's machine governs its agent.
            admission: None,
            agent,
            missing_agent: None,
            worktree_need: if comes_back { WorktreeNeed::Always } else { WorktreeNeed::Never },
            // The worker adds it.
            tells_schema: false,
        }
    }

    /// How the agent is started with a configuration: that of the task, or one with a fallback model.
    fn start(
        &self,
        inputs: &TaskInputs,
        protocol: Protocol,
        configuration: &Configuration,
    ) -> Result<Invocation, Refusal> {
        let TaskInputs { task, agent, definition, access, budget, .. } = inputs;
        let origin = match definition {
            Some(definition) => Origin { title: definition.label(), kind: definition.kind.word() },
            None => Origin { title: "The task".to_owned(), kind: "task" },
        };
        let surroundings = &self.workspace.surroundings;
        let program = agent.command(surroundings);
        let question = VersionQuestion {
            command: &program,
            protocol,
            may_be_asked: *agent == Agent::Pi,
            agent_dir: &surroundings.agent_dir,
        };
        let matters = *agent != Agent::Builtin && protocol.depends_on_version(configuration);
        let version = if matters { (self.options.agent_version)(&question) } else { None };
        let start = Start {
            agent: agent.kind(),
            program,
            version,
            configuration,
            origin,
            keeps_conversation: task.preset.is_some(),
            all_tools: self.options.all_tools.as_deref(),
            agent_dir: &surroundings.agent_dir,
            home: surroundings.home.as_deref(),
            variable: |name| env::var(name).ok(),
            access: *access,
            max_cost_usd: budget.lowered(self.options.budget).cost_usd,
            ask: self.asks(),
            default_provider: self.workspace.default_provider.as_deref(),
            schema: task.schema.as_ref(),
        };
        Ok(protocol.invocation(start)?)
    }
}

fn start_or_refusal(started: Result<PlannedStart, Refusal>) -> (PlannedStart, Option<Refusal>) {
    match started {
        Ok(start) => (start, None),
        Err(refusal) => (PlannedStart::default(), Some(refusal)),
    }
}
