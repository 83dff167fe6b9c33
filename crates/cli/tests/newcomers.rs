//! What people meet in their first minutes.

use std::path::Path;

use serde_json::json;
use test_support::Ran;
use test_support::fake_agent::saying;

use crate::world;

#[test]
fn the_last_line_of_a_failed_run_is_the_reason() {
    let world = world();
    let last_line = |ran: &Ran| ran.stderr.trim_end().lines().last().unwrap().to_owned();
    let script = json!([{"stderr": "warning: odd"}, {"stderr": "Error: no key"}, {"exit": 2}]);
    let ran = world.run(&["run", "--agent", &world.agent(&script), "do it"]);
    assert_eq!(ran.code, Some(1));
    let line = last_line(&ran);
    assert!(line.starts_with("✗ task: error — no key (exit code 2) (session: "), "{ran:?}");
    assert_eq!(world.play(&script, &[]).task()["error"], "no key (exit code 2)");
    let builtin =
        |model: &str| world.run(&["run", "--agent", "builtin", "--model", model, "do it"]);
    // That is known before anything starts.
    let refused = builtin("ollama/qwen3");
    let line = last_line(&refused);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(line.starts_with("error: No provider \"ollama\". Add it to "), "{line}");
    assert!(line.contains("models.json: {\"providers\": {\"ollama\": "), "{line}");
    let ran = world.run(&["run", "--agent", "builtin", "do it"]);
    assert!(last_line(&ran).contains("ANTHROPIC_API_KEY"), "{ran:?}");
    let way = "To try it without a key, play a script: --model script/FILE";
    assert_eq!(ran.stderr.matches(way).count(), 1, "{ran:?}");
    // An error that is not the end of the run is not hidden.
    let script = json!([{"stderr": "error: odd"}, {"say": "done"}, {"end": false}, "settle"]);
    let ran = world.run(&["run", "--agent", &world.agent(&script), "do it"]);
    assert_eq!((ran.code, ran.stderr.matches("error: odd").count()), (Some(0), 1), "{ran:?}");
}

#[test]
fn a_key_that_only_pi_can_use_is_named_and_not_taken_for_another() {
    let world = world();
    let with_key = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        Ran::from(command.env("GOOGLE_CLOUD_API_KEY", "planted-key").output().unwrap())
    };
    for arguments in [
        &["run", "--agent", "builtin", "--model", "google-vertex/gemini-2.5-pro", "do it"][..],
        &["run", "--agent", "builtin", "do it"],
    ] {
        let ran = with_key(arguments);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("Vertex AI needs a sign-in"), "{ran:?}");
        assert!(ran.stderr.contains("GOOGLE_CLOUD_API_KEY"), "{ran:?}");
        assert!(!ran.stderr.contains("No API key for provider \"openrouter\""), "{ran:?}");
        assert!(!ran.stderr.contains("planted-key"), "{ran:?}");
    }
    let ran = with_key(&["doctor"]);
    let told =
        "! GOOGLE_CLOUD_API_KEY is set for google-vertex, which the built-in agent cannot ask: ";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
    assert!(!ran.stdout.contains("there is no API key for any"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("planted-key"), "{}", ran.stdout);
}

#[test]
fn the_root_of_the_file_system_is_not_made_a_project() {
    let is_project = |mark| Path::new(mark).exists();
    // On a machine where it is one, this test cannot show anything.
    assert!(!is_project("/.pi") && !is_project("/.git"), "/ is a project on this machine");
    let world = world();
    let script = saying("done");
    let mut command = world.play_command(&script, &[]);
    let ran = Ran::from(command.current_dir("/").output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!is_project("/.pi"));
    let task = ran.task();
    let warnings = task["warnings"].to_string();
    assert!(warnings.contains("the root of the file system is not a project"), "{warnings}");
    assert!(ran.run_dir().starts_with(world.path("")), "{task}");
}

#[test]
fn directories_are_named_as_they_are() {
    let world = world();
    for (kind, directory) in [("profile", "agent-profiles"), ("preset", "subagents")] {
        let ran = world.run(&[kind, "list"]);
        assert!(ran.stderr.contains(&format!("~/.pi/agent/{directory}/")), "{ran:?}");
        let mut command = world.command([kind, "list"]);
        let ran = Ran::from(command.env("PI_AGENT_DIR", "/elsewhere").output().unwrap());
        assert!(ran.stderr.contains(&format!("/elsewhere/{directory}/")), "{ran:?}");
    }
}
