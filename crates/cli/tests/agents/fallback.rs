//! Agents that are started once more with another model, because the provider of the one before has refused.

use std::fs;

use serde_json::{Value, json};
use test_support::fake_agent::saying;
use test_support::{Ran, World, write_file};

use super::{meta, outcome, program_in_turn, recorded, run, story, then_exit};
use crate::world;

const AGENT: &str = "oracle";
const REFUSAL: &str = "529 overloaded";

/// A world with an agent that plays another script each time that it is started, and writes down its arguments.
fn playing_in_turn(protocol: &str, scripts: &[Value]) -> World {
    let world = world();
    let program = program_in_turn(&world, scripts);
    world.settings(&json!({"agents": {AGENT: {"command": [program], "protocol": protocol}}}));
    world
}

/// The arguments of each start.
fn calls(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.path("calls")).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn error(words: &str) -> Value {
    json!({"message": {"stop": "error", "error": words}})
}

/// An agent of pi's protocol whose provider has refused.
fn refused(words: &str) -> Value {
    json!(["start", error(words), {"end": false}, "settle"])
}

fn run_with(world: &World, models: &[&str]) -> Ran {
    let flags = models.iter().flat_map(|model| ["--fallback-model", model]);
    let arguments: Vec<&str> = ["--model", "a/first"].into_iter().chain(flags).collect();
    run(world, AGENT, &arguments)
}

