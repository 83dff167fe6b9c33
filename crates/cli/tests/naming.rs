//! Runs and sessions by their names, by `@last`, and by any of their ids.

use serde_json::{Value, json};
use test_support::World;
use test_support::fake_agent::saying;

fn world() -> World {
    crate::world().with_scout()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

/// A call with two tasks, each of which says its name.
fn call_two(world: &World) -> Vec<Value> {
    let agent = world.agent(&json!([{"tell": "prompt"}]));
    let command = world.command(["delegate", "--json", "--agent", &agent]);
    let tasks = json!([{"name": "one", "prompt": "first"}, {"name": "two", "prompt": "second"}]);
    let ran = world.feed(command, &tasks.to_string());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()["tasks"].as_array().unwrap().clone()
}

fn call_id(task: &Value) -> String {
    let meta = std::fs::read(format!("{}/meta.json", text(task, "runDir"))).unwrap();
    text(&serde_json::from_slice(&meta).unwrap(), "callId").to_owned()
}

#[test]
fn a_session_is_named_by_its_task_by_last_and_by_any_id() {
    let world = world();
    let first = world.play(&saying("A."), &["--name", "review"]).task();
    let other = world.play(&saying("B."), &["--name", "scout"]).task();
    for word in [
        "review",
        "@2",
        text(&first, "sessionId"),
        text(&first, "runId"),
        &call_id(&first),
        &text(&first, "sessionId")[..10],
    ] {
        for command in ["show", "output"] {
            let ran = world.run(&["sessions", command, word]);
            assert!(ran.stdout.ends_with("A.\n"), "{word}: {ran:?}");
        }
        let exported = world.run(&["sessions", "export", word, "--format", "json"]).json();
        assert_eq!(exported["sessionId"], first["sessionId"], "{word}");
        let watched = world.run(&["watch", word]);
        assert!(watched.stdout.contains(text(&first, "sessionId")), "{word}: {watched:?}");
    }
    assert_eq!(world.run(&["sessions", "output", "@last"]).stdout, "B.\n");
    assert_eq!(world.run(&["sessions", "output", "scout", "--json"]).json()["name"], "scout");
    // The latest run of a name counts.
    world.play(&saying("C."), &["--name", "review"]);
    assert_eq!(world.run(&["sessions", "output", "review"]).stdout, "C.\n");
    // All ids of this hour begin with the same time.
    let ran = world.run(&["sessions", "show", &text(&other, "runId")[..4]]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("is the beginning of 3 ids: "), "{ran:?}");
    assert!(ran.stderr.contains(&format!("{} (run of scout)", text(&other, "runId"))), "{ran:?}");
    assert!(ran.stderr.contains("give more of the id, or the task's name"), "{ran:?}");
    world.assert_nothing_left();
}

#[test]
fn a_resumed_task_is_found_by_a_name_and_keeps_it() {
    let world = world();
    let first = world.play(&saying("A."), &["--name", "review"]).task();
    let resume = |word: &str, more: &[&str]| {
        let ran = world.play(&saying("B."), &[&["--resume", word], more].concat());
        assert_eq!(ran.code, Some(0), "{word}: {ran:?}");
        assert_eq!(ran.task()["sessionId"], first["sessionId"], "{word}");
        text(&ran.task(), "name").to_owned()
    };
    assert_eq!(resume("review", &[]), "review");
    assert_eq!(resume("@last", &[]), "review");
    assert_eq!(resume(text(&first, "runId"), &["--preset", "scout"]), "review");
    assert_eq!(resume(&text(&first, "sessionId")[..8], &["--name", "other"]), "other");
    assert_eq!(resume("other", &[]), "other");
    let agent = world.agent(&saying("C."));
    let command = world.command(["delegate", "--json", "--agent", &agent]);
    let tasks = json!([{"name": "fix", "prompt": "p", "resume": "review"}]);
    let ran = world.feed(command, &tasks.to_string());
    assert_eq!(ran.task()["sessionId"], first["sessionId"], "{ran:?}");
    // A run has its own answer, also if it was resumed since.
    let output = |word: &str| world.run(&["sessions", "output", word]).stdout;
    assert_eq!(output(text(&first, "runId")), "A.\n");
    assert_eq!(output("@2"), "B.\n");
    assert_eq!(output(text(&first, "sessionId")), "C.\n");
}

#[test]
fn a_call_is_shown_with_all_its_runs_and_is_not_one_run() {
    let world = world();
    let tasks = call_two(&world);
    let call = call_id(&tasks[0]);
    assert_eq!(call, call_id(&tasks[1]));
    for word in ["@last", &call] {
        let expected = "### one\n\nYou said: first\n\n### two\n\nYou said: second\n";
        assert_eq!(world.run(&["sessions", "output", word]).stdout, expected);
        let shown = world.run(&["sessions", "show", word]).stdout;
        assert!(shown.contains("### one\n\n[prompt]: first\n"), "{shown}");
        assert!(shown.contains("### two\n\n[prompt]: second\n"), "{shown}");
        let document = world.run(&["sessions", "show", "--json", word]).json();
        assert_eq!(document["sessions"][1]["sessionId"], tasks[1]["sessionId"], "{document}");
        let markdown = world.run(&["sessions", "export", word]).stdout;
        assert!(markdown.starts_with("# one\n") && markdown.contains("\n# two\n"), "{markdown}");
        let html = world.run(&["sessions", "export", word, "--format", "html"]).stdout;
        assert_eq!(html.matches("</html>").count(), 1);
        assert!(html.contains("You said: first") && html.contains("You said: second"), "{html}");
        let json = world.run(&["sessions", "export", word, "--format", "json"]).json();
        assert_eq!(json["sessions"][0]["name"], "one");
        let watched = world.run(&["watch", word]);
        assert_eq!(watched.stdout.lines().count(), 2, "{watched:?}");
    }
    let ran = world.play(&saying("never"), &["--resume", &call]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    for task in &tasks {
        let run = format!("{} (run of {})", text(task, "runId"), text(task, "name"));
        assert!(ran.stderr.contains(&run), "{ran:?}");
    }
    assert!(ran.stderr.contains("is a call with 2 runs"), "{ran:?}");
    // Where one run is needed, the run that was started last counts.
    let ran = world.play(&saying("go"), &["--resume", "@last"]);
    assert_eq!(ran.task()["sessionId"], tasks[1]["sessionId"], "{ran:?}");
}

#[test]
fn background_runs_have_names_too() {
    let world = world();
    let agent = world.agent(&saying("found"));
    let start = |name: &str| {
        let arguments = ["bg", "start", "--agent", &agent, "--name", name, "look"];
        let id = world.run(&arguments).stdout.trim().to_owned();
        assert_eq!(world.run(&["bg", "wait", &id]).code, Some(0));
        id
    };
    let (first, second) = (start("first"), start("second"));
    // It is no background run, and changes nothing about which is the last of them.
    world.play(&saying("A."), &["--name", "foreground"]);
    let status =
        |word: &str| world.run(&["bg", "status", word, "--json"]).json()["runs"][0].clone();
    let session = text(&status(&first), "sessionId").to_owned();
    for (word, expected) in
        [("first", &first), ("@2", &first), (session.as_str(), &first), ("@last", &second)]
    {
        assert_eq!(text(&status(word), "runId"), expected, "{word}");
        assert_eq!(world.run(&["bg", "wait", word]).stdout, "found\n", "{word}");
        assert!(world.run(&["bg", "logs", word]).stdout.contains("found"), "{word}");
        assert!(world.run(&["bg", "stop", word]).stdout.starts_with(expected), "{word}");
    }
    world.wait_until_nothing_is_left();
}
