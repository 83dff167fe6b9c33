//! `list_subagent_profiles`, and the same for presets.

use plan::{Definitions, definition_summary};

/// What is said when there are no profiles.
pub const NO_PROFILES: &str = "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/.";

/// What is said when there are no presets.
pub const NO_PRESETS: &str =
    "No subagent presets found. Add .md files to ~/.pi/agent/subagents/ or .pi/subagents/.";

/// A line for each profile.
pub fn list_profiles(profiles: &Definitions) -> String {
    let lines: Vec<String> = profiles.iter().map(definition_summary).collect();
    if lines.is_empty() { NO_PROFILES.to_owned() } else { lines.join("\n") }
}

/// A line for each preset, with what it is good for.
pub fn list_presets(presets: &Definitions) -> String {
    let lines: Vec<String> = presets
        .iter()
        .map(|preset| {
            let description = preset.description.as_deref().unwrap_or_default();
            let words: Vec<&str> = description.split_whitespace().collect();
            format!("{} — {}", definition_summary(preset), words.join(" "))
        })
        .collect();
    if lines.is_empty() { NO_PRESETS.to_owned() } else { lines.join("\n") }
}
