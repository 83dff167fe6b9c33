//! `sessions` as users call it.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::thread;

use serde_json::json;
use test_support::fake_agent::{quick, saying};
use test_support::{Ran, write_program};

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
fn the_columns_of_a_list_are_aligned() {
    let world = world();
    for name in ["a", "prüfen", "a name that is longer than any column should be"] {
        world.play(&json!([{"say": "Done."}]), &["--name", name]);
    }
    world.play(&json!([{"exit": 0}]), &["--name", "mute"]);
    let listed = world.run(&["sessions", "list"]).stdout;
    // Behind the id, the status and the age.
    let lines: Vec<&str> = listed.lines().map(|line| &line[16 + 2 + 9 + 2 + 7 + 2..]).collect();
    assert_eq!(
        lines,
        [
            "a                             Done.",
            "prüfen                        Done.",
            "a name that is longer than any column should be  Done.",
            "mute                          Sub-agent exited without saying anything",
        ]
    );
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
    for arguments in [&["sessions", "output", &id][..], &["sessions", "output", &id, "--json"]] {
        let output = world.run(arguments);
        assert_eq!(output.code, Some(1), "a script must not take it for an answer: {output:?}");
        assert!(output.stdout.contains("almost"), "{output:?}");
        assert!(output.stderr.contains("The latest run failed: "), "{output:?}");
    }
    assert_eq!(world.run(&["sessions", "show", &id]).code, Some(0), "it shows what there is");
    let agent = world.agent(&test_support::fake_agent::saying("all of it"));
    let again = world.run(&["run", "--agent", &agent, "--resume", &id, "go on"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let output = world.run(&["sessions", "output", &id]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "all of it\n"), "{output:?}");
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
    assert!(page.contains("&lt;script&gt;") && page.matches("<script").count() == 1, "{page}");
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
fn nothing_in_an_answer_runs_loads_or_hides_a_later_run_in_markdown() {
    let world = world();
    let hostile = "Done. <script>alert(1)</script>\n\n<img src=\"https://example.org/a.png\">\n\n\
                   ![a picture](https://example.org/b.png)\n\n<!-- never closed";
    let ran = world.play(&saying(hostile), &[]);
    assert_eq!(ran.task()["output"], hostile, "{ran:?}");
    let id = ran.task()["sessionId"].as_str().unwrap().to_owned();
    let again = world.play(&saying("The later answer."), &["--resume", &id]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let file = world.path("session.md");
    let path = file.to_str().unwrap();
    let written = world.run(&["sessions", "export", &id, "--format", "md", "--output", path]);
    assert_eq!(written.code, Some(0), "{written:?}");
    let markdown = fs::read_to_string(&file).unwrap();
    assert_eq!(markdown, world.run(&["sessions", "export", &id]).stdout, "it is the default");
    for live in ["<script", "</script", "<img", "<!--", "!["] {
        let begins = |(position, _): (usize, &str)| !markdown[..position].ends_with('\\');
        assert!(!markdown.match_indices(live).any(begins), "{live}: {markdown}");
    }
    // What the agent said can still be read, and so can what came after it.
    for said in ["alert(1)", "a picture", "https://example.org/b.png", "never closed"] {
        assert!(markdown.contains(said), "{said}: {markdown}");
    }
    let later = markdown.split("## Run 2 of 2: completed").nth(1).unwrap();
    assert!(later.contains("> The later answer.\n"), "{markdown}");
}

#[test]
fn several_sessions_are_one_document() {
    let world = world();
    let ids: Vec<String> = ["first", "second"]
        .iter()
        .map(|name| {
            world.play(&quick(), &["--name", name]).task()["sessionId"].as_str().unwrap().to_owned()
        })
        .collect();
    let export = |format: &str| {
        // The same session twice is one.
        world.run(&["sessions", "export", &ids[0], &ids[1], &ids[0], "--format", format])
    };
    let page = export("html").stdout;
    assert!(page.contains("<title>2 agents in project</title>"), "{page}");
    let markdown = export("md").stdout;
    let headings: Vec<&str> = markdown.lines().filter(|line| line.starts_with("# ")).collect();
    assert_eq!(headings, ["# first", "# second"]);
    let sessions = &export("json").json()["sessions"];
    assert_eq!(sessions.as_array().unwrap().len(), 2);
    assert_eq!(sessions[1]["sessionId"], ids[1].as_str());
    assert_eq!(world.run(&["sessions", "export"]).code, Some(2));
}

#[test]
fn a_report_opens_in_the_browser_from_a_private_file() {
    let world = world();
    let ran = world.play(&quick(), &["--name", "count"]);
    let id = ran.task()["sessionId"].as_str().unwrap().to_owned();
    let browser = world.path("browser");
    write_program(&browser, "#!/bin/sh\nprintf '%s' \"$2\" > \"$1\"\n");
    let opened = world.path("opened");
    let open = |variable: &str, arguments: &[&str]| {
        let mut command = world.command(["sessions", "export", &id, "--open"]);
        Ran::from(command.args(arguments).env("BROWSER", variable).output().unwrap())
    };
    // The first of the two does not exist.
    let variable = format!("/no/such/browser:{} {}", browser.display(), opened.display());
    let ran = open(&variable, &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    let page = fs::read_to_string(&opened).unwrap();
    assert!(ran.stderr.contains(&format!("Wrote session {id} to {page}")), "{ran:?}");
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let page = Path::new(&page);
    assert_eq!((mode(page), mode(page.parent().unwrap())), (0o600, 0o700));
    // A path is opened as a whole one, and what was written stays although no browser shows it.
    let ran = open(&variable, &["--output=-page.html"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let page = world.project().join("-page.html");
    assert_eq!(fs::read_to_string(&opened).unwrap(), page.to_str().unwrap());
    let ran = open("/no/such/browser", &["--output", "page.html"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("cannot open a browser: the program \"/no/such/browser\""),
        "{ran:?}"
    );
    assert!(world.project().join("page.html").exists());
    let ran = open(&variable, &["--format", "md"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("`--open` shows a page"), "{ran:?}");
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
    process::make_named_pipe(&pipe).unwrap();
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    assert_eq!(export(pipe.to_str().unwrap()).code, Some(0));
    assert!(reader.join().unwrap().starts_with("# count\n"));
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
}
