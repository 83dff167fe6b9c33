//! `--notify`: what a terminal is told at the end, and what nobody else is.

#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use test_support::{Program, Ran, World};

fn world() -> World {
    World::new(Program {
        pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
        fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
    })
}

fn answers() -> Value {
    json!(["start", {"say": "done"}, {"end": false}, "settle"])
}

/// What the command writes to a terminal that is its standard error.
fn on_terminal(mut command: Command) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let terminal = OsStr::from_bytes(name.as_bytes());
    let terminal = File::options().read(true).write(true).open(terminal).unwrap();
    let mut child = command.stderr(terminal).stdout(Stdio::null()).spawn().unwrap();
    // It keeps the terminal open otherwise.
    drop(command);
    let mut said = Vec::new();
    let mut master = File::from(master);
    let mut piece = [0; 4096];
    // When nobody has it open any more, reading is an error.
    while let Ok(count @ 1..) = master.read(&mut piece) {
        said.extend_from_slice(&piece[..count]);
    }
    child.wait().unwrap();
    String::from_utf8(said).unwrap()
}

#[test]
fn the_bell_rings_on_a_terminal_if_asked_for() {
    let world = world();
    assert!(!on_terminal(world.play_command(&answers(), &[])).contains('\u{7}'));
    let said = on_terminal(world.play_command(&answers(), &["--notify"]));
    assert_eq!(said.matches('\u{7}').count(), 1, "{said:?}");
    let ran = world.play(&answers(), &["--notify"]);
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
    let mut command = world.play_command(&answers(), &arguments);
    command.env("TERM_PROGRAM", "WezTerm");
    let said = on_terminal(command);
    assert!(said.ends_with("\u{1b}]9;review: completed\u{1b}\\\u{7}"), "{said:?}");
}

#[test]
fn a_desktop_is_asked_by_its_own_program() {
    let world = world();
    let program = world.path("bin/notify-send");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(&program, format!("#!/bin/sh\necho \"$*\" > {}\n", world.path("told").display()))
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = world.play_command(&answers(), &["--notify=desktop", "--name", "review"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()));
    let ran = Ran::from(command.env("DISPLAY", ":0").output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = fs::read_to_string(world.path("told")).unwrap();
    assert_eq!(told, "-- pi-subagents review: completed\n");
}
