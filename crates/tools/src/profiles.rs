//! `list_subagent_profiles`.

use plan::{Profiles, profile_summary};

/// What is said when there are no profiles.
pub const NO_PROFILES: &str = "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/.";

/// A line for each profile.
pub fn list_profiles(profiles: &Profiles) -> String {
    let lines: Vec<String> = profiles.iter().map(profile_summary).collect();
    if lines.is_empty() { NO_PROFILES.to_owned() } else { lines.join("\n") }
}
