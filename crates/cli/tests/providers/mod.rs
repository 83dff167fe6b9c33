//! What becomes of agents whose provider gives nothing more, or bears only some at a time, on real processes.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod quota;
mod width;

use serde_json::json;
use test_support::fake_agent::quick;
use test_support::wait_until;

use crate::world;

/// One agent was refused and goes on after a while; until then no other one is started for the same provider.
#[test]
fn what_one_agent_is_asked_to_wait_all_others_wait_for() {
    let world = world();
    let model = ["--model", "anthropic/claude-sonnet-4-5"];
    let retry = json!({
        "type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 60_000,
        "errorMessage": "429 rate limit",
    });
    let refused = json!(["start", {"record": retry}, {"say": "done"}, {"end": false}, "settle"]);
    assert_eq!(world.play(&refused, &model).code, Some(0));
    let agent = world.agent(&quick());
    let start = |model: &str| {
        let ran = world.run(&["bg", "start", "--agent", &agent, "--model", model, "look around"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout.trim().to_owned()
    };
    let record = |id: &str| world.run(&["bg", "status", id, "--json"]).json()["runs"][0].clone();
    let waits = start(model[1]);
    wait_until(|| record(&waits)["waiting"]["for"] == "provider");
    let words = world.run(&["bg", "status", &waits]).stdout;
    assert!(words.contains("queued: anthropic asks to wait "), "{words}");
    // Another provider has asked for nothing.
    let other = start("openai/gpt-5");
    assert_eq!(world.run(&["bg", "wait", &other]).code, Some(0));
    assert_eq!(record(&waits)["waiting"]["for"], "provider");
    assert_eq!(world.run(&["bg", "stop", &waits]).code, Some(0));
    world.wait_until_nothing_is_left();
}

#[test]
fn an_allowance_that_is_used_up_is_a_quota_and_says_when_to_come_again() {
    let world = world();
    let error = "You've hit your limit. It resets 3pm (Europe/Berlin)";
    let script =
        json!(["start", {"message": {"stop": "error", "error": error}}, {"end": false}, "settle"]);
    let ran = world.play(&script, &[]);
    let task = ran.task();
    assert_eq!(
        (ran.code, task["outcome"].as_str(), task["error"].as_str()),
        (Some(1), Some("quota"), Some(error))
    );
}