fn events(ran: &Ran) -> Vec<Value> {
    let text = fs::read_to_string(ran.run_dir().join("events.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The steps of Claude Code that print this answer.
fn claude_says(text: &str) -> Value {
    let message =
        json!({"id": "m", "model": "second", "content": [{"type": "text", "text": text}]});
    then_exit(
        vec![
            json!({"record": {"type": "assistant", "message": message}}),
            json!({"record": {"type": "result", "subtype": "success", "is_error": false, "result": text,
                "total_cost_usd": 0.25, "usage": {"input_tokens": 10, "output_tokens": 5}}}),
        ],
        0,
    )
}

fn codex_says(text: &str) -> Value {
    json!([
        {"record": {"type": "item.completed", "item": {"id": "m", "type": "agent_message", "text": text}}},
        {"record": {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 5}}},
    ])
}

/// An agent of the Agent Client Protocol that offers both models, and does this with its prompt.
fn acp(steps: &[Value]) -> Value {
    let models = ["a/first", "b/second"].map(|id| json!({"modelId": id, "name": id}));
    let offer = json!({"models": {"currentModelId": "a/first", "availableModels": models}});
    let opening = json!({"acp": {"open": offer}});
    Value::from([&[opening], steps].concat())
}

#[test]
fn an_agent_of_any_make_is_started_once_more_with_the_next_model() {
    let failing = json!({"acp": {"fail": {"code": -32603, "message": REFUSAL}}});
    let answer = json!({"acp": {"answer": {"stopReason": "end_turn"}}});
    let await_end = json!({"acp": "await_end"});
    for (protocol, first, second) in [
        ("pi", refused(REFUSAL), saying("here")),
        ("claude", then_exit(recorded("claude", "provider-429"), 1), claude_says("here")),
        ("claude", then_exit(recorded("claude", "provider-400"), 1), claude_says("here")),
        ("codex", then_exit(recorded("codex", "provider-429"), 1), codex_says("here")),
        ("codex", then_exit(recorded("codex", "provider-400"), 1), codex_says("here")),
        (
            "acp",
            acp(&[failing, await_end.clone()]),
            acp(&[json!({"acp": {"say": "here"}}), answer, await_end]),
        ),
    ] {
        let world = playing_in_turn(protocol, &[first, second]);
        let (first, second) = match protocol {
            "claude" => ("first", "second"),
            _ => ("a/first", "b/second"),
        };
        let ran = run(&world, AGENT, &["--model", first, "--fallback-model", second]);
        let task = ran.task();
        assert_eq!(
            (&task["outcome"], &task["output"]),
            (&json!("completed"), &json!("here")),
            "{ran:#?}"
        );
        let calls = calls(&world);
        assert_eq!(calls.len(), 2, "{protocol}");
        if protocol != "acp" {
            assert!(calls[0].contains("first") && !calls[0].contains("second"), "{calls:?}");
            assert!(calls[1].contains("second") && !calls[1].contains("first"), "{calls:?}");
        }
        assert!(task["model"].as_str().unwrap().contains("second") || protocol == "pi", "{ran:#?}");
        let story = story(&ran);
        let position = story.iter().position(|event| event == "model_fallback").unwrap();
        assert_eq!(story[position + 1], "run_started", "{story:?}");
        assert_eq!(story.iter().filter(|event| *event == "run_started").count(), 2, "{story:?}");
        // The prompt is told once.
        assert!(story.iter().filter(|event| *event == "user_message").count() <= 1, "{story:?}");
        let fallback = &events(&ran)[position..];
        let fallback = fallback.iter().find(|event| event["type"] == "model_fallback").unwrap();
        assert_eq!(fallback["to"], second);
        assert_ne!(fallback["reason"], "");
        assert_eq!(meta(&ran.run_dir())["fallbackModels"], json!([second]));
        let session = task["sessionId"].as_str().unwrap();
        let shown = world.run(&["sessions", "show", session]);
        assert!(shown.stdout.contains(&format!("continuing with {second}")), "{shown:#?}");
    }
}

#[test]
fn an_agent_whose_tools_have_run_is_not_started_again() {
    let tool = json!({"tool": {"name": "bash", "args": {"command": "ls"}, "result": "a"}});
    let script = json!(["start", tool, error(REFUSAL), {"end": false}, "settle"]);
    let world = playing_in_turn("pi", &[script, saying("?")]);
    let ran = run_with(&world, &["b/second"]);
    assert_eq!(outcome(&ran), ("provider_error".into(), REFUSAL.into()));
    assert_eq!(calls(&world).len(), 1);
}

#[test]
fn an_agent_that_failed_for_another_reason_is_not_started_again() {
    for script in [json!([{"exit": 3}]), json!(["start", {"signal": 9}]), json!([{"exit": 0}])] {
        let world = playing_in_turn("pi", &[script, saying("?")]);
        let ran = run_with(&world, &["b/second"]);
        assert_ne!(outcome(&ran).0, "completed", "{ran:#?}");
        assert_eq!(calls(&world).len(), 1);
    }
}

#[test]
fn the_error_of_the_last_model_says_which_were_tried() {
    let world = playing_in_turn("pi", &["one", "two", "three"].map(refused));
    let ran = run_with(&world, &["b/second", "c/third"]);
    let (outcome, error) = outcome(&ran);
    assert_eq!(outcome, "provider_error", "{ran:#?}");
    assert!(error.starts_with("three (the last of 3 models; "), "{error}");
    assert_eq!(error.matches(" failed before it)").count(), 1, "{error}");
    assert_eq!(calls(&world).len(), 3);
}

#[test]
fn a_model_that_says_nothing_is_no_success() {
    let world = playing_in_turn("pi", &[refused(REFUSAL), json!([{"exit": 0}])]);
    let ran = run_with(&world, &["b/second"]);
    assert_eq!(outcome(&ran).0, "no_assistant_message", "{ran:#?}");
}

#[test]
fn the_time_of_a_task_is_that_of_all_its_models() {
    let patient = json!(["start", {"sleep_ms": 1_200}, error(REFUSAL), {"end": false}, "settle"]);
    let world = playing_in_turn("pi", &[patient, json!(["start", "hang"])]);
    let arguments = ["--model", "a/first", "--fallback-model", "b/second", "--timeout", "2"];
    let ran = run(&world, AGENT, &arguments);
    assert_eq!(outcome(&ran).0, "timeout", "{ran:#?}");
    assert_eq!(calls(&world).len(), 2);
    assert!(ran.task()["durationMs"].as_u64().unwrap() >= 2_000, "{ran:#?}");
}

#[test]
fn a_key_is_not_handed_to_the_provider_of_another_model() {
    let world = playing_in_turn("pi", &[refused(REFUSAL), saying("?")]);
    let profile = "---\nname: p\nmodel: sonnet\nfallbackModels: [b/second]\napiKey: sk-secret-0123456789\n---\n";
    write_file(&world.agent_dir().join("agent-profiles/p.md"), profile);
    let ran = run(&world, AGENT, &["--profile", "p"]);
    assert_eq!(outcome(&ran).0, "provider_error", "{ran:#?}");
    assert!(ran.stderr.contains("the fallback models are left out"), "{ran:#?}");
    assert_eq!(calls(&world).len(), 1);
    let named = profile.replace("model: sonnet", "provider: a\nmodel: first");
    write_file(&world.agent_dir().join("agent-profiles/p.md"), &named);
    let told = json!(["start", {"tell": {"variable": "PI_SUBAGENTS_KEY_PROVIDER"}}, {"end": false}, "settle"]);
    write_file(&world.path("script-2.json"), &refused(REFUSAL).to_string());
    write_file(&world.path("script-3.json"), &told.to_string());
    let ran = run(&world, AGENT, &["--profile", "p"]);
    assert_eq!(ran.task()["output"], "a", "{ran:#?}");
    assert!(!calls(&world)[2].contains("--provider"), "{:?}", calls(&world));
}
