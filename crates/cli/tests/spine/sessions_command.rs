//! `sessions` as users call it.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::thread;

use serde_json::json;
use test_support::fake_agent::quick;

use super::world;

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
    let expected =
        "[prompt]: do it\nI look.\n→ ls: {\"path\":\".\"}\n[tool result]: a.txt\nOne file.\n";
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
        "[prompt]: do it\nalmost\n[Error: Sub-agent exited with code 3]\n"
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

#[test]
fn a_session_is_exported_in_every_form() {
    let world = world();
    let hostile = "</pre><script>alert(1)</script>\u{1b}[31m\n```\n# x";
    let script = json!([
        "start",
        {"message": {"text": "I look.", "stop": "toolUse"}},
        {"tool": {"name": "ls", "args": {"path": "."}, "result": hostile}},
        {"say": "One file."},
    ]);
    let ran = world.play(&script, &["--name", "count"]);
    let id = ran.task()["sessionId"].as_str().unwrap().to_owned();
    let again = world.play(&script, &["--name", "again", "--resume", &id]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let markdown = world.run(&["sessions", "export", &id]).stdout;
    assert!(markdown.starts_with("# again\n\nSession `"), "{markdown}");
    for part in ["## Run 1 of 2: completed", "> do it\n", "\n````text\n</pre>", "> One file.\n"] {
        assert!(markdown.matches(part).count() >= 1, "{part}: {markdown}");
    }
    let file = world.path("session.html");
    let path = file.to_str().unwrap();
    let ran = world.run(&["sessions", "export", &id[..8], "--format", "html", "--output", path]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for text in [&markdown, &page] {
        assert!(!text.contains('\u{1b}'), "{text}");
    }
    let document = world.run(&["sessions", "export", &id, "--format", "json"]).json();
    assert_eq!(document["runs"][0]["prompt"], "do it");
    assert_eq!(document["runs"][1]["name"], "again");
    let events = document["runs"][0]["events"].as_array().unwrap();
    assert_eq!(events.last().unwrap()["type"], "run_ended");
    let recorded = hostile.replace("\u{1b}[31m", "");
    assert!(events.iter().any(|event| event["text"] == recorded.as_str()), "{events:?}");
    let ran = world.run(&["sessions", "export", &id, "--output", "/no/such/directory/file"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

#[test]
fn an_export_is_written_into_a_pipe_or_a_device_and_does_not_replace_it() {
    let world = world();
    let ran = world.play(&quick(), &["--name", "count"]);
    let id = ran.task()["sessionId"].as_str().unwrap().to_owned();
    let export = |path: &str| world.run(&["sessions", "export", &id, "--output", path]);
    let ran = export("/dev/stdout");
    assert!(ran.stdout.starts_with("# count\n"), "{ran:?}");
    assert_eq!(export("/dev/full").code, Some(1));
    let is_device = |path: &str| fs::metadata(path).unwrap().file_type().is_char_device();
    assert!(is_device("/dev/full"));
    let file = world.path("redirected.md");
    let mut command = world.command(["sessions", "export", &id, "--output", "/dev/stdout"]);
    let ran = command.stdout(fs::File::create(&file).unwrap()).output().unwrap();
    assert_eq!(ran.status.code(), Some(0));
    assert!(fs::symlink_metadata("/dev/stdout").unwrap().is_symlink());
    assert!(fs::read_to_string(&file).unwrap().starts_with("# count\n"));
    let pipe = world.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    assert_eq!(export(pipe.to_str().unwrap()).code, Some(0));
    assert!(reader.join().unwrap().starts_with("# count\n"));
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
}
