//! The tools of Claude Code, and what they are called elsewhere.

use serde_json::{Map, Value, json};

/// Our name of a tool, the tools of Claude Code that do the same, and those that could do the same in
/// another way, which go when the tool is excluded.
const TOOLS: [(&str, &[&str], &[&str]); 9] = [
    ("read", &["Read"], &[]),
    ("bash", &["Bash"], &["Monitor", "PowerShell"]),
    ("edit", &["Edit"], &["NotebookEdit"]),
    ("write", &["Write"], &[]),
    ("grep", &["Grep"], &[]),
    ("find", &["Glob"], &[]),
    ("ls", &["Glob"], &[]),
    ("web_search", &["WebSearch"], &[]),
    ("fetch_content", &["WebFetch"], &[]),
];

/// Tools that Claude Code had once, and that its users' files still name.
const FORMER_TOOLS: [(&str, &str); 2] = [("edit", "MultiEdit"), ("ls", "LS")];

/// The tools that change files. With the access `read` they could only fail.
pub(super) const WRITERS: [&str; 3] = ["Edit", "Write", "NotebookEdit"];

/// What the tools are called in Claude Code, and the names that it does not know. A name that begins
/// with a capital, or with the prefix of a server's tools, is its own.
pub(super) fn translate(names: &[String], is_exclusion: bool) -> (Vec<String>, Vec<String>) {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        let is_own = name.starts_with(|first: char| first.is_ascii_uppercase());
        if is_own || is_of_server(name) {
            known.push(name.clone());
        } else if let Some((_, same, similar)) = TOOLS.iter().find(|(ours, ..)| ours == name) {
            let similar = if is_exclusion { *similar } else { &[] };
            known.extend(same.iter().chain(similar).map(|name| (*name).to_owned()));
        } else {
            unknown.push(name.clone());
        }
    }
    let mut seen = Vec::new();
    known.retain(|name| {
        !seen.contains(name) && {
            seen.push(name.clone());
            true
        }
    });
    (known, unknown)
}

/// Our name of a tool of Claude Code, if other agents have such a tool.
pub fn our_name_of_claude_tool(tool: &str) -> Option<&'static str> {
    let current = TOOLS.iter().find(|(_, theirs, _)| theirs.contains(&tool));
    let former = || FORMER_TOOLS.iter().find(|(_, theirs)| *theirs == tool).map(|(ours, _)| *ours);
    current.map(|(ours, ..)| *ours).or_else(former)
}

/// Whether the tool belongs to a server of the Model Context Protocol.
pub(super) fn is_of_server(name: &str) -> bool {
    name.starts_with("mcp__")
}

/// A call in our words: the name of the tool, and its arguments under the names that previews know.
pub(super) fn call(tool: &str, input: Value) -> (String, Value) {
    let Value::Object(mut input) = input else { return (name_of(tool), input) };
    match tool {
        "Read" | "Write" | "Edit" => {
            set_name(&mut input, "file_path", "path");
            if let (Some(old), Some(new)) = (input.get("old_string"), input.get("new_string")) {
                let edits = json!([{"oldText": old, "newText": new}]);
                input.retain(|name, _| name != "old_string" && name != "new_string");
                input.insert("edits".to_owned(), edits);
            }
        }
        "TaskCreate" => {
            let text = input.get("subject").cloned().unwrap_or_default();
            return ("edit_todos".into(), json!({"action": "add", "todos": [{"text": text}]}));
        }
        "TaskUpdate" if input.get("status").is_some_and(|status| status == "completed") => {
            let task = input.get("taskId").cloned().unwrap_or_default();
            return ("edit_todos".into(), json!({"action": "complete", "indices": [task]}));
        }
        _ => {}
    }
    (name_of(tool), Value::Object(input))
}

fn name_of(tool: &str) -> String {
    let ours = match tool {
        "TodoWrite" => Some("write_todos"),
        _ => our_name_of_claude_tool(tool),
    };
    ours.unwrap_or(tool).to_owned()
}

fn set_name(object: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = object.shift_remove(from) {
        object.shift_insert(0, to.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(names: &[&str], is_exclusion: bool) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let (known, unknown) = translate(&names, is_exclusion);
        (known.join(","), unknown.join(","))
    }

    #[test]
    fn names_are_translated_and_an_exclusion_takes_all_that_do_the_same() {
        let pair = |known: &str, unknown: &str| (known.to_owned(), unknown.to_owned());
        for (names, is_exclusion, expected) in [
            (&["read", "find", "ls", "grep"][..], false, pair("Read,Glob,Grep", "")),
            (&["bash", "edit"], false, pair("Bash,Edit", "")),
            (&["bash", "edit"], true, pair("Bash,Monitor,PowerShell,Edit,NotebookEdit", "")),
            (&["Task", "mcp__docs__search"], false, pair("Task,mcp__docs__search", "")),
            (&["lsp_diagnostics", "write"], false, pair("Write", "lsp_diagnostics")),
        ] {
            assert_eq!(translated(names, is_exclusion), expected, "{names:?}");
        }
    }

    #[test]
    fn calls_have_our_names_and_arguments() {
        for (tool, input, expected, arguments) in [
            ("Bash", json!({"command": "ls"}), "bash", json!({"command": "ls"})),
            (
                "Read",
                json!({"limit": 5, "file_path": "/a"}),
                "read",
                json!({"path": "/a", "limit": 5}),
            ),
            (
                "Edit",
                json!({"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": true}),
                "edit",
                json!({"path": "/a", "replace_all": true, "edits": [{"oldText": "x", "newText": "y"}]}),
            ),
            ("Glob", json!({"pattern": "*.rs"}), "find", json!({"pattern": "*.rs"})),
            ("TodoWrite", json!({"todos": []}), "write_todos", json!({"todos": []})),
            (
                "TaskCreate",
                json!({"subject": "Look", "description": "d"}),
                "edit_todos",
                json!({"action": "add", "todos": [{"text": "Look"}]}),
            ),
            (
                "TaskUpdate",
                json!({"taskId": "1", "status": "completed"}),
                "edit_todos",
                json!({"action": "complete", "indices": ["1"]}),
            ),
            ("Task", json!({"prompt": "x"}), "Task", json!({"prompt": "x"})),
            ("mcp__a__b", json!(null), "mcp__a__b", json!(null)),
        ] {
            assert_eq!(call(tool, input), (expected.to_owned(), arguments), "{tool}");
        }
    }
}
