//! The key of a profile reaches the provider, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use test_support::{marked_processes, wait_until};

use crate::{KEY_OF_MODELS, PiWorld, bash, text_of};

const KEY: &str = "sk-profile-0123456789abcdef";
const KEY_OF_AUTH: &str = "key-of-auth-json";

/// Every file below a directory that has the key in it.
fn files_with_key(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_with_key(&path));
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            if bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()) {
                found.push(path);
            }
        }
    }
    found
}

/// A world with another key in every file and variable, and a profile that chooses one.
fn with_keys(commands: &str) -> PiWorld {
    let pi = PiWorld::new(&json!([bash(commands), {"text": "{{result:0}}"}]));
    let auth = json!({"fake": {"type": "api_key", "key": KEY_OF_AUTH}});
    pi.agent_file("auth.json", &auth.to_string());
    pi.worker(&format!("apiKey: {KEY}"), "");
    pi
}

/// Checks that only the profile's own file has the key.
#[track_caller]
fn assert_stored_nowhere(pi: &PiWorld) {
    let profile = pi.world.agent_dir().join("agent-profiles/worker.md");
    assert_eq!(files_with_key(&pi.world.path("")), [profile]);
}

#[track_caller]
fn assert_used(pi: &PiWorld, key: &str) {
    for request in pi.llm.requests() {
        assert_eq!(request.header("authorization"), Some(format!("Bearer {key}").as_str()));
    }
}

#[test]
fn the_key_of_a_profile_wins_and_is_seen_by_the_provider_alone() {
    let pi = with_keys(
        "env; cat /proc/self/environ | tr '\\0' '\\n'; touch looked; \
         until [ -e go ]; do sleep 0.02; done",
    );
    let running = pi.start(&["--profile", "worker"]);
    wait_until(|| pi.world.project().join("looked").exists());
    let processes = pi.world.processes();
    assert!(processes.len() >= 4, "caller, supervisor, pi and bash: {processes:#?}");
    assert!(!processes.iter().any(|(_, words)| words.contains(KEY)), "{processes:#?}");
    // pi was started with it in its environment, and has not passed it on.
    let is_ours = |holder: &(u32, String)| processes.iter().any(|(pid, _)| *pid == holder.0);
    let holders: Vec<_> = marked_processes(KEY).into_iter().filter(is_ours).collect();
    assert!(holders.len() <= 1, "{holders:#?}");
    assert_stored_nowhere(&pi);
    pi.project_file("go", "");
    let ran = running.finish();
    pi.world.assert_nothing_left();
    assert_eq!(ran.code, Some(0), "{ran:#?}");

    assert_eq!(pi.asked().len(), 2);
    assert_used(&pi, KEY);
    let request = pi.asked()[1].to_string();
    assert!(!request.contains(KEY), "{request}");
    // Both commands have shown the environment to the model, without a trace of the key.
    let shown = text_of(&pi.asked()[1], &["tool"]);
    assert_eq!(shown.matches("PI_SUBAGENTS_CHILD=1").count(), 2, "{shown}");
    assert!(!shown.contains("API_KEY") && !shown.contains("KEY_PROVIDER"), "{shown}");
    assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{ran:#?}");
    assert_stored_nowhere(&pi);
    for arguments in [&["sessions", "list"][..], &["profile", "show", "worker"]] {
        let output = pi.command(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains(KEY), "{output:?}");
    }
}

#[test]
fn a_key_that_the_agent_says_aloud_is_stored_nowhere() {
    // Cut in two, so that it is not in the call itself.
    let (start, end) = KEY.split_at(10);
    let pi = with_keys(&format!("printf 'found: %s%s' {start} {end}; echo {start}''{end} >&2"));
    let task = pi.complete(&["--profile", "worker"]);
    assert!(pi.asked()[1].to_string().contains(KEY), "the command has not run");
    assert!(task["output"].as_str().unwrap().starts_with("found: ****"), "{task:#}");
    assert!(!task.to_string().contains(KEY), "{task:#}");
    assert_stored_nowhere(&pi);
}

#[test]
fn the_key_belongs_to_the_provider_of_the_model_however_that_is_called() {
    for fields in
        ["model: fake/fake-2", "model: maker/fake-3", "provider: fake\nmodel: maker/fake-3"]
    {
        let pi = PiWorld::new(&json!([{"text": "done"}]));
        pi.worker(&format!("apiKey: {KEY}\n{fields}"), "");
        pi.complete(&["--profile", "worker"]);
        assert_eq!(pi.asked().len(), 1);
        assert_used(&pi, KEY);
    }
}

#[test]
fn without_a_key_in_the_profile_pi_uses_its_own() {
    let pi = PiWorld::new(&json!([{"text": "done"}]));
    let mut command = pi.run_command(&[]);
    let output = command.env("PI_API_KEY", "key-of-the-caller").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    pi.world.assert_nothing_left();
    assert_eq!(pi.asked().len(), 1);
    assert_used(&pi, KEY_OF_MODELS);
}
