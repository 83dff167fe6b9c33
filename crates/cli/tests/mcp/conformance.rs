//! What violates the protocol is answered as the protocol says, and nothing more happens.

use test_support::fake_agent::saying;

use super::*;

#[test]
fn the_server_says_who_it_is_and_agrees_on_a_version() {
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        // An unknown version is answered with one that we know.
        ("1999-01-01", "2025-11-25"),
        ("2999-01-01", "2025-11-25"),
    ] {
        let world = world();
        let mut server = Server::start(&world, &quick());
        let client = json!({"name": "a test", "version": "1"});
        let params = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": client});
        let hello = server.request("initialize", &params)["result"].clone();
        assert_eq!(hello["protocolVersion"], json!(agreed), "{asked}: {hello}");
        assert_eq!(hello["serverInfo"]["name"], json!("pi-subagents"));
        assert_eq!(
            hello["capabilities"]["resources"],
            json!({"subscribe": true, "listChanged": true})
        );
        assert!(server.request("ping", &json!({}))["result"].is_object());
        server.close();
    }
}

#[test]
fn a_request_can_carry_its_own_version() {
    let world = world();
    let mut server = Server::start(&world, &quick());
    let meta = |version: &str| {
        json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }})
    };
    let found = server.request("server/discover", &meta("2026-07-28"));
    assert!(found["result"]["supportedVersions"].is_array(), "{found}");
    let (code, message) = server.refusal("tools/list", &meta("1999-01-01"));
    assert_eq!(code, -32022, "{message}");
    let listed = server.request("tools/list", &meta("2026-07-28"));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 8, "{listed}");
    let mut call = meta("2026-07-28");
    call["name"] = json!("subagent");
    call["arguments"] = json!({"preset": "scout", "task": "look"});
    let answer = server.request("tools/call", &call);
    assert_eq!(text(&answer["result"]), "found it");
    server.close();
    world.assert_nothing_left();
}

#[test]
fn a_hello_that_is_refused_can_be_said_again() {
    let world = world();
    let mut server = Server::start(&world, &quick());
    let (code, message) = server.refusal("initialize", &json!({"capabilities": {}}));
    assert_eq!((code, message.contains("protocolVersion")), (-32602, true), "{message}");
    // Clients that do not wait for the response send this next.
    server.notify("notifications/initialized", &json!({}));
    server.initialize(&json!({}));
    assert!(server.request("ping", &json!({}))["result"].is_object());
    server.close();
    world.assert_nothing_left();
}

