//! Claude Code.

use std::process::Command;

use serde_json::json;
use test_support::client;

use super::Scene;

const TOOL: &str = "mcp__pi-subagents__delegate_to_subagents";

fn claude(scene: &Scene) -> Command {
    let mut command = scene.world.command_of(client("@anthropic-ai/claude-code-{}/claude"));
    command
        .args(["--print", "--allowedTools", TOOL])
        .env("ANTHROPIC_BASE_URL", scene.llm.root_url())
        .env("ANTHROPIC_API_KEY", "a key")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("DISABLE_TELEMETRY", "1")
        // The tests may run as root.
        .env("IS_SANDBOX", "1");
    command
}

#[test]
fn the_answers_come_with_the_call() {
    let scene = Scene::new("claude", &json!({"name": TOOL}));
    let ran = scene.ask(&claude(&scene));
    scene.assert_answered_in_one_call(&ran);
    // Claude Code lets its model search for the tools of servers, which is a call more, except for those that ask
    // to be there from the beginning.
    let asked = scene.asked();
    let tools = asked[0]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == TOOL);
    let tool = tool.unwrap_or_else(|| panic!("the model has to search for the tool: {tools:#?}"));
    assert!(tool["input_schema"]["properties"]["tasks"].is_object(), "{tool:#}");
}
