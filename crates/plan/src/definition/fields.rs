//! The fields of a definition's file: where each belongs, and how it is read, written and shown.

use model::{Access, Budget, Isolation};
use protocol::{ApiKey, ThinkingLevel};

use super::markdown::{list, text};
use super::{Definition, DefinitionKind};
use crate::frontmatter::Fields;

/// All fields besides the name, in the order in which they are written.
static FIELDS: [Field; 28] = [
    field("description", |d| Value::Text(&mut d.description)),
    field("provider", |d| Value::Text(&mut d.configuration.provider)),
    field("model", |d| Value::Text(&mut d.configuration.model)),
    field("fallbackModels", |d| Value::List(&mut d.configuration.fallback_models)),
    field("thinkingLevel", |d| Value::Level(&mut d.configuration.thinking_level)),
    // The body of a profile replaces the system prompt, and that of a preset is added to it.
    field("systemPrompt", |d| Value::Text(&mut d.configuration.system_prompt)).only_of(&[]),
    field("appendSystemPrompt", |d| Value::Text(&mut d.configuration.append_system_prompt))
        .only_of(&[DefinitionKind::Profile]),
    field("apiKey", |d| Value::Key(&mut d.configuration.api_key)),
    field("agent", |d| Value::Text(&mut d.agent)),
    // An agent on another machine than the one that was meant works on other files, with other keys.
    field("on", |d| Value::Text(&mut d.on)).restricting(),
    field("access", |d| Value::Access(&mut d.access)).restricting(),
    field("isolation", |d| Value::Isolation(&mut d.isolation)).restricting(),
    field("budget", |d| Value::Budget(&mut d.budget)).restricting(),
    field("timeout", |d| Value::Seconds(&mut d.timeout))
        .only_of(&[DefinitionKind::Preset])
        .restricting(),
    // An agent in a tree that is not ready does other work than it was meant to.
    field("prepare", |d| Value::Text(&mut d.prepare)).restricting(),
    field("prepareTimeout", |d| Value::Seconds(&mut d.prepare_timeout)).restricting(),
    // Work that must be checked, and is not, is taken for more than it is.
    field("check", |d| Value::Text(&mut d.check)).restricting(),
    field("checkTimeout", |d| Value::Seconds(&mut d.check_timeout)).restricting(),
    field("noTools", |d| Value::Flag(&mut d.configuration.no_tools)).restricting(),
    field("noExtensions", |d| Value::Flag(&mut d.configuration.no_extensions)).restricting(),
    field("noSkills", |d| Value::Flag(&mut d.configuration.no_skills)).restricting(),
    field("noContextFiles", |d| Value::Flag(&mut d.configuration.no_context_files)).restricting(),
    field("tools", |d| Value::List(&mut d.configuration.tools)).restricting(),
    field("excludeTools", |d| Value::List(&mut d.configuration.exclude_tools)).restricting(),
    field("extensions", |d| Value::List(&mut d.configuration.extensions)),
    field("extraArgs", |d| Value::List(&mut d.configuration.extra_args)),
    field("suggestedSkills", |d| Value::List(&mut d.suggested_skills)),
    field("loadSkills", |d| Value::List(&mut d.load_skills)),
];

/// The order in which they are shown.
const SHOWN: [&str; 28] = [
    "description",
    "provider",
    "model",
    "fallbackModels",
    "thinkingLevel",
    "agent",
    "on",
    "access",
    "isolation",
    "budget",
    "timeout",
    "prepare",
    "prepareTimeout",
    "check",
    "checkTimeout",
    "systemPrompt",
    "appendSystemPrompt",
    "noTools",
    "tools",
    "excludeTools",
    "extensions",
    "suggestedSkills",
    "loadSkills",
    "noExtensions",
    "noSkills",
    "noContextFiles",
    "apiKey",
    "extraArgs",
];

/// Takes all fields but the name into the definition. Returns whether everything that should
/// restrict the agent was understood: without it, the agent would get more than its user wanted.
pub(super) fn read(definition: &mut Definition, fields: &mut Fields<'_>) -> bool {
    let mut is_restricted_as_written = true;
    for field in of_kind(definition.kind) {
        let problems = fields.problems();
        (field.value)(definition).read(fields, field.name);
        is_restricted_as_written &= !field.restricts || fields.problems() == problems;
    }
    let restricting = FIELDS.iter().filter(|field| field.restricts);
    let restricting: Vec<&str> = restricting.map(|field| field.name).collect();
    is_restricted_as_written && !fields.has_almost(&restricting)
}

/// The lines of the file that say something, besides the name.
pub(super) fn written(definition: &Definition) -> String {
    let mut definition = definition.clone();
    let lines = of_kind(definition.kind).filter_map(|field| {
        let value = (field.value)(&mut definition).written()?;
        Some(format!("{}: {value}\n", field.name))
    });
    lines.collect()
}

