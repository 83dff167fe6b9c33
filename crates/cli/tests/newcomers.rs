//! What people meet in their first minutes.

use std::path::Path;

use serde_json::json;
use test_support::Ran;
use test_support::fake_agent::saying;

use crate::world;

#[test]
fn what_an_agent_complains_about_is_said_once() {
    let world = world();
    let agent = world.agent(&json!([{"stderr": "no key"}, {"stderr": "set one"}, {"exit": 2}]));
    let ran = world.run(&["run", "--agent", &agent, "do it"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.stderr.matches("no key").count(), 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("✗ task: error — Sub-agent exited with code 2 (session: "),
        "{ran:?}"
    );
    let task = world.play(&json!([{"stderr": "no key"}, {"exit": 2}]), &[]).task();
    assert_eq!(task["error"], "Sub-agent exited with code 2: no key", "the record has all of it");
    let ran = world.run(&["run", "--agent", "builtin", "do it"]);
    assert_eq!(ran.stderr.matches("ANTHROPIC_API_KEY").count(), 1, "{}", ran.stderr);
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
