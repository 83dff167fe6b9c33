//! Sessions that are continued.

use std::fs;

use rustix::process::Signal;
use serde_json::json;
use test_support::wait_until;

use super::{delegate, world};

#[test]
fn a_session_is_continued_by_another_process_with_all_that_was_said() {
    let world = world();
    fs::write(world.project().join("notes.txt"), "one\ntwo\nthree\n").unwrap();
    let script = json!([
        "start",
        {"message": {"text": "I look.", "stop": "toolUse"}},
        {"tool": {"name": "ls", "args": {"path": "."}, "result": "a.txt"}},
        {"say": "One file."},
        {"exit": 3},
    ]);
    let first = world.play(&script, &["--file", "notes.txt:2-3", "--name", "look"]);
    let session = first.task()["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(
        fs::read_to_string(first.run_dir().join("prompt.md")).unwrap(),
        "=== notes.txt ===\ntwo\nthree\n\ndo it"
    );
    let echo = json!(["start", {"tell": "prompt"}]);
    let second = world.play(&echo, &["--resume", &session]);
    assert_eq!(second.task()["sessionId"], session.as_str());
    assert_eq!(
        second.task()["output"],
        "You said: Previously:\n\n--- Run 1 (error, 4 messages) ---\n\nUser: do it\n\nAssistant: I look.\n\n\
         Tool Call: ls({\"path\":\".\"})\n\n\
         Tool Result: a.txt\n\nAssistant: One file.\n\n[Error: Sub-agent exited with code 3]\n\n\
         Instructions:\n\ndo it"
    );
    let third = world.play(&echo, &["--resume", &session[..8]]);
    let prompt = third.task()["output"].as_str().unwrap().to_owned();
    assert!(prompt.contains("--- Run 1 (error, 4 messages) ---"), "{prompt}");
    assert!(
        prompt.contains("--- Run 2 (completed, 2 messages) ---\n\nUser: do it\n\n"),
        "{prompt}"
    );
    let shown = world.run(&["sessions", "show", &session]).stdout;
    assert!(shown.starts_with("=== Run 1/3 (error) ===\n[prompt]: do it\nI look.\n"), "{shown}");
    assert!(shown.contains("\n---\n=== Run 2/3 (completed) ===\n"), "{shown}");
    let listed = world.run(&["sessions", "list", "--json"]).json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(listed["sessions"][0]["runs"].as_array().unwrap().len(), 3);
    assert_eq!(world.run(&["sessions", "output", &session]).stdout.trim(), prompt);
}

#[test]
fn what_cannot_be_resumed_refuses_the_whole_call() {
    let world = world();
    let call = json!({"tasks": [
        {"name": "a", "prompt": "p"}, {"name": "b", "prompt": "p", "resume": "a1b2c3d4e5f6a7b8"}]});
    let ran = delegate(&world, &json!([{"say": "never"}]), &call, &[]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains(
            "tasks[1].resume: no run, session or task of this project is called \"a1b2c3d4e5f6a7b8\""
        ),
        "{ran:?}"
    );
    assert!(world.runs().is_empty());

    let running = world.start(&json!([{"touch": world.path("working")}, "hang"]), &[]);
    wait_until(|| world.path("working").exists());
    let listed = world.run(&["sessions", "list", "--json"]).json();
    let id = listed["sessions"][0]["sessionId"].as_str().unwrap().to_owned();
    let ran = world.play(&json!([{"say": "never"}]), &["--resume", &id]);
    assert_eq!(ran.code, Some(2));
    let expected = format!(
        "Cannot resume: session \"{id}\" is still running. Wait for it to complete before resuming."
    );
    assert!(ran.stderr.contains(&expected), "{ran:?}");
    running.signal(Signal::TERM);
    drop(running.finish());
    assert_eq!(world.runs().len(), 1);
}

#[test]
fn of_many_that_resume_a_session_at_once_one_does() {
    let world = world();
    let first = world.play(&json!([{"say": "One."}]), &[]);
    let session = first.task()["sessionId"].as_str().unwrap().to_owned();
    let hold = json!([{"await": world.path("released")}, {"say": "Two."}]);
    let running: Vec<_> = (0..8).map(|_| world.start(&hold, &["--resume", &session])).collect();
    // The others are refused, so only one continues.
    let is_alone = || {
        let programs = world.processes();
        programs.iter().filter(|(_, line)| line.contains(" run ")).count() == 1
    };
    wait_until(is_alone);
    fs::write(world.path("released"), "").unwrap();
    let codes: Vec<Option<i32>> = running.into_iter().map(|one| one.finish().code).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(2)).count(), 7, "{codes:?}");
    assert_eq!(world.runs().len(), 2);
    world.assert_nothing_left();
}
