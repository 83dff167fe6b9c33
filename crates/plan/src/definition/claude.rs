//! The definitions of Claude Code's own sub-agents, which are offered as profiles.
//!
//! Only what describes an agent is taken over. Whatever would start a program or decide about
//! permissions is left out: a file that was written for another program must not have such effects here.

use std::path::{Path, PathBuf};

use protocol::{Protocol, ThinkingLevel, our_name_of_claude_tool};

use super::load::DefinitionFile;
use super::{Definition, DefinitionKind, DefinitionOrigin, Scope, validate};
use crate::frontmatter::{Document, DocumentError, Fields, FileWarning};
use crate::{Agent, resolve_model};

/// Where Claude Code keeps definitions, below its own directory or the `.claude` of a project.
pub(super) const AGENTS: &str = "agents";

/// Fields that change what an agent does or may do, and that are not taken over. All other fields
/// without a meaning here, such as `color`, change nothing.
const LEFT_OUT: [&str; 6] =
    ["permissionMode", "hooks", "mcpServers", "maxTurns", "memory", "isolation"];

/// The words of `effort`.
const EFFORTS: [(&str, ThinkingLevel); 5] = [
    ("low", ThinkingLevel::Low),
    ("medium", ThinkingLevel::Medium),
    ("high", ThinkingLevel::High),
    ("xhigh", ThinkingLevel::Xhigh),
    ("max", ThinkingLevel::Max),
];

/// The models that leave the choice to the agent.
const NO_MODELS: [&str; 2] = ["inherit", "default"];

/// Short names of Anthropic's models, which mean the latest of a family.
const ALIASES: [&str; 3] = ["sonnet", "opus", "haiku"];

const ANTHROPIC: &str = "anthropic";

/// A file in a directory of definitions, unless it is no definition but a text beside them.
pub(super) fn read(path: PathBuf, scope: Scope) -> Option<DefinitionFile> {
    let (definition, warnings) = match Document::read(&path) {
        Ok(document) => from_document(document, &path, scope),
        Err(DocumentError::NoFrontmatter) => return None,
        Err(error) => (None, vec![error.into_warning(&path)]),
    };
    Some(DefinitionFile { path, definition, warnings })
}

/// The profile that a document describes.
pub(super) fn from_document(
    mut document: Document,
    path: &Path,
    scope: Scope,
) -> (Option<Definition>, Vec<FileWarning>) {
    // Claude Code writes such lines itself.
    document.repaired_lines.clear();
    let mut fields = Fields::of(&mut document, path);
    let name_line = fields.line("name");
    let name = fields.text("name");
    let kind = DefinitionKind::Profile;
    let mut definition =
        Definition::at(kind, name.as_deref().unwrap_or_default(), scope, path.to_owned());
    definition.description = fields.text("description");
    let model = fields.text("model").filter(|model| !NO_MODELS.contains(&model.as_str()));
    definition.configuration.model = model;
    definition.configuration.thinking_level = fields.word("effort", &EFFORTS);
    definition.load_skills = fields.list("skills");
    definition.configuration.system_prompt = Some(document.body).filter(|body| !body.is_empty());
    let is_restricted_as_written = read_tools(&mut definition, &mut fields);
    let left_out = LEFT_OUT.into_iter().filter(|name| fields.line(name).is_some()).collect();
    definition.origin = DefinitionOrigin::ClaudeCode { left_out };
    let reason = match &name {
        None => Some("it has no \"name\""),
        Some(name) if !validate::is_definition_name(name) => Some(validate::NAME_RULE),
        Some(_) if !is_restricted_as_written => Some(validate::NOT_RESTRICTED),
        Some(_) => None,
    };
    if let Some(reason) = reason {
        fields.warn(name_line, format!("it is not loaded: {reason}"));
    }
    (reason.is_none().then_some(definition), fields.finish_among_others())
}

/// Takes the two lists of tools, in our names. Returns whether they were understood.
fn read_tools(definition: &mut Definition, fields: &mut Fields<'_>) -> bool {
    const TOOLS: &str = "tools";
    const DISALLOWED: &str = "disallowedTools";
    let lines = [TOOLS, DISALLOWED].map(|name| fields.line(name));
    let problems = fields.problems();
    let [tools, disallowed] = [TOOLS, DISALLOWED].map(|name| whole_entries(fields.list(name)));
    let is_understood = fields.problems() == problems && !fields.has_almost(&[TOOLS, DISALLOWED]);
    let mut excluded: Vec<String> = Vec::new();
    for entry in disallowed {
        let (tool, is_partial) = name_of(&entry);
        if is_partial {
            fields.warn(lines[1], partial_tool(DISALLOWED, "excluded"));
        }
        excluded.push(in_our_words(tool));
    }
    let names_all = tools.iter().any(|tool| tool == "*");
    if lines[0].is_none() || names_all {
        definition.configuration.exclude_tools = excluded;
        return is_understood;
    }
    let mut allowed: Vec<String> = Vec::new();
    for entry in tools {
        let (tool, is_partial) = name_of(&entry);
        if is_partial {
            fields.warn(lines[0], partial_tool(TOOLS, "left out"));
            continue;
        }
        let tool = in_our_words(tool);
        if !excluded.contains(&tool) && !allowed.contains(&tool) {
            allowed.push(tool);
        }
    }
    // A list that names nothing allows nothing.
    definition.configuration.no_tools = allowed.is_empty();
    definition.configuration.tools = allowed;
    is_understood
}

