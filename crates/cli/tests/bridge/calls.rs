//! Calls of tools that run tasks.

use std::time::Instant;

use test_support::wait_until;

use super::*;

#[test]
fn a_call_is_answered_with_everything_about_its_tasks() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    let mut arguments = tasks(2);
    arguments["tasks"][1]["profile"] = json!("nobody");
    let result = bridge.call("delegate_to_subagents", &arguments);
    let sessions = result["details"]["sessions"].as_array().unwrap();
    let id = |index: usize| sessions[index]["sessionId"].as_str().unwrap();
    assert_eq!(
        result["text"].as_str().unwrap(),
        format!(
            "✓ task 1: completed (session: {})\n✗ task 2: error — Unknown profile: \"nobody\". \
             Available profiles: (none) (session: {}) (nobody)",
            id(0),
            id(1)
        )
    );
    assert_eq!(result["isError"], json!(false), "one of them has completed");
    assert_eq!(result["usage"]["totalTokens"], json!(120), "{result}");
    assert_eq!(result["details"]["status"], json!("done"));
    assert_eq!(result["details"]["runs"].as_array().unwrap().len(), 2);
    let lines = text(&result["details"]["lines"]);
    assert!(lines.starts_with("Sub-agents: 1 done, 1 error\n\n✓ task 1 • 0 tools • "), "{lines}");
    assert!(lines.contains("  found it\n"), "{lines}");
    // Both were written to the log at their start and at their end.
    let entries = bridge.entries();
    let kinds: Vec<(&str, &str)> = entries
        .iter()
        .map(|entry| {
            let data = &entry["data"];
            (data["taskName"].as_str().unwrap(), data["status"].as_str().unwrap())
        })
        .collect();
    for kind in
        [("task 1", "running"), ("task 1", "completed"), ("task 2", "running"), ("task 2", "error")]
    {
        assert_eq!(kinds.iter().filter(|known| **known == kind).count(), 1, "{kind:?}: {kinds:?}");
    }
    assert!(entries.iter().all(|entry| entry["customType"] == json!("pi-subagents")));
    bridge.close();
    world.assert_nothing_left();
}

#[test]
fn a_call_in_which_nothing_succeeds_is_an_error_that_keeps_its_windows() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &json!(["start", {"exit": 3}]));
    let result = bridge.call("subagent", &json!({"preset": "scout", "task": "look"}));
    assert_eq!(result["isError"], json!(true), "{result}");
    assert!(text(&result["details"]["lines"]).contains("✗ scout • scout (a/one)"), "{result}");
    bridge.close();
}

#[test]
fn calls_run_side_by_side_and_are_cancelled_one_by_one() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &world.working());
    let first = bridge.begin_call("first", "delegate_to_subagents", &tasks(6));
    let second = bridge.begin_call("second", "subagent", &json!({"preset": "scout", "task": "x"}));
    wait_until(|| world.processes().iter().filter(|(_, p)| p.contains("fake-agent")).count() == 5);
    bridge.notify("tools/cancel", &json!({"callId": "first"}));
    let cancelled = bridge.response(first)["result"].clone();
    assert_eq!(cancelled["isError"], json!(true));
    let lines = cancelled["text"].as_str().unwrap();
    assert_eq!(lines.matches("Cancelled before it had finished").count(), 4, "{lines}");
    assert_eq!(lines.matches("Cancelled before it was started").count(), 2, "{lines}");
    // The answer comes when everything of the call is gone, and nothing of the other.
    wait_until(|| world.processes().iter().filter(|(_, p)| p.contains("fake-agent")).count() == 1);
    world.let_go();
    let completed = bridge.response(second)["result"].clone();
    assert_eq!(completed["text"], json!("found it"));
    bridge.close();
    world.assert_nothing_left();
}

#[test]
fn a_screen_is_told_often_enough_and_not_more() {
    let world = world();
    let chatter = json!(["start", {"repeat": {"times": 300, "steps": [
        {"message": {"text": "and then", "stop": "toolUse"}}, {"sleep_ms": 2},
    ]}}, {"say": "found it"}, {"end": false}, "settle"]);
    let mut bridge = Bridge::initialized(&world, &chatter, "tui");
    let started = Instant::now();
    let result = bridge.call("delegate_to_subagents", &tasks(4));
    let most = usize::try_from(started.elapsed().as_millis() / 50).unwrap() + 2;
    let updates = bridge.received("tools/update");
    assert!(!updates.is_empty() && updates.len() <= most, "{} of {most}", updates.len());
    let last = updates.last().unwrap();
    assert_eq!(last["callId"], json!("call"));
    assert!(last["text"].as_str().unwrap().contains("running"), "{last}");
    assert_eq!(result["isError"], json!(false));
    bridge.close();
}

