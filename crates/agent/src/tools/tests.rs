//! All tools together.

use serde_json::{Value, json};

use super::testing::TestDirectory;
use super::{ALL, ToolOutput};
use crate::message::Content;

#[test]
fn the_tools_are_pis_in_its_order() {
    let names: Vec<&str> = ALL.iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["read", "bash", "edit", "write", "grep", "find", "ls"]);
    let default: Vec<&str> =
        ALL.iter().filter(|tool| tool.is_default).map(|tool| tool.name).collect();
    assert_eq!(default, ["read", "bash", "edit", "write"]);
}

#[test]
fn declarations_describe_every_parameter() {
    for tool in ALL {
        let declaration = tool.declaration();
        assert_eq!(declaration.description, tool.description);
        assert!(!tool.description.contains("  "), "{}", tool.name);
        let schema = declaration.parameters;
        assert_eq!(schema["type"], "object", "{}", tool.name);
        let properties = schema["properties"].as_object().unwrap();
        for (name, property) in properties {
            let description = property["description"].as_str().unwrap();
            assert!(!description.is_empty() && !description.contains("  "), "{name}");
        }
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for name in required {
            assert!(properties.contains_key(name.as_str().unwrap()), "{name}");
        }
    }
}

/// What pi answers to the same calls.
#[test]
fn answers_are_those_of_pi() {
    let directory = TestDirectory::new();
    directory.file("a.txt", "hello\nworld\n");
    directory.file("README.md", "# Title\n");
    directory.file("src/main.rs", "fn main() {}\n// TODO: more\n");
    let text = |text: &str| ToolOutput::text(text);
    let edited = ToolOutput {
        content: vec![Content::text("Successfully replaced 1 block(s) in a.txt.")],
        details: Some(json!({
            "diff": "-1 hello\n+1 hello there\n 2 world",
            "patch": "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n-hello\n+hello there\n world\n",
            "firstChangedLine": 1,
        })),
    };
    for (tool, arguments, expected) in [
        ("ls", json!({"path": "."}), text("a.txt\nREADME.md\nsrc/")),
        ("find", json!({"pattern": "*.rs", "path": "src"}), text("main.rs")),
        ("grep", json!({"pattern": "TODO", "path": "src"}), text("main.rs:2: // TODO: more")),
        ("read", json!({"path": "a.txt"}), text("hello\nworld\n")),
        (
            "edit",
            json!({"path": "a.txt", "edits": [{"oldText": "hello", "newText": "hello there"}]}),
            edited,
        ),
        (
            "write",
            json!({"path": "out/new.txt", "content": "one\ntwo\n"}),
            text("Successfully wrote to out/new.txt"),
        ),
        (
            "bash",
            json!({"command": "cat a.txt out/new.txt"}),
            text("hello there\nworld\none\ntwo\n"),
        ),
    ] {
        assert_eq!(directory.run(tool, &arguments), Ok(expected), "{tool}");
    }
}

#[test]
fn failures_are_those_of_pi() {
    let directory = TestDirectory::new();
    let missing = directory.path("missing.txt");
    assert_eq!(
        directory.error("read", &json!({"path": "missing.txt"})),
        format!("ENOENT: no such file or directory, access '{}'", missing.display())
    );
    assert_eq!(
        directory.error("bash", &json!({"command": "exit 3"})),
        "(no output)\n\nCommand exited with code 3"
    );
    assert_eq!(
        directory.error("edit", &json!({"path": "missing.txt", "oldText": "a", "newText": "b"})),
        "Could not edit file: missing.txt. Error code: ENOENT."
    );
    for tool in ["grep", "find", "ls"] {
        assert_eq!(
            directory.error(tool, &json!({"path": "missing.txt", "pattern": "a"})),
            format!("Path not found: {}", missing.display())
        );
    }
}

#[test]
fn a_call_that_was_cancelled_before_it_began_does_nothing() {
    let directory = TestDirectory::new();
    directory.file("a.txt", "a\n");
    directory.cancel.cancel();
    for (tool, arguments) in [
        ("read", json!({"path": "a.txt"})),
        ("edit", json!({"path": "a.txt", "oldText": "a", "newText": "b"})),
        ("write", json!({"path": "a.txt", "content": "b"})),
        ("grep", json!({"pattern": "a"})),
        ("find", json!({"pattern": "*"})),
        ("ls", json!({})),
    ] {
        assert_eq!(directory.error(tool, &arguments), "Operation aborted", "{tool}");
    }
    assert_eq!(directory.error("bash", &json!({"command": "echo b > a.txt"})), "Command aborted");
    assert_eq!(directory.content("a.txt"), b"a\n");
}

#[test]
fn arguments_that_are_wrong_are_named() {
    let directory = TestDirectory::new();
    for (tool, arguments, complaints) in [
        ("read", json!({}), "  - path: must have required properties path"),
        ("read", json!({"path": "a", "offset": "x"}), "  - offset: must be number"),
        ("bash", json!({"command": ["ls"]}), "  - command: must be string"),
        ("write", json!({}), "  - path: must have required properties path, content"),
        ("grep", json!({"pattern": "a", "literal": "x"}), "  - literal: must be boolean"),
        ("edit", json!({}), "  - path: must have required properties path, edits"),
        ("edit", json!({"path": "a", "edits": 5}), "  - edits: must be array"),
        ("edit", json!({"path": "a", "edits": ["x"]}), "  - edits.0: must be object"),
        (
            "edit",
            json!({"path": "a", "edits": [{"oldText": "a", "newText": "b"}, {}]}),
            "  - edits.1.oldText: must have required properties oldText, newText",
        ),
        (
            "edit",
            json!({"path": "a", "edits": [{"oldText": [], "newText": 1}]}),
            "  - edits.0.oldText: must be string",
        ),
    ] {
        let received: &Value = &arguments;
        assert_eq!(
            directory.error(tool, &arguments),
            format!(
                "Validation failed for tool \"{tool}\":\n{complaints}\n\nReceived arguments:\n\
                 {received:#}"
            )
        );
    }
}
