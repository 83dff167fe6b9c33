//! opencode.

use serde_json::json;
use test_support::client;

use super::Scene;

const TOOL: &str = "pi-subagents_delegate_to_subagents";

#[test]
fn the_answers_come_with_the_call() {
    let scene = Scene::new("opencode", &json!({"name": TOOL}));
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": scene.llm.base_url(), "apiKey": "a key"},
        "models": {"fake-1": {}},
    });
    let configuration = json!({"provider": {"fake": provider}, "autoupdate": false});
    let mut command = scene.world.command_of(client("opencode-{}/bin/opencode"));
    command
        .args(["run", "--model", "fake/fake-1"])
        .env("OPENCODE_CONFIG_CONTENT", configuration.to_string())
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1");
    let ran = scene.ask(&command);
    scene.assert_answered_in_one_call(&ran);
    let tools = scene.asked()[0]["tools"].clone();
    let tool = tools.as_array().unwrap().iter().find(|tool| tool["function"]["name"] == TOOL);
    assert!(tool.is_some(), "{tools:#}");
}
