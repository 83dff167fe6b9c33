//! Keys.

use serde_json::json;

use super::terminal::Terminal;
use super::{delegate, let_go, room, run, working, world};

#[test]
fn an_agent_is_selected_expanded_and_left_again() {
    let world = world();
    let mut terminal = Terminal::start(&delegate(&world, &working(), 4, 4), 80, 24);
    terminal.expect("running-4-80x24");
    terminal.press("jj");
    terminal.expect("selected");
    terminal.press("\x0f");
    terminal.expect("expanded");
    terminal.press("k");
    terminal.wait_for("agent 1");
    terminal.press("q?");
    terminal.expect("help");
    terminal.press("\x1b\x1b");
    terminal.expect("running-4-80x24");
    let_go(&world, 1..=4);
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_usable();
    world.assert_nothing_left();
}

#[test]
fn a_long_history_is_scrolled() {
    let world = world();
    let lines: Vec<String> = (1..=100).map(|number| format!("line {number}")).collect();
    let script = json!([
        "start",
        {"message": {"text": lines.join("\n"), "stop": "toolUse"}},
        {"await": "go"},
        {"say": "done"},
    ]);
    let room = room(&world, 1);
    let mut terminal = Terminal::start(&run(&world, &script, &["--cwd", &room]), 80, 24);
    terminal.wait_for("line 100");
    assert!(!terminal.text().contains("line 85\n"), "only the last lines");
    terminal.press("\r");
    terminal.wait_for("  line 81\n");
    terminal.press("\x1b[5~");
    terminal.wait_for("  line 61\n");
    terminal.press("\x1b[H");
    terminal.wait_for("  line 1\n");
    terminal.press("\x1b[F");
    terminal.wait_for("line 100");
    let_go(&world, [1]);
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_usable();
    world.assert_nothing_left();
}

#[test]
fn one_agent_is_stopped_and_the_others_go_on() {
    let world = world();
    let mut terminal = Terminal::start(&delegate(&world, &working(), 3, 2), 80, 24);
    terminal.expect("before-stop");
    // The second, and then the third, which was still queued or has just taken its place.
    terminal.press("jjs");
    terminal.wait_for("✗ agent 2: error");
    terminal.press("js");
    terminal.wait_for("✗ agent 3: error");
    let_go(&world, [1]);
    assert_eq!(terminal.finish(), Some(1));
    terminal.assert_usable();
    world.assert_nothing_left();
    assert!(terminal.record().contains("✓ agent 1: completed"), "{}", terminal.record());
}

#[test]
fn a_queued_agent_is_not_started_any_more() {
    let world = world();
    let mut terminal = Terminal::start(&delegate(&world, &working(), 2, 1), 80, 24);
    terminal.wait_for("agent 2 • queued");
    terminal.press("ks");
    terminal.wait_for("✗ agent 2: error — Cancelled before it was started");
    terminal.press("S");
    assert_eq!(terminal.finish(), Some(130));
    terminal.assert_usable();
    world.assert_nothing_left();
}
