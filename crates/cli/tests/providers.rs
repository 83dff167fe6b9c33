//! What agents of one provider know of its limits, on real processes: a provider that takes so many requests in a window
//! of time. The window is a second and a half instead of a minute, so that the test is short.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_support::write_file;

use crate::builtin::bash;
use crate::builtin::harness::{Api, Builtin};
use crate::world;

const AGENTS: u32 = 16;
const TURNS: u32 = 8;
const PER_WINDOW: u32 = 16;
const WINDOW: Duration = Duration::from_millis(1_500);

struct Measured {
    refused: u64,
    took: Duration,
}

/// Sixteen built-in agents with eight requests each. Returns how many requests were refused.
fn measure(is_governed: bool) -> Measured {
    let builtin = Builtin::of_prompts(Api::Completions);
    builtin.settings(&json!({"retry": {"baseDelayMs": 100, "maxRetries": 200}}));
    let turns =
        (1..TURNS).map(|turn| bash(&format!("true {turn}"))).chain([json!({"text": "done"})]);
    let script: Value = turns.collect();
    let task = |number| json!({"name": format!("a{number}"), "prompt": format!("<<SCRIPT>>{script}<<END>>")});
    let tasks: Vec<Value> = (0..AGENTS).map(task).collect();
    write_file(&builtin.project("tasks.json"), &json!(tasks).to_string());
    builtin.llm.limit(PER_WINDOW, WINDOW);
    let concurrency = AGENTS.to_string();
    let mut command = builtin.world.command([
        "delegate",
        "--json",
        "--agent",
        "builtin",
        "--concurrency",
        &concurrency,
        "tasks.json",
    ]);
    if !is_governed {
        // Where nothing can be agreed on, each agent is on its own.
        command.env("PI_SUBAGENTS_STATE_DIR", "/dev/null");
    }
    let began = Instant::now();
    let ran = test_support::Running::start(command).finish();
    let took = began.elapsed();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    builtin.world.assert_nothing_left();
    Measured { refused: builtin.llm.refused(), took }
}

#[test]
fn agents_that_share_a_provider_meet_its_limit_a_tenth_as_often_and_lose_no_time() {
    let (alone, governed) = (measure(false), measure(true));
    // The last window begins when all others are over.
    let least = WINDOW * (AGENTS * TURNS).div_ceil(PER_WINDOW).saturating_sub(1);
    let (ratio, time) =
        (alone.refused as f64 / governed.refused.max(1) as f64, governed.took.as_secs_f64());
    assert!(
        ratio > 10.0,
        "refused {} and {}, {:?} alone",
        alone.refused,
        governed.refused,
        alone.took
    );
    assert!(time <= 1.3 * least.as_secs_f64(), "{time} s instead of {least:?}");
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
