//! What represents a call before it has a result.

use model::tool_names;
use serde_json::Value;

use super::header::first_words;
use super::{Block, Cell, Extent, Line, Role, Row};

/// The tool, its subject, and for tasks with a preset what they are told. Their words are one row each, or whole.
pub fn call_heading(tool: &str, args: &Value, extent: Extent) -> Vec<Block> {
    let line = call_line(tool, args);
    let told = match tool {
        tool_names::SUBAGENT | tool_names::BACKGROUND => told(args),
        _ => Vec::new(),
    };
    match (told.as_slice(), extent) {
        ([], _) => vec![Block::Text(line)],
        ([(None, words)], Extent::Collapsed) => {
            let words = Cell::rest(Line::of(Role::Muted, &first_words(words)));
            let cells = vec![Cell { gap: 0, ..Cell::left(line) }, words];
            vec![Block::Row(Row { table: "call", cells })]
        }
        (told, extent) => {
            let rows =
                told.iter().flat_map(|(name, words)| told_blocks(name.as_deref(), words, extent));
            [Block::Text(line)].into_iter().chain(rows).collect()
        }
    }
}

/// What the tasks are told, each with its name where there are several.
fn told(args: &Value) -> Vec<(Option<String>, &str)> {
    match args.get("tasks").and_then(Value::as_array) {
        None => text(args, "task").map(|words| (None, words)).into_iter().collect(),
        Some(tasks) => (1..)
            .zip(tasks)
            .map(|(number, task)| {
                let preset = text(task, "preset").unwrap_or("...");
                (Some(format!("#{number} {preset}")), text(task, "task").unwrap_or_default())
            })
            .collect(),
    }
}

fn told_blocks(name: Option<&str>, words: &str, extent: Extent) -> Vec<Block> {
    let name = name.map(|name| Line::of(Role::Plain, "  ").with(Role::Name, name));
    match (extent, name) {
        (Extent::Collapsed, name) => {
            let name = Cell { gap: 0, ..Cell::left(name.unwrap_or_default()) };
            let words = Cell::rest(Line::of(Role::Muted, &first_words(words)));
            vec![Block::Row(Row { table: "told", cells: vec![name, words] })]
        }
        (Extent::Expanded, name) => {
            let words = words.trim().lines();
            let words = words.map(|line| Line::of(Role::Plain, "    ").with(Role::Muted, line));
            name.into_iter().chain(words).map(Block::Text).collect()
        }
    }
}

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
        tool_names::STATUS | tool_names::CONTROL => match of("runId") {
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
    fn what_agents_with_a_preset_are_told_is_shown() {
        let heading = |args: &Value, extent| -> Vec<String> {
            let blocks = call_heading("subagent", args, extent).into_iter();
            let text = |block| match block {
                Block::Text(line) => line.text(),
                Block::Row(row) => {
                    let cells: Vec<String> =
                        row.cells.iter().map(|cell| cell.line.text()).collect();
                    cells.join("|")
                }
                other => panic!("{other:?}"),
            };
            blocks.map(text).collect()
        };
        let one = json!({"preset": "scout", "task": "\n# Errors\nWhere are they?"});
        assert_eq!(heading(&one, Extent::Collapsed), ["subagent scout|Errors"]);
        assert_eq!(
            heading(&one, Extent::Expanded),
            ["subagent scout", "    # Errors", "    Where are they?"]
        );
        let two = json!({"tasks": [{"preset": "a", "task": "x"}, {"preset": "b"}]});
        assert_eq!(
            heading(&two, Extent::Collapsed),
            ["subagent 2 sub-agents presets: [a, b]", "  #1 a|x", "  #2 b|"]
        );
        assert_eq!(
            heading(&two, Extent::Expanded),
            ["subagent 2 sub-agents presets: [a, b]", "  #1 a", "    x", "  #2 b"]
        );
        for incomplete in [json!(null), json!({}), json!({"tasks": []}), json!({"tasks": 1})] {
            assert_eq!(heading(&incomplete, Extent::Collapsed).len(), 1, "{incomplete}");
        }
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
            (
                "background_agent_control",
                json!({"runId": "r", "action": "stop"}),
                "background_agent_control r",
            ),
            ("background_agent_status", json!({}), "background_agent_status"),
            ("list_subagent_profiles", json!({}), "list_subagent_profiles"),
        ] {
            assert_eq!(call_line(tool, &args).text(), expected);
        }
    }
}
