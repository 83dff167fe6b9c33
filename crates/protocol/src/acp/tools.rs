//! The tools of agents in our words, from what a call tells: the name of the tool, its kind, its title, its
//! arguments, and the files that it is about.

use serde_json::{Map, Value, json};

/// What a call tells of itself. Agents leave out whatever they like.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    /// What the agent calls the tool.
    pub(super) name: Option<String>,
    pub(super) kind: String,
    pub(super) title: String,
    pub(super) input: Value,
    /// The first file that it is about.
    pub(super) path: Option<String>,
    /// The changes of a file, as `edits`.
    pub(super) edits: Vec<Value>,
}

/// Our name of a tool, and the names that agents have for it.
const NAMES: [(&str, &[&str]); 10] = [
    ("bash", &["bash", "shell", "run_shell_command", "execute", "powershell", "terminal"]),
    ("read", &["read", "read_file", "view", "read_many_files"]),
    ("write", &["write", "write_file", "create", "create_file"]),
    (
        "edit",
        &[
            "edit",
            "multiedit",
            "replace",
            "str_replace",
            "apply_patch",
            "patch",
            "str_replace_editor",
        ],
    ),
    ("grep", &["grep", "search_file_content", "grep_search", "rg"]),
    ("find", &["find", "glob", "file_search"]),
    ("ls", &["ls", "list", "list_directory", "list_dir"]),
    ("fetch_content", &["fetch_content", "webfetch", "web_fetch", "fetch"]),
    ("web_search", &["web_search", "websearch", "google_web_search"]),
    ("write_todos", &["write_todos", "todowrite"]),
];

/// The names that arguments have elsewhere.
const PATHS: [&str; 7] =
    ["file_path", "filePath", "absolute_path", "abs_path", "filepath", "dir_path", "fileName"];
const OLD_TEXTS: [&str; 3] = ["old_string", "oldString", "old_str"];
const NEW_TEXTS: [&str; 3] = ["new_string", "newString", "new_str"];

/// Whether the arguments are there. Some agents announce a call before the model has written them, with nothing but
/// the directory.
pub(super) fn has_input(input: &Value) -> bool {
    match input {
        Value::Object(fields) => fields.keys().any(|name| name != "cwd"),
        Value::String(text) => !text.is_empty(),
        Value::Null => false,
        _ => true,
    }
}

/// Whether the text is what an agent calls a tool that is known here.
pub(super) fn is_tool_name(text: &str) -> bool {
    NAMES.iter().any(|(_, theirs)| theirs.contains(&text))
}

/// The call in our words: the name of the tool, and its arguments under the names that previews know.
pub(super) fn call(told: &Told) -> (String, Value) {
    let tool = tool(told);
    let arguments = match &told.input {
        Value::Object(input) if has_input(&told.input) => renamed(&tool, input.clone()),
        Value::Null | Value::Object(_) => Map::new(),
        other => Map::from_iter([("input".to_owned(), other.clone())]),
    };
    (tool.clone(), Value::Object(completed(&tool, arguments, told)))
}

fn tool(told: &Told) -> String {
    let is_word = |text: &&str| !text.is_empty() && !text.contains(char::is_whitespace);
    let own = told.name.as_deref().or(Some(told.title.as_str()).filter(is_word));
    let known = own.and_then(|own| {
        let own = own.to_ascii_lowercase();
        let named = NAMES.iter().find(|(_, theirs)| theirs.contains(&own.as_str()));
        named.map(|(ours, _)| *ours).filter(|ours| is_of_kind(ours, &told.kind))
    });
    let of_kind = || match told.kind.as_str() {
        "execute" => Some("bash"),
        "read" => Some("read"),
        "edit" => Some("edit"),
        "search" => Some("grep"),
        "fetch" if told.input.get("query").is_some() => Some("web_search"),
        "fetch" => Some("fetch_content"),
        _ => None,
    };
    let other = || match told.kind.as_str() {
        "delete" | "move" | "think" => told.kind.clone(),
        _ => own.unwrap_or("tool").to_owned(),
    };
    // A tool that a server offers has a name of its own, whatever its kind.
    match (known, told.name.as_deref()) {
        (Some(ours), _) => ours.to_owned(),
        (None, Some(name)) if name.contains("__") => name.to_owned(),
        (None, _) => of_kind().map_or_else(other, str::to_owned),
    }
}

/// Whether a tool can be of that kind. What looks like the name of a tool may be a command.
fn is_of_kind(ours: &str, kind: &str) -> bool {
    match kind {
        "execute" => ours == "bash",
        "read" => ["read", "ls"].contains(&ours),
        "edit" => ["edit", "write"].contains(&ours),
        "search" => ["grep", "find", "ls"].contains(&ours),
        "fetch" => ["fetch_content", "web_search"].contains(&ours),
        _ => true,
    }
}

