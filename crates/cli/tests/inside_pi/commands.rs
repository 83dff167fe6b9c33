//! `/profile` and `/agents`, by the keys of a terminal.

use std::fs;

use serde_json::{Value, json};
use test_support::wait_until;

use crate::{Inside, call, delegate, task, told};

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

#[test]
fn a_command_that_is_complete_needs_one_enter() {
    let inside = Inside::new();
    inside.profile("rev", "model: fake/fake-1");
    inside.profile("reviewer", "model: fake/fake-2");
    let terminal = inside.terminal_calling(&[]);
    terminal.wait_for(&["All calls are over."]);
    let type_words = |words: &str| {
        for letter in words.chars() {
            terminal.press(
                if letter == ' ' { "Space".to_owned() } else { letter.to_string() }.as_str(),
            );
        }
        terminal.wait_for(&[words]);
    };
    type_words("/profile show rev");
    terminal.wait_until_gone("→ ");
    terminal.press("Enter");
    terminal.wait_for(&["Profile: rev", "fake/fake-1"]);
    type_words("/profile list");
    terminal.wait_until_gone("→ ");
    terminal.press("Enter");
    terminal.wait_for(&["Subagent profiles:", "profile: reviewer, model=fake/fake-2"]);
    terminal.quit();
}

#[test]
fn who_presses_enter_all_the_way_through_changes_nothing() {
    let inside = Inside::new();
    let terminal = inside.terminal_calling(&[]);
    terminal.wait_for(&["All calls are over."]);
    let path = inside.world.agent_dir().join("agent-profiles/plain.md");
    let questions = [
        "Save to which scope?",
        "Provider (e.g.",
        "Model (supports",
        "Set a custom system prompt?",
        "Append text to the default system prompt?",
        "Set a thinking level?",
        "Restrict which tools the subagent can use?",
        "Limit what the subagent may change?",
        "Configure extension loading?",
        "Configure skill loading for the subagent?",
        "Save this profile?",
    ];
    let press_enter_through = || {
        for question in questions {
            terminal.wait_for(&[question]);
            terminal.press("Enter");
            terminal.wait_until_gone(question);
        }
        terminal.wait_for(&["Profile \"plain\" saved to global agent-profiles."]);
    };
    terminal.submit("/profile create plain");
    press_enter_through();
    assert_eq!(fs::read_to_string(&path).unwrap(), "---\nname: plain\n---\n");
    terminal.submit("/profile delete plain");
    terminal.wait_for(&["Delete subagent profile \"plain\"?"]);
    terminal.press("Enter");
    terminal.wait_until_gone("Delete subagent profile \"plain\"?");
    assert!(path.exists(), "Enter is no yes");
    terminal.quit();
}

