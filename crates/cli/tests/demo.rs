//! `demo`: the first command that a new user runs.

use std::fs;

use rustix::process::Signal;
use test_support::{Running, World, wait_until};

fn world() -> World {
    let world = crate::world();
    fs::create_dir(world.project().join("src")).unwrap();
    for (name, text) in [
        ("README.md", "# A project\n\nIt is small.\n"),
        ("src/one.rs", "// TODO: write it\n"),
        ("src/two.rs", "fn two() {}\n"),
    ] {
        fs::write(world.project().join(name), text).unwrap();
    }
    world
}

#[test]
fn six_agents_work_on_the_directory_and_nothing_is_left() {
    let world = world();
    let ran = world.run(&["demo"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for words in [
        "✓ count: completed",
        "✓ search: completed",
        "✓ read: completed",
        "✗ loop: error — Loop detected",
        "✗ hang: error — Timed out after 7s.",
        "✓ hang: completed",
        "The background agent has finished: Directories below this one: 1.",
        "pi-subagents sessions list",
    ] {
        assert!(ran.stdout.contains(words), "{words:?} is not in\n{}", ran.stdout);
    }
    // Their answers are right.
    for words in [
        "### count\n\nFiles: 3.",
        "2 rs",
        "### search\n\nComments that mark unfinished work: 1. Files changed in the last seven days: 3.",
        "### read\n\nREADME.md begins with: # A project",
        "./README.md",
    ] {
        assert!(ran.stdout.contains(words), "{words:?} is not in\n{}", ran.stdout);
    }
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "it is piped");
    world.wait_until_nothing_is_left();
    assert_eq!(world.runs().len(), 7);
    let sessions = world.run(&["sessions", "list", "--json"]).json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 6, "one was resumed: {sessions}");
}

#[test]
fn whoever_interrupts_it_leaves_nothing_running() {
    let world = world();
    let running = Running::start(world.command(["demo"]));
    wait_until(|| world.runs().len() == 6);
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    world.assert_nothing_left();
}

#[test]
fn an_empty_directory_has_nothing_in_it() {
    let world = world();
    let empty = world.path("empty");
    fs::create_dir_all(empty.join(".git")).unwrap();
    let mut command = world.command(["demo"]);
    let ran = test_support::Ran::from(command.current_dir(&empty).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for words in [
        "Files: 0.",
        "Comments that mark unfinished work: 0. Files changed in the last seven days: 0.",
        "### read\n\nThere is no file to read here.",
    ] {
        assert!(ran.stdout.contains(words), "{words:?} is not in\n{}", ran.stdout);
    }
    assert!(ran.stdout.contains("Directories below this one: 0."), "{}", ran.stdout);
    world.wait_until_nothing_is_left();
}
