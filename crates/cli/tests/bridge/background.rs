//! Background runs: their end is notified once, to whichever bridge runs then.

use test_support::wait_until;

use super::*;

fn start_scout(bridge: &mut Bridge) -> String {
    let result =
        bridge.call("background_agent", &json!({"preset": "scout", "task": "look around"}));
    result["details"]["runId"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}

fn restore(bridge: &mut Bridge, entries: &[Value]) {
    bridge.request("session/start", &json!({"reason": "resume", "entries": entries}));
}

fn has_ended(world: &World, run: &str) -> bool {
    world.project().join(".pi/subagents/runs").join(run).join("result.json").exists()
}

#[test]
fn a_run_is_counted_while_it_runs_and_told_about_when_it_ends() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &world.working());
    let run = start_scout(&mut bridge);
    let footer = bridge.wait_for("ui/status");
    assert_eq!(footer["params"], json!({"text": "bg: 1 running / 1 total"}));
    let entries = bridge.entries();
    assert_eq!(entries[0]["customType"], json!("pi-subagents:bg-run"));
    wait_until(|| world.path("working").exists());
    let status = bridge.call("background_agent_status", &json!({}));
    assert!(status["text"].as_str().unwrap().starts_with("Active runs: 1. Counts: running=1"));
    world.let_go();
    let told = bridge.wait_for("ui/notify")["params"].clone();
    assert_eq!(told, json!({"message": "Background agent scout finished", "level": "info"}));
    let message = bridge.wait_for("session/message")["params"].clone();
    assert_eq!(message["customType"], json!("pi-subagents:bg-complete"));
    let content = message["content"].as_str().unwrap();
    assert_eq!(content, format!("Background agent scout finished ({run}): found it"));
    let details = &message["details"];
    assert_eq!((&details["runId"], &details["status"]), (&json!(run), &json!("completed")));
    let answer_from = usize::try_from(details["answerFrom"].as_u64().unwrap()).unwrap();
    assert_eq!(&content[answer_from..], "found it");
    let heading = text(&details["lines"]);
    assert!(heading.starts_with("✓ scout · 0:0"), "{heading}");
    assert!(heading.ends_with(" · look around\n"), "{heading}");
    assert_eq!(bridge.wait_for("ui/status")["params"]["text"], json!(null), "nothing runs");
    assert_eq!(bridge.entries()[0]["customType"], json!("pi-subagents:bg-update"));
    let status = bridge.call("background_agent_status", &json!({"runId": run}));
    assert!(status["text"].as_str().unwrap().contains("final=\"found it\""), "{status}");
    assert!(bridge.received("ui/notify").is_empty(), "once is enough");
    bridge.close();
    world.wait_until_nothing_is_left();
}

#[test]
fn a_run_outlives_pi_and_the_next_one_is_told() {
    for is_killed in [false, true] {
        let world = world();
        let mut bridge = Bridge::of_pi(&world, &world.working());
        let run = start_scout(&mut bridge);
        let mut entries = bridge.entries();
        wait_until(|| world.path("working").exists());
        if is_killed {
            bridge.kill();
            // The log of the conversation has no entry of it.
            entries.clear();
        }
        bridge.close();
        // While it runs, the next pi restores it.
        let mut bridge = Bridge::of_pi(&world, &quick());
        restore(&mut bridge, &entries);
        let footer = bridge.wait_for("ui/status");
        assert_eq!(footer["params"]["text"], json!("bg: 1 running / 1 total"));
        bridge.close();
        world.let_go();
        wait_until(|| has_ended(&world, &run));
        // When it has ended, the pi after that is notified, and only that one.
        let mut bridge = Bridge::of_pi(&world, &quick());
        restore(&mut bridge, &entries);
        let told = bridge.received("ui/notify");
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0]["message"], json!("Background agent scout finished"));
        entries.extend(bridge.entries());
        bridge.close();
        let mut bridge = Bridge::of_pi(&world, &quick());
        restore(&mut bridge, &entries);
        assert!(bridge.received("ui/notify").is_empty() && bridge.entries().is_empty());
        assert_eq!(bridge.received("ui/status"), [json!(null); 0], "nothing runs");
        bridge.close();
        world.wait_until_nothing_is_left();
    }
}

#[test]
fn what_cannot_be_started_is_refused() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    let refusal = bridge.refusal("background_agent", &json!({"preset": "nobody", "task": "x"}));
    assert_eq!(refusal, "Unknown preset: \"nobody\". Available presets: scout");
    let model = json!({"preset": "scout", "task": "x", "model": "a/thre"});
    let refusal = bridge.refusal("background_agent", &model);
    assert!(refusal.starts_with("Unknown model: \"a/thre\"."), "{refusal}");
    let nowhere = world.path("nowhere");
    let refusal = bridge
        .refusal("background_agent", &json!({"preset": "scout", "task": "x", "cwd": nowhere}));
    let expected = "cwd must be a directory that exists, and";
    assert_eq!(refusal, format!("{expected} {} is none", nowhere.display()));
    assert!(bridge.received("ui/status").is_empty() && bridge.entries().is_empty());
    assert!(world.runs().is_empty());
    bridge.close();
}
