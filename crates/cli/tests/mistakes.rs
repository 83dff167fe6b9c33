//! Names and ids that are almost right: what the program says could have been meant.

use std::fs;

use test_support::World;
use test_support::fake_agent::saying;

fn world() -> World {
    crate::world()
        .with_scout()
        .with_agent_file("agent-profiles/reviewer.md", "---\nname: reviewer\n---\n")
}

#[track_caller]
fn says(world: &World, arguments: &[&str], expected: &str) {
    let ran = world.run(arguments);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains(expected), "{arguments:?}: {expected:?} is not in {}", ran.stderr);
}

#[test]
fn a_name_that_is_almost_right_is_told_with_the_one_that_was_meant() {
    let world = world();
    for (arguments, expected) in [
        (["profile", "show", "reviwer"].as_slice(), "Did you mean reviewer?"),
        (&["profile", "delete", "Reviewr"], "Did you mean reviewer?"),
        (&["preset", "show", "scuot"], "Did you mean scout?"),
        (&["run", "--profile", "reviwer", "do it"], "Did you mean reviewer?"),
        (&["run", "--preset", "scoutt", "do it"], "Did you mean scout?"),
        (&["bg", "start", "--preset", "scoutt", "do it"], "Did you mean scout?"),
        (&["run", "--agent", "bulitin", "do it"], "Did you mean builtin?"),
        (&["man", "rnu"], "Did you mean run?"),
        (&["sesions"], "sessions"),
    ] {
        says(&world, arguments, expected);
    }
}

#[test]
fn a_mistake_starts_nothing_and_leaves_no_session() {
    let world = world();
    fs::write(world.project().join("broken.json"), "[{]").unwrap();
    for (arguments, expected) in [
        (["--profile", "reviwer"].as_slice(), "Did you mean reviewer?"),
        (&["--preset", "scoutt"], "Did you mean scout?"),
        (&["--agent", "bulitin"], "Did you mean builtin?"),
        (&["--agent", "builtin", "--model", "no-such-model-at-all"], "Unknown model"),
        (
            &["--agent", "builtin", "--model", "turns.json"],
            "A script is played as the model script/turns.json",
        ),
        (&["--agent", "builtin", "--model", "antropic/claude-haiku-4-5"], "anthropic"),
        (
            &["--agent", "builtin", "--model", "script/turns.json"],
            "turns.json cannot be played: there is no such file. `--model script/PATH` needs a file",
        ),
        (
            &["--agent", "builtin", "--model", "script/broken.json"],
            "cannot be played: key must be a string",
        ),
        (&["--agent", "claude"], "Claude Code is not installed: install it with `npm install"),
        (&["--agent", "pi"], "pi is not installed: install it with `npm install"),
        (&["--cwd", "no/such/directory"], "--cwd no/such/directory"),
        (&["--timeout", "5 minutes"], "must be a time such as 90, 90s, 5m or 1h"),
    ] {
        for command in [["run"].as_slice(), &["bg", "start"]] {
            let ran = world.run(&[command, arguments, &["do it"]].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}: {ran:?}");
            assert!(ran.stderr.contains(expected), "{arguments:?}: {ran:?}");
        }
    }
    for file in ["missing.rs", "empty.rs", "a.rs:9-", "a.rs:3-2"] {
        std::fs::write(world.project().join("empty.rs"), "").unwrap();
        std::fs::write(world.project().join("a.rs"), "one\ntwo\n").unwrap();
        let ran = world.run(&["run", "--file", file, "do it"]);
        assert_eq!(ran.code, Some(2), "{file}: {ran:?}");
        assert!(ran.stderr.contains(&format!("--file {file}")), "{ran:?}");
    }
    assert!(world.runs().is_empty());
    assert!(!world.project().join(".pi/subagents/runs").exists(), "not even an empty one");
}

#[test]
fn tasks_that_are_missing_or_wrong_are_told_with_their_file_and_what_is_expected() {
    let world = world();
    let ran = world.feed(world.command(["delegate"]), "");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("standard input is empty; it must have the tasks as JSON"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("echo '[{\"name\": \"a\", \"prompt\": "), "{ran:?}");
    for (text, expected) in [
        (" ", "tasks.json is empty"),
        ("[{", "tasks.json: the tasks are not JSON: EOF"),
        ("[{\"nam\": \"a\"}]", "tasks.json: tasks[0].nam: is unknown"),
    ] {
        fs::write(world.project().join("tasks.json"), text).unwrap();
        says(&world, &["delegate", "tasks.json"], expected);
    }
}

#[test]
fn an_unknown_preset_that_init_can_write_is_told_with_its_command() {
    let world = crate::world();
    for command in [["run"].as_slice(), &["bg", "start"]] {
        let arguments = [command, &["--preset", "reviewer", "do it"]].concat();
        says(&world, &arguments, "hint: `pi-subagents init reviewer` writes it");
    }
    says(&world, &["run", "--preset", "no-starter", "do it"], "`pi-subagents preset list` lists");
    assert_eq!(world.run(&["init", "reviewer"]).code, Some(0));
}

#[test]
fn an_id_or_a_task_that_is_almost_right_is_told_with_the_one_that_was_meant() {
    let world = world();
    let script = saying("a");
    let ran = world.play(&script, &["--name", "review"]);
    let id = ran.task()["sessionId"].as_str().unwrap().to_owned();
    let last = if id.ends_with('0') { "1" } else { "0" };
    let almost = format!("{}{last}", &id[..15]);
    let meant = format!("Did you mean {id}?");
    says(&world, &["sessions", "show", &almost], &meant);
    says(&world, &["sessions", "output", "reviwe"], "Did you mean review?");
    says(&world, &["watch", "Review"], "Did you mean review?");
    says(&world, &["run", "--resume", &almost, "go on"], &meant);
    let agent = world.agent(&script);
    let start = ["bg", "start", "--preset", "scout", "--agent", &agent, "look"];
    let id = world.run(&start).stdout.trim().to_owned();
    assert_eq!(world.run(&["bg", "wait", &id]).code, Some(0));
    says(&world, &["bg", "logs", "scuot"], "Did you mean scout?");
    says(&world, &["bg", "logs", &format!("{}zz", &id[..34])], &format!("Did you mean {id}?"));
    world.wait_until_nothing_is_left();
}
