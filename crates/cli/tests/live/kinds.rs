//! Other kinds of terminals, and options that change the view.

use std::fs;

use serde_json::json;
use test_support::fake_agent::saying;

use super::terminal::{Streams, Terminal};
use super::{delegate, let_go, on_terminal, room, run, working, world};

#[test]
fn without_colours_the_view_is_still_live() {
    let world = world();
    let mut command = delegate(&world, &working(), 4, 4);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(&command, 80, 24);
    terminal.expect("running-4-80x24");
    let_go(&world, 1..=4);
    assert_eq!(terminal.finish(), Some(0));
    let bytes = terminal.bytes();
    let mut pieces = bytes.split("\x1b[").skip(1);
    let is_colour = |piece: &str| {
        piece
            .trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ';')
            .starts_with('m')
    };
    assert!(!pieces.any(is_colour), "{bytes:?}");
    world.assert_nothing_left();
}

#[test]
fn plain_means_plain() {
    for (variable, value, arguments) in [
        ("TERM", "dumb", vec![]),
        ("TERM", "xterm", vec!["--plain"]),
        ("TERM", "xterm", vec!["--json"]),
    ] {
        let world = world();
        let room = room(&world, 1);
        let_go(&world, [1]);
        let mut all = vec!["--cwd", &room];
        all.extend(arguments);
        let mut command = run(&world, &working(), &all);
        command.env(variable, value);
        let mut terminal = Terminal::start(&command, 80, 24);
        assert_eq!(terminal.finish(), Some(0));
        assert!(!terminal.bytes().contains('\x1b'), "{:?}", terminal.bytes());
        terminal.assert_usable();
        world.assert_nothing_left();
    }
}

#[test]
fn in_the_background_nothing_is_drawn() {
    let world = world();
    let room = room(&world, 1);
    let_go(&world, [1]);
    let command = run(&world, &working(), &["--cwd", &room]);
    let mut terminal = Terminal::start_on(&command, 80, 24, Streams::Background);
    assert_eq!(terminal.finish(), Some(0));
    assert!(terminal.record().contains("task: Listing src"), "{}", terminal.record());
    assert!(!terminal.bytes().contains("\x1b[?25l"), "{:?}", terminal.bytes());
    terminal.assert_usable();
    world.assert_nothing_left();
}

#[test]
fn without_a_keyboard_the_view_is_live_and_ctrl_c_is_a_signal() {
    let world = world();
    let command = delegate(&world, &working(), 2, 2);
    let mut terminal = Terminal::start_on(&command, 80, 24, Streams::NoKeys);
    terminal.wait_for("cargo test");
    assert!(!terminal.text().contains("? keys"), "{}", terminal.text());
    // Nothing that is typed is written into the view.
    terminal.press("qqqq\x03");
    assert_eq!(terminal.finish(), Some(130));
    assert!(!terminal.record().contains('q'), "{}", terminal.record());
    terminal.assert_usable();
    world.assert_nothing_left();
}

#[test]
fn only_what_changes_is_drawn() {
    let world = world();
    let mut terminal = Terminal::start(&delegate(&world, &working(), 4, 4), 80, 24);
    terminal.expect("running-4-80x24");
    let drawn = terminal.bytes().len();
    let frames = |terminal: &Terminal| terminal.bytes().matches("\x1b[?2026h").count();
    let before = frames(&terminal);
    // The clocks tick.
    terminal.wait_until("a frame", |terminal| frames(terminal) > before);
    let bytes = terminal.bytes();
    let frame = &bytes[drawn..];
    assert!(!frame.contains("I look around first."), "{frame:?}");
    let_go(&world, 1..=4);
    assert_eq!(terminal.finish(), Some(0));
    world.assert_nothing_left();
}

#[test]
fn nothing_that_an_agent_says_reaches_the_terminal_raw() {
    let world = world();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[?1049h\u{9b}?1049h\u{9d}0;owned\u{9c}harmless";
    let script = json!([
        {"message": {"text": evil, "stop": "toolUse"}},
        {"tool": {"id": "1", "name": evil, "args": {"path": evil}, "result": evil}},
        {"stderr": evil},
        {"line": evil},
        {"await": world.path("go")},
        {"say": evil},
    ]);
    let mut terminal = Terminal::start(&run(&world, &script, &["--name", evil]), 80, 24);
    terminal.wait_for("[stderr]: harmless");
    fs::write(world.path("go"), "").unwrap();
    assert_eq!(terminal.finish(), Some(0));
    let bytes = terminal.bytes();
    for raw in ["\u{1b}]", "\u{1b}[?1049h", "\u{9b}", "\u{9d}"] {
        assert!(!bytes.contains(raw), "{raw:?}: {bytes:?}");
    }
}

#[test]
fn a_bare_delegate_says_what_it_waits_for_and_takes_a_list() {
    let world = world();
    let agent = world.agent(&saying("done"));
    let command = on_terminal(world.command(["delegate", "--plain", "--agent", &agent]));
    let mut terminal = Terminal::start(&command, 110, 40);
    terminal.wait_for("Reading the tasks from this terminal, as JSON such as [{\"name\": \"a\"");
    terminal.press("[{\"name\": \"a\", \"prompt\": \"p\"}]\n\u{4}");
    terminal.wait_for("### a");
    assert_eq!(terminal.finish(), Some(0));
}
