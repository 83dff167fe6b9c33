//! The agents that can carry out a task.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use model::{AgentKind, paths};
use protocol::{KnownAgent, Protocol, known_agents};
use serde_json::Value;

use crate::similar::then_did_you_mean;
use crate::{Settings, Surroundings, similar_names};

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agent {
    /// The pi that calls this program, else the one on `PATH`.
    Pi,
    /// Our own agent.
    Builtin,
    /// Another program that takes pi's arguments and prints pi's stream.
    Program(Vec<String>),
    /// An agent of another make, or one that the user's settings name.
    Named(NamedAgent),
}

/// A program that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct NamedAgent {
    pub name: String,
    /// The program, and the arguments that it always has.
    pub command: Vec<String>,
    pub protocol: Protocol,
}

/// There is no agent of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Unknown agent: \"{name}\". Available agents: {}{}",
    available.join(", "),
    then_did_you_mean(&similar_names(name, available.iter().map(String::as_str)))
)]
#[expect(missing_docs, reason = "the message says it")]
pub struct UnknownAgent {
    pub name: String,
    pub available: Vec<String>,
}

/// The names of all agents: ours, those of other makers, and those of the settings.
pub fn agent_names(settings: &Settings) -> Vec<String> {
    let known = known_agents().iter().map(|agent| agent.name);
    let mut names: Vec<String> =
        [Agent::PI, Agent::BUILTIN].into_iter().chain(known).map(str::to_owned).collect();
    let own = settings.agents.keys().filter(|name| !names.contains(name)).cloned();
    names.extend(own.collect::<Vec<String>>());
    names
}

impl Agent {
    /// The name of pi.
    pub const PI: &str = "pi";
    /// The name of our own agent.
    pub const BUILTIN: &str = "builtin";

    /// The agent of that name. One of the settings takes the place of one of the same name.
    pub fn named(name: &str, settings: &Settings) -> Result<Agent, UnknownAgent> {
        match name {
            Agent::PI => return Ok(Agent::Pi),
            Agent::BUILTIN => return Ok(Agent::Builtin),
            _ => {}
        }
        let own = settings.agents.get(name).cloned();
        let known = || known_agents().iter().find(|agent| agent.name == name).map(NamedAgent::from);
        own.or_else(known).map(Agent::Named).ok_or_else(|| UnknownAgent {
            name: name.chars().take(200).collect(),
            available: agent_names(settings),
        })
    }

    /// The agent that a run's record names, if it can be told by its name.
    pub(crate) fn of_kind(kind: &AgentKind, settings: &Settings) -> Option<Agent> {
        match kind {
            AgentKind::Pi => Some(Agent::Pi),
            AgentKind::Builtin => Some(Agent::Builtin),
            AgentKind::Program => None,
            AgentKind::Named(name) => Agent::named(name, settings).ok(),
        }
    }

    /// Whether an entry of the settings may have that name.
    pub(crate) fn may_be_named(name: &str) -> bool {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        let is_reserved = [Agent::PI, Agent::BUILTIN, AgentKind::Program.word()].contains(&name);
        !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain) && !is_reserved
    }

    /// The agent that a setting or a flag names: by its name, or by a program and its arguments.
    pub(crate) fn of(value: &Value, settings: &Settings) -> Option<Agent> {
        match value {
            Value::String(name) => Agent::named(name, settings).ok(),
            Value::Array(_) => program(value).map(Agent::Program),
            _ => None,
        }
    }

    /// The program and the arguments that it always has. For our own agent this is a name only: the
    /// supervisor starts its own program.
    pub fn command(&self, surroundings: &Surroundings) -> Vec<String> {
        let mut command = match self {
            Agent::Pi => surroundings.pi.clone().unwrap_or_else(|| vec![Agent::PI.to_owned()]),
            Agent::Builtin => return vec![paths::OWN_PROGRAM.to_owned(), "agent".to_owned()],
            Agent::Program(command) | Agent::Named(NamedAgent { command, .. }) => command.clone(),
        };
        if let Some(program) = command.first_mut() {
            *program = locate(program, surroundings);
        }
        command
    }

    /// How a run's record names it.
    pub fn kind(&self) -> AgentKind {
        match self {
            Agent::Pi => AgentKind::Pi,
            Agent::Builtin => AgentKind::Builtin,
            Agent::Program(_) => AgentKind::Program,
            Agent::Named(agent) => AgentKind::Named(agent.name.clone()),
        }
    }

    /// The executable file of its program, if there is one. Our own agent is part of this program.
    pub fn find(&self, surroundings: &Surroundings) -> Option<PathBuf> {
        match self {
            Agent::Builtin => None,
            Agent::Pi | Agent::Program(_) | Agent::Named(_) => {
                let program = PathBuf::from(self.command(surroundings).first()?);
                (program.is_absolute() && is_executable(&program)).then_some(program)
            }
        }
    }

    /// Whether its program cannot be found.
    pub(crate) fn is_missing(&self, surroundings: &Surroundings) -> bool {
        *self != Agent::Builtin && self.find(surroundings).is_none()
    }

    /// How it is started and how it speaks.
    pub fn protocol(&self) -> Protocol {
        match self {
            Agent::Pi | Agent::Builtin => Protocol::PiRpc,
            Agent::Program(_) => Protocol::Pi,
            Agent::Named(agent) => agent.protocol,
        }
    }
}

