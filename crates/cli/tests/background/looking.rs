//! `bg list`, `bg status`, and what is refused.

use std::fs;

use serde_json::{Value, json};
use test_support::{Ran, wait_until};

use super::{quick, run_dir, start, start_command, start_working, wait_for_result, world};

#[test]
fn start_prints_a_handle() {
    let world = world();
    let mut command = start_command(&world, &quick(), &["--json", "--model", "b/two"]);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let handle = ran.json();
    let id = handle["runId"].as_str().unwrap();
    let dir = run_dir(&world, id).canonicalize().unwrap();
    assert_eq!(handle["runDir"], dir.to_str().unwrap());
    assert_eq!(handle["paths"]["eventsPath"], dir.join("events.jsonl").to_str().unwrap());
    assert_eq!(handle["sessionId"].as_str().map(str::len), Some(16));
    assert_eq!((&handle["preset"], &handle["resolvedModel"]), (&json!("scout"), &json!("b/two")));
    let counts = &handle["counts"];
    assert_eq!(counts["total"], 1, "it is counted already: {counts}");
    wait_for_result(&world, id);
    world.wait_until_nothing_is_left();
    // The session of a background run is a session like any other.
    let session = handle["sessionId"].as_str().unwrap();
    assert_eq!(world.run(&["sessions", "output", session]).stdout, "found it\n");
}

#[test]
fn a_run_without_a_preset_shows_none() {
    let world = world();
    let agent = world.agent(&quick());
    let ran = world.run(&["bg", "start", "--agent", &agent, "--json", "--name", "look", "do it"]);
    let handle = ran.json();
    assert_eq!((&handle["name"], &handle["preset"]), (&json!("look"), &Value::Null), "{ran:?}");
    let id = handle["runId"].as_str().unwrap();
    wait_for_result(&world, id);
    let sheet = world.run(&["bg", "status", id]).stdout;
    assert!(sheet.contains("\n  name       look\n") && !sheet.contains("preset"), "{sheet}");
    world.wait_until_nothing_is_left();
}

#[test]
fn runs_are_listed_and_found_by_the_beginning_of_their_ids() {
    let world = world();
    let empty = world.run(&["bg", "list"]);
    assert_eq!((empty.code, empty.stdout.as_str()), (Some(0), ""));
    assert_eq!(empty.stderr, "Nothing running.\n");
    let failed = start(&world, &json!(["start", {"message": {"stop": "error", "error": "quota"}}]));
    wait_for_result(&world, &failed);
    let running = start_working(&world);
    let listed = world.run(&["bg", "list"]);
    assert_eq!(
        listed.stderr,
        format!(
            "Background agent scout failed: quota ({failed})\n\
             1 running. 1 failed.\n"
        )
    );
    let lines: Vec<&str> = listed.stdout.lines().collect();
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with(&format!("{running}  running  ")), "{listed:?}");
    assert!(lines[0].ends_with("  scout  look around"), "{listed:?}");
    let all = world.run(&["bg", "list", "--all"]);
    assert!(!all.stderr.contains("Background agent"), "{all:?}");
    assert!(all.stdout.starts_with(&format!("{failed}  failed   ")), "{all:?}");
    let counted = world.run(&["bg", "status"]);
    assert!(counted.stdout.starts_with("1 running. 1 failed.\n"), "{counted:?}");
    assert!(counted.stdout.contains(&running) && !counted.stdout.contains(&failed));

    let status = |id: &str| world.run(&["bg", "status", id, "--json"]);
    // Both ids begin with the same time.
    let common: String =
        failed.chars().zip(running.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    let unique = &running[..=common.len()];
    assert_eq!(status(unique).json()["runs"][0]["runId"], running);
    let ambiguous = status(&common);
    assert_eq!(ambiguous.code, Some(2));
    assert!(ambiguous.stderr.contains("is the beginning of 2 ids: "), "{ambiguous:?}");
    for unknown in ["zzzzzzzz", "", "../../../etc"] {
        let ran = status(unknown);
        assert_eq!(ran.code, Some(2), "{unknown:?}");
        let expected = format!("no run, session or task of this project is called \"{unknown}\"");
        assert!(ran.stderr.contains(&expected), "{ran:?}");
    }
    let sheet = world.run(&["bg", "status", &failed]);
    assert!(sheet.stdout.contains("\n  status     failed\n"), "{sheet:?}");
    assert!(sheet.stdout.contains("\n  error      quota\n"), "{sheet:?}");
    world.let_go();
    wait_for_result(&world, &running);
    world.wait_until_nothing_is_left();
}

