//! Restricted access: the agents find their settings, know what they may change, and go on when the system refuses.

use std::fs;

use serde_json::json;
use test_support::write_file;

use crate::{BOTH, Claude, Codex, KEY, Scene, story};

/// What the user tells every agent.
const OF_THE_USER: &str = "Speak softly and carry a big stick.";

#[test]
fn an_agent_goes_on_when_the_system_refuses_a_write() {
    for agent in BOTH {
        for access in ["read", "workspace"] {
            let settings = match agent {
                Claude => "~/.claude/settings.json",
                Codex => "~/.codex/config.toml",
            };
            let commands = format!(
                "echo x > new; echo x > ../outside; echo x > \"$TMPDIR/x\" && echo done; \
                 echo x > {settings}"
            );
            let turns = json!([agent.running(&commands), {"text": "{{result:0}}"}]);
            let scene = Scene::new(agent, &turns);
            if process::landlock_version().is_err() {
                let ran = scene.run(&["--access", access]);
                let error = ran.task()["error"].as_str().unwrap().to_owned();
                assert!(error.contains("cannot be enforced here"), "{error}");
                continue;
            }
            write_file(&Claude.state(&scene.world).join("settings.json"), "{}");
            write_file(&Claude.state(&scene.world).join("CLAUDE.md"), OF_THE_USER);
            write_file(&Codex.state(&scene.world).join("AGENTS.md"), OF_THE_USER);
            let before = fs::read(Codex.state(&scene.world).join("config.toml")).unwrap();
            let ran = scene.run(&["--access", access]);
            let task = ran.task();
            assert_eq!(task["outcome"], "completed", "{ran:#?}");
            let said = task["output"].as_str().unwrap();
            let refused = if access == "read" { 3 } else { 2 };
            assert_eq!(said.to_lowercase().matches("denied").count(), refused, "{agent:?}: {said}");
            assert!(said.contains("done"), "{said}");
            assert!(story(&ran).contains(&"bash failed".to_owned()), "{ran:#?}");
            assert_eq!(scene.world.project().join("new").exists(), access == "workspace");
            assert!(!scene.world.path("outside").exists());
            let after = fs::read(Codex.state(&scene.world).join("config.toml")).unwrap();
            assert_eq!(before, after);
            // Without its settings Codex would know no provider, and without its key none would answer.
            for request in scene.requests() {
                assert!(request.headers.iter().any(|(_, value)| value.contains(KEY)));
                let body = request.body.to_string();
                assert!(body.contains("he system refuses") && body.contains(OF_THE_USER));
                let can_write = body.contains("\"name\":\"Write\"");
                assert_eq!(can_write, agent == Claude && access == "workspace");
            }
            assert_eq!(task["warnings"], json!([]), "{task:#}");
        }
    }
}
