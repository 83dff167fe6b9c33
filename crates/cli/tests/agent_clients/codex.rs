//! Codex.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use test_support::client;

use super::Scene;

const GROUP: &str = "mcp__pi_subagents";
const TOOL: &str = "delegate_to_subagents";

/// The key of a provider, which the user has in the environment.
const KEY: &str = "GROQ_API_KEY";

fn tool() -> Value {
    json!({"name": TOOL, "namespace": GROUP})
}

fn codex(scene: &Scene) -> Command {
    let target = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-musl" };
    let path = format!("@openai/codex-{{}}/vendor/{}-{target}/bin/codex", std::env::consts::ARCH);
    let provider = format!(
        "model_providers.fake={{name=\"fake\",base_url=\"{}\",env_key=\"FAKE_KEY\",wire_api=\"responses\"}}",
        scene.llm.base_url()
    );
    let mut command = scene.world.command_of(client(&path));
    command
        .args(["exec", "--skip-git-repo-check", "-c", "model_provider=fake", "-c", "model=fake-1"])
        .args(["-c", &provider, "-"])
        .env("FAKE_KEY", "a key")
        .env(KEY, "passed on");
    command
}

/// The file that `setup` has written, with our entry at its end.
fn configuration(scene: &Scene) -> PathBuf {
    scene.world.home().join(".codex/config.toml")
}

/// Does what `setup` says about approval.
fn approve(scene: &Scene) {
    let mut text = fs::read_to_string(configuration(scene)).unwrap();
    text.push_str("default_tools_approval_mode = \"approve\"\n");
    fs::write(configuration(scene), text).unwrap();
}

#[test]
fn the_answers_come_with_the_call() {
    let scene = Scene::new("codex", &tool());
    approve(&scene);
    let ran = scene.ask(&codex(&scene));
    scene.assert_answered_in_one_call(&ran);
    let tools = scene.asked()[0]["tools"].clone();
    let group = tools.as_array().unwrap().iter().find(|tool| tool["name"] == GROUP);
    let offered = group.unwrap()["tools"].as_array().unwrap();
    assert!(offered.iter().any(|tool| tool["name"] == TOOL), "{tools:#}");
}

#[test]
fn a_call_needs_the_approval_that_setup_speaks_of() {
    let scene = Scene::new("codex", &tool());
    let ran = scene.ask(&codex(&scene));
    assert!(scene.result(&ran).contains("requires approval"), "{ran:#?}");
    assert!(scene.world.runs().is_empty());
}

#[test]
fn keys_are_passed_on_because_setup_names_them() {
    let telling = json!(["start", {"tell": {"variable": KEY}}, {"end": false}, "settle"]);
    let agent = json!([env!("CARGO_BIN_EXE_fake-agent"), telling.to_string()]);
    let scene = Scene::with_agent("codex", &tool(), &agent);
    approve(&scene);
    let ran = scene.ask(&codex(&scene));
    assert_eq!(scene.result(&ran).matches("passed on").count(), 2, "{ran:#?}");
}

#[test]
fn an_agent_without_a_key_is_told_that_the_client_may_have_withheld_it() {
    let scene = Scene::with_agent("codex", &tool(), &json!("builtin"));
    let text = fs::read_to_string(configuration(&scene)).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("env_vars"));
    fs::write(configuration(&scene), lines.map(|line| format!("{line}\n")).collect::<String>())
        .unwrap();
    approve(&scene);
    let ran = scene.ask(&codex(&scene));
    let result = scene.result(&ran);
    assert!(result.contains("there is no API key"), "{result}");
    assert!(result.contains("The client may have withheld its environment"), "{result}");
}
