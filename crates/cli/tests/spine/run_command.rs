//! `run` as users call it.

use std::fs;

use serde_json::json;

use super::world;

#[test]
fn the_answer_goes_to_standard_output_and_the_rest_to_standard_error() {
    let world = world();
    let agent = world.agent(&json!([
        {"message": {"text": "I look.", "stop": "toolUse"}},
        {"tool": {"name": "read", "args": {"path": "a.rs"}}},
        {"say": "The answer.\nIn two lines."},
    ]));
    let ran = world.run(&["run", "--agent", &agent, "--name", "look", "what?"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "The answer.\nIn two lines.\n"));
    let (progress, summary) = ran.stderr.split_once('✓').unwrap();
    assert_eq!(
        progress,
        "look: I look.\nlook: Reading a.rs\nlook: Finished reading a.rs\nUsed 240 tokens, $0.0060\n"
    );
    assert!(summary.starts_with(" look: completed (session: "), "{summary}");
}

#[test]
fn nothing_that_a_child_prints_reaches_a_terminal_raw() {
    let world = world();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2Jtext\u{9b}31m";
    let agent = world.agent(&json!([
        {"stderr": evil},
        {"line": evil},
        {"tool": {"name": "bash", "args": {"command": evil}}},
        {"tool": {"name": evil, "args": {}}},
        {"message": {"text": evil, "stop": "error", "error": evil}},
    ]));
    let ran = world.run(&["run", "--agent", &agent, "--name", evil, "what?"]);
    assert_eq!(ran.code, Some(1));
    let session = world.run(&["sessions", "list"]);
    let id = session.stdout.split_whitespace().next().unwrap().to_owned();
    let shown = world.run(&["sessions", "show", &id]);
    let output = world.run(&["sessions", "output", &id]);
    let transcript = fs::read_to_string(world.only_run().join("transcript.log")).unwrap();
    for text in [ran.stdout, ran.stderr, session.stdout, shown.stdout, output.stdout, transcript] {
        assert!(text.contains("text"), "{text:?}");
        let control = text.chars().find(|character| character.is_control() && *character != '\n');
        assert_eq!(control, None, "{text:?}");
    }
}

#[test]
fn children_get_pi_arguments_the_model_and_their_place() {
    let world = world();
    let ran = world.play(&json!([{"tell": "arguments"}]), &["--model", "fake/one:high"]);
    assert_eq!(ran.task()["output"], "--mode json -p --no-session --model fake/one:high");
    let tell = |fact| world.play(&json!([{"tell": fact}]), &[]).task()["output"].clone();
    assert_eq!(tell(json!("cwd")), json!(world.project()));
    assert_eq!(tell(json!({"variable": "PI_SUBAGENTS_CHILD"})), "1");
    assert_eq!(tell(json!({"variable": "PI_CODING_AGENT_DIR"})), json!(world.agent_dir()));
    let other = world.path("other");
    fs::create_dir(&other).unwrap();
    let ran = world.play(&json!([{"tell": "cwd"}]), &["--cwd", other.to_str().unwrap()]);
    assert_eq!(ran.task()["output"], json!(other));
    assert!(ran.run_dir().starts_with(world.project()), "runs belong to the caller's project");
}

#[test]
fn the_agent_comes_from_the_flag_the_environment_or_the_settings() {
    let world = world();
    let say = |word: &str| world.agent(&json!([{"say": word}]));
    let run = |flag: Option<&str>, variable: Option<&str>| {
        let mut arguments = vec!["run"];
        if let Some(flag) = flag {
            arguments.extend(["--agent", flag]);
        }
        arguments.push("hello");
        let mut command = world.command(arguments);
        if let Some(variable) = variable {
            command.env("PI_SUBAGENTS_AGENT", variable);
        }
        test_support::Ran::from(command.output().unwrap()).stdout
    };
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    world.settings(&json!({"agent": parse(&say("settings"))}));
    assert_eq!(run(None, None), "settings\n");
    assert_eq!(run(None, Some(&say("variable"))), "variable\n");
    assert_eq!(run(Some(&say("flag")), Some(&say("variable"))), "flag\n");
}

#[test]
fn a_project_cannot_choose_the_program() {
    let world = world();
    let proof = world.path("owned");
    let settings = json!({"subagents": {"agent": ["touch", proof]}});
    fs::create_dir_all(world.project().join(".pi")).unwrap();
    fs::write(world.project().join(".pi/settings.json"), settings.to_string()).unwrap();
    let ran = world.run(&["run", "hello"]);
    assert!(ran.stderr.contains("a project may set \"subagents.agent\" only to"), "{ran:?}");
    assert!(!proof.exists());
}

#[test]
fn mistakes_are_usage_errors_that_say_what_to_do() {
    let world = world();
    for (arguments, expected) in [
        (vec!["run"], "<PROMPT>"),
        (vec!["run", "  "], "the prompt is empty"),
        (vec!["run", "-"], "the prompt is empty"),
        (vec!["run", "--timeout", "0", "x"], "must be a time such as 90, 90s, 5m or 1h"),
        (vec!["run", "--timeout", "soon", "x"], "must be a time such as 90, 90s, 5m or 1h"),
        (vec!["run", "--agent", "cluade", "x"], "--agent does not name an agent: \"cluade\""),
        (vec!["run", "--modle", "m", "x"], "--model"),
        (
            vec!["sessions", "show", "ffff"],
            "no run, session or task of this project is called \"ffff\"",
        ),
        (vec!["sesions"], "sessions"),
    ] {
        let ran = world.run(&arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
    assert!(world.runs().is_empty(), "nothing was started");
}

#[test]
fn a_child_cannot_start_children() {
    let world = world();
    let mut command = world.play_command(&json!([{"say": "never"}]), &[]);
    let ran = test_support::Ran::from(command.env("PI_SUBAGENTS_CHILD", "1").output().unwrap());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("a sub-agent cannot start sub-agents"), "{ran:?}");
    assert!(world.runs().is_empty());
}

#[test]
fn a_reader_that_leaves_does_not_stop_the_run() {
    let world = world();
    let mut command = world.play_command(&json!([{"stderr": "x"}, {"say": "done"}]), &[]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    world.assert_nothing_left();
    assert!(world.only_run().join("result.json").exists());
}

/// A repository must not choose the program by a relative path on `PATH`.
#[test]
fn a_relative_search_path_is_meant_from_where_the_caller_stands() {
    let world = world();
    let other = world.path("other");
    // Links, because a program that was just written may not be started yet.
    for (directory, program) in
        [(world.project(), env!("CARGO_BIN_EXE_fake-agent")), (other.clone(), "/bin/false")]
    {
        fs::create_dir_all(directory.join("bin")).unwrap();
        std::os::unix::fs::symlink(program, directory.join("bin/pi")).unwrap();
    }
    let mut command = world.command(["run", "--cwd", other.to_str().unwrap(), "hello"]);
    let ran = test_support::Ran::from(command.env("PATH", "bin:/usr/bin:/bin").output().unwrap());
    assert_eq!(ran.stdout, "You said: hello\n", "{ran:?}");
}
