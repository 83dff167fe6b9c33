//! pi in a worktree of its own.

use std::fs;

use serde_json::json;

use crate::{PiWorld, bash};

#[test]
fn what_pi_does_in_a_worktree_with_its_tools_is_kept_and_applied() {
    let write = json!({"name": "write", "args": {"path": "made.txt", "content": "one\n"}});
    let edit = json!({"name": "edit", "args": {
        "path": "made.txt", "edits": [{"oldText": "one", "newText": "made"}],
    }});
    let pi = PiWorld::new(&json!([
        {"tools": [write]}, {"tools": [edit]}, bash("pwd && rm old.txt"), {"text": "{{result:2}}"},
    ]));
    let in_project = |command: &str| {
        let output = pi.world.command_of("sh").args(["-c", command]).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    in_project(
        "rm -rf .git && git init -q -b main && git config user.name A && git config user.email a && \
         echo old > old.txt && echo .pi/ > .gitignore && git add . && git commit -qm First",
    );
    // What is not committed is where it starts, and stays.
    pi.project_file("mine.txt", "mine\n");
    let task = pi.complete(&["--worktree", "--name", "t"]);
    let id = task["runId"].as_str().unwrap();
    let tree = pi.world.home().join(".local/state/pi-subagents/worktrees").join(id);
    assert!(task["output"].as_str().unwrap().contains(tree.to_str().unwrap()), "{task:#}");
    assert_eq!(task["changes"]["files"], 2, "{task:#}");
    assert_eq!((task["changes"].get("directory"), tree.exists()), (None, false), "{task:#}");
    assert_eq!(in_project("git status --short"), "?? mine.txt\n");
    let applied = pi.world.run(&["changes", "apply", "t"]);
    assert_eq!(applied.code, Some(0), "{applied:#?}");
    assert_eq!(in_project("git status --short"), " D old.txt\n?? made.txt\n?? mine.txt\n");
    assert_eq!(fs::read_to_string(pi.world.project().join("made.txt")).unwrap(), "made\n");
}
