//! Why one task must not start.

use std::path::PathBuf;

use model::{AgentKind, InvalidPool, variables};
use protocol::{KnownAgent, StartError};

use crate::{DefinitionKind, SkillError, UnknownAgent, UnknownDefinition, UnknownModel};

/// What is wrong with one task. The other tasks of its call are not affected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Refusal {
    #[error("cwd must be an absolute path")]
    RelativeDirectory,
    #[error("cwd must not contain '..' path segments")]
    AscendingDirectory,
    #[error("cwd must be a directory that exists, and {} is none", .0.display())]
    NoDirectory(PathBuf),
    #[error(transparent)]
    UnknownDefinition(#[from] UnknownDefinition),
    #[error(
        "No model resolved: the call names no model, and neither does {preset} ({}).",
        path.display()
    )]
    NoModel { preset: String, path: PathBuf },
    #[error(transparent)]
    UnknownAgent(#[from] UnknownAgent),
    #[error("{}", not_installed(.0))]
    MissingAgent(AgentKind),
    #[error(transparent)]
    UnknownModel(#[from] UnknownModel),
    #[error(
        "{definition} has a key but names no provider, so it cannot be used with another model. \
         Add the provider to the {}.",
        kind.word()
    )]
    KeyWithoutProvider { definition: String, kind: DefinitionKind },
    #[error(transparent)]
    Skill(#[from] SkillError),
    #[error(
        "{definition} belongs to this project and sets {fields}, which can run any \
         program, but the project is not trusted. Look at {}, then trust the project with \
         /trust in pi, or run with --approve.",
        path.display()
    )]
    NotTrusted { definition: String, fields: String, path: PathBuf },
    #[error("{0}. It limits what agents may change, so none is started.")]
    UnknownAccess(String),
    #[error(
        "cwd is outside of the project, and with access \"workspace\" a task works only inside of it."
    )]
    WorkspaceElsewhere,
    #[error(
        "A budget of money cannot be kept for the agent \"{agent}\": {reason}. Limit tokens or turns, or use another agent."
    )]
    NoPrice { agent: String, reason: &'static str },
    #[error(
        "There is no directory for worktrees: set HOME, or {} to an absolute path.",
        variables::STATE_DIR
    )]
    NoStateDirectory,
    #[error("The field \"{field}\" is unknown. Did you mean {similar}?")]
    MistypedField { field: String, similar: String },
    #[error(
        "The field \"{field}\" is unknown, and would restrict the agent. The task was not started \
         without it."
    )]
    RestrictingField { field: String },
    #[error(transparent)]
    Pool(#[from] InvalidPool),
    #[error(
        "No server of the fleet is named: use --fleet URL, set {}, or `subagents.fleet.url` in the settings of your agent \
         directory.",
        variables::FLEET
    )]
    NoFleet,
    #[error(
        "An agent that is given as a program cannot run on another machine: what a worker starts is decided there. Name \
         an agent."
    )]
    RemoteProgram,
    #[error(
        "{definition} has a key, and secrets are not sent to another machine. Remove \"apiKey\" and give the workers the \
         key in their environment or agent directory."
    )]
    RemoteKey { definition: String },
    #[error(
        "{definition} loads extensions, which are files of this machine, so it cannot be used on another one."
    )]
    RemoteExtensions { definition: String },
    #[error(transparent)]
    Start(#[from] StartError),
}

fn not_installed(agent: &AgentKind) -> String {
    let name = agent.word();
    match (agent, KnownAgent::named(name)) {
        (AgentKind::Pi, _) => "pi is not installed: install it with `npm install -g \
                               @earendil-works/pi-coding-agent`, or use the agent \"builtin\", which \
                               is always there"
            .to_owned(),
        (_, Some(KnownAgent { title, install, .. })) => {
            format!("{title} is not installed: {install}")
        }
        (_, None) => format!(
            "The program of the agent \"{name}\" was not found: name a program on PATH, or give its \
             whole path, in `subagents.agents` of the settings"
        ),
    }
}

impl Refusal {
    /// What to do about it on the command line, where the message does not say so.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Refusal::RelativeDirectory | Refusal::AscendingDirectory => {
                Some("give the whole path, such as --cwd \"$PWD/src\"")
            }
            Refusal::UnknownDefinition(unknown) => Some(match unknown.kind {
                DefinitionKind::Profile => {
                    "`pi-subagents profile list` lists the profiles and what is wrong with them"
                }
                DefinitionKind::Preset => {
                    "`pi-subagents preset list` lists the presets and what is wrong with them; \
                     each is a file in `subagents` of the agent directory, such as \
                     ~/.pi/agent/subagents/scout.md"
                }
            }),
            Refusal::NoModel { .. } => {
                Some("name one with --model, or in the preset's file with `model: provider/id`")
            }
            Refusal::UnknownAgent(_) => Some(
                "an agent of your own has an entry in `subagents.agents` of the settings in your agent \
                 directory; see docs/use/agents.md",
            ),
            Refusal::MissingAgent(_) => {
                Some("`pi-subagents doctor` lists the agents that are there")
            }
            Refusal::NoDirectory(_)
            | Refusal::UnknownModel(_)
            | Refusal::KeyWithoutProvider { .. }
            | Refusal::Skill(_)
            | Refusal::NotTrusted { .. }
            | Refusal::UnknownAccess(_)
            | Refusal::WorkspaceElsewhere
            | Refusal::NoPrice { .. }
            | Refusal::NoStateDirectory
            | Refusal::MistypedField { .. }
            | Refusal::RestrictingField { .. }
            | Refusal::Pool(_)
            | Refusal::NoFleet
            | Refusal::RemoteProgram
            | Refusal::RemoteKey { .. }
            | Refusal::RemoteExtensions { .. }
            | Refusal::Start(_) => None,
        }
    }
}
