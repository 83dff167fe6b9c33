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
    terminal.expect("opened");
    terminal.press("\x1b[Z");
    terminal.wait_for("⠋ agent 1");
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
        {"message": {"text": lines.join("  \n"), "stop": "toolUse"}},
        {"await": "go"},
        {"say": "done"},
    ]);
    let room = room(&world, 1);
    let mut terminal = Terminal::start(&run(&world, &script, &["--cwd", &room]), 80, 24);
    terminal.wait_for("line 100");
    assert!(!terminal.text().contains("line 85\n"), "only the last lines");
    terminal.press("\r");
    terminal.wait_for("  line 82\n");
    terminal.press("\x1b[5~");
    terminal.wait_for("  line 62\n");
    terminal.press("\x1b[H");
    terminal.wait_for("›❯ look around\n");
    terminal.press("/Line 5");
    terminal.wait_for("/Line 5▏");
    terminal.press("\x7f\x7f\x7f\x7f\x7f\x7fline 50\r");
    terminal.wait_for("›  line 50\n");
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
    terminal.wait_for("✗ agent 2");
    terminal.press("js");
    terminal.wait_for("✗ agent 3");
    let_go(&world, [1]);
    assert_eq!(terminal.finish(), Some(1));
    terminal.assert_usable();
    world.assert_nothing_left();
    assert!(terminal.record().contains("✓ agent 1 "), "{}", terminal.record());
}

#[test]
fn a_queued_agent_is_not_started_any_more() {
    let world = world();
    let mut terminal = Terminal::start(&delegate(&world, &working(), 2, 1), 80, 24);
    terminal.wait_for("○ agent 2");
    terminal.press("ks");
    terminal.wait_for("✗ agent 2");
    terminal.wait_for("Cancelled before");
    terminal.press("S");
    assert_eq!(terminal.finish(), Some(130));
    terminal.assert_usable();
    world.assert_nothing_left();
}

#[test]
fn everything_of_an_agent_is_read_unfolded_and_copied() {
    let world = world();
    let output: Vec<String> = (1..=9).map(|number| format!("test {number} ... ok")).collect();
    let script = json!([
        "start",
        {"message": {"text": "# Plan\n\n- run the **tests**\n\n```rust\nlet x = 1;\n```", "stop": "toolUse"}},
        {"tool": {"id": "1", "name": "bash", "args": {"command": "cargo test"}, "result": output.join("\n")}},
        {"await": "go"},
        {"say": "All tests pass."},
    ]);
    let room = room(&world, 1);
    let mut terminal = Terminal::start(&run(&world, &script, &["--cwd", &room]), 80, 24);
    terminal.wait_for("9 ... ok");
    terminal.press("\r");
    terminal.expect("opened-folded");
    terminal.press("o");
    terminal.wait_for("│ test 8 ... ok");
    let_go(&world, [1]);
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_usable();
    world.assert_nothing_left();
}

#[test]
fn the_answer_is_copied_by_the_terminal() {
    let world = world();
    let room = room(&world, 1);
    let mut terminal = Terminal::start(&run(&world, &working(), &["--cwd", &room]), 80, 24);
    terminal.wait_for("cargo test");
    terminal.press("\rc");
    terminal.wait_for("Copied 25 characters");
    let bytes = terminal.bytes();
    // "Two files. Now the tests."
    assert!(bytes.contains("\x1b]52;c;VHdvIGZpbGVzLiBOb3cgdGhlIHRlc3RzLg==\x07"), "{bytes:?}");
    let_go(&world, [1]);
    assert_eq!(terminal.finish(), Some(0));
    world.assert_nothing_left();
}
