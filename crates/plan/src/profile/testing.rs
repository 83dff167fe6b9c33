//! Profiles for tests.

use std::path::PathBuf;

use proptest::prelude::*;
use proptest::sample::select;

use super::{AgentName, ApiKey, Profile, ProfileDirectories, Scope, ThinkingLevel};

/// Directories that do not exist.
pub(super) fn directories() -> ProfileDirectories {
    ProfileDirectories {
        global: PathBuf::from("/home/me/.pi/agent/agent-profiles"),
        project: PathBuf::from("/work/.pi/agent-profiles"),
    }
}

/// An empty profile of the user, called `p`.
pub(super) fn profile() -> Profile {
    Profile::new("p", Scope::Global, &directories())
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

/// Every profile that a file can describe.
pub(super) fn any_profile() -> impl Strategy<Value = Profile> {
    let text = || proptest::option::of(any_text());
    let texts = (text(), text(), text(), text(), text());
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let lists = (any_list(), any_list(), any_list(), any_list(), any_list(), any_list());
    let words = (
        "[a-zA-Z0-9_-]{1,8}",
        select(vec![Scope::Global, Scope::Project]),
        proptest::option::of(select(ThinkingLevel::WORDS.to_vec())),
        proptest::option::of(select(vec![AgentName::Pi, AgentName::Builtin])),
    );
    (words, texts, flags, lists).prop_map(|((name, scope, level, agent), texts, flags, lists)| {
        let mut profile = Profile::new(&name, scope, &directories());
        profile.thinking_level = level.map(|(_, level)| level);
        profile.agent = agent;
        profile.provider = texts.0;
        profile.model = texts.1;
        profile.append_system_prompt = texts.2;
        let body = texts.3.unwrap_or_default();
        profile.system_prompt = Some(body.trim().to_owned()).filter(|body| !body.is_empty());
        profile.api_key = texts.4.filter(|_| scope == Scope::Global).map(ApiKey::new);
        (profile.no_tools, profile.no_extensions) = (flags.0, flags.1);
        (profile.no_skills, profile.no_context_files) = (flags.2, flags.3);
        (profile.tools, profile.exclude_tools) = (lists.0, lists.1);
        (profile.extensions, profile.extra_args) = (lists.2, lists.3);
        (profile.suggested_skills, profile.load_skills) = (lists.4, lists.5);
        profile
    })
}
