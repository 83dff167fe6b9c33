//! How a request sets the level of thinking.

use serde_json::{Value, json};

use crate::config::Model;
use crate::provider::ThinkingLevel;

/// The configuration for this level; `None` for a model that does not think.
pub(super) fn config(model: &Model, level: ThinkingLevel) -> Option<Value> {
    if !model.reasoning {
        return None;
    }
    // A model that cannot stop thinking thinks as little as it can.
    let wanted = level;
    let level = model.clamp_thinking(level);
    if level == ThinkingLevel::Off {
        return Some(json!({"thinkingBudget": 0}));
    }
    let word = model.thinking_levels.get(level.word()).cloned().flatten();
    let word = word.unwrap_or_else(|| level.word().to_owned()).to_uppercase();
    let has_levels = has_levels(&model.id);
    if wanted == ThinkingLevel::Off {
        let silent =
            if has_levels { json!({"thinkingLevel": word}) } else { json!({"thinkingBudget": 0}) };
        return Some(silent);
    }
    Some(if has_levels {
        json!({"includeThoughts": true, "thinkingLevel": word})
    } else {
        json!({"includeThoughts": true, "thinkingBudget": budget(&model.id, level)})
    })
}

/// The number after `gemini-`.
pub(super) fn generation(id: &str) -> Option<u32> {
    let id = id.to_lowercase();
    let rest = id.strip_prefix("gemini-")?;
    let rest = rest.strip_prefix("live-").unwrap_or(rest);
    let digits = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// Whether the model has levels of thinking. Others have a budget of tokens.
fn has_levels(id: &str) -> bool {
    let id = id.to_lowercase();
    let is_third = id.find("gemini-3").is_some_and(|start| {
        let rest = &id[start + "gemini-3".len()..];
        let minor =
            rest.strip_prefix('.').map(|it| it.trim_start_matches(|c: char| c.is_ascii_digit()));
        let rest = minor.unwrap_or(rest);
        rest.starts_with("-pro") || rest.starts_with("-flash")
    });
    is_third
        || matches!(id.as_str(), "gemini-flash-latest" | "gemini-flash-lite-latest")
        || id.contains("gemma-4")
        || id.contains("gemma4")
}

/// In tokens; -1 lets the model decide.
fn budget(id: &str, level: ThinkingLevel) -> i64 {
    let (least, most) = match id {
        _ if id.contains("2.5-pro") => (128, 32_768),
        _ if id.contains("2.5-flash-lite") => (512, 24_576),
        _ if id.contains("2.5-flash") => (128, 24_576),
        _ => return -1,
    };
    match level {
        ThinkingLevel::Off => 0,
        ThinkingLevel::Minimal => least,
        ThinkingLevel::Low => 2048,
        ThinkingLevel::Medium => 8192,
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_a_model_can() {
        for (id, number, levels) in [
            ("gemini-3.1-pro-preview", Some(3), true),
            ("gemini-3-flash-preview", Some(3), true),
            ("gemini-3.8-flash", Some(3), true),
            ("gemini-2.5-pro", Some(2), false),
            ("gemini-live-10-x", Some(10), false),
            ("gemini-flash-latest", None, true),
            ("gemma-4-31b-it", None, true),
            ("gemini-", None, false),
            ("claude-x", None, false),
            ("gemini-3é-pro", Some(3), false),
        ] {
            assert_eq!((generation(id), has_levels(id)), (number, levels), "{id}");
        }
    }
}
