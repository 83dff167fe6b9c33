//! The sessions of agents of other makes, shown and exported like those of any other.

use serde_json::{Value, json};
use test_support::World;

use super::{recorded, run};
use crate::world;

/// A world with the agent, and a run of it that was named `look`.
fn looked(agent: &str, protocol: &str, script: &Value) -> World {
    let world = world();
    let command = json!([env!("CARGO_BIN_EXE_fake-agent"), script.to_string()]);
    world.settings(&json!({"agents": {agent: {"command": command, "protocol": protocol}}}));
    let ran = run(&world, agent, &["--name", "look"]);
    assert_eq!(ran.task()["outcome"], "completed", "{ran:#?}");
    world
}

/// An agent of ACP that calls a tool and answers.
fn over_acp() -> Value {
    let update = |fields: Value| json!({"acp": {"update": fields}});
    json!([
        {"acp": {"open": {}}},
        update(json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "ls",
            "kind": "execute", "status": "in_progress", "rawInput": {"command": "ls"}})),
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "1",
            "status": "completed", "content": [{"type": "content",
                "content": {"type": "text", "text": "notes.txt"}}]})),
        {"acp": {"say": "There is one file."}},
        {"acp": {"answer": {"stopReason": "end_turn"}}},
        {"acp": "await_end"},
    ])
}

#[test]
fn a_session_of_every_protocol_is_shown_and_exported() {
    for (agent, protocol, script, tool, answer) in [
        (
            "claude",
            "claude",
            Value::from(recorded("claude", "tool")),
            "echo done",
            "Hello from fake",
        ),
        ("codex", "codex", Value::from(recorded("codex", "tool")), "echo done", "Hello from fake"),
        ("oracle", "acp", over_acp(), "ls", "There is one file."),
    ] {
        let world = looked(agent, protocol, &script);
        let shown = world.run(&["sessions", "show", "look"]).stdout;
        for words in ["do it", tool, answer] {
            assert!(shown.contains(words), "{agent}: {words}: {shown}");
        }
        for format in ["md", "html"] {
            let exported = world.run(&["sessions", "export", "look", "--format", format]);
            assert_eq!(exported.code, Some(0), "{exported:?}");
            for words in ["do it", tool, answer, agent] {
                assert!(
                    exported.stdout.contains(words),
                    "{agent}, {format}: {words}: {exported:?}"
                );
            }
        }
        let json = world.run(&["sessions", "export", "look", "--format", "json"]).json();
        assert_eq!(json["runs"][0]["agent"], agent, "{json}");
    }
}
