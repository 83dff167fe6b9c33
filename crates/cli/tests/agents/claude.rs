//! How runs of Claude Code end.

use serde_json::{Value, json};
use test_support::{Ran, World};

use super::{outcome, playing, recorded, run, story, then_exit};

const AGENT: &str = "claude";

fn play(script: &Value) -> (World, Ran) {
    let world = playing(AGENT, script);
    let ran = run(&world, AGENT, &[]);
    (world, ran)
}

fn record(record: &Value) -> Value {
    json!({ "record": record })
}

fn said(text: &str) -> Value {
    record(&json!({"type": "assistant", "message": {"model": "claude-x",
        "content": [{"type": "text", "text": text}]}}))
}

fn called(id: &str) -> Value {
    record(&json!({"type": "assistant", "message": {"model": "claude-x",
        "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}]}}))
}

fn answered(id: &str, text: &str, is_error: bool) -> Value {
    record(&json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}]}}))
}

fn result(is_error: bool, text: &str) -> Value {
    record(&json!({"is_error": is_error, "subtype": "success", "result": text, "type": "result",
        "total_cost_usd": 0.5, "modelUsage": {"claude-x": {"inputTokens": 10, "outputTokens": 5}}}))
}

#[test]
fn a_task_with_a_tool_has_its_answer_its_usage_and_its_cost() {
    let (_world, ran) = play(&then_exit(recorded(AGENT, "partial-tool"), 0));
    assert_eq!(outcome(&ran), ("completed".into(), String::new()), "{ran:#?}");
    let task = ran.task();
    assert_eq!((&task["output"], &task["agent"]), (&json!("Hello from fake"), &json!(AGENT)));
    assert_eq!(task["model"], "claude-opus-5-5");
    assert_eq!(task["usage"]["totalTokens"], 36);
    assert_eq!(task["usage"]["cost"]["total"], 0.000_367_999_999_999_999_95);
    assert_eq!(
        story(&ran),
        [
            "run_started",
            "assistant toolUse \"\"",
            "call bash {\"command\":\"echo hi > f.txt; echo done\",\"description\":\"x\"}",
            "bash finished",
            "assistant stop \"Hello from fake\"",
            "ended completed code 0",
        ]
    );
}

#[test]
fn what_the_provider_says_is_the_reason_whatever_the_subtype_is() {
    for (name, reason) in [
        ("provider-400", "API Error: 400 bad thing"),
        ("provider-429", "API Error: Request rejected (429) · slow down"),
        ("cut-off", "API Error: Claude's response exceeded the 128000 output token maximum."),
    ] {
        for code in [1, 0] {
            let (_world, ran) = play(&then_exit(recorded(AGENT, name), code));
            let (outcome, error) = outcome(&ran);
            assert_eq!(outcome, "provider_error", "{name}");
            assert!(error.starts_with(reason), "{error}");
        }
    }
    let (_world, ran) = play(&then_exit(recorded(AGENT, "provider-429"), 1));
    assert!(story(&ran).contains(&"retry 2/2 (429 rate_limit)".to_owned()), "{ran:#?}");
}

#[test]
fn no_credit_is_an_error_with_its_reason() {
    let text = "Credit balance is too low";
    let message = record(&json!({"type": "assistant", "is_api_error_message": true, "message": {
        "model": "<synthetic>", "content": [{"type": "text", "text": text}]}}));
    let (_world, ran) = play(&json!([message, result(true, text), {"exit": 1}]));
    assert_eq!(outcome(&ran), ("provider_error".into(), text.into()));
    assert_eq!(ran.task()["output"], "", "the reason is no answer");
}

#[test]
fn an_answer_without_a_result_is_no_success() {
    let (_world, ran) = play(&json!([said("almost done"), {"exit": 0}]));
    let (outcome, error) = outcome(&ran);
    assert_eq!(outcome, "interrupted", "{error}");
    assert_eq!(ran.task()["output"], "almost done", "what was said is kept");
}

#[test]
fn a_result_without_an_answer_is_no_success() {
    let (_world, ran) = play(&json!([result(false, ""), {"exit": 0}]));
    assert_eq!(outcome(&ran).0, "no_assistant_message");
}

#[test]
fn an_exit_code_counts_beside_a_good_result() {
    let (_world, ran) =
        play(&json!([said("done"), result(false, "done"), {"stderr": "crashed"}, {"exit": 3}]));
    let expected = ("non_zero_exit".into(), "crashed (exit code 3)".into());
    assert_eq!(outcome(&ran), expected);
}

#[test]
fn a_killed_agent_and_a_torn_stream_are_told_apart() {
    let (_world, ran) = play(&json!([said("hm"), {"signal": 9}]));
    assert_eq!(outcome(&ran).0, "killed_by_signal");
    let torn = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"the answ"#;
    let (_world, ran) = play(&json!([said("hm"), {"text": torn}, {"exit": 0}]));
    assert_eq!(outcome(&ran).0, "interrupted");
    assert!(story(&ran).iter().any(|event| event.starts_with("message lost")), "{ran:#?}");
}

#[test]
fn an_endless_loop_and_an_endless_silence_end() {
    let round = json!([called("c"), answered("c", "a", false)]);
    let (_world, ran) = play(&json!([{"repeat": {"times": 1000, "steps": round}}, "hang"]));
    assert_eq!(outcome(&ran).0, "loop");
    let world = playing(AGENT, &json!([said("hm"), "hang"]));
    let ran = run(&world, AGENT, &["--timeout", "1"]);
    assert_eq!(outcome(&ran).0, "timeout");
    assert_eq!(ran.task()["output"], "hm");
    assert_eq!(ran.task()["usage"]["cost"], Value::Null, "it never told what that cost");
}

#[test]
fn a_tool_that_is_not_permitted_is_a_failed_call_and_a_warning() {
    let mut ended = result(false, "I could not.");
    ended["record"]["permission_denials"] = json!([{"tool_name": "Bash"}]);
    let (_world, ran) = play(&json!([
        called("c"), answered("c", "Permission denied", true), said("I could not."), ended,
        {"exit": 0}]));
    assert_eq!(outcome(&ran).0, "completed");
    assert!(story(&ran).contains(&"bash failed".to_owned()), "{ran:#?}");
    let warnings = ran.task()["warnings"].to_string();
    assert!(warnings.contains("did not permit the agent to use Bash"), "{warnings}");
}

#[test]
fn an_agent_that_does_not_exit_after_its_result_is_stopped_and_its_answer_counts() {
    let (_world, ran) = play(&json!([said("done"), result(false, "done"), "hang"]));
    assert_eq!(outcome(&ran), ("completed".into(), String::new()));
    assert!(story(&ran).contains(&"stopping last_word".to_owned()), "{ran:#?}");
}
