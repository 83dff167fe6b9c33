//! Where there can be no pane, that is said before anything is started.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use test_support::{Ran, wait_until, write_program};

use crate::{PATH, TmuxWorld};

fn script(tmux: &TmuxWorld) -> Value {
    json!([{"touch": tmux.world.path("started")}, {"say": "hello"}])
}

/// Fails unless nothing was started, and returns the error and the hint.
#[track_caller]
fn refused(tmux: &TmuxWorld, ran: &Ran) -> (String, String) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(!tmux.world.path("started").exists() && tmux.world.runs().is_empty());
    tmux.assert_nothing_left_outside();
    let line = |label: &str| {
        ran.stderr.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_default().to_owned()
    };
    (line("error: "), line("hint: "))
}

#[test]
fn outside_tmux_the_error_says_what_to_do() {
    let tmux = TmuxWorld::new();
    let file = tmux.world.agent_dir().join("subagents.json").display().to_string();
    for removed in ["TMUX", "TMUX_PANE"] {
        for value in [None, Some("")] {
            let mut command = tmux.inside(tmux.world.play_command(&script(&tmux), &[]));
            match value {
                Some(value) => command.env(removed, value),
                None => command.env_remove(removed),
            };
            let (error, hint) = refused(&tmux, &command.output().unwrap().into());
            assert_eq!(
                error,
                "runs cannot be shown in tmux: this program does not run inside tmux (TMUX or \
                 TMUX_PANE is not set)"
            );
            let expected = "start tmux and repeat this in it, or say \"runner\": \"process\" in ";
            assert_eq!(hint, format!("{expected}{file}"));
        }
    }
}

#[test]
fn without_tmux_the_error_says_what_to_do() {
    let tmux = TmuxWorld::new();
    let project = tmux.world.project().join(".pi");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("subagents.json"), json!({"runner": "tmux"}).to_string()).unwrap();
    let mut command = tmux.inside(tmux.world.play_command(&script(&tmux), &[]));
    let ran = command.env("PATH", tmux.world.home()).output().unwrap().into();
    let (error, hint) = refused(&tmux, &ran);
    let expected = "tmux is not installed: the program \"tmux\" was not found on PATH";
    assert_eq!(error, format!("runs cannot be shown in tmux: {expected}"));
    assert!(hint.starts_with("install tmux, or say \"runner\": \"process\" in "), "{hint}");
    assert!(hint.ends_with("/project/.pi/subagents.json"), "{hint}");
}

#[test]
fn a_server_or_a_pane_that_is_gone_is_an_error() {
    let tmux = TmuxWorld::new();
    let mut command = tmux.inside(tmux.world.play_command(&script(&tmux), &[]));
    let (error, _) = refused(&tmux, &command.env("TMUX_PANE", "%99").output().unwrap().into());
    assert_eq!(
        error,
        "runs cannot be shown in tmux: tmux knows no pane %99, which TMUX_PANE names"
    );
    kill_process(tmux.server, Signal::KILL).unwrap();
    wait_until(|| is_gone(&tmux));
    let ran = tmux.inside(tmux.world.play_command(&script(&tmux), &[])).output().unwrap().into();
    let (error, hint) = refused(&tmux, &ran);
    assert!(error.starts_with("runs cannot be shown in tmux: `tmux display-message`: "), "{error}");
    assert!(hint.starts_with("start tmux and repeat this in it, or say"), "{hint}");
}

fn is_gone(tmux: &TmuxWorld) -> bool {
    rustix::process::test_kill_process(tmux.server).is_err()
}

#[test]
fn wrong_configuration_is_an_error_that_names_file_and_value() {
    let tmux = TmuxWorld::new();
    let file = tmux.world.agent_dir().join("subagents.json");
    for (text, expected) in [
        (r#"{"runner": "screen"}"#, r#""runner" must be "process" or "tmux", not "screen""#),
        (r#"{"runner": 1}"#, r#""runner" must be "process" or "tmux", not 1"#),
        ("{", "it is not JSON: EOF while parsing an object at line 1 column 1"),
        ("[]", "it must be a JSON object"),
    ] {
        fs::write(&file, text).unwrap();
        let (error, _) = refused(&tmux, &tmux.play(&script(&tmux), &[]));
        assert_eq!(error, format!("{}: {expected}", file.display()));
    }
    fs::remove_file(&file).unwrap();
    symlink("/dev/zero", &file).unwrap();
    let (error, _) = refused(&tmux, &tmux.play(&script(&tmux), &[]));
    assert!(error.ends_with("it cannot be read: it is not a plain file"), "{error}");
}

#[test]
fn a_pane_that_cannot_be_opened_fails_its_task_alone() {
    let tmux = TmuxWorld::new();
    // A tmux that knows its panes but makes no new ones.
    let bin = tmux.world.path("bin");
    let wrapper = format!(
        "#!/bin/sh\ncase $1 in split-window) echo 'out of panes' >&2; exit 1;; esac\n\
         PATH={PATH} exec tmux \"$@\"\n"
    );
    write_program(&bin.join("tmux"), &wrapper);
    let mut command = tmux.inside(tmux.world.play_command(&script(&tmux), &[]));
    let path = format!("{}:{PATH}", bin.display());
    let ran = Ran::from(command.env("PATH", path).output().unwrap());
    tmux.assert_nothing_left();
    assert_eq!(ran.code, Some(1));
    let task = ran.task();
    assert_eq!(task["outcome"], "spawn_failure");
    assert_eq!(
        task["error"],
        "Failed to spawn sub-agent process: no pane for it: `tmux split-window`: out of panes"
    );
    assert!(!tmux.world.path("started").exists());
}
