//! Which program a child is.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::{Settings, Surroundings};

/// The child agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agent {
    /// The real pi, from `PATH`.
    Pi,
    /// Our own agent.
    Builtin,
    /// Any other program that takes pi's arguments and prints pi's stream.
    Program(Vec<String>),
}

/// The child agent cannot be told.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum AgentError {
    #[error(
        "{origin} does not name an agent: {text:?} is neither \"pi\" nor \"builtin\" nor a JSON \
         array of a program and its arguments such as [\"my-agent\", \"--flag\"]"
    )]
    NotUnderstood { origin: String, text: String },
    #[error("the built-in agent is not part of this version yet; use \"pi\" or name a program")]
    BuiltinMissing,
}

impl Agent {
    /// The agent that a flag, else the environment, else the settings ask for; else pi.
    pub fn choose(
        flag: Option<&str>,
        surroundings: &Surroundings,
        settings: &Settings,
    ) -> Result<Agent, AgentError> {
        let agent = if let Some(text) = flag {
            Agent::parse(text, "--agent")?
        } else if let Some(text) = &surroundings.agent {
            Agent::parse(text, model::variables::AGENT)?
        } else {
            settings.agent.clone().unwrap_or(Agent::Pi)
        };
        match agent {
            Agent::Builtin => Err(AgentError::BuiltinMissing),
            agent => Ok(agent),
        }
    }

    /// The program and its own arguments, before those that every child gets.
    pub fn command(&self, surroundings: &Surroundings) -> Vec<String> {
        let mut command = match self {
            Agent::Pi | Agent::Builtin => vec!["pi".to_owned()],
            Agent::Program(command) => command.clone(),
        };
        if let Some(program) = command.first_mut() {
            *program = locate(program, surroundings);
        }
        command
    }

    fn parse(text: &str, origin: &str) -> Result<Agent, AgentError> {
        match text.trim() {
            "pi" => Ok(Agent::Pi),
            "builtin" => Ok(Agent::Builtin),
            array => match serde_json::from_str::<Vec<String>>(array) {
                Ok(command) if command.first().is_some_and(|program| !program.is_empty()) => {
                    Ok(Agent::Program(command))
                }
                _ => Err(AgentError::NotUnderstood {
                    origin: origin.to_owned(),
                    text: text.chars().take(200).collect(),
                }),
            },
        }
    }
}

/// The path of a program, as seen from where the caller stands. One that is not found keeps its
/// name, and cannot be started under it.
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

    fn choose(
        flag: Option<&str>,
        variable: Option<&str>,
        setting: Option<Agent>,
    ) -> Result<Agent, AgentError> {
        let surroundings = Surroundings {
            cwd: "/work".into(),
            home: None,
            agent_dir: "/home/.pi/agent".into(),
            agent: variable.map(str::to_owned),
            search_path: Vec::new(),
        };
        let settings = Settings { agent: setting, ..Settings::default() };
        Agent::choose(flag, &surroundings, &settings)
    }

    #[test]
    fn flag_then_environment_then_settings_then_pi() {
        let program = |name: &str| Agent::Program(vec![name.to_owned()]);
        assert_eq!(choose(None, None, None).unwrap(), Agent::Pi);
        assert_eq!(choose(None, None, Some(program("s"))).unwrap(), program("s"));
        assert_eq!(choose(None, Some(r#"["e"]"#), Some(program("s"))).unwrap(), program("e"));
        assert_eq!(choose(Some("pi"), Some(r#"["e"]"#), None).unwrap(), Agent::Pi);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_origin() {
        for text in ["", "claude", "[]", "[\"\"]", "[1]", "{}", "[\"a\""] {
            let error = choose(Some(text), None, None).unwrap_err().to_string();
            assert!(error.starts_with("--agent does not name an agent"), "{error}");
        }
        let error = choose(None, Some("x"), None).unwrap_err().to_string();
        assert!(error.starts_with("PI_SUBAGENTS_AGENT does not"), "{error}");
        assert!(matches!(choose(Some("builtin"), None, None), Err(AgentError::BuiltinMissing)));
    }

    #[test]
    fn a_program_is_meant_from_where_the_caller_stands() {
        let top = tempfile::tempdir().unwrap();
        let program = top.path().join("agent");
        std::fs::write(&program, "").unwrap();
        std::fs::write(top.path().join("plain"), "").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let surroundings = Surroundings {
            cwd: "/work".into(),
            home: None,
            agent_dir: "/home/.pi/agent".into(),
            agent: None,
            search_path: vec!["/no/such".into(), top.path().to_owned()],
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
}
