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
        "The agent in the background has finished: There are 1 directories",
        "pi-subagents sessions list",
    ] {
        assert!(ran.stdout.contains(words), "{words:?} is not in\n{}", ran.stdout);
    }
    // Their answers are right.
    for words in [
        "count: There are 3 files here.",
        "2 rs",
        "search: I found 1 such comments, and 3 files",
        "read: What it begins with: # A project",
        "./README.md",
    ] {
        assert!(ran.stderr.contains(words), "{words:?} is not in\n{}", ran.stderr);
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
        "count: There are 0 files here.",
        "search: I found 0 such comments, and 0 files",
        "read: What it begins with: nothing: there is no file here",
    ] {
        assert!(ran.stderr.contains(words), "{words:?} is not in\n{}", ran.stderr);
    }
    assert!(ran.stdout.contains("There are 0 directories"), "{}", ran.stdout);
    world.wait_until_nothing_is_left();
}
