//! The agents of other makes.

use std::env;

use plan::{Agent, KnownAgent, Settings, SignIn, Surroundings, agent_names, known_agents};

use super::facts::{AgentFacts, OtherAgentFacts, ProgramFacts};
use super::gather::{program, shown};
use super::section::{Level, Section};

/// Looks for them. None is asked anything but its version.
pub(super) fn gather(surroundings: &Surroundings, settings: &Settings) -> Vec<OtherAgentFacts> {
    let names = agent_names(settings).into_iter();
    let agents = names.filter_map(|name| match Agent::named(&name, settings) {
        Ok(agent @ Agent::Named(_)) => Some((name, agent)),
        _ => None,
    });
    agents.map(|(name, agent)| look(name, &agent, surroundings, settings)).collect()
}

fn look(
    name: String,
    agent: &Agent,
    surroundings: &Surroundings,
    settings: &Settings,
) -> OtherAgentFacts {
    let known = known_agents().iter().find(|known| known.name == name);
    let program = agent.find(surroundings).map(|path| program(&path));
    let own = settings.agents.get(&name);
    let sign_in = known.and_then(|known| find_sign_in(&known.sign_in, surroundings));
    let remedy = match (&program, known, own) {
        (None, Some(known), None) => Some(known.install),
        (None, ..) => Some("name a program on PATH, or give its whole path"),
        (Some(_), Some(KnownAgent { sign_in: SignIn { command, .. }, .. }), _)
            if sign_in.is_none() =>
        {
            Some(*command)
        }
        (Some(_), ..) => None,
    };
    OtherAgentFacts {
        title: known.map_or_else(|| name.clone(), |known| known.title.to_owned()),
        configured: own.and_then(|own| own.command.first().cloned()),
        name,
        program,
        sign_in,
        remedy,
    }
}

/// What shows that the agent is signed in: the name of a variable, or of a file.
fn find_sign_in(sign_in: &SignIn, surroundings: &Surroundings) -> Option<String> {
    let is_set = |name: &&&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    if let Some(variable) = sign_in.variables.iter().find(is_set) {
        return Some((*variable).to_owned());
    }
    let directory = sign_in.state_dir(|name| env::var_os(name), surroundings.home.as_deref())?;
    let mut files = sign_in.files.iter().map(|file| directory.join(file));
    files.find(|file| file.is_file()).map(|file| shown(&file))
}

/// What is said of them. Only an agent that tasks use must be there.
pub(super) fn findings(section: &mut Section, facts: &AgentFacts) {
    let used = facts.chosen.as_ref().map(|chosen| chosen.kind.word());
    for agent in &facts.others {
        let is_used = used == Some(agent.name.as_str());
        describe(section, agent, is_used);
    }
}

fn describe(section: &mut Section, agent: &OtherAgentFacts, is_used: bool) {
    let title = &agent.title;
    match (&agent.program, &agent.configured) {
        (Some(ProgramFacts { path, version: Some(version), .. }), _) => {
            // Some print their own name with it.
            let version = version.strip_prefix(title.as_str()).unwrap_or(version).trim();
            let text = format!("{title} {version}: {path}");
            match (&agent.sign_in, agent.remedy) {
                (Some(place), _) => {
                    section.fine(format!("{text}, signed in ({place})"));
                }
                (None, Some(remedy)) => {
                    let text = format!("{text}; no sign-in can be seen, which need not be wrong");
                    section.fine(text).remedy(remedy);
                }
                (None, None) => {
                    section.fine(text);
                }
            }
        }
        (Some(ProgramFacts { path, problem, .. }), _) => {
            let problem = problem.as_deref().unwrap_or("it printed nothing");
            let level = if is_used { Level::Problem } else { Level::Warning };
            section
                .add(level, format!("{path} did not print its version: {problem}"))
                .remedy(format!("run `{path} --version` to see why"));
        }
        (None, Some(program)) => {
            let level = if is_used { Level::Problem } else { Level::Warning };
            let text = format!("{title} is {program:?} in the settings, which is missing");
            section.add(level, text).remedy(agent.remedy.unwrap_or_default());
        }
        // The section says what tasks use, and that it is missing.
        (None, None) if is_used => {}
        (None, None) => {
            let install = agent.remedy.map(|remedy| format!("; {remedy}")).unwrap_or_default();
            section.fine(format!("{title} is not installed, and not needed{install}"));
        }
    }
}