fn renamed(tool: &str, mut input: Map<String, Value>) -> Map<String, Value> {
    if matches!(tool, "read" | "write" | "edit" | "ls" | "grep" | "find") {
        let path = PATHS.iter().find_map(|name| input.shift_remove(*name));
        if let Some(path) = path.filter(|_| !input.contains_key("path")) {
            input.shift_insert(0, "path".to_owned(), path);
        }
    }
    if tool == "edit" {
        let mut take = |names: &[&str]| names.iter().find_map(|name| input.shift_remove(*name));
        if let (Some(old), Some(new)) = (take(&OLD_TEXTS), take(&NEW_TEXTS)) {
            input.insert("edits".to_owned(), json!([{"oldText": old, "newText": new}]));
        }
    }
    if tool == "bash" {
        // It is the directory of the task nearly always, and only makes the line longer.
        input.shift_remove("cwd");
    }
    input
}

/// Puts in what the arguments do not tell and the rest of the call does.
fn completed(tool: &str, mut arguments: Map<String, Value>, told: &Told) -> Map<String, Value> {
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value.filter(|_| !arguments.contains_key(name)) {
            arguments.insert(name.to_owned(), value);
        }
    };
    let title = || Some(told.title.trim()).filter(|text| !text.is_empty()).map(Value::from);
    let has_input = has_input(&told.input);
    match tool {
        "bash" => set("command", title()),
        "read" | "write" | "edit" | "ls" | "delete" | "move" => {
            set("path", told.path.clone().map(Value::from).or_else(title));
        }
        "grep" | "find" if !has_input => set("pattern", title()),
        "fetch_content" | "web_search" if !has_input => set("query", title()),
        _ if !has_input => set("title", title()),
        _ => {}
    }
    match (tool, told.edits.as_slice()) {
        ("edit", [_, ..]) => set("edits", Some(Value::from(told.edits.clone()))),
        ("write", [edit, ..]) => set("content", Some(edit["newText"].clone())),
        _ => {}
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: &str, title: &str, input: Value) -> Told {
        Told { kind: kind.to_owned(), title: title.to_owned(), input, ..Told::default() }
    }

    #[test]
    fn calls_have_our_names_and_arguments() {
        let file = "/p/a.rs";
        for (told, tool, arguments) in [
            (
                told("execute", "bash", json!({"command": "ls", "cwd": "/p"})),
                "bash",
                json!({"command": "ls"}),
            ),
            (told("execute", "ls", json!({"command": "ls"})), "bash", json!({"command": "ls"})),
            (told("execute", "ls -la", Value::Null), "bash", json!({"command": "ls -la"})),
            (
                Told { path: Some(file.to_owned()), ..told("read", "a.rs", Value::Null) },
                "read",
                json!({"path": file}),
            ),
            (
                told("read", "read", json!({"limit": 5, "filePath": file})),
                "read",
                json!({"path": file, "limit": 5}),
            ),
            (
                told("edit", "edit", json!({"filePath": file, "oldString": "x", "newString": "y"})),
                "edit",
                json!({"path": file, "edits": [{"oldText": "x", "newText": "y"}]}),
            ),
            (
                Told {
                    path: Some(file.to_owned()),
                    edits: vec![json!({"oldText": "x", "newText": "y"})],
                    ..told("edit", "Edit a.rs", Value::Null)
                },
                "edit",
                json!({"path": file, "edits": [{"oldText": "x", "newText": "y"}]}),
            ),
            (
                told("edit", "write", json!({"filePath": file, "content": "z"})),
                "write",
                json!({"path": file, "content": "z"}),
            ),
            (
                told("search", "glob", json!({"pattern": "*.rs"})),
                "find",
                json!({"pattern": "*.rs"}),
            ),
            (
                told("search", "'x' within src", Value::Null),
                "grep",
                json!({"pattern": "'x' within src"}),
            ),
            (told("fetch", "webfetch", json!({"url": "u"})), "fetch_content", json!({"url": "u"})),
            (told("fetch", "Search", json!({"query": "q"})), "web_search", json!({"query": "q"})),
            (told("delete", "Remove it", Value::Null), "delete", json!({"path": "Remove it"})),
            (
                told("other", "Ask an oracle", Value::Null),
                "tool",
                json!({"title": "Ask an oracle"}),
            ),
            (
                Told {
                    name: Some("mcp__docs__read".to_owned()),
                    ..told("read", "x", json!({"q": 1}))
                },
                "mcp__docs__read",
                json!({"q": 1}),
            ),
            (told("other", "", json!([1])), "tool", json!({"input": [1]})),
        ] {
            assert_eq!(call(&told), (tool.to_owned(), arguments), "{told:?}");
        }
    }

    #[test]
    fn a_directory_alone_is_no_input() {
        for (input, expected) in [
            (json!({}), false),
            (json!({"cwd": "/p"}), false),
            (json!({"cwd": "/p", "command": "ls"}), true),
            (Value::Null, false),
            (json!("ls"), true),
        ] {
            assert_eq!(has_input(&input), expected, "{input}");
        }
    }
}
