//! Finds the model that a text means: an id, or a part of one, perhaps with a level of thinking.

use super::registry::Entry;
use plan::ThinkingLevel;

#[derive(Clone, Copy)]
pub(super) struct Match<'a> {
    pub(super) entry: &'a Entry,
    /// The level after the last colon.
    pub(super) thinking: Option<ThinkingLevel>,
    /// Whether the text was only a part of the model's id or name.
    pub(super) is_guess: bool,
}

/// Finds the model that a text means, with or without a level of thinking at its end. Ids can have
/// colons themselves, so that the whole text is tried first.
pub(super) fn find<'a>(text: &str, candidates: &[&'a Entry]) -> Option<Match<'a>> {
    if let Some(entry) = exact(text, candidates) {
        return Some(Match { entry, thinking: None, is_guess: false });
    }
    if let Some((rest, level)) = split_thinking(text)
        && let Some(entry) = exact(rest, candidates)
    {
        return Some(Match { entry, thinking: Some(level), is_guess: false });
    }
    if let Some(entry) = partial(text, candidates) {
        return Some(Match { entry, thinking: None, is_guess: true });
    }
    let (rest, level) = split_thinking(text)?;
    let entry = partial(rest, candidates)?;
    Some(Match { entry, thinking: Some(level), is_guess: true })
}

/// The text before a level of thinking, and the level.
pub(super) fn split_thinking(text: &str) -> Option<(&str, ThinkingLevel)> {
    let (rest, level) = text.rsplit_once(':')?;
    Some((rest, ThinkingLevel::parse(level)?)).filter(|(rest, _)| !rest.is_empty())
}

/// The only model with exactly this id, with or without its provider, in any case.
fn exact<'a>(text: &str, candidates: &[&'a Entry]) -> Option<&'a Entry> {
    let text = text.trim();
    let only = |is_match: &dyn Fn(&Entry) -> bool| {
        let mut matches = candidates.iter().filter(|entry| is_match(entry));
        matches.next().map(|first| matches.next().is_none().then_some(*first))
    };
    only(&|entry| is_full_name(entry, text))
        .or_else(|| only(&|entry| entry.id.eq_ignore_ascii_case(text)))
        .flatten()
}

fn is_full_name(entry: &Entry, text: &str) -> bool {
    text.split_at_checked(entry.provider.len()).is_some_and(|(provider, rest)| {
        provider.eq_ignore_ascii_case(&entry.provider)
            && rest.strip_prefix('/').is_some_and(|id| id.eq_ignore_ascii_case(&entry.id))
    })
}

/// The newest model with the text in its id or name. Ids without a date come first: they follow the
/// newest version.
fn partial<'a>(text: &str, candidates: &[&'a Entry]) -> Option<&'a Entry> {
    let text = text.trim().to_lowercase();
    if text.is_empty() {
        return None;
    }
    let has_text = |entry: &&&Entry| {
        entry.id.to_lowercase().contains(&text) || entry.name.to_lowercase().contains(&text)
    };
    let rank = |entry: &Entry| (!has_date(&entry.id), entry.id.to_lowercase());
    let mut best: Option<&'a Entry> = None;
    for entry in candidates.iter().filter(has_text) {
        // Of equal ranks, the first wins.
        if best.is_none_or(|best| rank(entry) > rank(best)) {
            best = Some(entry);
        }
    }
    best
}

