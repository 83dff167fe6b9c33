//! What a pi knows of the tasks that an earlier one has run in the same session.

use serde_json::{Value, json};

use crate::{Inside, bash, call, calling, delegate, task, task_with};

fn output(id: &str) -> Value {
    call("get_subagent_output", json!({"sessionId": id}))
}

fn transcript(id: &str) -> Value {
    call("get_subagent_session", json!({"sessionId": id}))
}

#[test]
fn sessions_survive_the_end_of_pi() {
    let inside = Inside::new();
    let script = json!([bash("echo four"), {"text": "There are {{result:0}}"}]);
    let failing = json!([{"text": "Half done.", "tools": [{"name": "ls", "args": {}}]},
                         {"error": 400, "error_message": "no such luck"}]);
    let tasks = [task("count", &script), task("fail", &failing)];
    let first = inside.stream(&[], &calling(&[delegate(&tasks)]));
    let ids = first.results[0].sessions();

    // Twice for each run: at its start, and at its end.
    let entries = inside.entries("pi-subagents");
    let told: Vec<(&str, &str)> = entries
        .iter()
        .map(|entry| (entry["taskName"].as_str().unwrap(), entry["status"].as_str().unwrap()))
        .collect();
    for name in ["count", "fail"] {
        assert!(told.contains(&(name, "running")), "{told:?}");
    }
    assert!(told.contains(&("count", "completed")) && told.contains(&("fail", "error")));
    assert_eq!(told.len(), 4);

    // The store is gone: what pi has written down is enough.
    std::fs::remove_dir_all(inside.world.project().join(".pi")).unwrap();
    let calls = [output(&ids[0]), transcript(&ids[0]), output(&ids[1]), transcript(&ids[1])];
    let next = inside.stream(&["--continue"], &calling(&calls));
    let texts: Vec<&str> = next.results.iter().map(|result| result.answer()).collect();
    assert_eq!(texts[0], "There are four\n");
    assert!(texts[1].contains("[tool result]: four"), "{}", texts[1]);
    assert_eq!(texts[2], "Half done.");
    assert!(texts[3].contains("no such luck"), "{}", texts[3]);
}

#[test]
fn a_session_is_resumed_by_a_later_pi() {
    let inside = Inside::new();
    let script = json!([{"text": "There are four."}]);
    let first = inside.stream(&[], &calling(&[delegate(&[task("count", &script)])]));
    let id = first.results[0].sessions().remove(0);
    // The model would find the script of the first run in what it is told of it, and plays it again.
    let more = json!({"name": "count on", "prompt": "Count on.", "resume": id});
    let next = inside.stream(&["--continue"], &calling(&[delegate(&[more]), transcript(&id)]));
    assert_eq!(next.results[0].sessions(), [id.as_str()]);
    assert!(next.results[1].text.contains("=== Run 1/2 (completed) ==="));
    assert!(next.results[1].text.contains("=== Run 2/2 (completed) ==="));
    assert_eq!(next.results[1].details["runCount"], 2);
    let asked = inside.asked();
    let resumed = asked.iter().map(|request| request["messages"].to_string());
    let resumed = resumed.into_iter().find(|messages| messages.contains("Previously:")).unwrap();
    assert!(resumed.contains("--- Run 1 (completed, "), "{resumed}");
    assert!(resumed.contains("Assistant: There are four."), "{resumed}");
    assert!(resumed.contains("Instructions:\\n\\nCount on."), "{resumed}");
}

#[test]
fn a_new_session_begins_with_nothing_and_the_old_one_comes_back() {
    let inside = Inside::new();
    let mut pi = inside.remote(&[]);
    let tasks = [task_with("count", &json!([{"text": "Four."}]), json!({"timeout": 60}))];
    let id = pi.call_once(delegate(&tasks)).sessions().remove(0);
    let file = pi.ask(&json!({"type": "get_state"}))["sessionFile"].clone();
    std::fs::remove_dir_all(inside.world.project().join(".pi")).unwrap();

    pi.ask(&json!({"type": "new_session"}));
    let gone = pi.call_once(output(&id));
    assert!(gone.error().starts_with(&format!("Session \"{id}\" not found.")), "{gone:#?}");

    pi.ask(&json!({"type": "switch_session", "sessionPath": file}));
    assert_eq!(pi.call_once(output(&id)).answer(), "Four.");
    pi.close();
    inside.world.wait_until_nothing_is_left();
}
