//! What is asked of the work of Claude Code and Codex after their last word.

use serde_json::json;
use test_support::write_file;

use crate::{Agent, BOTH, Claude, Codex, Scene, outcome};

fn with_schema(scene: &Scene) -> String {
    let schema = json!({
        "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
        "additionalProperties": false,
    });
    let path = scene.world.project().join("answer.json");
    write_file(&path, &schema.to_string());
    path.display().to_string()
}

/// How the model of an agent answers by a schema: Claude Code has a tool for it.
fn answering(agent: Agent) -> serde_json::Value {
    match agent {
        Claude => json!([
            {"tools": [{"name": "StructuredOutput", "args": {"n": 1}}]}, {"text": "done"},
        ]),
        Codex => json!([{"text": "{\"n\":1}"}]),
    }
}

#[test]
fn an_answer_by_a_schema_is_asked_for_in_the_agents_own_way() {
    for agent in BOTH {
        let scene = Scene::new(agent, &answering(agent));
        let task = scene.complete(&["--schema", &with_schema(&scene), "--check", "echo fine"]);
        assert_eq!((&task["value"], &task["output"]), (&json!({"n": 1}), &json!("{\"n\":1}")));
        assert_eq!(task["check"]["passed"], true, "{task:#}");
        let asked = scene.asked()[0].to_string();
        let own = if agent == Claude { "StructuredOutput" } else { "json_schema" };
        assert!(asked.contains(own), "{asked}");
    }
}

#[test]
fn claude_is_told_that_a_check_failed_and_codex_cannot_be() {
    for agent in BOTH {
        let turns = json!([{"text": "first"}, agent.running("touch fixed"), {"text": "second"}]);
        let scene = Scene::new(agent, &turns);
        let ran = scene.run(&["--check", "[ -e fixed ]"]);
        let expected = if agent == Claude { "completed" } else { "check_failed" };
        assert_eq!(outcome(&ran).0, expected, "{ran:#?}");
        let said = if agent == Claude { "second" } else { "first" };
        assert_eq!(ran.task()["output"], said);
    }
}
