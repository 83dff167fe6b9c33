//! pi with restricted access: it works, it knows, and it changes nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::{PiWorld, bash, system_prompt, text_of};

const KEY_OF_AUTH: &str = "key-of-auth-json";

/// Every file and directory below a directory, with what is in it.
fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.push((path.clone(), Vec::new()));
            found.extend(contents(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// Where the kernel cannot enforce it, nothing starts.
#[track_caller]
fn assert_refused(pi: &PiWorld, access: &str) {
    let ran = pi.run(&["--access", access]);
    let error = ran.task()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("cannot be enforced here"), "{error}");
}

#[test]
fn pi_reads_its_settings_and_logins_and_changes_only_what_it_may() {
    for access in ["read", "workspace"] {
        let commands = "echo x > new; echo x > ../outside; echo x > \"$TMPDIR/x\" && echo done; \
                        echo x > ~/.pi/agent/settings.json";
        let pi = PiWorld::new(&json!([bash(commands), {"text": "{{result:0}}"}]));
        if process::landlock_version().is_err() {
            assert_refused(&pi, access);
            continue;
        }
        let auth = json!({"fake": {"type": "api_key", "key": KEY_OF_AUTH}});
        pi.agent_file("auth.json", &auth.to_string());
        pi.worker("appendSystemPrompt: Be brief.", "");
        let before = contents(&pi.world.agent_dir());
        let task = pi.complete(&["--profile", "worker", "--access", access]);
        // What the supervisor has learned about pi.
        fs::remove_dir_all(pi.world.agent_dir().join("governor")).unwrap();
        assert_eq!(contents(&pi.world.agent_dir()), before);
        // Without its settings it would know no model, and without its logins no such key.
        for request in pi.llm.requests() {
            let key = format!("Bearer {KEY_OF_AUTH}");
            assert_eq!(request.header("authorization"), Some(key.as_str()));
        }
        let system = system_prompt(&pi.asked()[0]);
        assert!(system.contains("Be brief.") && system.contains("he system refuses"), "{system}");
        let said = task["output"].as_str().unwrap();
        let refused = if access == "read" { 3 } else { 2 };
        assert_eq!(said.to_lowercase().matches("permission denied").count(), refused, "{said}");
        assert!(said.contains("done"), "{said}");
        assert_eq!(pi.world.project().join("new").exists(), access == "workspace");
        assert!(!pi.world.path("outside").exists());
        assert_eq!(task["warnings"], json!([]), "{task:#}");
    }
}

#[test]
fn the_session_of_the_child_is_kept_with_restricted_access() {
    for access in ["read", "workspace"] {
        let pi = PiWorld::new(&json!([bash("echo hello"), {"text": "done"}]));
        if process::landlock_version().is_err() {
            assert_refused(&pi, access);
            continue;
        }
        let preset = "---\nname: scout\ndescription: Looks.\nmodel: fake/fake-1\n---\nLook around.";
        pi.agent_file("subagents/scout.md", preset);
        pi.project_file("AGENTS.md", "Speak softly.");
        let task = pi.complete(&["--preset", "scout", "--access", access]);
        let run_dir = Path::new(task["runDir"].as_str().unwrap());
        let session = fs::read_to_string(run_dir.join("child-session.jsonl")).unwrap();
        assert!(session.contains("hello") && session.contains("done"), "{session}");
        let request = &pi.asked()[0];
        assert!(system_prompt(request).contains("Speak softly."), "{request:#}");
        assert!(text_of(request, &["user"]).contains("do it"), "{request:#}");
    }
}