fn partial_tool(field: &str, verdict: &str) -> String {
    format!(
        "\"{field}\" names a tool for some arguments only, as in `Bash(git log:*)`, which cannot be \
         kept; the whole tool is {verdict}"
    )
}

/// The entries of a list, of which one can have commas in brackets: `Agent(one, two)`.
fn whole_entries(parts: Vec<String>) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for part in parts {
        match entries.last_mut() {
            Some(entry) if entry.contains('(') && !entry.ends_with(')') => {
                entry.push_str(", ");
                entry.push_str(&part);
            }
            _ => entries.push(part),
        }
    }
    entries
}

/// The name of a tool, and whether it is meant for some arguments only, as in `Bash(git log:*)`.
fn name_of(entry: &str) -> (&str, bool) {
    entry.split_once('(').map_or((entry, false), |(tool, _)| (tool.trim_end(), true))
}

/// A tool that only Claude Code has keeps its name.
fn in_our_words(tool: &str) -> String {
    our_name_of_claude_tool(tool).unwrap_or(tool).to_owned()
}

/// What is known about the agent that a definition of Claude Code is used with.
pub(crate) struct Target<'a> {
    pub(crate) agent: &'a Agent,
    /// The models from which it can choose, where they are known.
    pub(crate) models: Option<&'a [String]>,
    /// The provider that it uses if none is named, where that is known.
    pub(crate) default_provider: Option<&'a str>,
    /// Whether the task names a model.
    pub(crate) has_other_model: bool,
}

/// Fits a definition of Claude Code to the agent that runs it. Returns what of it is lost.
pub(crate) fn adapt(definition: &mut Definition, target: &Target<'_>) -> Vec<String> {
    if definition.is_own() {
        return Vec::new();
    }
    let (mut lost, left_out) = (Vec::new(), definition.origin.left_out());
    if !left_out.is_empty() {
        lost.push(format!("not taken over from Claude Code: {}", quoted(left_out)));
    }
    if target.agent.protocol() == Protocol::Claude {
        return lost;
    }
    let agent = name_in_a_sentence(target.agent);
    let configuration = &mut definition.configuration;
    let is_only_claudes =
        |tool: &String| tool.starts_with(|first: char| first.is_ascii_uppercase());
    // There is nothing to exclude.
    configuration.exclude_tools.retain(|tool| !is_only_claudes(tool));
    let (unknown, known): (Vec<String>, Vec<String>) =
        std::mem::take(&mut configuration.tools).into_iter().partition(is_only_claudes);
    if !unknown.is_empty() {
        lost.push(format!("not among the tools of {agent}: {}", quoted(&unknown)));
        configuration.no_tools |= known.is_empty();
    }
    configuration.tools = known;
    if target.has_other_model {
        return lost;
    }
    let Some(model) = configuration.model.take() else { return lost };
    match find_model(&model, target) {
        Some((provider, found)) => {
            (configuration.provider, configuration.model) = (provider, Some(found));
        }
        None => lost.push(format!(
            "its model \"{model}\" is Claude Code's and not known here; {agent} uses its default model"
        )),
    }
    lost
}

/// What another agent calls a model of Claude Code: the provider, if it is not part of the name, and
/// the model.
fn find_model(model: &str, target: &Target<'_>) -> Option<(Option<String>, String)> {
    if !target.agent.protocol().is_of_pi() {
        return None;
    }
    let Some(models) = target.models else {
        // pi and the built-in agent find a model by a part of its name, among those of a provider.
        let is_anthropics = ALIASES.contains(&model) || model.starts_with("claude-");
        let is_available = is_anthropics && target.default_provider == Some(ANTHROPIC);
        return is_available.then(|| (Some(ANTHROPIC.to_owned()), model.to_owned()));
    };
    let named = resolve_model(model, models).ok();
    named.or_else(|| latest_of_family(model, models)).map(|found| (None, found))
}

/// The latest model that an alias can mean, of Anthropic itself if it is there.
fn latest_of_family(alias: &str, models: &[String]) -> Option<String> {
    let id = |model: &str| model.rsplit('/').next().unwrap_or_default().to_lowercase();
    let is_meant = |model: &&String| {
        let id = id(model);
        ALIASES.contains(&alias) && id.contains("claude") && id.contains(alias)
    };
    let rank = |model: &&String| {
        let is_own = model.strip_prefix(ANTHROPIC).is_some_and(|rest| rest.starts_with('/'));
        let id = id(model);
        let numbers = id.split(|letter: char| !letter.is_ascii_digit());
        // A longer number is a date.
        let version = numbers.filter(|number| (1..=3).contains(&number.len()));
        let version: Vec<u32> = version.filter_map(|number| number.parse().ok()).collect();
        (is_own, version, std::cmp::Reverse(id.len()))
    };
    models.iter().filter(is_meant).max_by_key(rank).cloned()
}

fn name_in_a_sentence(agent: &Agent) -> &str {
    match agent {
        Agent::Pi => Agent::PI,
        Agent::Builtin => "the built-in agent",
        Agent::Program(_) => "the agent",
        Agent::Named(agent) => &agent.name,
    }
}

fn quoted(names: &[impl AsRef<str>]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("\"{}\"", name.as_ref())).collect();
    names.join(", ")
}

#[cfg(test)]
#[path = "claude_tests.rs"]
mod tests;
