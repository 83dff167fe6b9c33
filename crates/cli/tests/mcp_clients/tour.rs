//! Everything that is offered, once. Both SDKs check what a tool answers against its schema.

use serde_json::{Value, json};

use crate::{Client, assert_only_results_are_left, echo, world};

with_both_clients!(everything_that_is_offered_can_be_used);

#[test]
fn everything_that_is_offered_can_be_used_with_a_handshake() {
    everything_that_is_offered_can_be_used(Client::PythonWithHandshake);
}

fn everything_that_is_offered_can_be_used(client: Client) {
    let world = world(&echo());
    let task = json!({"preset": "scout", "task": "look"});
    let completions = json!([
        ["subagent://session/{id}", "id", ""],
        ["subagent://run/{id}", "id", ""],
        ["subagent://profile/{name}", "name", "re"],
    ]);
    let tasks = json!([{"name": "first", "prompt": "look"}]);
    let facts = client.play(
        &world,
        "tour",
        &json!({
            "delegation": {"tasks": tasks, "profile": "reviewer"}, "subagent": task,
            "background": task, "profile": "reviewer", "completions": completions,
        }),
    );
    assert_greeting(client, &facts);
    let ids = assert_calls(&facts);
    assert_mistakes(client, &facts);
    assert_resources(&facts, &ids);
    assert_prompts(&facts);
    world.wait_until_nothing_is_left();
    assert_only_results_are_left(&world);
}

fn assert_greeting(client: Client, facts: &Value) {
    let protocol = if client == Client::Python { "2026-07-28" } else { "2025-11-25" };
    assert_eq!(facts["protocol"], protocol);
    assert_eq!(facts["server"]["name"], "pi-subagents");
    assert_eq!(
        facts["capabilities"],
        json!({
            "completions": {}, "prompts": {}, "tools": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true},
        })
    );
    let instructions = facts["instructions"].as_str().unwrap();
    assert!(instructions.contains("get_subagent_output waits"), "{instructions}");
    for tool in facts["tools"].as_array().unwrap() {
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool:#}");
    }
    assert_eq!(
        each(&facts["tools"], "name"),
        [
            "delegate_to_subagents",
            "get_subagent_output",
            "get_subagent_session",
            "list_subagent_profiles",
            "subagent",
            "background_agent",
            "background_agent_status",
            "background_agent_control",
        ]
    );
}

/// The session and the run of each of the three agents, in the order of their start.
type Ids = [(String, String); 3];

fn assert_calls(facts: &Value) -> Ids {
    let calls = &facts["calls"];
    for (tool, answer) in calls.as_object().unwrap() {
        assert_eq!(answer["isError"], false, "{tool}: {answer:#}");
        assert_eq!(answer["content"][0]["type"], "text", "{tool}: {answer:#}");
    }
    let structured = |call: &str| &calls[call]["structuredContent"];
    let ids = |of: &Value| {
        let text = |name: &str| of[name].as_str().unwrap().to_owned();
        (text("sessionId"), text("runId"))
    };
    let first = ids(&structured("delegate_to_subagents")["sessions"][0]);
    let background = ids(structured("background_agent"));
    let scout = ids(&structured("subagent")["sessions"][0]);
    let session = |(session, run): &(String, String), name: &str| json!({"name": name, "sessionId": session, "runId": run, "status": "completed", "output": "You said: look", "truncated": false});
    let done = |session: Value| json!({"status": "done", "sessions": [session]});
    assert_eq!(*structured("delegate_to_subagents"), done(session(&first, "first")));
    assert_eq!(*structured("subagent"), done(session(&scout, "scout")));
    for (call, field, of) in [
        ("get_subagent_output", "output", &first),
        ("get_subagent_session", "transcript", &first),
        ("get_subagent_output of the background run", "output", &background),
    ] {
        let structured = structured(call);
        assert_eq!(structured["sessionId"], of.0, "{structured:#}");
        assert_eq!(structured["status"], "completed", "{structured:#}");
        assert_eq!(structured[field], "You said: look", "{structured:#}");
    }
    assert_eq!(
        structured("list_subagent_profiles")["profiles"],
        json!({"reviewer": "profile: reviewer, custom-system-prompt"})
    );
    assert_eq!(structured("background_agent")["status"], "running");
    let status = structured("background_agent_status");
    assert_eq!(each(&status["runs"], "runId"), [background.1.as_str()]);
    assert_eq!(status["runs"][0]["finalText"], "You said: look");
    [first, background, scout]
}

fn assert_mistakes(client: Client, facts: &Value) {
    // The protocol of 2026 has no code of its own for what is not there.
    let not_found = if client == Client::Python { -32602 } else { -32002 };
    for (mistake, code, part) in [
        ("unknown tool", -32602, "There is no tool \"no_such_tool\"; there are delegate_to_"),
        ("wrong argument", -32602, "tasks: must be a list of tasks"),
        ("unknown resource", not_found, "There is no run 00000000000000000000000000000000."),
    ] {
        let error = &facts["mistakes"][mistake];
        assert_eq!(error["code"], code, "{mistake}: {error:#}");
        assert!(error["message"].as_str().unwrap().contains(part), "{mistake}: {error:#}");
    }
    let unknown = &facts["mistakes"]["unknown session"];
    assert_eq!(unknown["isError"], true);
    let text = unknown["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Session \"none\" not found."), "{text}");
}

fn assert_resources(facts: &Value, ids: &Ids) {
    let profile = "subagent://profile/reviewer".to_owned();
    let latest_first = ids.iter().rev().flat_map(|(session, run)| {
        [format!("subagent://session/{session}"), format!("subagent://run/{run}")]
    });
    let expected: Vec<String> = [profile.clone()].into_iter().chain(latest_first).collect();
    assert_eq!(each(&facts["resources"], "uri"), expected);
    assert_eq!(
        each(&facts["templates"], "uriTemplate"),
        ["subagent://session/{id}", "subagent://run/{id}", "subagent://profile/{name}"]
    );

    let text = |uri: &str| facts["read"][uri][0]["text"].as_str().unwrap();
    let (session, run) = &ids[0];
    assert_eq!(text(&format!("subagent://session/{session}")), "[prompt]: look\nYou said: look");
    let report: Value = serde_json::from_str(text(&format!("subagent://run/{run}"))).unwrap();
    assert_eq!((&report["runId"], &report["status"]), (&json!(run), &json!("completed")));
    assert_eq!(text(&profile), "Profile: reviewer\n  systemPrompt:      You review.");

    let latest_first = |which: fn(&(String, String)) -> &String| {
        Value::from(ids.iter().rev().map(|ids| which(ids).clone()).collect::<Vec<String>>())
    };
    assert_eq!(
        facts["completions"],
        json!({
            "subagent://session/{id}": latest_first(|(session, _)| session),
            "subagent://run/{id}": latest_first(|(_, run)| run),
            "subagent://profile/{name}": ["reviewer"],
        })
    );
}

fn assert_prompts(facts: &Value) {
    let names = ["scout-and-plan", "implement", "implement-and-review"];
    assert_eq!(each(&facts["prompts"], "name"), names);
    let message = &facts["prompt"]["messages"][0];
    assert_eq!(message["role"], "user");
    let text = message["content"]["text"].as_str().unwrap();
    assert!(text.starts_with("Implement the following with sub-agents: a clock\n"), "{text}");
}

/// The same field of each.
fn each<'a>(values: &'a Value, field: &str) -> Vec<&'a str> {
    values.as_array().unwrap().iter().map(|value| value[field].as_str().unwrap()).collect()
}
