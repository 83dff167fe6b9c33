//! Timeouts, loops, and children that do not exit after their last message.

use serde_json::{Value, json};

use super::events::{assert_ended, records};
use super::world;

#[test]
fn a_silent_child_is_stopped_at_its_timeout_and_not_later() {
    let world = world();
    // The debounce is thirty seconds: a child that has done nothing must not get it.
    let ran = world.play(&json!(["start", "hang"]), &["--timeout", "1"]);
    assert_ended(
        &world,
        &ran,
        "timeout",
        &["run_started", "user \"do it\"", "stopping timeout", "ended timeout signal 15"],
    );
    assert_eq!(ran.task()["error"], "Timed out after 1s. Consider resuming with a longer timeout.");
    let records = records(&ran.run_dir());
    let at = |index: usize| records[index]["at"].as_u64().unwrap();
    let waited = at(2) - at(0);
    assert!((900..5_000).contains(&waited), "stopped after {waited} ms");
}

#[test]
fn an_active_child_is_extended_and_then_stopped() {
    let world = world();
    world.settings(&json!({"extend_timeout_debounce": 1.5}));
    let script = json!([
        {"tool_start": {"id": "c1", "name": "bash", "args": {"command": "make"}}},
        {"repeat": {"times": 4, "steps": [{"sleep_ms": 300}, {"tool_update": "c1"}]}},
        "hang",
    ]);
    let ran = world.play(&script, &["--timeout", "1"]);
    assert_ended(
        &world,
        &ran,
        "timeout",
        &[
            "run_started",
            "call bash {\"command\":\"make\"}",
            "timeout_extended",
            "stopping timeout",
            "ended timeout signal 15",
        ],
    );
    assert_eq!(
        ran.task()["error"],
        "Timed out after 1s. Consider resuming with a longer timeout.",
        "the message names the configured timeout"
    );
    let records = records(&ran.run_dir());
    let waited = records[3]["at"].as_u64().unwrap() - records[0]["at"].as_u64().unwrap();
    assert!(
        waited >= 2_500,
        "the last activity was after 1.2 s, but it was stopped at {waited} ms"
    );
}

#[test]
fn a_child_that_ends_while_it_is_extended_has_not_timed_out() {
    let world = world();
    world.settings(&json!({"extend_timeout_debounce": 20}));
    let script = json!([
        {"tool_start": {"name": "bash", "args": {"command": "make"}}},
        {"sleep_ms": 3_000},
        {"say": "built"},
    ]);
    let ran = world.play(&script, &["--timeout", "2"]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &[
            "run_started",
            "call bash {\"command\":\"make\"}",
            "timeout_extended",
            "assistant stop \"built\"",
            "ended completed code 0",
        ],
    );
}

#[test]
fn the_fifth_identical_call_stops_the_child() {
    let world = world();
    let call = r#"call bash {"command":"echo same"}"#;
    let script = json!([
        {"repeat": {"times": 50, "steps": [{"tool": {"name": "bash", "args": {"command": "echo same"}}}]}},
        "hang",
    ]);
    let ran = world.play(&script, &[]);
    assert_ended(
        &world,
        &ran,
        "loop",
        &[
            "run_started",
            call,
            "bash finished",
            call,
            "bash finished",
            call,
            "bash finished",
            call,
            "bash finished",
            call,
            "stopping loop",
            "ended loop signal 15",
        ],
    );
    let error =
        "Loop detected: sub-agent is repeating the same tool calls: bash → echo same, 5 times";
    assert_eq!(ran.task()["error"], error);
}

