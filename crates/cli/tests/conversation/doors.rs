//! The doors through which a user or a model speaks to an agent, besides `tell`.

use test_support::RpcClient;

use super::*;
use crate::live::terminal::Terminal;

/// A background run of the built-in agent whose command runs, and its id.
fn in_background(talk: &Talk) -> String {
    let preset = "---\nname: scout\ndescription: Looks around.\nmodel: fake/fake-1\n---\n";
    talk.builtin.agent_file("subagents/scout.md", preset);
    let started =
        talk.world().run(&["bg", "start", "--preset", "scout", "--agent", "builtin", "go"]);
    assert_eq!(started.code, Some(0), "{started:?}");
    wait_until(|| talk.builtin.project("working").exists());
    started.stdout.trim().to_owned()
}

fn has_ended(talk: &Talk) -> bool {
    talk.run_dir().join("result.json").exists()
}

const DELIVERED: [&str; 2] = ["1 accepted: Look in src.", "1 delivered"];

#[test]
fn an_mcp_client_tells_a_background_agent_something() {
    let talk = Talk::new(&[json!({"text": "done"})]);
    let id = in_background(&talk);
    let mut client = RpcClient::start(talk.world().command(["mcp"]));
    client.request(
        "initialize",
        &json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "a test", "version": "1"},
        }),
    );
    client.notify("notifications/initialized", &json!({}));
    let mut call = |arguments: Value| {
        let params = json!({"name": "background_agent_control", "arguments": arguments});
        client.request("tools/call", &params)["result"].clone()
    };
    let told = call(json!({"runId": id, "action": "message", "message": "Look in src."}));
    let message = json!({"number": 1, "state": "accepted"});
    assert_eq!(told["structuredContent"]["message"], message, "{told}");
    let nothing = call(json!({"runId": id, "action": "message"}));
    assert_eq!(nothing["isError"], true, "{nothing}");
    talk.let_go();
    wait_until(|| has_ended(&talk));
    assert_eq!(lives(&talk.run_dir()), DELIVERED);
    assert_eq!(talk.asked()[1], ["Look in src."]);
    let late = call(json!({"runId": id, "action": "message", "message": "Still there?"}));
    assert_eq!(late["isError"], true, "{late}");
    assert!(late.to_string().contains("The message was refused: the run has ended"), "{late}");
    client.close();
    talk.world().wait_until_nothing_is_left();
}

#[test]
fn the_bridge_tells_an_agent_of_any_program_something() {
    let talk = Talk::new(&[json!({"text": "done"})]);
    let run = talk.start();
    let id = talk.run_dir().file_name().unwrap().to_str().unwrap().to_owned();
    let mut pi = RpcClient::start(talk.world().command(["bridge"]));
    pi.request(
        "initialize",
        &json!({
            "protocol": bridge::PROTOCOL, "extensionVersion": "0.0.0", "mode": "json",
            "sessionId": "the-session", "agent": ["pi"], "trusted": true, "columns": 100,
        }),
    );
    let tell = |text: &str| json!({"runId": id, "action": "message", "text": text});
    let told = pi.request("agents/act", &tell("Look in src."));
    let message = json!({"number": 1, "state": "accepted"});
    assert_eq!(told["result"]["details"]["message"], message, "{told}");
    let unknown = json!({"runId": "nothing", "action": "message", "text": "a"});
    let unknown = pi.request("agents/act", &unknown);
    assert!(unknown["error"]["message"].as_str().unwrap().contains("No run found"), "{unknown}");
    talk.let_go();
    let ran = run.finish();
    assert_eq!(lives(&ran.run_dir()), DELIVERED);
    let late = pi.request("agents/act", &tell("Still there?"));
    let refusal = late["error"]["message"].as_str().unwrap();
    assert!(refusal.contains("The message was refused: the run has ended"), "{late}");
    pi.close();
    talk.world().wait_until_nothing_is_left();
}

#[test]
fn the_live_view_and_watch_tell_an_agent_something() {
    let talk = Talk::new(&[json!({"text": "done"})]);
    let on_terminal = |arguments: &[&str]| {
        let mut command = talk.world().command(arguments);
        command.env("TERM", "xterm-256color");
        Terminal::start(&command, 90, 20)
    };
    let mut own = on_terminal(&["run", "--agent", "builtin", "--name", "talk", "go"]);
    wait_until(|| talk.builtin.project("working").exists());
    own.press("mLook in src?\x7f.");
    own.wait_for("talk ❯ Look in src.");
    own.press("\r");
    own.wait_for("Message 1 accepted: Look in src.");
    let mut watching = on_terminal(&["watch"]);
    watching.wait_for("Message 1 accepted");
    watching.press("mAnd in lib.\r");
    watching.wait_for("Message 2 accepted: And in lib.");
    own.wait_for("Message 2 accepted");
    talk.let_go();
    assert_eq!((own.finish(), watching.finish()), (Some(0), Some(0)));
    own.assert_usable();
    assert_eq!(talk.asked()[1], ["Look in src.", "And in lib."]);
    let expected =
        ["1 accepted: Look in src.", "2 accepted: And in lib.", "1 delivered", "2 delivered"];
    assert_eq!(lives(&talk.run_dir()), expected);
    talk.world().wait_until_nothing_is_left();
}
