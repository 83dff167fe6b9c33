//! Which agent carries out a task.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use model::AgentKind;
use protocol::Protocol;
use serde_json::Value;

use crate::similar::then_did_you_mean;
use crate::{AgentName, Settings, Surroundings, similar_names};

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agent {
    /// The pi that calls this program, else the one on `PATH`.
    Pi,
    /// Our own agent.
    Builtin,
    /// Another program that takes pi's arguments and prints pi's stream.
    Program(Vec<String>),
}

/// A flag or variable does not name an agent.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum AgentError {
    #[error(
        "{origin} does not name an agent: {text:?} is neither \"pi\" nor \"builtin\" nor a JSON \
         array of a program and its arguments such as [\"my-agent\", \"--flag\"]{}",
        then_did_you_mean(&similar_names(text, ["pi", "builtin"]))
    )]
    NotUnderstood { origin: String, text: String },
}

/// Which agent a task gets, before its profile or preset has been looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentChoice {
    /// The agent of a flag, which wins over profiles and presets.
    asked_for: Option<Agent>,
    /// The agent of a task whose profile or preset names none.
    otherwise: Agent,
    reason: AgentReason,
}

/// Why a task gets its agent, unless its profile or preset names another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentReason {
    /// A flag names it.
    Asked,
    /// A variable of the environment names it.
    Environment,
    /// The settings name it.
    Settings,
    /// No agent is named, and pi is installed.
    PiInstalled,
    /// No agent is named, and pi is not installed.
    PiMissing,
}

impl AgentChoice {
    /// In this order: the flag, the task's profile or preset, the environment, the settings, pi if
    /// it is installed, and our own agent.
    pub fn new(
        flag: Option<&str>,
        surroundings: &Surroundings,
        settings: &Settings,
    ) -> Result<AgentChoice, AgentError> {
        let asked_for = flag.map(|text| Agent::parse(text, "--agent")).transpose()?;
        let variable = surroundings.agent.as_deref();
        let variable =
            variable.map(|text| Agent::parse(text, model::variables::AGENT)).transpose()?;
        let (otherwise, reason) = match (variable, &settings.agent) {
            (Some(agent), _) => (agent, AgentReason::Environment),
            (None, Some(agent)) => (agent.clone(), AgentReason::Settings),
            (None, None) if surroundings.pi.is_some() || Agent::Pi.find(surroundings).is_some() => {
                (Agent::Pi, AgentReason::PiInstalled)
            }
            (None, None) => (Agent::Builtin, AgentReason::PiMissing),
        };
        let reason = if asked_for.is_some() { AgentReason::Asked } else { reason };
        Ok(AgentChoice { asked_for, otherwise, reason })
    }

    /// This agent for every task whose profile or preset names none.
    pub fn by_default(agent: Agent) -> AgentChoice {
        AgentChoice { asked_for: None, otherwise: agent, reason: AgentReason::Asked }
    }

    #[expect(missing_docs, reason = "the type says it")]
    pub fn reason(&self) -> AgentReason {
        self.reason
    }

    /// The agent of a task whose profile or preset names this one.
    pub fn for_task(&self, named: Option<AgentName>) -> Agent {
        let named = named.map(|name| match name {
            AgentName::Pi => Agent::Pi,
            AgentName::Builtin => Agent::Builtin,
        });
        self.asked_for.clone().or(named).unwrap_or_else(|| self.otherwise.clone())
    }
}

impl Agent {
    /// The program and the arguments that it always has. For our own agent this is a name only: the
    /// supervisor starts its own program.
    pub fn command(&self, surroundings: &Surroundings) -> Vec<String> {
        let mut command = match self {
            Agent::Pi => surroundings.pi.clone().unwrap_or_else(|| vec!["pi".to_owned()]),
            Agent::Builtin => return vec!["pi-subagents".to_owned(), "agent".to_owned()],
            Agent::Program(command) => command.clone(),
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
        }
    }

