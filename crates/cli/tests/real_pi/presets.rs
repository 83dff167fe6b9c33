//! What a preset says reaches the model, and pi keeps its session.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::{PiWorld, bash, system_prompt, tools};

fn scout(pi: &PiWorld, fields: &str, body: &str) {
    let text = format!("---\nname: scout\ndescription: Looks around.\n{fields}\n---\n{body}");
    pi.agent_file("subagents/scout.md", &text);
}

#[test]
fn model_tools_and_body_arrive_and_pi_keeps_its_own_prompt() {
    let pi = PiWorld::new(&json!([{"text": "done"}]));
    scout(&pi, "model: fake/fake-2\ntools: read, grep, ls", "You are a scout.");
    let task = pi.complete(&["--preset", "scout"]);
    let request = pi.asked_once();
    assert_eq!(request["model"], "fake-2");
    assert_eq!(tools(&request), ["grep", "ls", "read"]);
    let system = system_prompt(&request);
    assert!(system.contains("You are a scout."), "{system}");
    assert!(system.contains("coding assistant"), "pi's own prompt is gone: {system}");
    assert_eq!(task["output"], "done");
}

#[test]
fn the_session_of_the_child_is_kept_for_its_owner_only() {
    let pi = PiWorld::new(&json!([bash("echo hello"), {"text": "done"}]));
    scout(&pi, "model: fake/fake-1", "");
    let task = pi.complete(&["--preset", "scout"]);
    let path = Path::new(task["runDir"].as_str().unwrap()).join("child-session.jsonl");
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let text = fs::read_to_string(&path).unwrap();
    let entries: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries[0]["type"], "session", "{text}");
    let roles: Vec<&str> =
        entries.iter().filter_map(|entry| entry["message"]["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "toolResult", "assistant"], "{text}");
}

#[test]
fn only_models_of_copilot_are_announced() {
    let variable = "printenv PI_SUBAGENTS_GITHUB_COPILOT_INITIATOR || echo absent";
    for (arguments, model, expected) in [
        (&["--preset", "scout"][..], "gpt-4o", "agent"),
        (&["--preset", "scout", "--model", "other/fake-2"], "fake-2", "absent"),
    ] {
        let pi = PiWorld::new(&json!([bash(variable), {"text": "done"}]));
        scout(&pi, "model: github-copilot/gpt-4o", "");
        let provider = |model: &str| {
            json!({"baseUrl": pi.llm.base_url(), "api": "openai-completions", "apiKey": "k",
                "models": [{"id": model}]})
        };
        let providers = json!({"github-copilot": provider("gpt-4o"), "other": provider("fake-2")});
        pi.agent_file("models.json", &json!({"providers": providers}).to_string());
        pi.complete(arguments);
        let asked = pi.asked();
        assert_eq!(asked[0]["model"], model);
        let answer = asked[1]["messages"].as_array().unwrap().last().unwrap().to_string();
        assert!(answer.contains(expected), "{answer}");
    }
}
