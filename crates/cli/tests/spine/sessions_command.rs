//! `sessions` as people use it.

use serde_json::json;

use crate::world;

#[test]
fn a_run_is_listed_shown_and_its_output_printed() {
    let world = world();
    let ran = world.play(
        &json!([
            "start",
            {"message": {"text": "I look.", "stop": "toolUse"}},
            {"tool": {"name": "ls", "args": {"path": "."}, "result": "a.txt"}},
            {"say": "One file."},
        ]),
        &["--name", "count"],
    );
    let task = ran.task();
    let id = task["sessionId"].as_str().unwrap();
    let listed = world.run(&["sessions", "list"]);
    assert!(listed.stdout.contains(id) && listed.stdout.contains("count  One file."), "{listed:?}");
    let expected = "I look.\n→ ls: {\"path\":\".\"}\n[tool result]: a.txt\nOne file.\n";
    assert_eq!(world.run(&["sessions", "show", id]).stdout, expected);
    assert_eq!(
        world.run(&["sessions", "show", &id[..6]]).stdout,
        expected,
        "a beginning is enough"
    );
    assert_eq!(world.run(&["sessions", "show", task["runId"].as_str().unwrap()]).stdout, expected);
    assert_eq!(world.run(&["sessions", "output", id]).stdout, "One file.\n");
    let json = world.run(&["sessions", "output", id, "--json"]).json();
    assert_eq!(json["runs"][0]["output"], "One file.");
    assert_eq!(json["runs"][0]["runDir"], task["runDir"]);
}

#[test]
fn a_failed_run_shows_its_error() {
    let world = world();
    let ran = world.play(&json!([{"say": "almost"}, {"exit": 3}]), &[]);
    let id = ran.task()["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(
        world.run(&["sessions", "show", &id]).stdout,
        "almost\n[Error: Sub-agent exited with code 3]\n"
    );
}

#[test]
fn an_empty_project_has_no_sessions() {
    let world = world();
    let listed = world.run(&["sessions", "list"]);
    assert_eq!((listed.code, listed.stdout.as_str()), (Some(0), ""));
    assert!(listed.stderr.contains("No sessions in this project yet"));
    assert_eq!(world.run(&["sessions", "list", "--json"]).json(), json!({"sessions": []}));
}

#[test]
fn pruning_keeps_the_newest() {
    let world = world();
    let runs: Vec<_> = (0..4)
        .map(|number| world.play(&json!([{"say": number.to_string()}]), &[]).run_dir())
        .collect();
    let pruned = world.run(&["sessions", "prune", "--keep", "1", "--json"]).json();
    assert_eq!((&pruned["removed"], &pruned["kept"]), (&json!(3), &json!(1)));
    assert_eq!(world.runs(), runs[3..]);
    assert_eq!(
        world.run(&["sessions", "prune", "--mebibytes", "0", "--json"]).json()["removed"],
        1
    );
    assert!(world.runs().is_empty());
}