    /// The executable file of its program, if there is one. Our own agent is part of this program.
    pub fn find(&self, surroundings: &Surroundings) -> Option<PathBuf> {
        match self {
            Agent::Builtin => None,
            Agent::Pi | Agent::Program(_) => {
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
    pub(crate) fn protocol(&self) -> Protocol {
        match self {
            Agent::Pi | Agent::Builtin | Agent::Program(_) => Protocol::Pi,
        }
    }

    fn parse(text: &str, origin: &str) -> Result<Agent, AgentError> {
        let word = text.trim();
        let array = serde_json::from_str(word).ok().filter(Value::is_array);
        Agent::of(&array.unwrap_or_else(|| Value::from(word))).ok_or_else(|| {
            let text = text.chars().take(200).collect();
            AgentError::NotUnderstood { origin: origin.to_owned(), text }
        })
    }

    /// The agent that a setting names: by its word, or by a program and its arguments.
    pub(crate) fn of(value: &Value) -> Option<Agent> {
        match value {
            Value::String(word) if word == "pi" => Some(Agent::Pi),
            Value::String(word) if word == "builtin" => Some(Agent::Builtin),
            Value::Array(_) => serde_json::from_value::<Vec<String>>(value.clone())
                .ok()
                .filter(|command| command.first().is_some_and(|program| !program.is_empty()))
                .map(Agent::Program),
            _ => None,
        }
    }
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
    use std::path::PathBuf;

    use super::*;

    fn surroundings(variable: Option<&str>, search_path: Vec<PathBuf>) -> Surroundings {
        Surroundings {
            cwd: "/work".into(),
            home: None,
            agent_dir: "/home/.pi/agent".into(),
            agent: variable.map(str::to_owned),
            pi: None,
            search_path,
        }
    }

    fn choose(
        flag: Option<&str>,
        named: Option<AgentName>,
        variable: Option<&str>,
        setting: Option<Agent>,
    ) -> Result<Agent, AgentError> {
        let settings = Settings { agent: setting, ..Settings::default() };
        let surroundings = surroundings(variable, Vec::new());
        Ok(AgentChoice::new(flag, &surroundings, &settings)?.for_task(named))
    }

    #[test]
    fn flag_then_profile_then_environment_then_settings() {
        let program = |name: &str| Agent::Program(vec![name.to_owned()]);
        let chosen =
            |flag, named, variable, setting| choose(flag, named, variable, setting).unwrap();
        let (environment, setting) = (Some(r#"["e"]"#), Some(program("s")));
        assert_eq!(chosen(None, None, None, setting.clone()), program("s"));
        assert_eq!(chosen(None, None, environment, setting.clone()), program("e"));
        let named = Some(AgentName::Builtin);
        assert_eq!(chosen(None, named, environment, setting.clone()), Agent::Builtin);
        assert_eq!(chosen(Some("pi"), named, environment, setting), Agent::Pi);
    }

    #[test]
    fn without_a_word_it_is_pi_where_that_is_installed() {
        let top = tempfile::tempdir().unwrap();
        let chosen = || {
            let surroundings = surroundings(None, vec![top.path().to_owned()]);
            AgentChoice::new(None, &surroundings, &Settings::default()).unwrap().for_task(None)
        };
        assert_eq!(chosen(), Agent::Builtin);
        std::fs::write(top.path().join("pi"), "").unwrap();
        assert_eq!(chosen(), Agent::Builtin, "it cannot be executed");
        let permissions = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(top.path().join("pi"), permissions).unwrap();
        assert_eq!(chosen(), Agent::Pi);
    }

    #[test]
    fn whoever_is_called_by_a_pi_means_that_one() {
        let calling = vec!["/opt/node".to_owned(), "/opt/pi/cli.js".to_owned()];
        let surroundings =
            Surroundings { pi: Some(calling.clone()), ..surroundings(None, Vec::new()) };
        let choice = AgentChoice::new(None, &surroundings, &Settings::default()).unwrap();
        for named in [None, Some(AgentName::Pi)] {
            assert_eq!(choice.for_task(named), Agent::Pi);
        }
        assert_eq!(Agent::Pi.command(&surroundings), calling);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_origin() {
        for text in ["", "claude", "[]", "[\"\"]", "[1]", "{}", "[\"a\""] {
            let error = choose(Some(text), None, None, None).unwrap_err().to_string();
            assert!(error.starts_with("--agent does not name an agent"), "{error}");
        }
        let error = choose(None, None, Some("x"), None).unwrap_err().to_string();
        assert!(error.starts_with("PI_SUBAGENTS_AGENT does not"), "{error}");
    }

    #[test]
    fn a_program_is_meant_from_where_the_caller_stands() {
        let top = tempfile::tempdir().unwrap();
        let program = top.path().join("agent");
        std::fs::write(&program, "").unwrap();
        std::fs::write(top.path().join("plain"), "").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let surroundings = surroundings(None, vec!["/no/such".into(), top.path().to_owned()]);
        let command = |program: &str| {
            Agent::Program(vec![program.to_owned()]).command(&surroundings).remove(0)
        };
        assert_eq!(command("./agent"), "/work/./agent");
        assert_eq!(command("/bin/agent"), "/bin/agent");
        assert_eq!(command("agent"), program.to_str().unwrap());
        assert_eq!(command("plain"), "plain", "it is not executable");
        assert_eq!(Agent::Pi.command(&surroundings), ["pi"]);
    }
}