#[test]
fn foreground_runs_are_no_background_runs() {
    let world = world();
    let ran = world.play(&quick(), &["--preset", "scout"]);
    let id = ran.task()["runId"].as_str().unwrap().to_owned();
    let listed = world.run(&["bg", "list", "--all", "--everyone", "--json"]).json();
    assert_eq!((&listed["runs"], &listed["counts"]["total"]), (&json!([]), &json!(0)));
    for word in [id.as_str(), "scout", "@last"] {
        let refused = world.run(&["bg", "stop", word]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        let expected = format!("\"{word}\" is not a background run");
        assert!(refused.stderr.contains(&expected), "{refused:?}");
        assert!(refused.stderr.contains(&format!("sessions show {word}")), "{refused:?}");
    }
}

#[test]
fn what_cannot_be_started_is_refused_and_leaves_nothing() {
    let world = world();
    let agent = world.agent(&quick());
    for (arguments, said, hint) in [
        (vec!["--preset", "nope", "do it"], "Unknown preset: \"nope\"", "preset list"),
        (vec!["--preset", "scout", "--cwd", "sub", "do it"], "--cwd sub: No such file", ""),
        (vec!["--preset", "scout", " "], "the prompt is empty", "say what"),
        (vec!["--preset", "scout", "--profile", "x", "do it"], "--profile", ""),
    ] {
        let mut all = vec!["bg", "start", "--agent", &agent];
        all.extend(&arguments);
        let ran = world.run(&all);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(said) && ran.stderr.contains(hint), "{ran:?}");
    }
    assert_eq!(world.runs().len(), 0);
    for command in ["start", "list", "status", "wait", "logs", "stop"] {
        let mut arguments = vec!["bg", command];
        match command {
            "start" => arguments.extend(["--preset", "scout", "do it"]),
            "wait" | "logs" | "stop" => arguments.push("01234567"),
            _ => {}
        }
        let mut inside = world.command(&arguments);
        let ran = Ran::from(inside.env("PI_SUBAGENTS_CHILD", "1").output().unwrap());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("a sub-agent cannot start sub-agents"), "{ran:?}");
    }
}

#[test]
fn a_store_that_cannot_be_written_refuses_background_runs() {
    let world = world();
    fs::create_dir_all(world.project().join(".pi")).unwrap();
    fs::write(world.project().join(".pi/subagents"), "not a directory").unwrap();
    let ran = Ran::from(start_command(&world, &quick(), &[]).output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.stderr.contains("error: a background run must be recorded: "), "{ran:?}");
    assert!(ran.stderr.contains("hint: make the directory writable"), "{ran:?}");
    world.assert_nothing_left();
    let temporary: Vec<_> = super::names(&world.path(""));
    assert_eq!(temporary, ["home", "project"], "nothing was put elsewhere");
}

#[test]
fn an_agent_that_cannot_be_started_is_a_run_that_failed() {
    let world = world();
    let missing = json!([world.path("missing-agent")]).to_string();
    let ran =
        world.run(&["bg", "start", "--preset", "scout", "--agent", &missing, "--json", "do it"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let handle: Value = ran.json();
    let id = handle["runId"].as_str().unwrap();
    wait_until(|| super::status(&world, id)["status"] == "failed");
    assert_eq!(super::status(&world, id)["outcome"], "spawn_failure");
    world.wait_until_nothing_is_left();
}
