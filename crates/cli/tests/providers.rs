//! What becomes of an agent whose provider gives nothing more, on real processes.

use serde_json::json;

use crate::world;

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
