//! `--notify`: what a terminal or a desktop is sent at the end, and that nothing else gets it.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::json;
use test_support::fake_agent::saying;
use test_support::{Ran, pseudo_terminal, write_program};

use crate::world;

/// What the command writes to a terminal that is its standard error.
fn on_terminal(mut command: Command) -> String {
    let (master, inside) = pseudo_terminal::open(80, 24).unwrap();
    let mut child = command.stderr(inside).stdout(Stdio::null()).spawn().unwrap();
    // Otherwise it would keep the terminal open.
    drop(command);
    let mut said = Vec::new();
    let mut master = File::from(master);
    let mut piece = [0; 4096];
    // When no process has it open any more, reading is an error.
    while let Ok(count @ 1..) = master.read(&mut piece) {
        said.extend_from_slice(&piece[..count]);
    }
    child.wait().unwrap();
    String::from_utf8(said).unwrap()
}

#[test]
fn the_bell_rings_on_a_terminal_if_asked_for() {
    let world = world();
    assert!(!on_terminal(world.play_command(&saying("done"), &[])).contains('\u{7}'));
    let said = on_terminal(world.play_command(&saying("done"), &["--notify"]));
    assert_eq!(said.matches('\u{7}').count(), 1, "{said:?}");
    let ran = world.play(&saying("done"), &["--notify"]);
    assert!(!ran.stderr.contains('\u{7}') && !ran.stdout.contains('\u{7}'), "{ran:?}");
}

#[test]
fn a_terminal_shows_a_notification_with_how_it_ended() {
    let world = world();
    let failing = json!(["start", {"exit": 3}]);
    let arguments = ["--notify=desktop", "--name", "review"];
    let said = on_terminal(world.play_command(&failing, &arguments));
    let expected = "\u{1b}]777;notify;pi-subagents;review: failed\u{1b}\\\u{7}";
    assert!(said.ends_with(expected), "{said:?}");
    let mut command = world.play_command(&saying("done"), &arguments);
    command.env("TERM_PROGRAM", "WezTerm");
    let said = on_terminal(command);
    assert!(said.ends_with("\u{1b}]9;review: completed\u{1b}\\\u{7}"), "{said:?}");
}

#[test]
fn a_desktop_is_asked_by_its_own_program() {
    let world = world();
    let script = format!("#!/bin/sh\necho \"$*\" > {}\n", world.path("told").display());
    write_program(&world.path("bin/notify-send"), &script);
    let mut command =
        world.play_command(&saying("done"), &["--notify=desktop", "--name", "review"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()));
    let ran = Ran::from(command.env("DISPLAY", ":0").output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = fs::read_to_string(world.path("told")).unwrap();
    assert_eq!(told, "-- pi-subagents review: completed\n");
}