/// A run of the shell, and a delegated task that waits for the file `go`.
fn two_runs(inside: &Inside) -> Value {
    let ran = inside.world.run(&[
        "run",
        "--agent",
        "builtin",
        "--name",
        "counter",
        &told(&json!([
            {"text": "There are **four**."},
        ])),
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let script = json!([
        {"text": "I wait.", "tools": [
            {"name": "bash", "args": {"command": "until [ -e go ]; do sleep 0.02; done"}},
        ]},
        {"text": "Found it."},
    ]);
    call("background_agent", json!({"preset": "scout", "task": told(&script)}))
}

#[test]
fn agents_are_listed_looked_into_stopped_and_resumed() {
    let inside = Inside::new();
    inside.scout("model: fake/fake-1");
    let start = two_runs(&inside);
    let done = delegate(&[task("done", &json!([{"text": "Done."}]))]);
    let terminal = inside.terminal_calling(&[done, start]);
    terminal.wait_for(&["All calls are over.", "bg: 1 running / 1 total"]);
    terminal.submit("/agents");
    let screen = terminal.wait_for(&[
        "this session",
        " scout ",
        "bash  until [ -e go ]",
        "✓ done ",
        "this project",
        "✓ counter ",
        "There are **four",
        "↑↓ select   ⏎ look   m message   s stop   Esc close",
    ]);
    // Running ones come first.
    let at = |text: &str| screen.find(text).unwrap();
    let list = at("this session");
    assert!(screen[list..].find(" scout ") < screen[list..].find("✓ done "), "{screen}");
    assert!(screen.contains("❯ "), "{screen}");

    terminal.press("Enter");
    terminal.wait_for(&[
        "┃ I wait.",
        "┃ bash   until [ -e go ]",
        "↑↓ scroll   m message   s stop   Esc back",
    ]);
    terminal.press("Escape");
    terminal.wait_for(&["this project"]);
    terminal.press("m");
    terminal.wait_for(&["What should scout be told?"]);
    terminal.type_keys(&["H", "u", "r", "r", "y", "Enter"]);
    // Only a list that is there takes keys.
    terminal.wait_for(&["Message 1 to run ", ": accepted.", "this project"]);
    terminal.press("s");
    terminal.wait_for(&["Stop scout? y/n"]);
    terminal.press("n");
    terminal.wait_for(&["⏎ look   m message   s stop"]);
    assert_eq!(inside.of_role("supervise").len(), 1, "it was not confirmed");
    terminal.press("s");
    terminal.wait_for(&["Stop scout? y/n"]);
    terminal.press("y");
    wait_until(|| inside.of_role("supervise").is_empty());
    terminal.wait_for(&["Stopped scout.", "✗ scout "]);

    // What another program has run goes on here, too.
    terminal.type_keys(&["Down", "Down"]);
    terminal.wait_for(&["❯ ✓ counter ", "⏎ look   r resume"]);
    terminal.press("Enter");
    terminal.wait_for(&["There are four.", "↑↓ scroll   r resume   Esc back"]);
    terminal.press("Escape");
    terminal.wait_for(&["this project"]);
    terminal.press("r");
    terminal.wait_for(&["What should counter do next?"]);
    terminal.type_keys(&["O", "n", "Enter"]);
    terminal.wait_for(&["counter goes on in the background."]);
    terminal.press("Escape");
    terminal.wait_for(&["Background agent counter finished", "✓ counter · 0:0", "· On"]);
    terminal.quit();
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn agents_are_chosen_by_dialogs_elsewhere() {
    let inside = Inside::new();
    inside.scout("model: fake/fake-1");
    let start = two_runs(&inside);
    let mut pi = inside.remote(&[]);
    pi.call_once(start);
    pi.send(&json!({"type": "prompt", "message": "/agents"}));
    let asked = pi.wait_for(|record| record["method"] == "select");
    let rows: Vec<&str> =
        asked["options"].as_array().unwrap().iter().map(|row| row.as_str().unwrap()).collect();
    assert!(rows.len() == 2 && rows[0].contains("  scout  "), "{rows:?}");
    assert!(rows[1].starts_with("✓  counter  "), "{rows:?}");
    let answer = |pi: &mut crate::remote::Remote, asked: &Value, answer: Value| {
        let mut response = answer;
        response["type"] = "extension_ui_response".into();
        response["id"] = asked["id"].clone();
        pi.send(&response);
    };
    answer(&mut pi, &asked, json!({"value": rows[0]}));
    let asked = pi.wait_for(|record| record["method"] == "select");
    assert_eq!(asked["options"], json!(["look", "message", "stop"]));
    answer(&mut pi, &asked, json!({"value": "stop"}));
    let asked = pi.wait_for(|record| record["method"] == "confirm");
    assert_eq!(asked["title"], json!("Stop scout?"));
    answer(&mut pi, &asked, json!({"confirmed": true}));
    let notice =
        pi.wait_for(|record| record["method"] == "notify" && record["message"] == "Stopped scout.");
    assert_eq!(notice["notifyType"], json!("info"));
    pi.close();
    inside.world.wait_until_nothing_is_left();
}