impl From<&KnownAgent> for NamedAgent {
    fn from(agent: &KnownAgent) -> NamedAgent {
        NamedAgent {
            name: agent.name.to_owned(),
            command: agent.command.iter().map(ToString::to_string).collect(),
            protocol: agent.protocol,
        }
    }
}

/// A program and its arguments, as settings and flags write them.
pub(crate) fn program(value: &Value) -> Option<Vec<String>> {
    let command = serde_json::from_value::<Vec<String>>(value.clone()).ok()?;
    command.first().is_some_and(|program| !program.is_empty()).then_some(command)
}

/// The path of a program, relative to the caller's directory. A program that is not found keeps its
/// name, and starting it fails.
fn locate(program: &str, surroundings: &Surroundings) -> String {
    if program.contains('/') {
        return surroundings.cwd.join(program).to_string_lossy().into_owned();
    }
    let candidates = surroundings.search_path.iter().map(|directory| directory.join(program));
    let found = candidates.into_iter().find(|path| is_executable(path));
    found.map_or_else(|| program.to_owned(), |path| path.to_string_lossy().into_owned())
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_meant_from_where_the_caller_stands() {
        let top = tempfile::tempdir().unwrap();
        let program = top.path().join("agent");
        std::fs::write(&program, "").unwrap();
        std::fs::write(top.path().join("plain"), "").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let surroundings = Surroundings {
            search_path: vec!["/no/such".into(), top.path().to_owned()],
            ..Surroundings::new("/work".into(), "/home/.pi/agent".into())
        };
        let command = |program: &str| {
            Agent::Program(vec![program.to_owned()]).command(&surroundings).remove(0)
        };
        assert_eq!(command("./agent"), "/work/./agent");
        assert_eq!(command("/bin/agent"), "/bin/agent");
        assert_eq!(command("agent"), program.to_str().unwrap());
        assert_eq!(command("plain"), "plain", "it is not executable");
        assert_eq!(Agent::Pi.command(&surroundings), ["pi"]);
    }

    #[test]
    fn a_name_leads_to_an_agent_and_an_unknown_one_to_similar_names() {
        let own = NamedAgent {
            name: "mine".to_owned(),
            command: vec!["/opt/mine".to_owned()],
            protocol: Protocol::Claude,
        };
        let mut settings = Settings::default();
        settings.agents.insert("mine".to_owned(), own.clone());
        let moved =
            NamedAgent { name: "codex".to_owned(), protocol: Protocol::Codex, ..own.clone() };
        settings.agents.insert("codex".to_owned(), moved.clone());
        assert_eq!(Agent::named("pi", &settings), Ok(Agent::Pi));
        assert_eq!(Agent::named("mine", &settings), Ok(Agent::Named(own)));
        assert_eq!(Agent::named("codex", &settings), Ok(Agent::Named(moved)));
        assert_eq!(Agent::named("claude", &settings).unwrap().protocol(), Protocol::Claude);
        let error = Agent::named("cluade", &settings).unwrap_err().to_string();
        assert!(error.starts_with("Unknown agent: \"cluade\". Available agents: pi, builtin, "));
        assert!(error.contains("mine") && error.ends_with("Did you mean claude?"), "{error}");
    }

    #[test]
    fn some_names_cannot_be_given() {
        for (name, is_allowed) in [
            ("mine", true),
            ("claude", true),
            ("my-agent_2", true),
            ("pi", false),
            ("builtin", false),
            ("program", false),
            ("", false),
            ("a b", false),
            ("a/b", false),
        ] {
            assert_eq!(Agent::may_be_named(name), is_allowed, "{name}");
        }
    }
}