#[test]
fn what_is_no_request_is_answered_and_the_server_goes_on() {
    let world = world();
    let mut server = Server::start(&world, &quick());
    // Also before the initialization.
    server.write(b"garbage\n\n\xff\xfe\n");
    for _ in 0..2 {
        assert_eq!(server.wait_for_complaint()["error"]["code"], json!(-32700));
    }
    server.notify("notifications/initialized", &json!({}));
    server.send(&json!({"jsonrpc": "2.0", "id": 77, "result": {}}));
    server.initialize(&json!({}));
    server.write(b"[]\n{}\n[[[[[[\n");
    for code in [-32600, -32600, -32700] {
        assert_eq!(server.wait_for_complaint()["error"]["code"], json!(code));
    }
    server.write(&[b"[".repeat(100_000), b"\n".to_vec()].concat());
    assert_eq!(server.wait_for_complaint()["error"]["code"], json!(-32700));
    for (message, id, code, part) in [
        (json!({"id": 90, "method": "ping"}), 90, -32600, "jsonrpc"),
        (json!({"jsonrpc": "2.0", "id": 91}), 91, -32600, "method: is missing"),
        (json!({"jsonrpc": "2.0", "id": 92, "method": "no/such"}), 92, -32601, "no/such"),
    ] {
        server.send(&message);
        let answer = server.response(id);
        assert_eq!(answer["error"]["code"], json!(code), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(part), "{answer}");
    }
    assert_eq!(text(&server.call("list_subagent_profiles", &json!({}))).lines().count(), 1);
    // Half a message, and the end.
    server.write(br#"{"jsonrpc": "2.0", "id": 5, "meth"#);
    let ran = server.close();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    world.assert_nothing_left();
}

#[test]
fn bad_arguments_are_refused_by_the_name_of_their_field_and_nothing_is_started() {
    let world = world();
    let mut server = Server::initialized(&world, &quick());
    let huge = json!({"tasks": [{"name": "a", "prompt": "x".repeat(10 << 20), "timeout": "1"}]});
    for (tool, arguments, expected) in [
        ("nobody", json!({}), "There is no tool \"nobody\"; there are delegate_to_subagents, "),
        ("delegate_to_subagents", json!({}), "tasks: is missing"),
        ("delegate_to_subagents", tasks(17), "tasks: must hold at most 16 tasks, but holds 17"),
        ("subagent", json!({"preset": "scout"}), "task: is missing"),
        ("subagent", json!({"preset": 7, "task": "x"}), "preset: must be a text"),
        ("get_subagent_output", json!({}), "sessionId: is missing"),
        (
            "get_subagent_output",
            json!({"sessionId": "a", "full": 1}),
            "full: must be true or false",
        ),
        ("subagent", json!({"preset": "scout", "task": "x", "taks": "y"}), "taks: is unknown"),
        ("background_agent_status", json!({"runId": 5}), "runId: must be a text"),
        ("delegate_to_subagents", huge, "tasks[0].timeout: must be a number"),
    ] {
        let call = json!({"name": tool, "arguments": arguments});
        let (code, message) = server.refusal("tools/call", &call);
        assert_eq!(code, -32602, "{message}");
        assert!(message.starts_with(expected), "{message}");
    }
    for (method, params, expected) in [
        ("tools/call", json!({"name": 7}), "name: must be a text"),
        ("tools/call", json!({}), "name: is missing"),
        (
            "tools/call",
            json!({"name": "subagent", "arguments": []}),
            "arguments: must be an object",
        ),
        ("resources/read", json!({"uri": null}), "uri: must be a text"),
        ("resources/list", json!({"cursor": "../.."}), "cursor: is none that was given out here"),
        ("prompts/get", json!({"name": "implement"}), "arguments.task: is missing"),
        ("prompts/get", json!({"name": "x"}), "name: there is no prompt \"x\""),
        ("completion/complete", json!({"ref": {}}), "ref: must have a type"),
    ] {
        let (code, message) = server.refusal(method, &params);
        assert_eq!(code, -32602, "{method}: {message}");
        assert!(message.starts_with(expected), "{method}: {message}");
    }
    assert!(world.runs().is_empty());
    server.close();
    world.assert_nothing_left();
}

#[test]
fn ten_megabytes_are_taken_and_more_than_sixteen_are_refused_by_their_id() {
    let world = world();
    let script = saying("read it");
    let mut server = Server::initialized(&world, &script);
    let long = |bytes: usize| json!({"tasks": [{"name": "a", "prompt": "x".repeat(bytes)}]});
    let result = server.call("delegate_to_subagents", &long(10 << 20));
    assert_eq!(
        result["structuredContent"]["sessions"][0]["status"],
        json!("completed"),
        "{result}"
    );
    let call = json!({"name": "delegate_to_subagents", "arguments": long(17 << 20)});
    let (code, message) = server.refusal("tools/call", &call);
    assert_eq!(code, -32600);
    assert!(message.contains("too long; 16 MiB are read"), "{message}");
    assert_eq!(world.runs().len(), 1);
    server.close();
    world.assert_nothing_left();
}

#[test]
fn tools_and_prompts_are_described() {
    let world = world();
    let mut server = Server::initialized(&world, &quick());
    let tools = server.request("tools/list", &json!({}))["result"]["tools"].clone();
    assert_eq!(tools.as_array().unwrap().len(), 8);
    for tool in tools.as_array().unwrap() {
        assert!(tool["title"].is_string() && tool["annotations"]["readOnlyHint"].is_boolean());
        assert_eq!(tool["inputSchema"]["type"], json!("object"));
        assert_eq!(tool["outputSchema"]["type"], json!("object"));
    }
    let prompts = server.request("prompts/list", &json!({}))["result"]["prompts"].clone();
    assert_eq!(prompts.as_array().unwrap().len(), 3, "{prompts}");
    let asked = json!({"name": "scout-and-plan", "arguments": {"task": "a cache"}});
    let prompt = server.request("prompts/get", &asked)["result"].clone();
    let said = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(said.starts_with("Plan the following, and do not change any file yet: a cache"));
    server.close();
    world.settings(&json!({"tools": "profiles"}));
    let mut server = Server::initialized(&world, &quick());
    let tools = server.request("tools/list", &json!({}))["result"]["tools"].clone();
    assert_eq!(tools.as_array().unwrap().len(), 4, "only those of a family");
    let (_, message) = server.refusal("tools/call", &json!({"name": "subagent", "arguments": {}}));
    assert!(message.starts_with("There is no tool \"subagent\"; there are "), "{message}");
    server.close();
}

#[test]
fn inside_a_sub_agent_nothing_can_be_delegated() {
    let world = world();
    let mut server = Server::start_with(&world, &quick(), &[("PI_SUBAGENTS_CHILD", "1")]);
    server.initialize(&json!({}));
    let tools = server.request("tools/list", &json!({}))["result"]["tools"].clone();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(!names.contains(&"delegate_to_subagents") && !names.contains(&"subagent"), "{names:?}");
    assert!(!names.contains(&"background_agent") && names.contains(&"get_subagent_output"));
    for tool in
        ["delegate_to_subagents", "subagent", "background_agent", "background_agent_control"]
    {
        let call = json!({"name": tool, "arguments": {"preset": "scout", "task": "x"}});
        let (code, message) = server.refusal("tools/call", &call);
        assert_eq!(code, -32602);
        assert!(message.starts_with("A sub-agent cannot have sub-agents of its own"), "{message}");
    }
    let prompts = server.request("prompts/list", &json!({}))["result"]["prompts"].clone();
    assert_eq!(prompts, json!([]));
    let asked = json!({"name": "implement", "arguments": {"task": "it"}});
    assert_eq!(server.refusal("prompts/get", &asked).0, -32602);
    assert!(world.runs().is_empty());
    server.close();
}
