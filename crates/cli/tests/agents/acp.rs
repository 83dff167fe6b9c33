//! How runs of agents that speak the Agent Client Protocol end, whatever they do.

use serde_json::{Value, json};
use test_support::{Ran, World};

use super::{outcome, run, story};
use crate::world;

const AGENT: &str = "oracle";

/// A world with an agent that plays a script.
fn playing(script: &Value) -> World {
    let world = world();
    let command = json!([env!("CARGO_BIN_EXE_fake-agent"), script.to_string()]);
    world.settings(&json!({"agents": {AGENT: {"command": command, "protocol": "acp"}}}));
    world
}

/// Lets the agent open a session and play the steps.
fn play(steps: &[Value]) -> (World, Ran) {
    let world = playing(&after_opening(steps));
    let ran = run(&world, AGENT, &[]);
    (world, ran)
}

fn after_opening(steps: &[Value]) -> Value {
    let opening = json!({"acp": {"open": {}}});
    Value::from([&[opening], steps].concat())
}

fn say(text: &str) -> Value {
    json!({"acp": {"say": text}})
}

fn update(fields: &Value) -> Value {
    json!({"acp": {"update": fields}})
}

fn answer(stop: &str) -> Value {
    json!({"acp": {"answer": {"stopReason": stop, "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}}}})
}

fn fail(code: i64, message: &str) -> Value {
    json!({"acp": {"fail": {"code": code, "message": message}}})
}

fn await_end() -> Value {
    json!({"acp": "await_end"})
}

fn called(id: &str, status: &str) -> Value {
    update(
        &json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "ls", "kind": "execute",
        "status": status, "rawInput": {"command": "ls"}}),
    )
}

#[test]
fn a_task_with_a_tool_has_its_answer_and_its_usage_and_an_unknown_cost() {
    let (world, ran) = play(&[
        called("c", "pending"),
        called("c", "completed"),
        say("You said: "),
        say("{prompt}"),
        answer("end_turn"),
        await_end(),
    ]);
    assert_eq!(outcome(&ran), ("completed".into(), String::new()), "{ran:#?}");
    let task = ran.task();
    assert_eq!((&task["output"], &task["agent"]), (&json!("You said: do it"), &json!(AGENT)));
    assert_eq!((&task["usage"]["totalTokens"], &task["usage"]["cost"]), (&json!(15), &Value::Null));
    assert_eq!(
        story(&ran),
        [
            "run_started",
            "call bash {\"command\":\"ls\"}",
            "bash finished",
            "assistant stop \"You said: do it\"",
            "ended completed code 0",
        ]
    );
    drop(world);
}

#[test]
fn what_the_provider_says_is_the_reason() {
    for (code, reason) in [
        (400, "bad thing"),
        (429, "Rate limit exceeded. Try again later."),
        (402, "Your credit balance is too low"),
    ] {
        let (_world, ran) = play(&[fail(code, reason), await_end()]);
        assert_eq!(outcome(&ran), ("provider_error".into(), reason.into()));
        let (_world, ran) = play(&[say("Half of"), fail(code, reason), json!({"exit": 1})]);
        assert_eq!(outcome(&ran), ("provider_error".into(), reason.into()));
        assert_eq!(ran.task()["output"], "Half of", "what was said is kept");
    }
}

#[test]
fn an_ended_turn_without_an_answer_is_no_success() {
    let (_world, ran) =
        play(&[json!({"stderr": "429 slow down"}), answer("end_turn"), await_end()]);
    let (word, error) = outcome(&ran);
    assert_eq!(word, "no_assistant_message");
    assert!(error.ends_with("429 slow down"), "{error}");
    let (_world, ran) =
        play(&[say("I look."), called("c", "completed"), answer("end_turn"), await_end()]);
    assert_eq!(outcome(&ran).0, "no_assistant_message");
}

#[test]
fn an_answer_that_was_cut_off_is_one_with_a_warning() {
    let (_world, ran) = play(&[say("Half of"), answer("max_tokens"), await_end()]);
    assert_eq!(outcome(&ran).0, "completed");
    let warnings = ran.task()["warnings"].to_string();
    assert!(warnings.contains("cut off at the model's limit of length"), "{warnings}");
}

#[test]
fn an_answer_without_the_end_of_the_turn_is_no_success() {
    for (end, expected) in [
        (json!({"exit": 0}), "interrupted"),
        (json!({"exit": 3}), "non_zero_exit"),
        (json!({"signal": 9}), "killed_by_signal"),
    ] {
        let (_world, ran) = play(&[say("almost done"), end]);
        assert_eq!(outcome(&ran).0, expected, "{ran:#?}");
        assert_eq!(ran.task()["output"], "almost done");
    }
}

#[test]
fn how_an_agent_exits_that_was_told_to_go_does_not_count() {
    for end in [json!({"exit": 7}), json!({"signal": 11}), json!("hang")] {
        let (_world, ran) = play(&[say("done"), answer("end_turn"), await_end(), end.clone()]);
        assert_eq!(outcome(&ran), ("completed".into(), String::new()), "{end}");
    }
}

#[test]
fn a_torn_stream_is_no_success() {
    let torn = r#"{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","con"#;
    for steps in [
        vec![say("hm"), json!({"text": torn}), json!({"exit": 0})],
        vec![say("hm"), json!({"line": torn}), say("more"), answer("end_turn"), await_end()],
        vec![
            say("hm"),
            json!({"line": "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"stopReason\":"}),
            json!({"exit": 0}),
        ],
    ] {
        let (_world, ran) = play(&steps);
        assert_eq!(outcome(&ran).0, "interrupted", "{steps:?}");
        assert!(story(&ran).iter().any(|event| event.starts_with("message lost")), "{ran:#?}");
    }
}

#[test]
fn an_endless_loop_and_an_endless_silence_end() {
    let round: Vec<Value> =
        (0..50).map(|number| called(&format!("c{number}"), "completed")).collect();
    let (_world, ran) = play(&[&round[..], &[json!("hang")]].concat());
    assert_eq!(outcome(&ran).0, "loop");
    let world = playing(&after_opening(&[say("hm"), json!("hang")]));
    let ran = run(&world, AGENT, &["--timeout", "1"]);
    assert_eq!(outcome(&ran).0, "timeout");
    assert_eq!(ran.task()["output"], "hm");
    let world = playing(&json!(["hang"]));
    let ran = run(&world, AGENT, &["--timeout", "1"]);
    assert_eq!(outcome(&ran).0, "timeout", "it never answers");
}

#[test]
fn a_program_of_another_kind_fails_with_what_it_says() {
    let (_world, ran) = {
        let world =
            playing(&json!([{"line": "hello"}, {"stderr": "error: unknown option"}, {"exit": 2}]));
        let ran = run(&world, AGENT, &[]);
        (world, ran)
    };
    assert_eq!(outcome(&ran), ("non_zero_exit".into(), "unknown option (exit code 2)".into()));
}

#[test]
fn an_agent_that_is_not_signed_in_says_so() {
    let error = json!({"code": -32000, "message": "Authentication required"});
    let refuse = |method: &str| json!({"acp": {"refuse": {"method": method, "error": error}}});
    let world = playing(&json!([refuse("session/new"), refuse("authenticate"), await_end()]));
    let ran = run(&world, AGENT, &[]);
    let (word, error) = outcome(&ran);
    assert_eq!(word, "provider_error");
    assert!(error.starts_with("Authentication required (sign in"), "{error}");
}

#[test]
fn the_model_is_chosen_from_what_the_agent_offers() {
    let models = json!({"models": {"currentModelId": "small", "availableModels": [
        {"modelId": "small", "name": "Small"}, {"modelId": "large", "name": "Large"}]}});
    let script =
        json!([{"acp": {"open": models}}, say("{requests}"), answer("end_turn"), await_end()]);
    let world = playing(&script);
    let ran = run(&world, AGENT, &["--model", "large"]);
    assert_eq!(ran.task()["output"], "initialize session/new session/set_model session/prompt");
    assert_eq!(ran.task()["model"], "large");
    let ran = run(&world, AGENT, &["--model", "huge"]);
    let expected = "the agent has no model \"huge\". It offers: small, large";
    assert_eq!(outcome(&ran), ("provider_error".into(), expected.into()));
    let without = playing(&after_opening(&[say("x"), answer("end_turn"), await_end()]));
    let ran = run(&without, AGENT, &["--model", "large"]);
    assert_eq!(outcome(&ran).0, "completed");
    let warnings = ran.task()["warnings"].to_string();
    assert!(warnings.contains("offers no choice of models"), "{warnings}");
}

#[test]
fn questions_are_answered_by_the_access_of_the_run() {
    let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
    let call = json!({"toolCallId": "c", "title": "Edit a", "kind": "edit", "status": "pending"});
    let params = json!({"toolCall": call, "options": [option("yes", "allow_once"), option("no", "reject_once")]});
    let ask = json!({"acp": {"ask": {"method": "session/request_permission", "params": params}}});
    let steps = [ask, say("{answer}"), answer("end_turn"), await_end()];
    let (_world, ran) = play(&steps);
    assert!(ran.task()["output"].as_str().unwrap().contains("\"yes\""), "{ran:#?}");
    let read =
        json!({"acp": {"ask": {"method": "fs/read_text_file", "params": {"path": "/etc/passwd"}}}});
    let (_world, ran) = play(&[read, say("{answer}"), answer("end_turn"), await_end()]);
    assert!(ran.task()["output"].as_str().unwrap().contains("-32601"), "{ran:#?}");
}

#[test]
fn an_agent_that_asks_without_end_and_never_listens_is_held_up() {
    let id = "x".repeat(1024 * 1024);
    let question = json!({"jsonrpc": "2.0", "id": id, "method": "fs/read_text_file"}).to_string();
    let flood = json!({"repeat": {"times": 40, "steps": [{"line": question}]}});
    let script = after_opening(&[flood, json!({"stderr": "everything was read"}), json!("hang")]);
    let world = world();
    let path = world.path("script.json");
    std::fs::write(&path, script.to_string()).unwrap();
    let command = json!([env!("CARGO_BIN_EXE_fake-agent"), format!("@{}", path.display())]);
    world.settings(&json!({"agents": {AGENT: {"command": command, "protocol": "acp"}}}));
    let ran = run(&world, AGENT, &["--timeout", "5"]);
    assert_eq!(outcome(&ran).0, "timeout");
    assert!(!story(&ran).iter().any(|event| event.contains("everything was read")), "{ran:#?}");
}

#[test]
fn what_restricts_and_cannot_be_kept_is_refused() {
    let world = playing(&json!([{"exit": 0}]));
    let directory = world.agent_dir().join("agent-profiles");
    std::fs::create_dir_all(&directory).unwrap();
    for (fields, expected) in [
        ("tools: read", "sets \"tools\", which the agent cannot keep"),
        ("noSkills: true", "sets \"noSkills\", which the agent cannot keep"),
        (
            "apiKey: sk-very-secret-key",
            "has a key, and nothing is known of how the agent takes one",
        ),
    ] {
        std::fs::write(directory.join("p.md"), format!("---\nname: p\n{fields}\n---\n")).unwrap();
        let ran = run(&world, AGENT, &["--profile", "p"]);
        assert!(ran.stderr.contains(expected), "{ran:#?}");
    }
    assert!(world.runs().is_empty());
}
