//! How runs of Codex end.

use serde_json::{Value, json};
use test_support::{Ran, World};

use super::{outcome, playing, recorded, run, story, then_exit};

const AGENT: &str = "codex";

fn play(script: &Value) -> (World, Ran) {
    let world = playing(AGENT, script);
    let ran = run(&world, AGENT, &[]);
    (world, ran)
}

fn item(stage: &str, item: &Value) -> Value {
    json!({"record": {"type": format!("item.{stage}"), "item": item}})
}

fn said(text: &str) -> Value {
    item("completed", &json!({"id": "m", "type": "agent_message", "text": text}))
}

fn command(stage: &str, status: &str, code: Option<i32>) -> Value {
    item(
        stage,
        &json!({"id": "c", "type": "command_execution", "command": "bash -lc ls",
        "aggregated_output": "", "exit_code": code, "status": status}),
    )
}

fn completed() -> Value {
    json!({"record": {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 5}}})
}

fn failed(message: &str) -> Value {
    json!({"record": {"type": "turn.failed", "error": {"message": message}}})
}

#[test]
fn a_task_with_a_tool_has_its_answer_and_its_usage_and_an_unknown_cost() {
    let (world, ran) = play(&then_exit(recorded(AGENT, "tool"), 0));
    assert_eq!(outcome(&ran), ("completed".into(), String::new()), "{ran:#?}");
    let task = ran.task();
    assert_eq!((&task["output"], &task["agent"]), (&json!("Hello from fake"), &json!(AGENT)));
    assert_eq!((&task["usage"]["totalTokens"], &task["usage"]["cost"]), (&json!(36), &Value::Null));
    assert_eq!(
        story(&ran),
        [
            "run_started",
            "warning",
            "call bash {\"command\":\"echo hi > f.txt; echo done\"}",
            "bash finished",
            "assistant  \"Hello from fake\"",
            "ended completed code 0",
        ]
    );
    let shown = world.run(&["run", "--access", "full", "--agent", AGENT, "do it"]).stderr;
    assert!(
        shown.contains("36 tokens, cost unknown") || shown.contains("36 tokens · cost unknown"),
        "{shown}"
    );
}

#[test]
fn what_the_provider_says_is_the_reason() {
    for (name, reason) in [
        ("provider-400", "bad thing"),
        ("provider-429", "exceeded retry limit, last status: 429 Too Many Requests"),
    ] {
        for code in [1, 0] {
            let (_world, ran) = play(&then_exit(recorded(AGENT, name), code));
            assert_eq!(outcome(&ran), ("provider_error".into(), reason.into()), "{name}");
        }
    }
    let (_world, ran) = play(&then_exit(recorded(AGENT, "provider-429"), 1));
    let retry = "retry 1/1 (exceeded retry limit, last status: 429 Too Many Requests)";
    assert!(story(&ran).contains(&retry.to_owned()), "{ran:#?}");
    let no_credit = "Quota exceeded. Check your plan and billing details.";
    let (_world, ran) = play(&json!([failed(no_credit), {"exit": 1}]));
    assert_eq!(outcome(&ran), ("provider_error".into(), no_credit.into()));
    let too_long = "stream disconnected before completion: Incomplete response: max_output_tokens";
    let (_world, ran) = play(&json!([said("Half of"), failed(too_long), {"exit": 1}]));
    assert_eq!(outcome(&ran), ("provider_error".into(), too_long.into()));
    assert_eq!(ran.task()["output"], "Half of");
}

#[test]
fn an_error_without_a_failed_turn_is_the_reason_of_an_exit_code() {
    let error = json!({"record": {"type": "error", "message": "The login has expired."}});
    let (_world, ran) = play(&json!([error, {"exit": 1}]));
    assert_eq!(outcome(&ran), ("provider_error".into(), "The login has expired.".into()));
    let (_world, ran) = play(&json!([{"stderr": "Error: no such provider"}, {"exit": 1}]));
    let expected = "no such provider (exit code 1)";
    assert_eq!(outcome(&ran), ("non_zero_exit".into(), expected.into()));
}

#[test]
fn only_a_completed_turn_with_an_answer_is_a_success() {
    for (script, expected) in [
        (json!([said("almost"), {"exit": 0}]), "interrupted"),
        (json!([completed(), {"exit": 0}]), "no_assistant_message"),
        (json!([said("done"), completed(), {"exit": 1}]), "non_zero_exit"),
        (json!([said("hm"), {"signal": 9}]), "killed_by_signal"),
        (
            json!([said("hm"), {"text": "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"te"},
            {"exit": 0}]),
            "interrupted",
        ),
        (json!([said("done"), completed(), "hang"]), "completed"),
    ] {
        let (_world, ran) = play(&script);
        assert_eq!(outcome(&ran).0, expected, "{script}");
    }
}

#[test]
fn an_endless_loop_and_an_endless_silence_end() {
    let round = json!([
        command("started", "in_progress", None),
        command("completed", "completed", Some(0))
    ]);
    let (_world, ran) = play(&json!([{"repeat": {"times": 1000, "steps": round}}, "hang"]));
    assert_eq!(outcome(&ran).0, "loop");
    let world = playing(AGENT, &json!([said("hm"), "hang"]));
    let ran = run(&world, AGENT, &["--timeout", "1"]);
    assert_eq!(outcome(&ran).0, "timeout");
}

#[test]
fn a_command_that_is_not_permitted_is_a_failed_call() {
    let (_world, ran) = play(&json!([
        command("started", "in_progress", None), command("completed", "declined", None),
        said("I could not."), completed(), {"exit": 0}]));
    assert_eq!(outcome(&ran).0, "completed");
    assert!(story(&ran).contains(&"bash failed".to_owned()), "{ran:#?}");
}
