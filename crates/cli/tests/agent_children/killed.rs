//! A caller that is killed in the middle of a command: nothing is left of any agent.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use test_support::{Running, wait_until};

use crate::{Agent, Claude, Scene};

/// A command that starts another one in a session of its own, says that both are there, and stays.
const COMMAND: &str = "setsid sh -c 'echo $$ > one; exec sleep 600' & \
    env -i setsid sh -c 'echo $$ > two; exec sleep 600' & \
    until [ -s one ] && [ -s two ]; do sleep 0.02; done; touch started; sleep 600";

#[test]
fn nothing_is_left_of_any_agent_whose_caller_is_killed() {
    for name in ["claude", "codex", "pi", "builtin"] {
        let call = match name {
            "claude" => Agent::Claude.bash(COMMAND),
            "codex" => Agent::Codex.bash(COMMAND),
            _ => json!({"name": "bash", "args": {"command": COMMAND}}),
        };
        let scene = Scene::new(Claude, &json!([{"tools": [call]}]));
        scene.with_pi(&json!({}));
        let arguments = ["run", "--access", "full", "--agent", name, "do it"];
        let running = Running::start(scene.command(&arguments));
        let project = scene.world.project();
        wait_until(|| project.join("started").exists());
        let killed = Instant::now();
        running.signal(Signal::KILL);
        running.finish();
        let escaped = ["one", "two"].map(|name| {
            let pid = fs::read_to_string(project.join(name)).unwrap();
            format!("/proc/{}", pid.trim())
        });
        wait_until(|| {
            scene.world.processes().is_empty()
                && !escaped.iter().any(|path| fs::exists(path).unwrap())
        });
        let time = killed.elapsed();
        assert!(time < Duration::from_secs(10), "{name} took {time:?}");
        let result = fs::read(scene.world.only_run().join("result.json")).unwrap();
        let result: Value = serde_json::from_slice(&result).unwrap();
        assert_eq!(result["outcome"], "interrupted", "{name}: {result:#}");
    }
}