#[test]
fn what_pi_keeps_stays_small_and_the_rest_can_be_looked_at() {
    let world = world();
    let long = "word ".repeat(400);
    let talker = json!(["start", {"repeat": {"times": 600, "steps": [
        {"message": {"text": long, "stop": "toolUse"}},
    ]}}, {"say": "found it"}, {"end": false}, "settle"]);
    let mut bridge = Bridge::initialized(&world, &talker, "tui");
    let result = bridge.call("delegate_to_subagents", &tasks(2));
    let kept = result["details"].to_string().len();
    assert!(kept < 16 * 1024, "{kept} bytes are kept");
    for update in bridge.received("tools/update") {
        assert!(update["details"].to_string().len() < 16 * 1024);
    }
    let runs = json!({"runs": result["details"]["runs"]});
    let expanded = text(&bridge.request("view/expand", &runs)["result"]["lines"]);
    let shown = expanded.matches(long.trim_end()).count();
    assert!((990..1_000).contains(&shown), "{shown} of the 500 last lines of both");
    assert!(expanded.contains("found it"));
    bridge.close();
}

#[test]
fn bad_arguments_are_refused_and_nothing_is_started() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    let huge = json!({"tasks": [{"name": "a", "prompt": "x".repeat(10 << 20), "timout": 1}]});
    for (tool, arguments, expected) in [
        ("delegate_to_subagents", json!({}), "tasks: is missing"),
        ("delegate_to_subagents", tasks(17), "tasks: must hold at most 16 tasks, but holds 17"),
        ("subagent", json!({"preset": "scout"}), "task: is missing"),
        ("get_subagent_output", json!({}), "sessionId: is missing"),
        ("list_subagent_profiles", json!({"x": 1}), "x: is unknown"),
        ("background_agent_status", json!({"runId": 5}), "runId: must be a text"),
        ("delegate_to_subagents", huge, "tasks[0].timout: is unknown"),
    ] {
        let refusal = bridge.refusal(tool, &arguments);
        assert!(refusal.starts_with(expected), "{refusal}");
    }
    assert!(world.runs().is_empty() && bridge.entries().is_empty());
    bridge.close();
}

#[test]
fn when_pi_goes_away_everything_in_the_foreground_ends() {
    for is_killed in [false, true] {
        let world = world();
        let mut bridge = Bridge::of_pi(&world, &world.working());
        bridge.begin_call("call", "delegate_to_subagents", &tasks(1));
        wait_until(|| world.path("working").exists());
        if is_killed {
            bridge.kill();
        }
        bridge.close();
        world.wait_until_nothing_is_left();
        let result = fs::read_to_string(world.only_run().join("result.json")).unwrap();
        assert!(result.contains("\"interrupted\"") && result.contains("working on it"), "{result}");
    }
}

#[test]
fn escape_sequences_of_an_agent_reach_nobody() {
    let world = world();
    let rude = json!(["start", {"say": "\u{1b}]0;title\u{7}red \u{1b}[31mtext"}, {"end": false}, "settle"]);
    let mut bridge = Bridge::initialized(&world, &rude, "tui");
    let result = bridge.call("subagent", &json!({"preset": "scout", "task": "x"}));
    assert!(result["text"].as_str().unwrap().contains("red text"), "{result}");
    let id = result["details"]["sessions"][0]["sessionId"].clone();
    let output = bridge.call("get_subagent_output", &json!({"sessionId": id}));
    let started = bridge.call("background_agent", &json!({"preset": "scout", "task": "x"}));
    let notified = bridge.wait_for("ui/notify");
    let message = bridge.wait_for("session/message");
    assert!(message.to_string().contains("red text"), "{message}");
    let refused = json!(bridge.refusal("subagent", &json!({"preset": "\u{1b}[31m", "task": ""})));
    let unknown = json!(bridge.refusal("\u{1b}[2J", &json!({})));
    let asked = json!({"name": "profile", "arguments": "show \u{1b}[31mx\u{7}"});
    bridge.request("command/run", &asked);
    let shown = bridge.wait_for("ui/notify");
    for said in [result, output, started, notified, message, refused, unknown, shown] {
        let text = said.to_string();
        assert!(!text.contains("\\u001b") && !text.contains("\\u0007"), "{said}");
    }
    bridge.close();
    world.wait_until_nothing_is_left();
}

#[test]
fn all_calls_of_an_id_are_cancelled_together() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &world.working());
    let calls = [(); 2].map(|()| bridge.begin_call("same", "delegate_to_subagents", &tasks(1)));
    wait_until(|| world.processes().iter().filter(|(_, p)| p.contains("fake-agent")).count() == 2);
    bridge.notify("tools/cancel", &json!({"callId": "same"}));
    for call in calls {
        assert_eq!(bridge.response(call)["result"]["isError"], json!(true));
    }
    bridge.close();
    world.assert_nothing_left();
}

#[test]
fn nothing_is_started_in_a_project_that_is_gone() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    // With an answer to this, the bridge knows where it is.
    bridge.request("tools/list", &json!({"models": []}));
    fs::remove_dir_all(world.project()).unwrap();
    let refusal = bridge.refusal("delegate_to_subagents", &tasks(1));
    assert!(refusal.ends_with("is gone"), "{refusal}");
    assert!(!world.project().exists(), "it was made anew");
    bridge.close();
}

/// Lines without their roles.
fn text(lines: &Value) -> String {
    let lines = lines.as_array().unwrap().iter().map(|line| -> String {
        let spans = line.as_array().unwrap().iter();
        spans.map(|span| span[1].as_str().unwrap()).collect()
    });
    lines.map(|line| line + "\n").collect()
}
