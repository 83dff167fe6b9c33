//! `list_subagent_profiles`, and the same for presets.

use plan::{DefinitionDirectories, Definitions, Surroundings, definition_summary};

use crate::definition_wizard::shown;

/// A line for each profile.
pub fn list_profiles(profiles: &Definitions, surroundings: &Surroundings) -> String {
    let lines: Vec<String> = profiles.iter().map(definition_summary).collect();
    if lines.is_empty() { no_profiles(surroundings) } else { lines.join("\n") }
}

/// A line for each preset, with its description.
pub fn list_presets(presets: &Definitions, surroundings: &Surroundings) -> String {
    let lines: Vec<String> = presets
        .iter()
        .map(|preset| {
            let description = preset.description.as_deref().unwrap_or_default();
            let words: Vec<&str> = description.split_whitespace().collect();
            format!("{} — {}", definition_summary(preset), words.join(" "))
        })
        .collect();
    if lines.is_empty() { no_presets(surroundings) } else { lines.join("\n") }
}

/// Says that there are no profiles, and where they belong.
pub fn no_profiles(surroundings: &Surroundings) -> String {
    let global = DefinitionDirectories::of_profiles(surroundings).global;
    let global = shown(surroundings, &global);
    format!("No subagent profiles found. Add .md files to {global}/ or .pi/agent-profiles/.")
}

/// Says that there are no presets, and where they belong.
pub fn no_presets(surroundings: &Surroundings) -> String {
    let global = DefinitionDirectories::of_presets(surroundings).global;
    let global = shown(surroundings, &global);
    format!("No subagent presets found. Add .md files to {global}/ or .pi/subagents/.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directories_are_those_that_are_looked_at() {
        let surroundings = |agent_dir: &str| Surroundings {
            home: Some("/home/me".into()),
            ..Surroundings::new("/home/me/project".into(), agent_dir.into())
        };
        assert_eq!(
            no_profiles(&surroundings("/home/me/.pi/agent")),
            "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or \
             .pi/agent-profiles/."
        );
        assert_eq!(
            no_presets(&surroundings("/elsewhere")),
            "No subagent presets found. Add .md files to /elsewhere/subagents/ or .pi/subagents/."
        );
    }
}
