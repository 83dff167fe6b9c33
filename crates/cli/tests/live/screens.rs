//! The same agents on screens of every size.

use serde_json::json;

use super::terminal::{Terminal, assert_record};
use super::{delegate, delegate_these, let_go, room, run, working, world};

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 40), (200, 60), (40, 10)];

/// While they run, after each resize, and when they have ended.
fn assert_screens(count: usize, concurrency: usize) {
    let world = world();
    let (columns, rows) = SIZES[0];
    let command = delegate(&world, &working(), count, concurrency);
    let mut terminal = Terminal::start(&command, columns, rows);
    for (columns, rows) in SIZES {
        terminal.resize(columns, rows);
        terminal.expect(&format!("running-{count}-{columns}x{rows}"));
    }
    let (columns, rows) = SIZES[0];
    terminal.resize(columns, rows);
    terminal.expect(&format!("running-{count}-{columns}x{rows}"));
    let_go(&world, 1..=count);
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_usable();
    world.assert_nothing_left();
    let record = terminal.record();
    let summaries = record.lines().filter(|line| line.starts_with("✓ agent "));
    assert_eq!(summaries.count(), count, "{record}");
    let (lines, answers) = split_record(&record);
    let total = lines.last().is_some_and(|line| line.starts_with(&format!("{count} tasks · ")));
    assert_eq!(
        (total, lines.len()),
        (count > 1, if count > 1 { count + 1 } else { 1 }),
        "{record}"
    );
    let expected: Vec<String> = (1..=count).map(|number| format!("### agent {number}")).collect();
    let headings = answers.iter().filter(|line| line.starts_with('#'));
    assert_eq!(headings.collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());
}

/// The lines about the tasks, and the answers below them.
fn split_record(record: &str) -> (Vec<&str>, Vec<&str>) {
    let lines: Vec<&str> = record.lines().filter(|line| !line.is_empty()).collect();
    let first = lines.iter().position(|line| line.starts_with('#')).unwrap_or(lines.len());
    (lines[..first].to_vec(), lines[first..].to_vec())
}

#[test]
fn one_agent() {
    assert_screens(1, 4);
}

#[test]
fn four_agents() {
    assert_screens(4, 4);
}

#[test]
fn sixteen_agents() {
    assert_screens(16, 16);
}

#[test]
fn a_hundred_agents() {
    assert_screens(100, 4);
}

#[test]
fn some_have_ended_some_failed_and_some_are_queued() {
    let world = world();
    let task = |number: usize| json!({"name": format!("agent {number}"), "prompt": "p", "cwd": room(&world, number)});
    let tasks = [
        task(1),
        json!({"name": "nowhere", "prompt": "p", "cwd": "/no/such/directory"}),
        task(2),
        task(3),
        task(4),
    ];
    let command = delegate_these(&world, &working(), &tasks, 2);
    let mut terminal = Terminal::start(&command, 80, 24);
    terminal.wait_for("✗ nowhere ");
    let_go(&world, [1]);
    terminal.expect("mixed-80x24");
    terminal.resize(40, 10);
    terminal.expect("mixed-40x10");
    let_go(&world, 2..=4);
    assert_eq!(terminal.finish(), Some(1));
    terminal.assert_usable();
    world.assert_nothing_left();
    let record = terminal.record();
    let (lines, answers) = split_record(&record);
    assert!(!answers.contains(&"### nowhere"), "it said nothing: {answers:#?}");
    // The error does not fit beside its task.
    let failed = lines.iter().position(|line| line.starts_with("✗ nowhere ")).unwrap();
    assert_eq!(
        lines[failed + 1..failed + 4],
        [
            "  Failed to spawn sub-agent process: the",
            "  working directory /no/such/directory",
            "  does not exist",
        ]
    );
    assert_eq!(lines.len(), 9, "five tasks, the error and the total: {lines:#?}");
}

#[test]
fn one_task_from_its_start_to_its_answer() {
    let world = world();
    let room = room(&world, 1);
    let command = run(&world, &working(), &["--cwd", &room, "--name", "look"]);
    let mut terminal = Terminal::start(&command, 80, 24);
    terminal.expect("run-80x24");
    let_go(&world, [1]);
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_usable();
    assert_record(&terminal, "run-record");
    world.assert_nothing_left();
}

#[test]
fn a_task_that_fails() {
    let world = world();
    let script = json!(["start", {"message": {"text": "I try.", "stop": "toolUse"}}, {"exit": 3}]);
    let mut terminal = Terminal::start(&run(&world, &script, &["--name", "try"]), 80, 24);
    assert_eq!(terminal.finish(), Some(1));
    terminal.assert_usable();
    assert_record(&terminal, "run-failed-record");
    world.assert_nothing_left();
}