/// What the definition says, field by field. Of the restrictions of tools, only the strongest counts.
pub(super) fn shown(definition: &Definition) -> Vec<(&'static str, String)> {
    let mut definition = definition.clone();
    if definition.configuration.no_tools {
        definition.configuration.tools.clear();
    }
    if definition.configuration.no_tools || !definition.configuration.tools.is_empty() {
        definition.configuration.exclude_tools.clear();
    }
    let fields = SHOWN.iter().filter_map(|name| FIELDS.iter().find(|field| field.name == *name));
    let shown = fields.filter_map(|field| match field.name {
        // An argument can hold commas and brackets.
        "extraArgs" if !definition.configuration.extra_args.is_empty() => {
            let arguments = serde_json::Value::from(definition.configuration.extra_args.clone());
            Some((field.name, arguments.to_string()))
        }
        name => Some((name, (field.value)(&mut definition).shown()?)),
    });
    shown.collect()
}

/// The fields that stand in the frontmatter of a kind.
fn of_kind(kind: DefinitionKind) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(move |field| field.kinds.contains(&kind))
}

struct Field {
    name: &'static str,
    /// The kinds of definitions that have it in their frontmatter.
    kinds: &'static [DefinitionKind],
    restricts: bool,
    value: fn(&mut Definition) -> Value<'_>,
}

const fn field(name: &'static str, value: fn(&mut Definition) -> Value<'_>) -> Field {
    let kinds = &[DefinitionKind::Profile, DefinitionKind::Preset];
    Field { name, kinds, restricts: false, value }
}

impl Field {
    const fn only_of(self, kinds: &'static [DefinitionKind]) -> Field {
        Field { kinds, ..self }
    }

    const fn restricting(self) -> Field {
        Field { restricts: true, ..self }
    }
}

/// A field of a definition, by its type. What is absent is neither written nor shown.
enum Value<'a> {
    Text(&'a mut Option<String>),
    Flag(&'a mut bool),
    List(&'a mut Vec<String>),
    Seconds(&'a mut Option<f64>),
    Level(&'a mut Option<ThinkingLevel>),
    Access(&'a mut Option<Access>),
    Isolation(&'a mut Option<Isolation>),
    Budget(&'a mut Option<Budget>),
    Key(&'a mut Option<ApiKey>),
}

impl Value<'_> {
    fn read(self, fields: &mut Fields<'_>, name: &'static str) {
        match self {
            Value::Text(text) => *text = fields.text(name),
            Value::Flag(flag) => *flag = fields.flag(name),
            Value::List(list) => *list = fields.list(name),
            Value::Seconds(seconds) => *seconds = fields.seconds(name),
            Value::Level(level) => *level = fields.word(name, &ThinkingLevel::WORDS),
            Value::Access(access) => *access = fields.word(name, &Access::WORDS),
            Value::Isolation(isolation) => *isolation = fields.word(name, &Isolation::WORDS),
            Value::Budget(budget) => *budget = fields.budget(name),
            Value::Key(key) => *key = fields.text(name).map(ApiKey::new),
        }
    }

    /// As it stands in the file, which is the user's own.
    fn written(self) -> Option<String> {
        match self {
            Value::Text(value) => text(value.as_deref()?),
            Value::Flag(flag) => flag.then(|| "true".to_owned()),
            Value::List(entries) => list(entries),
            Value::Seconds(seconds) => Some(seconds.as_ref()?.to_string()),
            Value::Level(level) => text(level.as_ref()?.word()),
            Value::Access(access) => text(access.as_ref()?.word()),
            Value::Isolation(isolation) => text(isolation.as_ref()?.word()),
            Value::Budget(budget) => budget_fields(budget.as_ref()?),
            Value::Key(key) => text(key.as_ref()?.reveal()),
        }
    }

    /// As it is shown, with a key masked.
    fn shown(self) -> Option<String> {
        match self {
            Value::Text(text) => text.clone(),
            Value::Flag(flag) => flag.then(|| "true".to_owned()),
            Value::List(entries) if entries.is_empty() => None,
            Value::List(entries) => Some(format!("[{}]", entries.join(", "))),
            Value::Seconds(seconds) => Some(format!("{}s", seconds.as_ref()?)),
            Value::Level(level) => Some(level.as_ref()?.word().to_owned()),
            Value::Access(access) => Some(access.as_ref()?.word().to_owned()),
            Value::Isolation(isolation) => Some(isolation.as_ref()?.word().to_owned()),
            Value::Budget(budget) => budget.as_ref()?.words(),
            Value::Key(key) => Some(key.as_ref()?.to_string()),
        }
    }
}

/// A budget in one line of a file.
fn budget_fields(budget: &Budget) -> Option<String> {
    let Budget { tokens, cost_usd, turns } = budget;
    let fields = [
        tokens.map(|tokens| format!("tokens: {tokens}")),
        cost_usd.map(|cost| format!("costUsd: {cost}")),
        turns.map(|turns| format!("turns: {turns}")),
    ];
    let fields: Vec<String> = fields.into_iter().flatten().collect();
    (!fields.is_empty()).then(|| format!("{{{}}}", fields.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_shown() {
        for field in &FIELDS {
            assert!(SHOWN.contains(&field.name), "{}", field.name);
        }
    }
}
