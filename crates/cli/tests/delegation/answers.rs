//! What agents said is in the hands of the caller when `delegate` ends.

use std::fs;

use serde_json::{Value, json};

use super::*;

/// The lines about tasks without the ids of their sessions, and everything behind them.
fn without_ids(text: &str) -> String {
    let line = |line: &str| match line.split_once("(session: ") {
        Some((before, rest)) => format!("{before}(session: ID){}", &rest[17..]),
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn delegate_prints_the_answers_below_the_lines_about_the_tasks() {
    let world = world();
    let agent = world.agent(&json!([{"say": "**Done**, all of it.\n\nTwo lines."}]));
    let call = world.path("call.json");
    fs::write(&call, r#"[{"name": "a", "prompt": "p"}, {"name": "b", "prompt": "q"}]"#).unwrap();
    let call = call.to_str().unwrap();

    let ran = world.run(&["delegate", "--agent", &agent, call]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines = "✓ a: completed (session: ID)\n✓ b: completed (session: ID)";
    let said = "**Done**, all of it.\n\nTwo lines.";
    assert_eq!(without_ids(&ran.stdout), format!("{lines}\n\n### a\n\n{said}\n\n### b\n\n{said}"));
    assert!(!ran.stderr.contains("Done"), "the answer is printed once: {}", ran.stderr);

    let ran = world.run(&["delegate", "--quiet", "--agent", &agent, call]);
    assert_eq!(without_ids(&ran.stdout), lines);
}

#[test]
fn every_task_has_a_file_in_the_output_directory_that_tells_failures_from_answers() {
    let world = world();
    let script = json!([{"message": {"text": "Half of it.", "stop": "toolUse"}}, {"exit": 3}]);
    let failing = world.agent(&script);
    let agent = world.agent(&json!([{"say": "All of it."}]));
    let directory = world.path("answers");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("a.md"), "an answer of yesterday").unwrap();
    let delegate = |agent: &str, names: &[&str]| {
        let tasks: Vec<_> = names.iter().map(|name| json!({"name": name, "prompt": "p"})).collect();
        let call = world.path("call.json");
        fs::write(&call, json!(tasks).to_string()).unwrap();
        let (directory, call) = (directory.to_str().unwrap(), call.to_str().unwrap());
        world.run(&["delegate", "--quiet", "--output-dir", directory, "--agent", agent, call])
    };
    let read = |name: &str| fs::read_to_string(directory.join(name)).unwrap();

    assert_eq!(delegate(&failing, &["a"]).code, Some(1));
    let failed = without_ids(&read("a.md"));
    assert!(failed.starts_with("✗ a: error — "), "{failed}");
    assert!(failed.ends_with("(session: ID)\n\nHalf of it."), "{failed}");

    assert_eq!(delegate(&agent, &["a", "a", "../b/c"]).code, Some(0));
    for name in ["a.md", "a-2.md", "b-c.md"] {
        assert_eq!(read(name), "All of it.\n", "{name}");
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 3, "nothing else is there");

    // A pipe that is not read must not hold everything up.
    process::make_named_pipe(&directory.join("pipe.md")).unwrap();
    let ran = delegate(&agent, &["pipe", "d"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("pipe.md is not a plain file, and was not written"), "{ran:?}");
    assert_eq!(read("d.md"), "All of it.\n");
}

#[test]
fn what_tasks_do_not_say_the_options_say() {
    let world = world();
    super::profile(&world, "fast", "---\nname: fast\nmodel: x/profile\n---\n");
    let call = world.path("call.json");
    let tasks = json!([
        {"name": "plain", "prompt": "p"},
        {"name": "own", "prompt": "p", "model": "x/own", "timeout": 7, "agent": "builtin"},
        {"name": "profiled", "prompt": "p", "profile": "fast", "model": "x/own"},
    ]);
    fs::write(&call, tasks.to_string()).unwrap();
    let agent = world.agent(&json!([{"say": "done"}]));
    let call = call.to_str().unwrap();
    let options = ["--model", "x/option", "--timeout", "5m", "--agent", &agent, "--json", call];
    let ran = world.run(&[&["delegate"], &options[..]].concat());
    let document = ran.json();
    let metas: Vec<Value> = document["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| {
            let path = std::path::Path::new(task["runDir"].as_str().unwrap()).join("meta.json");
            serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
        })
        .collect();
    let decided = |index: usize| {
        let meta: &Value = &metas[index];
        (
            meta["resolvedModel"].as_str().unwrap(),
            meta["limits"]["timeoutMs"].as_u64().unwrap(),
            meta["agent"].as_str().unwrap(),
        )
    };
    assert_eq!(decided(0), ("x/option", 300_000, "program"));
    assert_eq!(decided(1), ("x/own", 7_000, "builtin"));
    assert_eq!(decided(2), ("x/own", 300_000, "program"));
}

#[test]
fn tasks_that_name_no_profile_get_the_one_of_the_options() {
    let world = world();
    super::profile(&world, "fast", "---\nname: fast\nmodel: x/fast\n---\n");
    super::profile(&world, "other", "---\nname: other\nmodel: x/other\n---\n");
    super::preset(&world, "scout", "---\nname: scout\ndescription: d\nmodel: x/scout\n---\n");
    let call = json!([
        {"name": "plain", "prompt": "p"},
        {"name": "own", "prompt": "p", "profile": "other"},
    ]);
    let metas = |arguments: &[&str]| {
        let ran = super::delegate(&world, &json!([{"say": "done"}]), &call, arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let document = ran.json();
        let models = document["tasks"].as_array().unwrap().iter().map(|task| {
            let path = std::path::Path::new(task["runDir"].as_str().unwrap()).join("meta.json");
            let meta: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            (meta["resolvedModel"].clone(), meta["profile"].clone(), meta["preset"].clone())
        });
        models.collect::<Vec<_>>()
    };
    let own = (json!("x/other"), json!("other"), Value::Null);
    let with_profile = (json!("x/fast"), json!("fast"), Value::Null);
    assert_eq!(metas(&["--profile", "fast"]), [with_profile, own.clone()]);
    let with_preset = (json!("x/scout"), Value::Null, json!("scout"));
    assert_eq!(metas(&["--preset", "scout"]), [with_preset, own.clone()]);
    // The option for the model wins over the profile of the option, as a task's own would.
    let with_model = (json!("x/most"), json!("fast"), Value::Null);
    assert_eq!(metas(&["--profile", "fast", "--model", "x/most"])[0], with_model);
    // `bg start` takes both, too.
    let agent = world.agent(&json!([{"say": "done"}]));
    for (option, name, model) in [("--profile", "fast", "x/fast"), ("--preset", "scout", "x/scout")]
    {
        let ran = world.run(&["bg", "start", option, name, "--agent", &agent, "--json", "look"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let started = ran.json();
        let id = started["runId"].as_str().unwrap();
        assert_eq!(world.run(&["bg", "wait", id]).code, Some(0));
        let path = std::path::Path::new(started["runDir"].as_str().unwrap()).join("meta.json");
        let meta: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        assert_eq!((&meta["resolvedModel"], &meta["name"]), (&json!(model), &json!(name)));
    }
    world.wait_until_nothing_is_left();
}

#[test]
fn directories_and_files_are_relative_to_where_one_stands() {
    let world = world();
    let inner = world.project().join("inner");
    fs::create_dir_all(&inner).unwrap();
    fs::write(world.project().join("notes.txt"), "one\ntwo\n").unwrap();
    let agent = json!([env!("CARGO_BIN_EXE_fake-agent")]).to_string();
    let run = |arguments: &[&str]| {
        world.run(&[&["run", "--agent", &agent, "--json"], arguments, &["Go."]].concat())
    };
    let ran = run(&["--cwd", "inner/../inner", "--file", "notes.txt:2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said = ran.json()["tasks"][0]["output"].as_str().unwrap().to_owned();
    let shown = world.project().join("notes.txt");
    assert!(said.contains(&format!("=== {} ===\ntwo\n\nGo.", shown.display())), "{said}");
    let meta = fs::read(world.runs()[0].join("meta.json")).unwrap();
    let meta: Value = serde_json::from_slice(&meta).unwrap();
    assert_eq!(meta["cwd"], inner.canonicalize().unwrap().to_str().unwrap());

    fs::write(world.project().join("empty"), "").unwrap();
    for (arguments, expected) in [
        (["--file", "missing"], "--file missing: file not found: missing"),
        (["--file", "empty"], "--file empty: file is empty: empty"),
        (["--file", ""], "--file : "),
        (["--file", "notes.txt:3-"], "--file notes.txt:3-: no such lines: notes.txt has 2"),
        (["--file", "notes.txt:2-1"], "--file notes.txt:2-1: no such lines: notes.txt has 2"),
        (["--file", "notes.txt:x-y"], "--file notes.txt:x-y: file not found: notes.txt:x-y"),
        (["--cwd", "nowhere"], "--cwd nowhere: "),
        (["--cwd", "notes.txt"], "--cwd notes.txt: is not a directory"),
        (["--timeout", "5 minutes"], "must be a time such as 90, 90s, 5m or 1h"),
    ] {
        let ran = run(&arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(world.runs().len(), 1, "nothing was started");
}
