//! What a user of pi sees.

use serde_json::json;
use test_support::wait_until;

use crate::terminal::veiled;
use crate::{Inside, bash, call, calling, delegate, task, task_with, told};

#[test]
fn windows_are_seen_live_expanded_and_at_the_end() {
    let inside = Inside::with_settings(json!({"agent": "builtin", "maxLinesPerWindow": 3}));
    inside.profile("careful", "model: fake/fake-2\nthinkingLevel: low");
    let script = json!([
        {"text": "One.\nTwo.\nThree.\nFour.", "tools": [
            {"name": "bash", "args": {"command": "until [ -e go ]; do sleep 0.02; done"}},
        ]},
        {"text": "I am done."},
    ]);
    let quick = json!([{"text": "Quickly said."}]);
    let tasks = [
        task_with("slow", &script, json!({"profile": "careful", "timeout": 300})),
        task("quick", &quick),
    ];
    let terminal = inside.terminal_calling(&[delegate(&tasks)]);
    let screen = terminal.wait_for(&[
        "delegate_to_subagents 2 sub-agents profiles: [careful]",
        "Sub-agents: 1 running, 1 done",
        "⏳ slow • careful (fake/fake-2 low) • 1 tools • ",
        "s/300s",
        "✓ quick • 0 tools • ",
        "Quickly said.",
        "→ bash → until [ -e go ]",
        "1 running...",
    ]);
    assert!(!screen.contains("One."), "{screen}");
    // The clock goes on although nothing is said.
    terminal.wait_for(&[" • 1s/300s"]);
    terminal.wait_for(&[" • 2s/300s"]);
    terminal.press("C-o");
    terminal.wait_for(&["One.", "Two.", "Three.", "Four.", "→ bash → until [ -e go ]"]);
    terminal.press("C-o");
    inside.project_file("go", "");
    let screen = terminal.wait_for(&[
        "Sub-agents: 2 done",
        "✓ slow • careful (fake/fake-2 low) • 1 tools • ",
        "I am done.",
        "Session IDs (use with get_subagent_output):",
        "    slow: ",
        "    quick: ",
        "All calls are over.",
    ]);
    assert!(!screen.contains("One."), "{screen}");
    terminal.press("C-o");
    terminal.wait_for(&["One.", "I am done."]);
    terminal.quit();
}

#[test]
fn windows_come_back_with_the_session() {
    let inside = Inside::new();
    let script = json!([bash("echo four"), {"text": "There are {{result:0}}"}]);
    inside.stream(&[], &veiled(&calling(&[delegate(&[task("count", &script)])])));
    let terminal = inside.terminal(&["--continue"]);
    terminal.wait_for(&[
        "delegate_to_subagents 1 sub-agent",
        "Sub-agents: 1 done",
        "✓ count • 1 tools • ",
        "→ bash → echo four",
        "There are four",
        "    count: ",
    ]);
    terminal.press("C-o");
    terminal.wait_for(&["I run echo.", "→ bash → echo four", "There are four"]);
    terminal.quit();
}

#[test]
fn sessions_are_there_after_a_reload() {
    let inside = Inside::new();
    let terminal =
        inside.terminal_calling(&[delegate(&[task("count", &json!([{"text": "Four."}]))])]);
    terminal.wait_for(&["All calls are over."]);
    let id = inside.entries("pi-subagents")[0]["sessionId"].as_str().unwrap().to_owned();
    let bridge = inside.of_role("bridge");
    terminal.submit("/reload");
    wait_until(|| {
        let new = inside.of_role("bridge");
        new.len() == 1 && new != bridge
    });
    terminal.wait_for(&["Reloaded keybindings"]);
    std::fs::remove_dir_all(inside.world.project().join(".pi")).unwrap();
    let get = call("get_subagent_output", json!({"sessionId": id}));
    terminal.submit_calls(&[get]);
    terminal.wait_for(&[&format!("get_subagent_output {id}"), "Four."]);
    terminal.quit();
}

#[test]
fn background_runs_are_in_the_footer_and_their_end_is_seen() {
    let inside = Inside::new();
    inside.scout("model: fake/fake-1");
    let script = json!([bash("until [ -e go ]; do sleep 0.02; done"), {"text": "Found it."}]);
    let start = call("background_agent", json!({"preset": "scout", "task": told(&script)}));
    let terminal = inside.terminal_calling(&[start]);
    terminal.wait_for(&["All calls are over.", "bg: 1 running / 1 total"]);
    inside.project_file("go", "");
    terminal.wait_for(&["Background agent scout finished", "bg: 0 running / 1 total"]);
    terminal.quit();
}

#[test]
fn an_escape_stops_the_children() {
    let inside = Inside::new();
    let script = json!([bash("touch working; sleep 1000")]);
    let terminal = inside.terminal_calling(&[delegate(&[task("slow", &script)])]);
    wait_until(|| inside.world.project().join("working").exists());
    terminal.wait_for(&["Sub-agents: 1 running"]);
    terminal.press("Escape");
    wait_until(|| inside.of_role("supervise").is_empty());
    terminal.wait_for(&["Sub-agents: 1 error", "✗ slow • 1 tools • "]);
    terminal.quit();
}

#[test]
fn the_command_completes_its_words_and_names() {
    let inside = Inside::new();
    inside.profile("reviewer", "model: fake/fake-1");
    let terminal = inside.terminal_calling(&[call("list_subagent_profiles", json!({}))]);
    terminal.wait_for(&["All calls are over.", "profile: reviewer, model=fake/fake-1"]);
    terminal.type_keys(&["/", "p", "r", "o", "f", "i", "l", "e", "Space", "s", "h"]);
    terminal.wait_for(&["/profile sh", "→ show"]);
    terminal.type_keys(&["o", "w", "Space", "r", "e"]);
    terminal.wait_for(&["→ show reviewer"]);
    terminal.quit();
}
