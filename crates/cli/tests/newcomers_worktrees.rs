//! What people meet who try worktrees with scripts, before they have a key.

use std::fs;

use serde_json::{Value, json};
use test_support::{Ran, World};

use crate::workspaces::repository;

/// A repository whose scripts git does not know, because it ignores them.
fn world() -> World {
    let world = repository();
    fs::write(world.project().join(".git/info/exclude"), "*.json\n").unwrap();
    let write = json!({"name": "write", "args": {"path": "HELLO.md", "content": "# Hello\n"}});
    script(&world, "turns.json", &json!([{"tools": [write]}, {"text": "written"}]));
    script(&world, "idle.json", &json!([{"text": "nothing to do"}]));
    world
}

fn script(world: &World, name: &str, turns: &Value) {
    fs::write(world.project().join(name), turns.to_string()).unwrap();
}

fn run(world: &World, arguments: &[&str]) -> Ran {
    world.run(&[&["run", "--agent", "builtin"], arguments, &["go"]].concat())
}

#[test]
fn a_script_that_git_ignores_is_played_in_a_worktree() {
    let world = world();
    let ran = run(&world, &["--worktree", "--name", "t", "--model", "script/turns.json"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "written"), "{ran:?}");
    // Newer than what the worktree of the session has.
    script(&world, "more.json", &json!([{"text": "more"}]));
    let ran = run(&world, &["--resume", "t", "--model", "script/more.json"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "more"), "{ran:?}");
    let task =
        json!([{"name": "d", "prompt": "go", "model": "script/idle.json", "agent": "builtin"}]);
    let delegate = world.command(["delegate", "--worktree"]);
    let ran = world.feed(delegate, &task.to_string());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let before = world.runs().len();
    let ran = run(&world, &["--worktree", "--model", "script/missing.json"]);
    assert_eq!((ran.code, world.runs().len()), (Some(2), before), "{ran:?}");
    assert!(ran.stderr.contains("missing.json cannot be played: there is no such file"), "{ran:?}");
    world.wait_until_nothing_is_left();
}

#[test]
fn what_was_applied_or_is_empty_is_not_listed_as_open() {
    let world = world();
    run(&world, &["--worktree", "--name", "t", "--model", "script/turns.json"]);
    run(&world, &["--worktree", "--name", "idle", "--model", "script/idle.json"]);
    let words = || -> Vec<String> {
        let list = world.run(&["changes", "list"]).stdout;
        list.lines().map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(words(), ["open", "empty"]);
    let applied = world.run(&["changes", "apply", "t"]);
    assert_eq!(applied.stdout, "t: applied, 1 file +1 −0\n", "{applied:?}");
    let again = world.run(&["changes", "apply", "t"]);
    let already = "t: applied already, nothing is left to change (1 file +1 −0)\n";
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), already), "{again:?}");
    // No key: it fails, and adds nothing to what was applied.
    assert_eq!(run(&world, &["--resume", "t"]).code, Some(1));
    assert_eq!(words(), ["applied", "empty", "applied"]);
    let more = json!({"name": "write", "args": {"path": "MORE.md", "content": "# More\n"}});
    script(&world, "more.json", &json!([{"tools": [more]}, {"text": "written"}]));
    assert_eq!(run(&world, &["--resume", "t", "--model", "script/more.json"]).code, Some(0));
    assert_eq!(words(), ["applied", "empty", "applied", "open"]);
    fs::remove_file(world.project().join("HELLO.md")).unwrap();
    let restored = world.run(&["changes", "apply", "t"]);
    assert_eq!(restored.stdout, "t: applied, 2 files +2 −0\n", "{restored:?}");
    world.wait_until_nothing_is_left();
}
