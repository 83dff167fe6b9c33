//! What stays on the terminal after the view.

use serde_json::json;

use super::terminal::{Streams, Terminal};
use super::{delegate, let_go, room, run, working, world};

#[test]
fn what_ends_keeps_its_place_and_is_in_the_table_at_the_end() {
    let world = world();
    let mut terminal = Terminal::start(&delegate(&world, &working(), 4, 4), 80, 24);
    terminal.expect("running-4-80x24");
    let_go(&world, [2]);
    terminal.expect("one-ended");
    let_go(&world, [4]);
    terminal.expect("two-ended");
    let_go(&world, [1, 3]);
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_usable();
    world.assert_nothing_left();
    let record = terminal.record();
    let (lines, answers) = record.split_once("\n\n### agent 1\n").unwrap();
    let names: Vec<&str> = lines.lines().map(|line| line.split("   ").next().unwrap()).collect();
    assert_eq!(names[..4], ["✓ agent 1", "✓ agent 2", "✓ agent 3", "✓ agent 4"], "{record}");
    assert!(names[4].starts_with("4 tasks · 0:00 · ") && names.len() == 5, "{record}");
    let headings = answers.lines().filter(|line| line.starts_with("### "));
    let headings: Vec<&str> = headings.collect();
    assert_eq!(
        headings,
        ["### agent 2", "### agent 3", "### agent 4"],
        "in the order of the tasks"
    );
}

#[test]
fn answers_that_go_elsewhere_are_whole_and_in_order() {
    let world = world();
    let command = delegate(&world, &working(), 3, 3);
    let mut terminal = Terminal::start_on(&command, 80, 24, Streams::AnswersElsewhere);
    terminal.wait_for("cargo test");
    let_go(&world, [3]);
    terminal.wait_for("✓ agent 3");
    let_go(&world, [1, 2]);
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_usable();
    let answers = std::fs::read_to_string(world.project().join("answers")).unwrap();
    let (lines, said) = answers.split_once("\n\n### agent 1\n").unwrap();
    let names: Vec<&str> = lines.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(names, ["✓ agent 1", "✓ agent 2", "✓ agent 3"]);
    assert!(said.contains("\n### agent 2\n") && said.contains("\n### agent 3\n"), "{said}");
    assert_eq!(terminal.record().lines().count(), 4, "{}", terminal.record());
    world.assert_nothing_left();
}

#[test]
fn what_was_on_the_screen_before_stays() {
    let world = world();
    let room = room(&world, 1);
    std::fs::write(world.agent_dir().join("settings.json"), "{\"subagents\": {\"no\": 1}}")
        .unwrap();
    let script =
        json!(["start", {"stderr": "careful"}, {"await": "go"}, {"say": "wide 日本語\nanswer"}]);
    let mut terminal = Terminal::start(&run(&world, &script, &["--cwd", &room]), 80, 10);
    terminal.wait_for("careful");
    let_go(&world, [1]);
    assert_eq!(terminal.finish(), Some(0));
    let record = terminal.record();
    assert!(record.ends_with("wide 日本語\nanswer\n"), "{record}");
    assert!(!record.contains('⠋') && !record.contains("? keys"), "{record}");
    world.assert_nothing_left();
}

#[test]
fn what_scrolls_away_is_the_record_and_nothing_else() {
    let world = world();
    let mut terminal = Terminal::start(&delegate(&world, &working(), 12, 6), 80, 10);
    terminal.wait_for("6 running");
    // What is printed meanwhile, and views of other heights, scroll the screen.
    terminal.press("j\x0f");
    terminal.wait_for("Esc back");
    terminal.press("g\x1b");
    terminal.wait_for("6 running");
    let_go(&world, 1..=12);
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_usable();
    world.assert_nothing_left();
    let scrollback = terminal.scrollback();
    assert!(scrollback.lines().count() > 12, "{scrollback}");
    assert_eq!(scrollback, terminal.record());
}
