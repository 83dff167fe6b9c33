//! `/profile`, with a test that answers the dialogs.

use super::*;

/// Runs `/profile` and answers what is asked, in this order. Returns what was asked, and the
/// notices.
fn profile(bridge: &mut Bridge, arguments: &str, answers: &[Value]) -> (Vec<String>, Vec<Value>) {
    let id =
        bridge.start_request("command/run", &json!({"name": "profile", "arguments": arguments}));
    let mut asked = Vec::new();
    let mut answers = answers.iter();
    loop {
        let is_over = bridge.responses.iter().any(|answer| answer["id"] == json!(id));
        let question = bridge.incoming.iter().position(|message| message.get("id").is_some());
        if let Some(question) = question.and_then(|at| bridge.incoming.remove(at)) {
            asked.push(question["params"]["title"].as_str().unwrap().to_owned());
            let value = answers.next().unwrap_or_else(|| panic!("{question} is asked"));
            bridge
                .send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"value": value}}));
        } else if is_over {
            bridge.response(id);
            assert_eq!(answers.len(), 0, "not everything was asked: {asked:?}");
            return (asked, bridge.received("ui/notify"));
        } else {
            bridge.receive();
        }
    }
}

#[test]
fn a_profile_lives_from_create_to_delete() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    let file = world.agent_dir().join("agent-profiles/worker.md");
    let scope = json!(format!("Global ({})", "~/.pi/agent/agent-profiles/worker.md"));
    let no = json!(false);
    let answers = [
        scope.clone(),
        json!("fake"),
        json!("fake-1"),
        no.clone(),
        no.clone(),
        no.clone(),
        no.clone(),
        no.clone(),
        no.clone(),
        no.clone(),
        json!(true),
    ];
    let (asked, told) = profile(&mut bridge, "create worker", &answers);
    assert_eq!(asked.len(), 11, "{asked:?}");
    assert_eq!(told[0]["message"], json!("Profile \"worker\" saved to global agent-profiles."));
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "---\nname: worker\nprovider: fake\nmodel: fake-1\n---\n"
    );
    // A value that exists is offered for editing, not asked for again.
    let answers = [
        scope,
        json!("fake"),
        json!("fake-2"),
        no.clone(),
        no.clone(),
        no.clone(),
        no.clone(),
        no.clone(),
        no.clone(),
        no,
        json!(true),
    ];
    profile(&mut bridge, "edit worker", &answers);
    assert!(fs::read_to_string(&file).unwrap().contains("model: fake-2"));
    let (asked, told) = profile(&mut bridge, "worker", &[]);
    assert!(
        asked.is_empty() && told[0]["message"].as_str().unwrap().contains("fake-2"),
        "{told:?}"
    );
    let items = bridge.request("command/complete", &json!({"name": "profile", "prefix": "show w"}));
    assert_eq!(items["result"]["items"][0]["value"], json!("show worker"));
    let (_, told) = profile(&mut bridge, "rm worker", &[json!(true)]);
    assert_eq!(told[0]["message"], json!("Profile \"worker\" deleted."));
    assert!(!file.exists());
    bridge.close();
}

#[test]
fn whoever_turns_away_changes_nothing_and_can_still_call_tools() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    let id = bridge
        .start_request("command/run", &json!({"name": "profile", "arguments": "create worker"}));
    let question = bridge.wait_for("ui/select");
    // The user does not answer yet, and the model continues.
    assert_eq!(bridge.call("delegate_to_subagents", &tasks(1))["isError"], json!(false));
    bridge.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"value": null}}));
    bridge.response(id);
    assert!(!world.agent_dir().join("agent-profiles").exists());
    // An open question does not keep the bridge from ending.
    bridge.start_request("command/run", &json!({"name": "profile", "arguments": "create worker"}));
    bridge.wait_for("ui/select");
    assert_eq!(bridge.close().code, Some(0));
    world.assert_nothing_left();
}
