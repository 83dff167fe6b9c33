//! The line that stands for a call before it has a result.

use serde_json::Value;

use super::{Line, Role};

/// `delegate_to_subagents 3 sub-agents (default profile: x) profiles: [a, b]`, from the arguments
/// of the call. They may still be incomplete.
pub fn call_line(args: &Value) -> Line {
    let tasks = args.get("tasks").and_then(Value::as_array);
    let count = tasks.map_or(1, Vec::len);
    let plural = if count == 1 { "" } else { "s" };
    let mut line = Line::default()
        .with_bold(Role::Title, "delegate_to_subagents ")
        .with(Role::Accent, &format!("{count} sub-agent{plural}"));
    if let Some(profile) = profile_of(args) {
        line = line.with(Role::Dim, &format!(" (default profile: {profile})"));
    }
    let profiles: Vec<&str> = tasks.into_iter().flatten().filter_map(profile_of).collect();
    if !profiles.is_empty() {
        line = line.with(Role::Dim, &format!(" profiles: [{}]", profiles.join(", ")));
    }
    line
}

fn profile_of(value: &Value) -> Option<&str> {
    value.get("profile").and_then(Value::as_str).filter(|profile| !profile.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_call_names_its_tasks_and_profiles() {
        for (args, expected) in [
            (
                json!({
                    "profile": "researcher",
                    "tasks": [{"profile": "writer"}, {"profile": "researcher"}, {}]
                }),
                "delegate_to_subagents 3 sub-agents (default profile: researcher) \
                 profiles: [writer, researcher]",
            ),
            (json!({"tasks": [{"profile": ""}]}), "delegate_to_subagents 1 sub-agent"),
            (json!({}), "delegate_to_subagents 1 sub-agent"),
            (json!(null), "delegate_to_subagents 1 sub-agent"),
            (json!({"tasks": []}), "delegate_to_subagents 0 sub-agents"),
        ] {
            assert_eq!(call_line(&args).text(), expected);
        }
        let line = call_line(&json!({"profile": "x", "tasks": [{}, {}]}));
        let roles: Vec<_> = line.spans().iter().map(|span| (span.role(), span.is_bold())).collect();
        assert_eq!(roles, [(Role::Title, true), (Role::Accent, false), (Role::Dim, false)]);
    }
}
