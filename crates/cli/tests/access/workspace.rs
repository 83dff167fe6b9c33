//! `access: workspace`: the task's directory, and caches.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use test_support::{SystemCall, forbid, write_file};

use super::Restricted;

const WORKSPACE: &[&str] = &["--access", "workspace"];

#[test]
fn the_directory_of_the_task_is_changed_and_nothing_else() {
    let restricted = Restricted::new();
    symlink(restricted.world.path("outside"), restricted.project("link")).unwrap();
    let attempt = restricted.assert_can(
        "echo x > new && mkdir -p a/b && mv new a/b && ln a/b/new c && rm a/b/new \
         && echo x > \"$TMPDIR/x\"",
        WORKSPACE,
    );
    assert_eq!(fs::read_to_string(restricted.project("c")).unwrap(), "x\n");
    assert_eq!(
        (attempt.meta()["access"].as_str(), &*attempt.warnings()),
        (Some("workspace"), "[]")
    );
    for script in [
        "echo x > $outside/new",
        "echo x > link/new",
        "ln -s $outside mine && echo x > mine/new",
        "ln $outside/file linked && echo x > linked",
        "mv c $outside/new",
        "mv $outside/file .",
        "bash -c 'cd .. && mkdir new'",
        "setsid --wait sh -c \"echo x > $outside/new\"",
        "cd .. && mv project moved",
        "echo x > \"$HOME/.profile\"",
        "echo x > ~/.pi/agent/settings.json",
    ] {
        restricted.assert_cannot(script, WORKSPACE);
        restricted.assert_outside_untouched();
    }
}

/// The records of runs are inside of the project, and are kept read-only by a mount.
#[test]
fn the_records_of_runs_stay() {
    let restricted = Restricted::new();
    restricted.assert_can("true", WORKSPACE);
    let earlier = restricted.world.runs().remove(0);
    let result = fs::read(earlier.join("result.json")).unwrap();
    for script in [
        "echo x > $PI_SUBAGENTS_RUN_DIR/meta.json",
        "echo x > $PI_SUBAGENTS_RUN_DIR/result.json",
        "mv .pi mine",
        "rm -rf .pi",
        "rm -rf .pi/subagents/runs",
        "for run in .pi/subagents/runs/*; do echo x > $run/result.json; done",
    ] {
        restricted.assert_cannot(script, WORKSPACE);
    }
    assert_eq!(fs::read(earlier.join("result.json")).unwrap(), result);
    restricted
        .assert_can("echo x > $PI_SUBAGENTS_RUN_DIR/outputs/file && echo x > .pi/own", WORKSPACE);
}

#[test]
fn the_records_of_another_project_stay() {
    let restricted = Restricted::new();
    let other = restricted.world.path("other");
    let record = other.join(".pi/subagents/runs/x/meta.json");
    write_file(&record, "kept");
    let cwd = ["--access", "workspace", "--cwd", other.to_str().unwrap()];
    restricted.assert_can("echo x > new", &cwd);
    for script in ["echo x > .pi/subagents/runs/x/meta.json", "mkdir .pi/subagents/runs/y"] {
        restricted.assert_cannot(script, &cwd);
    }
    assert_eq!(fs::read_to_string(record).unwrap(), "kept");
}

#[test]
fn caches_of_the_settings_are_writable_and_the_usual_ones_by_default() {
    let restricted = Restricted::new();
    let home = restricted.world.home();
    for directory in [".cargo/registry", ".cache/pip", "own", "opt"] {
        fs::create_dir_all(home.join(directory)).unwrap();
    }
    write_file(&home.join(".cargo/config.toml"), "");
    restricted.assert_can("echo x > ~/.cargo/registry/x && echo x > ~/.cache/pip/x", WORKSPACE);
    restricted.assert_cannot("echo x > ~/.cargo/config.toml", WORKSPACE);
    restricted.assert_cannot("echo x > ~/own/x", WORKSPACE);
    restricted.assert_cannot("echo x > ~/.cargo/registry/x", &["--access", "read"]);
    let paths = json!(["~/own", home.join("opt"), "~/missing"]);
    restricted.world.settings(&json!({"writablePaths": paths}));
    restricted.assert_can("echo x > ~/own/x && echo x > ~/opt/x", WORKSPACE);
    restricted.assert_cannot("echo x > ~/.cargo/registry/x", WORKSPACE);
    // A project has no say.
    restricted.world.settings(&json!({}));
    let of_project = json!({"subagents": {"writablePaths": ["~/own"]}});
    write_file(&restricted.project(".pi/settings.json"), &of_project.to_string());
    restricted.assert_cannot("echo x > ~/own/x", WORKSPACE);
}

/// An agent that can change the settings of agents could give the next one more.
#[test]
fn a_directory_with_the_settings_of_agents_in_it_is_refused() {
    let restricted = Restricted::new();
    let extensions = restricted.world.agent_dir().join("extensions");
    std::fs::create_dir_all(&extensions).unwrap();
    for directory in [restricted.world.home(), restricted.world.agent_dir(), extensions] {
        let directory = directory.display().to_string();
        let mut command =
            restricted.command("true", &["--access", "workspace", "--cwd", &directory]);
        let ran: test_support::Ran = command.output().unwrap().into();
        let outcome = &ran.task()["outcome"];
        assert_eq!((ran.code, outcome), (Some(1), &json!("spawn_failure")), "{ran:#?}");
        let error = ran.task()["error"].as_str().unwrap().to_owned();
        assert!(error.contains("the settings of agents are there"), "{error}");
    }
}

/// Where there is no repository, mounts only keep the records of runs.
#[test]
fn without_mounts_a_directory_without_a_repository_is_writable() {
    let restricted = Restricted::new();
    let mut command = restricted.command("echo x > new && ! echo x > $outside/new", WORKSPACE);
    forbid(&mut command, SystemCall::Unshare);
    let attempt = restricted.outcome(command);
    assert_eq!(attempt.status, 0, "{}", attempt.said);
    let warnings = attempt.warnings();
    assert!(warnings.contains("The agent can change the records of runs"), "{warnings}");
    restricted.assert_outside_untouched();
}