/// A cycle is a loop only if it brings the same results each time.
#[test]
fn a_cycle_with_the_same_results_stops_the_child() {
    let world = world();
    let cycle = |result: &str| {
        [
            json!({"tool": {"name": "read", "args": {"path": "a.rs"}, "result": "fn a"}}),
            json!({"tool": {"name": "bash", "args": {"command": "cargo test"}, "result": result}}),
        ]
    };
    let same = json!([{"repeat": {"times": 50, "steps": cycle("1 failed")}}, "hang"]);
    let ran = world.play(&same, &[]);
    let task = ran.task();
    assert_eq!(task["outcome"], "loop");
    assert_eq!(
        task["error"],
        "Loop detected: sub-agent is repeating the same tool calls: read → a.rs, then bash → cargo test, 5 times"
    );
    let is_call = |record: &&Value| record["type"] == "tool_call";
    assert_eq!(records(&ran.run_dir()).iter().filter(is_call).count(), 10);
    world.assert_nothing_left();

    let world = self::world();
    let rounds = (0..20).flat_map(|round| cycle(&format!("{round} failed")));
    let script: Vec<Value> = rounds.chain([json!({"say": "repaired"})]).collect();
    let ran = world.play(&json!(script), &[]);
    assert_eq!(ran.task()["outcome"], "completed");
    world.assert_nothing_left();
}

#[test]
fn calls_that_differ_deep_inside_are_not_a_loop() {
    let world = world();
    let mut script: Vec<_> = (0..10)
        .map(|number| {
            json!({"tool": {"name": "edit", "args": {"path": "a.rs",
                "edits": [{"oldText": "x", "newText": {"deep": number}}]}}})
        })
        .collect();
    script.push(json!({"say": "edited"}));
    let ran = world.play(&json!(script), &[]);
    let mut expected = vec!["run_started".to_owned()];
    for number in 0..10 {
        expected.push(format!(
            r#"call edit {{"path":"a.rs","edits":[{{"oldText":"x","newText":{{"deep":{number}}}}}]}}"#
        ));
        expected.push("edit finished".to_owned());
    }
    expected.push("assistant stop \"edited\"".to_owned());
    expected.push("ended completed code 0".to_owned());
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    assert_ended(&world, &ran, "completed", &expected);
}

/// Whether the calls are read before or after the child's end is noticed must not matter.
#[test]
fn a_loop_is_a_loop_also_when_the_child_is_already_gone() {
    let call =
        json!({"type": "tool_execution_start", "toolCallId": "c", "toolName": "bash", "args": {}});
    let answer = json!({"type": "message_end", "message": {"role": "assistant", "content": "late", "stopReason": "stop"}});
    let all = format!("{}{answer}\n", format!("{call}\n").repeat(5));
    for _ in 0..20 {
        let world = world();
        let ran = world.play(&json!([{"text": all}]), &[]);
        let task = ran.task();
        assert_eq!((&task["outcome"], &task["output"]), (&json!("loop"), &json!("")), "{ran:?}");
        let events = super::events::events(&ran.run_dir());
        assert_eq!(
            events[1..7].join(", "),
            format!("{}, stopping loop", ["call bash {}"; 5].join(", "))
        );
        assert_eq!(events.len(), 8, "{events:?}");
    }
}

#[test]
fn the_loop_rule_can_be_turned_off() {
    let world = world();
    world.settings(&json!({"looping_tool_count": 0}));
    let script = json!([
        {"repeat": {"times": 10, "steps": [{"tool": {"name": "bash", "args": {}}}]}},
        {"say": "done"},
    ]);
    assert_eq!(world.play(&script, &[]).task()["outcome"], "completed");
    world.assert_nothing_left();
}

#[test]
fn a_child_that_lingers_after_its_last_word_has_succeeded() {
    let world = world();
    let script = json!(["start", {"say": "the answer"}, {"end": false}, "settle", "hang"]);
    let ran = world.play(&script, &[]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &[
            "run_started",
            "user \"do it\"",
            "assistant stop \"the answer\"",
            "stopping last_word",
            "ended completed signal 15",
        ],
    );
}

#[test]
fn a_child_without_a_last_word_is_stopped_after_silence() {
    let world = world();
    let ran = world.play(&json!([{"say": "the answer"}, {"end": false}, "hang"]), &[]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &[
            "run_started",
            "assistant stop \"the answer\"",
            "stopping last_word",
            "ended completed signal 15",
        ],
    );
    assert!(ran.task()["durationMs"].as_u64().unwrap() >= 5_000, "{ran:?}");
}
