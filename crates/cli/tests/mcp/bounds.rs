//! Long answers.

use super::*;

/// The budget of an answer, in bytes.
const BUDGET: usize = 48 * 1024;

fn talker(bytes: usize) -> Value {
    json!(["start", {"say": format!("first {} last", "x".repeat(bytes))}, {"end": false}, "settle"])
}

#[test]
fn a_long_answer_is_cut_with_the_place_of_the_rest() {
    let world = world();
    let mut server = Server::initialized(&world, &talker(100_000));
    let result = server.call("subagent", &json!({"preset": "scout", "task": "look"}));
    let id = session(&result, 0);
    let run_dir = world.only_run().canonicalize().unwrap();
    let told = text(&result);
    assert!(told.len() < tools::MOST_CHARACTERS + 1_000, "{}", told.len());
    assert!(told.starts_with("first x") && told.ends_with("x last"));
    let places = format!(
        "get_subagent_output with full: true, resource subagent://session/{id}, file {}",
        run_dir.join("result.json").display()
    );
    assert!(told.contains(&places), "{told}");
    let structured = &result["structuredContent"]["sessions"][0];
    assert_eq!((&structured["output"], &structured["truncated"]), (&json!(told), &json!(true)));
    let cut = server.call("get_subagent_output", &json!({"sessionId": id}));
    assert!(
        text(&cut).len() < BUDGET + 1_000 && text(&cut).contains(&places),
        "{}",
        text(&cut).len()
    );
    let transcript = server.call("get_subagent_session", &json!({"sessionId": id}));
    assert!(text(&transcript).len() < BUDGET + 1_000 && text(&transcript).contains(&places));
    // A client that asks for everything gets it.
    let full = server.call("get_subagent_output", &json!({"sessionId": id, "full": true}));
    assert!(text(&full).ends_with("x last") && text(&full).len() > 100_000);
    assert_eq!(full["structuredContent"]["output"], json!(text(&full)));
    let all = json!({"sessionId": id, "full": true});
    assert!(text(&server.call("get_subagent_session", &all)).contains("x last"));
    assert!(server.read(&format!("subagent://session/{id}")).contains("x last"));
    server.close();
}

#[test]
fn several_long_answers_share_the_budget() {
    let world = world();
    let mut server = Server::initialized(&world, &talker(100_000));
    let task = json!({"preset": "scout", "task": "look"});
    let result = server.call("subagent", &json!({"tasks": [task, task, task]}));
    assert!(text(&result).len() < tools::MOST_CHARACTERS + 3_000, "{}", text(&result).len());
    for index in 0..3 {
        let id = session(&result, index);
        assert!(text(&result).contains(&format!("subagent://session/{id}")), "{index}");
    }
    server.close();
}

#[test]
fn a_long_answer_of_a_background_run_is_cut_too() {
    let world = world();
    let mut server = Server::initialized(&world, &talker(100_000));
    let started = server.call("background_agent", &json!({"preset": "scout", "task": "look"}));
    let id = &started["structuredContent"]["sessionId"];
    server.call("get_subagent_output", &json!({"sessionId": id}));
    let run = &started["structuredContent"]["runId"];
    let status = server.call("background_agent_status", &json!({"runId": run}));
    assert!(status.to_string().len() < 2 * BUDGET + 10_000, "{}", status.to_string().len());
    assert!(text(&status).contains("subagent://session/"), "{}", &text(&status)[BUDGET..]);
    server.close();
    world.wait_until_nothing_is_left();
}

#[test]
fn what_agents_print_reaches_nobody_raw() {
    let world = world();
    let script =
        json!(["start", {"say": "red \u{1b}[31m\u{7} alert \u{202e}"}, {"end": false}, "settle"]);
    let mut server = Server::initialized(&world, &script);
    let call = json!({"tasks": [{"name": "na\u{1b}]0;me", "prompt": "go"}]});
    let id = server.begin_call("delegate_to_subagents", &call, Some("token"));
    let result = server.result(id);
    let output = server.call("get_subagent_output", &json!({"sessionId": session(&result, 0)}));
    let resource = server.read(&format!("subagent://session/{}", session(&result, 0)));
    let listed = server.request("resources/list", &json!({}));
    let raw = "\u{1b}[31m\u{7}\u{202e}";
    let named = json!({"name": raw, "arguments": {}});
    let reference = json!({"type": "ref/resource", "uri": raw});
    let completed = json!({"ref": reference, "argument": {"name": "id", "value": ""}});
    let refused =
        [("tools/call", &named), ("prompts/get", &named), ("completion/complete", &completed)]
            .map(|(method, params)| server.refusal(method, params).1);
    let words = server.received("notifications/progress");
    let told = json!([result, output, resource, listed, refused, words]);
    for raw in ["\\u001b", "\\u0007", "\u{202e}"] {
        assert!(!told.to_string().contains(raw), "{raw}: {told}");
    }
    server.close();
}
