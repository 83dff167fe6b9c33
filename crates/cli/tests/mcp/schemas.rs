//! Structured answers have the form that the list of tools promises.

use test_support::wait_until;

use super::*;

/// Asserts that a value is as its schema says, and has nothing that the schema does not name. It knows the
/// words that our schemas use, and no others.
fn assert_fits(schema: &Value, value: &Value, place: &str) {
    for (word, rule) in schema.as_object().unwrap() {
        match word.as_str() {
            "type" => assert!(
                match rule.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_i64() || value.is_u64(),
                    other => panic!("{place}: unknown type {other}"),
                },
                "{place} is no {rule}: {value}"
            ),
            "enum" => assert!(rule.as_array().unwrap().contains(value), "{place}: {value}"),
            "items" => {
                for (index, item) in value.as_array().unwrap().iter().enumerate() {
                    assert_fits(rule, item, &format!("{place}[{index}]"));
                }
            }
            "properties" => {
                for (name, field) in value.as_object().unwrap() {
                    let place = format!("{place}.{name}");
                    let schema = rule.get(name).unwrap_or_else(|| panic!("{place} is not named"));
                    assert_fits(schema, field, &place);
                }
            }
            "additionalProperties" => {
                for (name, field) in value.as_object().unwrap() {
                    assert_fits(rule, field, &format!("{place}.{name}"));
                }
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    let name = name.as_str().unwrap();
                    assert!(value.get(name).is_some(), "{place}.{name} is missing: {value}");
                }
            }
            other => panic!("{place}: unknown word {other}"),
        }
    }
}

/// Calls a tool, and compares its answer with the schema that was listed for it.
fn checked(server: &mut Server, tool: &str, arguments: &Value) -> Value {
    let listed = server.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let schema = &tools.iter().find(|listed| listed["name"] == tool).unwrap()["outputSchema"];
    let result = server.call(tool, arguments);
    assert_fits(schema, &result["structuredContent"], tool);
    result["structuredContent"].clone()
}

#[test]
fn every_answer_has_only_what_its_schema_names() {
    let profile = "---\nname: fast\nmodel: a/one\n---\n";
    let world = world().with_agent_file("agent-profiles/fast.md", profile);
    world.settings(&json!({"mcpAnswerAfter": 1}));
    let mut client = Server::initialized(&world, &world.working());
    let server = &mut client;

    let started = checked(server, "background_agent", &json!({"preset": "scout", "task": "x"}));
    wait_until(|| world.path("working").exists());
    checked(server, "background_agent_status", &json!({}));
    let run = json!({"runId": started["runId"], "action": "stop"});
    let stopped = checked(server, "background_agent_control", &run);
    assert_eq!(stopped["status"], json!("aborted"));
    let status = json!({"runId": started["runId"], "includeCompleted": true});
    let ended = checked(server, "background_agent_status", &status);
    assert!(ended["runs"][0]["endTime"].is_u64(), "{ended}");
    checked(server, "background_agent_status", &json!({"runId": "unknown"}));

    // Answered early, then waited for in vain, then answered.
    let early = checked(server, "delegate_to_subagents", &tasks(2));
    assert_eq!(early["status"], json!("running"));
    let session = json!({"sessionId": early["sessions"][0]["sessionId"]});
    assert_eq!(checked(server, "get_subagent_output", &session)["status"], json!("running"));
    world.let_go();
    assert_eq!(checked(server, "get_subagent_output", &session)["output"], json!("found it"));

    // Ended, failed, cut, and with a warning.
    let mut call = tasks(2);
    call["tasks"][1]["profile"] = json!("nobody");
    call["reason"] = json!("none");
    let done = checked(server, "delegate_to_subagents", &call);
    assert_eq!(done["warnings"], json!(["reason is unknown and was ignored"]), "{done}");
    for task in done["sessions"].as_array().unwrap() {
        let session = json!({"sessionId": task["sessionId"]});
        checked(server, "get_subagent_output", &session);
        checked(server, "get_subagent_session", &session);
    }
    checked(server, "subagent", &json!({"preset": "scout", "task": "x"}));
    assert_eq!(checked(server, "list_subagent_profiles", &json!({}))["count"], json!(1));
    client.close();
    world.assert_nothing_left();
}
