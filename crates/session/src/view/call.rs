//! The line that represents a call before it has a result.

use model::tool_names;
use serde_json::Value;

use super::{Line, Role};

/// The tool and the subject of the call, such as `delegate_to_subagents 3 sub-agents (default
/// profile: x) profiles: [a, b]`. The arguments may still be incomplete.
pub fn call_line(tool: &str, args: &Value) -> Line {
    let name = Line::default().with_bold(Role::Title, tool);
    let of = |field| text(args, field);
    match tool {
        tool_names::DELEGATE => delegation(name.with(Role::Plain, " "), args),
        tool_names::SUBAGENT if args.get("tasks").is_some() => {
            let line = name.with(Role::Plain, " ").with(Role::Accent, &sub_agents(args));
            named(line, " presets: ", args, "preset")
        }
        tool_names::SUBAGENT | tool_names::BACKGROUND => {
            let preset = of("preset").unwrap_or("...");
            name.with(Role::Plain, " ").with(Role::Accent, preset)
        }
        tool_names::OUTPUT | tool_names::SESSION => {
            name.with(Role::Plain, " ").with(Role::Accent, of("sessionId").unwrap_or("..."))
        }
        tool_names::STATUS => match of("runId") {
            Some(run) => name.with(Role::Plain, " ").with(Role::Accent, run),
            None => name,
        },
        _ => name,
    }
}

fn delegation(name: Line, args: &Value) -> Line {
    let mut line = name.with(Role::Accent, &sub_agents(args));
    if let Some(profile) = text(args, "profile") {
        line = line.with(Role::Dim, &format!(" (default profile: {profile})"));
    }
    named(line, " profiles: ", args, "profile")
}

/// `3 sub-agents`
fn sub_agents(args: &Value) -> String {
    let count = args.get("tasks").and_then(Value::as_array).map_or(1, Vec::len);
    format!("{count} sub-agent{}", if count == 1 { "" } else { "s" })
}

/// Adds the values that the tasks have in a field, if there are any.
fn named(line: Line, title: &str, args: &Value, field: &str) -> Line {
    let tasks = args.get("tasks").and_then(Value::as_array).into_iter().flatten();
    let names: Vec<&str> = tasks.filter_map(|task| text(task, field)).collect();
    if names.is_empty() {
        return line;
    }
    line.with(Role::Dim, &format!("{title}[{}]", names.join(", ")))
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty())
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
            assert_eq!(call_line("delegate_to_subagents", &args).text(), expected);
        }
        let line = call_line("delegate_to_subagents", &json!({"profile": "x", "tasks": [{}, {}]}));
        let roles: Vec<_> = line.spans().iter().map(|span| (span.role(), span.is_bold())).collect();
        let (title, space) = ((Role::Title, true), (Role::Plain, false));
        assert_eq!(roles, [title, space, (Role::Accent, false), (Role::Dim, false)]);
    }

    #[test]
    fn the_other_tools_say_what_they_are_called_for() {
        for (tool, args, expected) in [
            ("subagent", json!({"preset": "scout", "task": "x"}), "subagent scout"),
            ("subagent", json!({}), "subagent ..."),
            (
                "subagent",
                json!({"tasks": [{"preset": "a"}, {"preset": "b"}]}),
                "subagent 2 sub-agents presets: [a, b]",
            ),
            ("background_agent", json!({"preset": "scout"}), "background_agent scout"),
            ("get_subagent_output", json!({"sessionId": "0a"}), "get_subagent_output 0a"),
            ("get_subagent_session", json!({}), "get_subagent_session ..."),
            ("background_agent_status", json!({"runId": "r"}), "background_agent_status r"),
            ("background_agent_status", json!({}), "background_agent_status"),
            ("list_subagent_profiles", json!({}), "list_subagent_profiles"),
        ] {
            assert_eq!(call_line(tool, &args).text(), expected);
        }
    }
}
