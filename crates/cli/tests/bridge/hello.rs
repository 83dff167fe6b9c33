//! The first messages, and messages that cannot be understood.

use super::*;

#[test]
fn another_version_is_refused_with_what_to_do() {
    let world = world();
    let mut bridge = Bridge::start(&world);
    let params = json!({"protocol": 99, "extensionVersion": "7.0.0", "mode": "tui"});
    let answer = bridge.request("initialize", &params);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("version 7.0.0, protocol 99"), "{message}");
    assert!(message.contains("Run `pi-subagents setup pi`"), "{message}");
    // It has ended by itself, with the same error.
    let ran = bridge.close();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("protocol 99"), "{ran:?}");
    world.assert_nothing_left();
}

#[test]
fn nothing_is_done_before_the_greeting_and_garbage_is_answered() {
    let world = world();
    let mut bridge = Bridge::start(&world);
    bridge.write(b"garbage\n[]\n\n");
    for code in [-32700, -32600, -32700] {
        assert_eq!(bridge.wait_for_complaint()["error"]["code"], json!(code));
    }
    let answer = bridge.request("tools/list", &json!({"models": []}));
    assert_eq!(answer["error"]["message"], json!("tools/list before initialize"));
    let answer = bridge.request("initialize", &json!({"protocol": bridge::PROTOCOL}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("mode"), "{answer}");
    let ran = bridge.close();
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

#[test]
fn half_a_message_is_the_end_of_nothing_but_itself() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    bridge.write(b"{\"jsonrpc\":");
    let ran = bridge.close();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
}

#[test]
fn what_is_unknown_is_named() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    for (method, params, expected) in [
        ("tools/fly", json!({}), "there is no method tools/fly"),
        ("tools/list", json!({}), "missing field `models`"),
        ("command/run", json!({"name": "fly"}), "there is no command fly"),
        (
            "tools/call",
            json!({"callId": "c", "name": "fly", "arguments": {}}),
            "There is no tool \"fly\".",
        ),
    ] {
        let answer = bridge.request(method, &params);
        assert_eq!(answer["error"]["message"], json!(expected));
    }
    bridge.close();
}

#[test]
fn a_sub_agent_has_no_bridge() {
    let world = world();
    let ran = Ran::from(world.command(["bridge"]).env("PI_SUBAGENTS_CHILD", "1").output().unwrap());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("a sub-agent cannot start sub-agents"), "{ran:?}");
}

#[test]
fn the_tools_are_those_of_the_setting() {
    let world = world();
    let names = |setting: &str| -> Vec<String> {
        world.settings(&json!({"tools": setting}));
        let mut bridge = Bridge::of_pi(&world, &quick());
        let answer = bridge.request("tools/list", &json!({"models": ["a/one"]}));
        bridge.close();
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let profiles = [
        "delegate_to_subagents",
        "get_subagent_output",
        "get_subagent_session",
        "list_subagent_profiles",
    ];
    let presets =
        ["subagent", "background_agent", "background_agent_status", "background_agent_control"];
    assert_eq!(names("profiles"), profiles);
    assert_eq!(names("presets"), presets);
    assert_eq!(names("all"), [profiles.as_slice(), presets.as_slice()].concat());
}