/// Whether an id ends with a date such as `-20250929`.
fn has_date(id: &str) -> bool {
    id.rsplit_once('-')
        .is_some_and(|(_, date)| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::Map;

    use super::*;

    fn entry(name: &str) -> Entry {
        let (provider, id) = name.split_once('/').unwrap();
        Entry {
            provider: provider.to_owned(),
            id: id.to_owned(),
            name: format!("The {id}"),
            api: "openai-completions".to_owned(),
            base_url: "http://127.0.0.1/v1".to_owned(),
            reasoning: true,
            thinking_levels: BTreeMap::new(),
            images: false,
            rates: None,
            context_window: 1,
            max_tokens: 1,
            sampling: Map::new(),
            headers: BTreeMap::new(),
            compat: Map::new(),
        }
    }

    fn entries() -> Vec<Entry> {
        [
            "anthropic/claude-sonnet-4-5",
            "anthropic/claude-sonnet-4-5-20250929",
            "anthropic/claude-opus-4-8",
            "anthropic/claude-opus-5",
            "ollama/qwen2.5-coder:7b",
            "ollama/qwen3:high",
            "ollama/qwen3",
            "openrouter/anthropic/claude-opus-5",
            "openrouter/openai/gpt-4o:extended",
            "openai/gpt-4o",
            "azure/gpt-4o",
            "dated/model-20240101",
            "dated/model-20250101",
        ]
        .map(entry)
        .to_vec()
    }

    #[test]
    fn texts_mean_what_pi_takes_them_for() {
        let entries = entries();
        let candidates: Vec<&Entry> = entries.iter().collect();
        for (text, expected, thinking, is_guess) in [
            ("claude-opus-5", "anthropic/claude-opus-5", None, false),
            ("CLAUDE-OPUS-5", "anthropic/claude-opus-5", None, false),
            (" claude-opus-5 ", "anthropic/claude-opus-5", None, false),
            ("anthropic/claude-opus-5", "anthropic/claude-opus-5", None, false),
            (
                "openrouter/anthropic/claude-opus-5",
                "openrouter/anthropic/claude-opus-5",
                None,
                false,
            ),
            ("qwen2.5-coder:7b", "ollama/qwen2.5-coder:7b", None, false),
            ("qwen2.5-coder:7b:low", "ollama/qwen2.5-coder:7b", Some(ThinkingLevel::Low), false),
            ("qwen3:high", "ollama/qwen3:high", None, false),
            ("qwen3:high:high", "ollama/qwen3:high", Some(ThinkingLevel::High), false),
            ("qwen3:low", "ollama/qwen3", Some(ThinkingLevel::Low), false),
            ("openai/gpt-4o:extended", "openrouter/openai/gpt-4o:extended", None, false),
            ("openai/gpt-4o:off", "openai/gpt-4o", Some(ThinkingLevel::Off), false),
            ("opus", "anthropic/claude-opus-5", None, true),
            ("sonnet", "anthropic/claude-sonnet-4-5", None, true),
            ("the claude-opus-4", "anthropic/claude-opus-4-8", None, true),
            ("sonnet:xhigh", "anthropic/claude-sonnet-4-5", Some(ThinkingLevel::Xhigh), true),
            ("model", "dated/model-20250101", None, true),
        ] {
            let found = find(text, &candidates).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (found.entry.full_name().as_str(), found.thinking, found.is_guess),
                (expected, thinking, is_guess),
                "{text}"
            );
        }
        for text in ["", " ", ":", ":high", "gpt-9", "opus:ultra", "claude/opus", "/"] {
            assert!(find(text, &candidates).is_none_or(|found| found.is_guess), "{text:?}");
        }
        assert!(exact("gpt-4o", &candidates).is_none(), "two providers have it");
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,40}") {
            let entries = entries();
            let candidates: Vec<&Entry> = entries.iter().collect();
            if let Some(found) = find(&text, &candidates) {
                let id = found.entry.full_name().to_lowercase();
                let base = match found.thinking {
                    Some(level) => text.strip_suffix(&format!(":{}", level.word())).unwrap(),
                    None => &text,
                };
                let base = base.trim().to_lowercase();
                prop_assert!(id.contains(&base) || found.entry.name.to_lowercase().contains(&base));
            }
        }

        #[test]
        fn an_id_means_itself_whatever_other_models_there_are(
            ids in prop::collection::btree_set("[a-z]{1,3}(/[a-z]{1,3})?(:[a-z0-9]{1,4}|:high)?", 1..8),
            level in prop::sample::select(ThinkingLevel::all().collect::<Vec<_>>()),
        ) {
            let entries: Vec<Entry> = ids.iter().map(|id| entry(&format!("0/{id}"))).collect();
            let candidates: Vec<&Entry> = entries.iter().collect();
            for id in &ids {
                let found = find(id, &candidates).unwrap();
                prop_assert_eq!((&found.entry.id, found.thinking, found.is_guess), (id, None, false));
                let with_level = format!("{id}:{}", level.word());
                let found = find(&with_level, &candidates).unwrap();
                if ids.contains(&with_level) {
                    prop_assert_eq!((&found.entry.id, found.thinking), (&with_level, None));
                } else {
                    prop_assert_eq!((&found.entry.id, found.thinking), (id, Some(level)));
                }
            }
        }
    }
}
