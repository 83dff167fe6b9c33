//! What agents ask, put to the user of a client by its own elicitation.

use std::fs;

use serde_json::{Value, json};
use test_support::{World, wait_until};

use crate::{Client, completed, world};

const COMMAND: &str = "rm -rf build && make";
const CLIENTS: [Client; 2] = [Client::PythonWithHandshake, Client::TypeScript];

/// A world with an agent that asks whether it may run a command, and then says what it was answered.
fn asking() -> World {
    let world = world(&json!([]));
    let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
    let call = json!({"toolCallId": "c", "title": "run", "kind": "execute", "status": "pending",
        "rawInput": {"command": COMMAND}});
    let params = json!({"toolCall": call,
        "options": [option("allowed", "allow_once"), option("rejected", "reject_once")]});
    let script = json!([{"acp": {"open": {}}},
        {"acp": {"ask": {"method": "session/request_permission", "params": params}}},
        {"acp": {"say": "{answer}"}}, {"acp": {"answer": {"stopReason": "end_turn"}}},
        {"acp": "await_end"}]);
    let path = world.project().join("script.json");
    fs::write(&path, script.to_string()).unwrap();
    let command = json!([env!("CARGO_BIN_EXE_fake-agent"), format!("@{}", path.display())]);
    let agents = json!({"oracle": {"command": command, "protocol": "acp"}});
    world.settings(&json!({"agents": agents, "ask": true, "mcpAnswerAfter": 600}));
    world
}

fn options(world: &World, reply: &Value) -> Value {
    let tasks = json!([{"name": "asker", "prompt": "go", "agent": "oracle"}]);
    json!({
        "call": {"tool": "delegate_to_subagents", "arguments": {"tasks": tasks}},
        "reply": reply, "unanswered": world.path("go"),
    })
}

/// What has answered the only question of the only run, and how.
fn life(world: &World) -> [Value; 4] {
    let events = fs::read_to_string(world.only_run().join("events.jsonl")).unwrap();
    let records = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let answers: Vec<Value> =
        records.filter(|record| record["type"] == "question_answered").collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    ["number", "answer", "by", "client"].map(|name| answers[0][name].clone())
}

#[test]
fn the_user_of_a_client_allows_and_denies() {
    let accepted = |answer: &str| json!({"action": "accept", "content": {"answer": answer}});
    for client in CLIENTS {
        for (reply, chosen, answer) in [
            (accepted("allow once"), "allowed", "yes"),
            (accepted("allow for this run"), "allowed", "always"),
            (accepted("deny"), "rejected", "no"),
            (json!({"action": "decline"}), "rejected", "no"),
        ] {
            let world = asking();
            let seen = client.play(&world, "ask", &options(&world, &reply));
            completed(&seen);
            let said = &seen["answer"]["structuredContent"]["sessions"][0]["output"];
            assert!(said.as_str().unwrap().contains(chosen), "{seen:#}");
            let [form] = seen["asked"].as_array().unwrap().as_slice() else { panic!("{seen:#}") };
            let message = format!("asker asks whether it may use bash:\n{COMMAND}");
            assert_eq!(form["message"], message, "{seen:#}");
            let offered = &form["requestedSchema"]["properties"]["answer"]["enum"];
            assert_eq!(*offered, json!(["allow once", "allow for this run", "deny"]), "{seen:#}");
            let expected = [json!(1), json!(answer), json!("mcp"), json!("mcp")];
            assert_eq!(life(&world), expected, "the last is how both clients call themselves");
            world.wait_until_nothing_is_left();
        }
    }
}

/// The client shows a question that is answered by another program, and takes it away.
#[test]
fn a_question_that_another_program_answers_disappears_from_the_client() {
    for client in CLIENTS {
        let world = asking();
        let mut playing = client.start(&world, "ask", &options(&world, &Value::Null));
        wait_until(|| world.path("go").exists());
        let answered = world.run(&["answer", "asker", "yes"]);
        assert_eq!(answered.code, Some(0), "{answered:?}");
        let seen = playing.facts();
        playing.finish();
        completed(&seen);
        assert_eq!(seen["asked"][1], "taken back", "{seen:#}");
        assert_eq!(life(&world), [json!(1), json!("yes"), json!("shell"), Value::Null]);
        world.wait_until_nothing_is_left();
    }
}
