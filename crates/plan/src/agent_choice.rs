//! Which agent carries out a task.

use protocol::known_agents;
use serde_json::Value;

use crate::similar::then_did_you_mean;
use crate::{Agent, NamedAgent, Settings, Surroundings, UnknownAgent, agent_names, similar_names};

/// A flag or variable does not name an agent.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum AgentError {
    #[error(
        "{origin} does not name an agent: {text:?} is none of {}, and no JSON array of a program and \
         its arguments such as [\"my-agent\", \"--flag\"]{}",
        available.join(", "),
        then_did_you_mean(&similar_names(text, available.iter().map(String::as_str)))
    )]
    NotUnderstood { origin: String, text: String, available: Vec<String> },
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
    /// No agent is named, pi is not installed, and the built-in agent has a key.
    KeyFound,
    /// No agent is named, pi is not installed, the built-in agent has no key, and this one is installed.
    Installed,
    /// No agent is named, and nothing else is there.
    NothingElse,
}

impl AgentChoice {
    /// In this order: the flag, the task's profile or preset, the environment, the settings, pi if
    /// it is installed, our own agent if it has a key, another agent that is installed, and our own.
    pub fn new(
        flag: Option<&str>,
        surroundings: &Surroundings,
        settings: &Settings,
    ) -> Result<AgentChoice, AgentError> {
        let asked_for = flag.map(|text| parse(text, "--agent", settings)).transpose()?;
        let variable = surroundings.agent.as_deref();
        let variable =
            variable.map(|text| parse(text, model::variables::AGENT, settings)).transpose()?;
        let (otherwise, reason) = match (variable, &settings.agent) {
            (Some(agent), _) => (agent, AgentReason::Environment),
            (None, Some(agent)) => (agent.clone(), AgentReason::Settings),
            (None, None) => without_a_name(surroundings, settings),
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

    /// Whether a flag names the agent.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.asked_for.is_some()
    }

    /// The agent of a task that names none, and has no profile or preset that does.
    pub fn usual(&self) -> &Agent {
        self.asked_for.as_ref().unwrap_or(&self.otherwise)
    }

    /// The agent of a task: its own, else that of the flag, else that of its profile or preset.
    pub fn for_task(
        &self,
        own: Option<&str>,
        of_definition: Option<&str>,
        settings: &Settings,
    ) -> Result<Agent, UnknownAgent> {
        match (own, &self.asked_for, of_definition) {
            (Some(name), ..) | (None, None, Some(name)) => Agent::named(name, settings),
            (None, Some(agent), _) => Ok(agent.clone()),
            (None, None, None) => Ok(self.otherwise.clone()),
        }
    }
}

/// Whether it matters if our own agent has a key: pi is not installed, and another agent is.
pub fn needs_builtin_key(surroundings: &Surroundings) -> bool {
    !has_pi(surroundings) && installed(surroundings, &Settings::default()).is_some()
}

fn without_a_name(surroundings: &Surroundings, settings: &Settings) -> (Agent, AgentReason) {
    if has_pi(surroundings) {
        return (Agent::Pi, AgentReason::PiInstalled);
    }
    if surroundings.has_builtin_key {
        return (Agent::Builtin, AgentReason::KeyFound);
    }
    match installed(surroundings, settings) {
        Some(agent) => (agent, AgentReason::Installed),
        None => (Agent::Builtin, AgentReason::NothingElse),
    }
}

fn has_pi(surroundings: &Surroundings) -> bool {
    surroundings.pi.is_some() || Agent::Pi.find(surroundings).is_some()
}

/// The first agent of another make that is installed.
fn installed(surroundings: &Surroundings, settings: &Settings) -> Option<Agent> {
    let agents = known_agents().iter().filter(|agent| agent.is_default);
    let named = agents.map(|agent| {
        let own = settings.agents.get(agent.name).cloned();
        Agent::Named(own.unwrap_or_else(|| NamedAgent::from(agent)))
    });
    named.into_iter().find(|agent| agent.find(surroundings).is_some())
}

fn parse(text: &str, origin: &str, settings: &Settings) -> Result<Agent, AgentError> {
    let word = text.trim();
    let array = serde_json::from_str(word).ok().filter(Value::is_array);
    Agent::of(&array.unwrap_or_else(|| Value::from(word)), settings).ok_or_else(|| {
        let (text, available) = (text.chars().take(200).collect(), agent_names(settings));
        AgentError::NotUnderstood { origin: origin.to_owned(), text, available }
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    use super::*;

    fn surroundings(variable: Option<&str>, search_path: Vec<PathBuf>) -> Surroundings {
        Surroundings {
            agent: variable.map(str::to_owned),
            search_path,
            ..Surroundings::new("/work".into(), "/home/.pi/agent".into())
        }
    }

    fn choose(
        flag: Option<&str>,
        named: Option<&str>,
        variable: Option<&str>,
        setting: Option<Agent>,
    ) -> Result<Agent, AgentError> {
        let settings = Settings { agent: setting, ..Settings::default() };
        let surroundings = surroundings(variable, Vec::new());
        let choice = AgentChoice::new(flag, &surroundings, &settings)?;
        Ok(choice.for_task(None, named, &settings).unwrap())
    }

    #[test]
    fn flag_then_profile_then_environment_then_settings() {
        let program = |name: &str| Agent::Program(vec![name.to_owned()]);
        let chosen =
            |flag, named, variable, setting| choose(flag, named, variable, setting).unwrap();
        let (environment, setting) = (Some(r#"["e"]"#), Some(program("s")));
        assert_eq!(chosen(None, None, None, setting.clone()), program("s"));
        assert_eq!(chosen(None, None, environment, setting.clone()), program("e"));
        let named = Some("builtin");
        assert_eq!(chosen(None, named, environment, setting.clone()), Agent::Builtin);
        assert_eq!(chosen(Some("pi"), named, environment, setting), Agent::Pi);
        assert_eq!(chosen(Some("claude"), named, None, None).kind().word(), "claude");
    }

    #[test]
    fn a_task_has_the_first_word() {
        let settings = Settings::default();
        let choice = AgentChoice::new(Some("pi"), &surroundings(None, Vec::new()), &settings);
        let choice = choice.unwrap();
        let chosen = choice.for_task(Some("codex"), Some("builtin"), &settings).unwrap();
        assert_eq!(chosen.kind().word(), "codex");
        let unknown = choice.for_task(Some("codx"), None, &settings).unwrap_err().to_string();
        assert!(unknown.ends_with("Did you mean codex?"), "{unknown}");
    }

    fn install(directory: &Path, name: &str) {
        std::fs::write(directory.join(name), "").unwrap();
        let permissions = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.join(name), permissions).unwrap();
    }

    #[test]
    fn without_a_word_it_is_the_first_that_can_work() {
        let top = tempfile::tempdir().unwrap();
        let chosen = |has_builtin_key| {
            let surroundings =
                Surroundings { has_builtin_key, ..surroundings(None, vec![top.path().to_owned()]) };
            let choice = AgentChoice::new(None, &surroundings, &Settings::default()).unwrap();
            (choice.usual().kind().word().to_owned(), choice.reason())
        };
        let pair = |word: &str, reason| (word.to_owned(), reason);
        assert_eq!(chosen(false), pair("builtin", AgentReason::NothingElse));
        install(top.path(), "codex");
        assert_eq!(chosen(false), pair("codex", AgentReason::Installed));
        install(top.path(), "claude");
        assert_eq!(chosen(false), pair("claude", AgentReason::Installed));
        assert_eq!(chosen(true), pair("builtin", AgentReason::KeyFound));
        std::fs::write(top.path().join("pi"), "").unwrap();
        assert_eq!(chosen(true).0, "builtin", "pi cannot be executed");
        install(top.path(), "pi");
        assert_eq!(chosen(true), pair("pi", AgentReason::PiInstalled));
    }

    #[test]
    fn a_key_matters_only_beside_another_agent_and_without_pi() {
        let top = tempfile::tempdir().unwrap();
        let needs = || needs_builtin_key(&surroundings(None, vec![top.path().to_owned()]));
        assert!(!needs());
        install(top.path(), "codex");
        assert!(needs());
        install(top.path(), "pi");
        assert!(!needs());
    }

    #[test]
    fn a_pi_that_calls_is_the_pi_that_works() {
        let calling = vec!["/opt/node".to_owned(), "/opt/pi/cli.js".to_owned()];
        let surroundings =
            Surroundings { pi: Some(calling.clone()), ..surroundings(None, Vec::new()) };
        let settings = Settings::default();
        let choice = AgentChoice::new(None, &surroundings, &settings).unwrap();
        for named in [None, Some("pi")] {
            assert_eq!(choice.for_task(None, named, &settings), Ok(Agent::Pi));
        }
        assert_eq!(Agent::Pi.command(&surroundings), calling);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_origin() {
        for text in ["", "nobody", "[]", "[\"\"]", "[1]", "{}", "[\"a\""] {
            let error = choose(Some(text), None, None, None).unwrap_err().to_string();
            assert!(error.starts_with("--agent does not name an agent"), "{error}");
        }
        let error = choose(None, None, Some("x"), None).unwrap_err().to_string();
        assert!(error.starts_with("PI_SUBAGENTS_AGENT does not"), "{error}");
        let error = choose(Some("cluade"), None, None, None).unwrap_err().to_string();
        assert!(error.contains("pi, builtin, claude, codex"), "{error}");
        assert!(error.ends_with("Did you mean claude?"), "{error}");
    }
}
