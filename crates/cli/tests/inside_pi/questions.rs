//! What agents ask, put to the user by the dialogs of the real pi.

use std::fs;

use serde_json::{Value, json};
use test_support::wait_until;

use crate::{Inside, delegate};

const COMMAND: &str = "rm -rf build && make";

/// A world with an agent that asks whether it may run a command, and then says what it was answered.
fn asking() -> Inside {
    let inside = Inside::new();
    let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
    let call = json!({"toolCallId": "c", "title": "run", "kind": "execute", "status": "pending",
        "rawInput": {"command": COMMAND}});
    let params = json!({"toolCall": call,
        "options": [option("allowed", "allow_once"), option("rejected", "reject_once")]});
    let script = json!([{"acp": {"open": {}}},
        {"acp": {"ask": {"method": "session/request_permission", "params": params}}},
        {"acp": {"say": "{answer}"}}, {"acp": {"answer": {"stopReason": "end_turn"}}},
        {"acp": "await_end"}]);
    let path = inside.world.path("script.json");
    fs::write(&path, script.to_string()).unwrap();
    let command = json!([env!("CARGO_BIN_EXE_fake-agent"), format!("@{}", path.display())]);
    let agents = json!({"oracle": {"command": command, "protocol": "acp"}});
    inside.settings(json!({"subagents": {"agents": agents, "ask": true}}));
    inside
}

fn task(name: &str) -> Value {
    json!({"name": name, "prompt": "go", "agent": "oracle", "access": "full"})
}

/// What has answered the question of each run, and how, in the order of their ids.
fn answers(inside: &Inside) -> Vec<String> {
    let of_run = |run: std::path::PathBuf| {
        let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
        let records = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let answered = records.filter(|record| record["type"] == "question_answered");
        answered.map(|record| format!("{} by {}", record["answer"], record["by"])).collect()
    };
    let mut answers: Vec<String> =
        inside.world.runs().into_iter().flat_map(|run| -> Vec<String> { of_run(run) }).collect();
    answers.sort();
    answers
}

#[test]
fn a_remote_user_is_asked_by_a_dialog() {
    let inside = asking();
    let mut pi = inside.remote(&[]);
    pi.begin(&[delegate(&[task("asker")])]);
    let dialog = pi.wait_for(|record| record["method"] == "select");
    assert_eq!(dialog["title"], format!("asker asks whether it may use bash:\n{COMMAND}"));
    assert_eq!(dialog["options"], json!(["Allow once", "Allow bash for this run", "Deny"]));
    pi.send(&json!({"type": "extension_ui_response", "id": dialog["id"], "value": "Allow once"}));
    pi.wait_for(|record| record["type"] == "agent_settled");
    assert_eq!(answers(&inside), [r#""yes" by "pi""#]);
    pi.close();
    inside.world.wait_until_nothing_is_left();
}

/// Two agents ask at once. The user answers one, and another program the other, whose dialog disappears.
#[test]
fn a_user_at_a_terminal_is_asked_one_question_after_the_other() {
    let inside = asking();
    let terminal = inside.terminal_calling(&[delegate(&[task("first"), task("second")])]);
    let asks = |name: &str| format!("{name} asks whether it may use bash:");
    wait_until(|| {
        let screen = terminal.screen();
        screen.contains(&asks("first")) || screen.contains(&asks("second"))
    });
    let is_first = terminal.screen().contains(&asks("first"));
    let [now, next] = if is_first { ["first", "second"] } else { ["second", "first"] };
    terminal.wait_for(&[COMMAND, "Allow once", "Allow bash for this run", "Deny"]);
    terminal.press("Enter");
    terminal.wait_for(&[&asks(next)]);
    terminal.wait_until_gone(&asks(now));
    let answered = inside.world.run(&["answer", next, "no"]);
    assert_eq!(answered.code, Some(0), "{answered:?}");
    terminal.wait_until_gone(&asks(next));
    terminal.wait_for(&["All calls are over."]);
    assert_eq!(answers(&inside), [r#""no" by "shell""#, r#""yes" by "pi""#]);
    terminal.quit();
    inside.world.wait_until_nothing_is_left();
}
