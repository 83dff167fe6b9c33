//! What a call hands over to be planned, and what becomes of it.

use model::{
    Access, AgentKind, Budget, FleetPool, Isolation, Lifetime, Owner, Plan, RemoteTask, RunId,
    SessionId,
};
use protocol::{Version, VersionQuestion};
use serde_json::Value;

use crate::{AgentChoice, DefinitionKind, FileSpec, Refusal};

/// What the tasks of one call share, besides the workspace.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct PlanOptions {
    pub agent: AgentChoice,
    pub owner: Owner,
    pub lifetime: Lifetime,
    /// The names of all tools that an agent could have, where the caller knows them.
    pub all_tools: Option<Vec<String>>,
    /// The available models, as `provider/id`, where the caller knows them.
    pub models: Option<Vec<String>>,
    /// The most that the agents may change, where the user says so for this call.
    pub access: Option<Access>,
    /// The most that the tasks of this call may spend together. The program that runs them keeps it.
    pub budget: Budget,
    /// Whether the user wants to be asked what the agents of this call ask.
    pub ask: bool,
    /// How the agents of all tasks are kept apart, where the user says so for this call.
    pub isolation: Option<Isolation>,
    /// The machines of the fleet that carry out all tasks, where the user says so for this call.
    pub on: Option<FleetPool>,
    /// The server of the fleet, where the user names it for this call.
    pub fleet: Option<String>,
    /// Finds the version of an agent's program, on which some arguments depend.
    pub agent_version: fn(&VersionQuestion<'_>) -> Option<Version>,
}

impl PlanOptions {
    /// The options of a caller without wishes of its own, who does not know the versions of agents.
    pub fn new(agent: AgentChoice, owner: Owner, lifetime: Lifetime) -> PlanOptions {
        PlanOptions {
            agent,
            owner,
            lifetime,
            all_tools: None,
            models: None,
            access: None,
            budget: Budget::default(),
            ask: false,
            isolation: None,
            on: None,
            fleet: None,
            agent_version: |_| None,
        }
    }
}

/// What is asked for in one task.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Task {
    pub name: String,
    pub prompt: String,
    /// Where the agent works; the caller's directory if absent.
    pub cwd: Option<String>,
    pub profile: Option<String>,
    /// Wins over the profile.
    pub preset: Option<String>,
    /// Wins over the model of the profile or preset.
    pub model: Option<String>,
    /// The models that the agent continues with when the one before has failed for good, in their order.
    /// Only the user names them here; they win over those of the profile or preset.
    pub fallback_models: Vec<String>,
    /// Wins over every other agent.
    pub agent: Option<String>,
    /// Seconds until it is stopped.
    pub timeout: Option<f64>,
    /// The id of the session that it continues. The caller, who has the sessions, looks it up and
    /// hands it over as a [`ContinuedSession`].
    pub resume: Option<String>,
    /// What is put in front of the prompt.
    pub files: Vec<FileSpec>,
    /// The most that the agent may change. It raises nothing that the user has limited.
    pub access: Option<Access>,
    /// The JSON Schema that the answer must fit. It was found to be one.
    pub schema: Option<Value>,
    /// A command that judges the work when the agent has finished. Only the user names one here; it wins over
    /// that of the profile or preset.
    pub check: Option<String>,
    /// Seconds until the check is stopped.
    pub check_timeout: Option<f64>,
    /// How the agent is kept apart from other work on the same files.
    pub isolation: Option<Isolation>,
    /// Where it is carried out, if not on this machine: `fleet` or `fleet:POOL`. Only the user says it here; it wins over
    /// the profile or preset.
    pub on: Option<String>,
    /// The most that it may spend. Only the user says so here, and wins over the user's own profile or preset.
    pub budget: Budget,
    /// Why it must not start, if its arguments say so already.
    pub refusal: Option<Refusal>,
}

impl Task {
    /// The profile or preset that it names, whether or not there is such a thing.
    pub(super) fn definition(&self) -> Option<(DefinitionKind, &str)> {
        let preset = self.preset.as_deref().map(|name| (DefinitionKind::Preset, name));
        preset.or_else(|| Some((DefinitionKind::Profile, self.profile.as_deref()?)))
    }
}

/// The session that a task continues.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ContinuedSession {
    pub id: SessionId,
    /// The task's prompt behind everything that was said in the session before.
    pub prompt: String,
    /// What the session's agent could change, where that is known. It cannot change more now.
    pub access: Option<Access>,
    /// The session's agent, where that is known. It goes on, unless the user names another.
    pub agent: Option<AgentKind>,
    /// The run whose changes it goes on with, if its agent worked in a worktree.
    pub worktree: Option<RunId>,
}

/// A task for which everything has been decided.
#[derive(Clone, Debug)]
pub struct PlannedTask {
    /// A call can have thousands, and each is freed when it is started.
    pub plan: Box<Plan>,
    /// The profile or preset in a few words.
    pub definition: Option<String>,
    /// Why it must not start; the plan has the same in words.
    pub refusal: Option<Refusal>,
    /// The agent whose program was not found, if it was not.
    pub missing_agent: Option<AgentKind>,
    /// What is sent to a machine of the fleet, and to which of them, if one carries it out.
    pub remote: Option<Box<(FleetPool, RemoteTask)>>,
}

impl PlannedTask {
    /// What to do on the command line if the task could not be started, where there is something
    /// to do.
    pub fn start_hint(&self) -> Option<&'static str> {
        match (&self.refusal, &self.missing_agent) {
            (Some(refusal), _) => refusal.hint(),
            (None, Some(_)) => {
                Some("see --agent, PI_SUBAGENTS_AGENT and `subagents.agent` in the settings")
            }
            (None, None) => None,
        }
    }

    /// Refuses the task if its agent has a name and is not there. A program of the user's own choice
    /// fails when it is started.
    pub fn refuse_missing_agent(&mut self) {
        let Some(missing) = &self.missing_agent else { return };
        if self.refusal.is_none() && *missing != AgentKind::Program {
            let refusal = Refusal::MissingAgent(missing.clone());
            self.plan.refusal = Some(refusal.to_string());
            self.refusal = Some(refusal);
        }
    }
}

/// The tasks of one call, for which everything has been decided.
#[derive(Debug)]
pub struct PlannedTasks {
    /// In their order.
    pub tasks: Vec<PlannedTask>,
    /// What the user should know about them and the files that were read for them.
    pub warnings: Vec<String>,
}
