//! How agents that speak the protocol are started. The protocol has no word for a system prompt, for tools or for a
//! key, so each agent that has a name here is told in its own way, and any other cannot be told.

use model::Argument;

use super::make::Make;
use super::{copilot, gemini, opencode};
use crate::profile_fields::check_fields;
use crate::start::{Invocation, Start, StartError, added_prompt, check_extra_argument};

/// The server that is this program. Its tools start agents, and agents start none.
pub(super) const OWN_SERVER: &str = "pi-subagents";

/// The command line, the environment, the files and the secrets of one agent.
pub(crate) fn invocation(start: &Start<'_>) -> Result<Invocation, StartError> {
    let make = Make::of(start.agent.word());
    if !start.configuration.extensions.is_empty() {
        let origin = start.origin.title.clone();
        return Err(StartError::NoExtensions { origin, agent: make.title() });
    }
    let untaught = check_fields(start, make.title(), &[])?;
    let mut invocation = match make {
        Make::Gemini => gemini::invocation(start),
        Make::Opencode => opencode::invocation(start),
        Make::Copilot => copilot::invocation(start),
        Make::Claude | Make::Other => other(start),
    }?;
    invocation.warnings.extend(untaught);
    Ok(invocation)
}

/// An agent of which nothing is known but the protocol. The model and its thinking are chosen later.
fn other(start: &Start<'_>) -> Result<Invocation, StartError> {
    let title = Make::Other.title();
    if let Some(field) = start.configuration.restrictions().next() {
        let instead = Some("it is known by its protocol only, which has no word for that");
        return Err(cannot(start, field, title, instead));
    }
    if start.configuration.api_key.is_some() {
        return Err(StartError::NoKey { origin: start.origin.title.clone(), agent: title });
    }
    let mut words: Vec<Argument> = start.program.iter().cloned().map(Argument::from).collect();
    words.extend(extra_arguments(start, &[])?);
    let (preamble, warning) = preamble(start, title);
    Ok(Invocation {
        command: words,
        preamble,
        warnings: warning.into_iter().collect(),
        ..Invocation::default()
    })
}

/// What stands in front of the prompt of an agent whose system prompt cannot be changed, and what the user should know
/// of it.
pub(super) fn preamble(start: &Start<'_>, title: &str) -> (Option<String>, Option<String>) {
    let own = start.configuration.system_prompt.clone();
    let warning = own.as_ref().map(|_| {
        format!(
            "{title} keeps its own system prompt; that of the {} stands in front of the prompt",
            start.origin.kind
        )
    });
    let parts: Vec<String> = [own, added_prompt(start)].into_iter().flatten().collect();
    ((!parts.is_empty()).then(|| parts.join("\n\n")), warning)
}

/// The arguments of the user's own choice, but none that would undo what the fields have decided.
pub(super) fn extra_arguments(
    start: &Start<'_>,
    overriding: &[&str],
) -> Result<Vec<Argument>, StartError> {
    let is_restricted = start.configuration.restrictions().next().is_some();
    let mut words = Vec::new();
    for argument in &start.configuration.extra_args {
        let flag = argument.split_once('=').map_or(argument.as_str(), |(flag, _)| flag);
        if is_restricted && overriding.contains(&flag) {
            let (argument, kind) = (argument.clone(), start.origin.kind);
            return Err(StartError::OverridesTools { argument, kind });
        }
        check_extra_argument(argument)?;
        words.push(Argument::from(argument.clone()));
    }
    Ok(words)
}

pub(super) fn cannot(
    start: &Start<'_>,
    field: &'static str,
    agent: &'static str,
    instead: Option<&'static str>,
) -> StartError {
    StartError::CannotRestrict { origin: start.origin.title.clone(), field, agent, instead }
}

/// What the agent calls the tools of these names, by a table of the agent; and the names that it does not know.
pub(super) fn translate(names: &[String], table: &[(&str, &[&str])]) -> (Vec<String>, Vec<String>) {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        match table.iter().find(|(ours, _)| ours == name) {
            Some((_, theirs)) => known.extend(theirs.iter().map(|name| (*name).to_owned())),
            None => unknown.push(name.clone()),
        }
    }
    known.sort();
    known.dedup();
    (known, unknown)
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;
