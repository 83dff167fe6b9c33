//! Process trees that resist being ended.

use serde_json::{Value, json};

use super::events::assert_ended;
use super::world;

#[test]
fn a_child_that_ignores_sigterm_is_killed() {
    let world = world();
    let script =
        json!(["ignore_sigterm", {"say": "never"}, {"message": {"stop": "toolUse"}}, "hang"]);
    let ran = world.play(&script, &["--timeout", "3"]);
    assert_ended(
        &world,
        &ran,
        "timeout",
        &[
            "run_started",
            "assistant stop \"never\"",
            "assistant toolUse \"\"",
            "stopping timeout",
            "ended timeout signal 9",
        ],
    );
}

/// Starts a grandchild, waits until it runs, answers and exits.
fn leaves_behind(grandchild: Value, holds_stdout: bool, empty_environment: bool) {
    let world = world();
    let ready = world.path("ready");
    let mut steps = vec![grandchild, json!({"touch": ready}), json!("hang")];
    steps.retain(|step| !step.is_null());
    let script = json!([
        {"spawn": {"steps": steps, "holds_stdout": holds_stdout, "empty_environment": empty_environment}},
        {"await": ready},
        {"say": "done"},
        {"end": false},
        "settle",
    ]);
    let ran = world.play(&script, &[]);
    assert!(ready.exists(), "the grandchild was never there");
    assert_ended(
        &world,
        &ran,
        "completed",
        &["run_started", "assistant stop \"done\"", "stopping leftovers", "ended completed code 0"],
    );
}

#[test]
fn a_grandchild_is_stopped() {
    leaves_behind(Value::Null, false, false);
}

#[test]
fn a_grandchild_in_its_own_session_is_stopped() {
    leaves_behind(json!("setsid"), false, false);
}

#[test]
fn a_grandchild_that_holds_standard_output_is_stopped() {
    leaves_behind(json!("setsid"), true, false);
}

#[test]
fn a_grandchild_without_an_environment_is_stopped() {
    leaves_behind(json!("setsid"), false, true);
}

#[test]
fn a_grandchild_that_ignores_sigterm_is_killed() {
    leaves_behind(json!("ignore_sigterm"), true, false);
}

#[test]
fn a_daemonised_grandchild_is_stopped() {
    let world = world();
    let ready = world.path("ready");
    // Forks twice, with a session of its own in between, and loses both parents.
    let daemon = json!(["setsid", {"touch": ready}, "hang"]);
    let middle =
        json!(["setsid", {"spawn": {"steps": daemon, "empty_environment": true}}, {"exit": 0}]);
    let script = json!([
        {"spawn": {"steps": middle}},
        {"await": ready},
        {"say": "done"},
    ]);
    let ran = world.play(&script, &[]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &["run_started", "assistant stop \"done\"", "stopping leftovers", "ended completed code 0"],
    );
}

#[test]
fn a_whole_tree_of_grandchildren_goes_with_a_timeout() {
    let world = world();
    let ready = world.path("ready");
    let leaf = json!(["ignore_sigterm", {"touch": ready}, "hang"]);
    let branch =
        json!(["setsid", {"spawn": {"steps": leaf}}, {"spawn": {"steps": ["hang"]}}, "hang"]);
    let script = json!([
        {"spawn": {"steps": branch}},
        {"spawn": {"steps": branch}},
        {"await": ready},
        {"message": {"text": "all there", "stop": "toolUse"}},
        "hang",
    ]);
    let ran = world.play(&script, &["--timeout", "4"]);
    assert_ended(
        &world,
        &ran,
        "timeout",
        &[
            "run_started",
            "assistant toolUse \"all there\"",
            "stopping timeout",
            "ended timeout signal 15",
        ],
    );
}
