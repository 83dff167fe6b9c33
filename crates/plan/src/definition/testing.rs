//! Definitions for tests.

use std::path::PathBuf;

use model::{Access, Budget};
use proptest::prelude::*;
use proptest::sample::select;
use protocol::{ApiKey, ThinkingLevel};

use super::{Definition, DefinitionDirectories, DefinitionKind, Scope};

/// Directories of profiles that do not exist.
pub(super) fn directories() -> DefinitionDirectories {
    directories_of(DefinitionKind::Profile)
}

/// Directories that do not exist.
pub(super) fn directories_of(kind: DefinitionKind) -> DefinitionDirectories {
    let name = match kind {
        DefinitionKind::Profile => "agent-profiles",
        DefinitionKind::Preset => "subagents",
    };
    DefinitionDirectories {
        kind,
        global: PathBuf::from("/home/me/.pi/agent").join(name),
        project: PathBuf::from("/work/.pi").join(name),
        claude: Vec::new(),
    }
}

/// An empty profile of the user, called `p`.
pub(super) fn definition() -> Definition {
    Definition::new("p", Scope::Global, &directories())
}

pub(super) fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Texts of every kind: what any text is, what looks like YAML, and what is read as something
/// else than text if it is not quoted.
pub(super) fn any_text() -> impl Strategy<Value = String> {
    let characters = prop_oneof![
        any::<char>(),
        select(
            "-:#'\"|>&*!%@`{}[],?~ \t\n\r\\\0ab01.\u{85}\u{2028}\u{feff}\u{ffff}"
                .chars()
                .collect::<Vec<_>>()
        ),
    ];
    let texts = proptest::collection::vec(characters, 1..20).prop_map(String::from_iter);
    let words = [
        "true",
        "False",
        "null",
        "~",
        "off",
        "yes",
        "NO",
        "y",
        "7",
        "-1",
        "+1",
        "1e5",
        "0x1F",
        "0o7",
        "1_000",
        ".5",
        ".inf",
        "inf",
        "-inf",
        "NaN",
        ".nan",
        "infinity",
        "2026-01-01",
        "1:30",
        "<<",
        "=",
        "---",
        "...",
        "- a",
        "a: b",
        "a:",
        ": a",
        "a #b",
        "#a",
        " a",
        "a ",
        "a\nb",
        "a\n b",
        " a\nb",
        "a\n\nb",
        "a\nb\n",
        "\na",
        "a\r\nb",
        "a\n---\nb",
        "a\n\tb",
        "a\n# b",
        "a \nb",
        "sonnet:high",
        "a, b",
        ",",
        "a,",
        "!!str a",
        "&a",
        "*a",
        "%a",
    ];
    prop_oneof![texts, select(words.to_vec()).prop_map(str::to_owned)]
}

fn any_list() -> impl Strategy<Value = Vec<String>> {
    let entries = prop_oneof![any_text(), Just(String::new()), "[a-z]{1,5}"];
    proptest::collection::vec(entries, 0..4)
}

fn any_budget() -> impl Strategy<Value = Option<Budget>> {
    let (count, cost) = (|| proptest::option::of(1..=u64::MAX), proptest::option::of(1e-6..1e15));
    (count(), cost, count()).prop_map(|(tokens, cost_usd, turns)| {
        let budget = Budget { tokens, cost_usd, turns };
        (!budget.is_unlimited()).then_some(budget)
    })
}

/// Every definition that a file can describe.
pub(super) fn any_definition() -> impl Strategy<Value = Definition> {
    let text = || proptest::option::of(any_text());
    let texts = (text(), text(), text(), text(), text(), any_text());
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let lists =
        (any_list(), any_list(), any_list(), any_list(), any_list(), any_list(), any_list());
    let words = (
        select(vec![DefinitionKind::Profile, DefinitionKind::Preset]),
        "[a-zA-Z0-9_-]{1,8}",
        select(vec![Scope::Global, Scope::Project]),
        proptest::option::of(select(ThinkingLevel::WORDS.to_vec())),
        proptest::option::of(select(vec!["pi".to_owned(), "claude".to_owned()])),
        proptest::option::of(1.0..1e15),
        proptest::option::of(select(Access::WORDS.to_vec())),
        any_budget(),
    );
    (words, texts, flags, lists).prop_map(|(words, texts, flags, lists)| {
        let (kind, name, scope, level, agent, timeout, access, budget) = words;
        let mut definition = Definition::new(&name, scope, &directories_of(kind));
        definition.configuration.thinking_level = level.map(|(_, level)| level);
        definition.agent = agent;
        definition.access = access.map(|(_, access)| access);
        definition.budget = budget;
        definition.configuration.provider = texts.0;
        definition.configuration.model = texts.1;
        definition.description = Some(texts.5);
        let body = Some(texts.3.unwrap_or_default().trim().to_owned());
        let body = body.filter(|body| !body.is_empty());
        match kind {
            DefinitionKind::Profile => {
                definition.configuration.append_system_prompt = texts.2;
                definition.configuration.system_prompt = body;
                definition.configuration.api_key =
                    texts.4.filter(|_| scope == Scope::Global).map(ApiKey::new);
            }
            DefinitionKind::Preset => {
                definition.configuration.append_system_prompt = body;
                definition.timeout = timeout;
            }
        }
        (definition.configuration.no_tools, definition.configuration.no_extensions) =
            (flags.0, flags.1);
        (definition.configuration.no_skills, definition.configuration.no_context_files) =
            (flags.2, flags.3);
        (definition.configuration.tools, definition.configuration.exclude_tools) =
            (lists.0, lists.1);
        (definition.configuration.extensions, definition.configuration.extra_args) =
            (lists.2, lists.3);
        (definition.suggested_skills, definition.load_skills) = (lists.4, lists.5);
        definition.configuration.fallback_models = lists.6;
        definition
    })
}
