//! `bg logs`.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::{Value, json};

use super::{run_dir, start, start_working, wait_for_result, world};

#[test]
fn a_run_is_followed_until_its_end() {
    let world = world();
    let id = start_working(&world);
    let mut command = world.command(["bg", "logs", "-f", "--json", &id]);
    let mut following = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(following.stdout.take().unwrap());
    // Earlier output appears at once, while the run continues.
    let mut read = String::new();
    while !read.contains("working on it") {
        assert_ne!(output.read_line(&mut read).unwrap(), 0, "{read}");
    }
    world.let_go();
    output.read_to_string(&mut read).unwrap();
    assert!(following.wait().unwrap().success());
    assert_eq!(read, fs::read_to_string(run_dir(&world, &id).join("events.jsonl")).unwrap());
    let last: Value = serde_json::from_str(read.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "run_ended");
    world.wait_until_nothing_is_left();
    let all = world.run(&["bg", "logs", &id]);
    assert_eq!(all.code, Some(0));
    let transcript = fs::read_to_string(run_dir(&world, &id).join("transcript.log")).unwrap();
    assert_eq!(all.stdout, transcript);
    assert!(transcript.ends_with("found it\n"), "{transcript}");
    assert_eq!(world.run(&["bg", "logs", "-f", &id]).stdout, transcript, "it has ended already");
}

#[test]
fn lines_come_as_they_are_written() {
    let world = world();
    let id = start_working(&world);
    let mut command = world.command(["bg", "logs", "-f", &id]);
    let mut following = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(following.stdout.take().unwrap());
    let mut read = String::new();
    while !read.contains("working on it") {
        assert_ne!(output.read_line(&mut read).unwrap(), 0, "{read}");
    }
    world.let_go();
    while !read.contains("found it") {
        assert_ne!(output.read_line(&mut read).unwrap(), 0, "{read}");
    }
    assert!(following.wait().unwrap().success(), "it ends with the run");
    wait_for_result(&world, &id);
    world.wait_until_nothing_is_left();
}

#[test]
fn nothing_in_a_log_reaches_the_terminal_as_a_command() {
    let world = world();
    let id = start(&world, &json!(["start", {"say": "red \u{1b}[31m and \u{9b}2J clear"}]));
    wait_for_result(&world, &id);
    world.wait_until_nothing_is_left();
    // As another program could have changed it.
    let path = run_dir(&world, &id).join("transcript.log");
    let mut transcript = fs::read(&path).unwrap();
    transcript.extend(b"\x1b[2J\x9b31m torn");
    fs::write(&path, transcript).unwrap();
    let ran = world.run(&["bg", "logs", &id]);
    assert!(ran.stdout.contains("red") && ran.stdout.contains("torn"), "{ran:?}");
    let is_control = |letter: char| letter.is_control() && letter != '\n';
    assert!(!ran.stdout.contains(is_control), "{ran:?}");
    // Lines that are no events are left out.
    let events = run_dir(&world, &id).join("events.jsonl");
    let text = fs::read_to_string(&events).unwrap();
    fs::write(&events, format!("not JSON\n{text}{{\"seq\": 99, \"ty")).unwrap();
    let ran = world.run(&["bg", "logs", "--json", &id]);
    assert_eq!(ran.stdout, text.replace('\u{9b}', r"\u009b"), "it means the same");
    assert!(!ran.stdout.contains(is_control), "{ran:?}");
}
