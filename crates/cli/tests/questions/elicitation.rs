//! What agents ask of the user of an MCP client, by elicitation. A real client is in `mcp_clients`.

use std::fs;

use serde_json::{Value, json};
use test_support::{RpcClient, World, wait_until};

use super::{COMMAND, answer, asked, asking, events, lives, set};

/// A server whose client has these capabilities, and the call of an agent that asks.
struct Calling {
    world: World,
    server: RpcClient,
    call: u64,
}

impl Calling {
    fn start(commands: &[&str], capabilities: &Value, settings: &[(&str, Value)]) -> Calling {
        let world = asking(commands);
        set(&world, "ask", json!(true));
        for (name, value) in settings {
            set(&world, name, value.clone());
        }
        let mut server = RpcClient::start(world.command(["mcp"]));
        let client = json!({"name": "a \u{1b}[2Jtest", "version": "1"});
        server.request(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": capabilities,
                "clientInfo": client}),
        );
        server.notify("notifications/initialized", &json!({}));
        let tasks = json!([{"name": "asker", "prompt": "go", "agent": "oracle"}]);
        let call = json!({"name": "delegate_to_subagents", "arguments": {"tasks": tasks}});
        let call = server.start_request("tools/call", &call);
        Calling { world, server, call }
    }

    /// What the client is asked next.
    fn form(&mut self) -> Value {
        self.server.wait_for("elicitation/create")
    }

    fn reply(&mut self, form: &Value, result: &Value) {
        self.server.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": result}));
    }

    /// What the agent said at its end: the words that it was answered. Nothing is left.
    fn finish(mut self) -> (World, String, String) {
        let answered = self.server.response(self.call);
        let session = &answered["result"]["structuredContent"]["sessions"][0];
        let output = session["output"].as_str().unwrap_or_else(|| panic!("{answered}")).to_owned();
        let forms = self.server.received("elicitation/create");
        assert!(forms.is_empty(), "{forms:?}");
        let closed = self.server.close();
        assert_eq!(closed.code, Some(0), "{closed:?}");
        self.world.wait_until_nothing_is_left();
        (self.world, output, closed.stderr)
    }
}

fn accepted(answer: &Value) -> Value {
    json!({"action": "accept", "content": {"answer": answer}})
}

#[test]
fn the_user_of_a_client_is_asked_with_the_command_in_full() {
    // A client that names no kind of elicitation has forms.
    for (capability, reply, chosen, life) in [
        (json!({}), accepted(&json!("allow once")), "allowed", "1 yes by mcp"),
        (json!({"form": {}, "url": {}}), accepted(&json!("deny")), "rejected", "1 no by mcp"),
        (json!({"form": {}}), json!({"action": "decline"}), "rejected", "1 no by mcp"),
        (json!({}), json!({"action": "cancel"}), "rejected", "1 no by mcp"),
    ] {
        let mut calling = Calling::start(&[COMMAND], &json!({"elicitation": capability}), &[]);
        let form = calling.form();
        let mut params = form["params"].clone();
        params.as_object_mut().unwrap().remove("_meta");
        let answers = ["allow once", "allow for this run", "deny"];
        let field = json!({"type": "string", "title": "Answer", "enum": answers});
        assert_eq!(
            params,
            json!({"mode": "form",
                "message": format!("asker asks whether it may use bash:\n{COMMAND}"),
                "requestedSchema": {"type": "object", "properties": {"answer": field},
                    "required": ["answer"]}})
        );
        calling.reply(&form, &reply);
        let (world, output, _) = calling.finish();
        assert!(output.contains(chosen), "{output}");
        assert_eq!(lives(&world.only_run()), [asked(1), life.to_owned()]);
        let given = &events(&world.only_run(), "question_answered")[0];
        assert_eq!(given["client"], "a test", "{given}");
        let told = world.run(&["sessions", "show", "asker"]);
        assert!(told.stdout.contains("by the user in the MCP client a test"), "{told:?}");
    }
}

#[test]
fn what_the_client_allows_for_the_run_is_asked_once() {
    let mut calling = Calling::start(&[COMMAND, "make test"], &json!({"elicitation": {}}), &[]);
    let form = calling.form();
    calling.reply(&form, &accepted(&json!("allow for this run")));
    let (world, output, _) = calling.finish();
    assert!(output.contains("allowed"), "{output}");
    let lives = lives(&world.only_run());
    assert_eq!((&*lives[1], &*lives[3]), ("1 always by mcp", "2 yes by always"));
}

#[test]
fn what_is_no_answer_of_a_client_denies_with_the_reason() {
    for (reply, reason) in [
        (accepted(&json!("yes")), "its \"answer\" \"yes\" was not offered"),
        (accepted(&json!(true)), "its \"answer\" is not a text"),
        (accepted(&json!({"allow once": 1})), "its \"answer\" is not a text"),
        (accepted(&json!("allow once".repeat(200_000))), "has 2000000 bytes"),
        (json!({"action": "accept"}), "it has no \"answer\""),
        (json!({"action": "allow"}), "its action is not accept, decline or cancel"),
        (json!("allow once"), "its action is not"),
        (json!({}), "its action is not"),
        (Value::Null, "its action is not"),
    ] {
        let mut calling = Calling::start(&[COMMAND], &json!({"elicitation": {}}), &[]);
        let form = calling.form();
        calling.reply(&form, &reply);
        let (world, output, _) = calling.finish();
        assert!(output.contains("rejected"), "{output}");
        assert_eq!(lives(&world.only_run()), [asked(1), "1 no by mcp".to_owned()], "{reason}");
        let text = events(&world.only_run(), "question_answered")[0]["text"].to_string();
        let reason = json!(reason).to_string();
        assert!(text.contains(reason.trim_matches('"')), "{text}");
    }
}

/// The deadline, another program, and the end of the run each take the question back.
#[test]
fn a_question_that_was_answered_elsewhere_is_taken_back() {
    let elicitation = json!({"elicitation": {}});
    let taken_back = |calling: &mut Calling, form: &Value| {
        let cancelled = calling.server.wait_for("notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], form["id"], "{cancelled}");
    };
    let mut calling = Calling::start(&[COMMAND], &elicitation, &[("questionTimeout", json!(1))]);
    let form = calling.form();
    taken_back(&mut calling, &form);
    // Too late.
    calling.reply(&form, &accepted(&json!("allow once")));
    let (world, output, _) = calling.finish();
    assert!(output.contains("rejected"), "{output}");
    assert_eq!(lives(&world.only_run()), [asked(1), "1 no by deadline".to_owned()]);

    let mut calling = Calling::start(&[COMMAND], &elicitation, &[]);
    let form = calling.form();
    assert_eq!(answer(&calling.world, &["yes"]).code, Some(0));
    taken_back(&mut calling, &form);
    let (world, output, _) = calling.finish();
    assert!(output.contains("allowed"), "{output}");
    assert_eq!(lives(&world.only_run()), [asked(1), "1 yes by shell".to_owned()]);

    let mut calling = Calling::start(&[COMMAND], &elicitation, &[]);
    let form = calling.form();
    let cancelled = json!({"requestId": calling.call});
    calling.server.notify("notifications/cancelled", &cancelled);
    taken_back(&mut calling, &form);
    calling.server.close();
    calling.world.wait_until_nothing_is_left();
    assert_eq!(lives(&calling.world.only_run()), [asked(1), "1 no by end".to_owned()]);
}

#[test]
fn a_client_that_cannot_ask_leaves_the_question_to_others() {
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let calling = Calling::start(&[COMMAND], &capabilities, &[]);
        super::wait_for_question(&calling.world, 1);
        assert_eq!(answer(&calling.world, &["yes"]).code, Some(0));
        let (world, output, _) = calling.finish();
        assert!(output.contains("allowed"), "{output}");
        assert_eq!(lives(&world.only_run()), [asked(1), "1 yes by shell".to_owned()]);
    }
    let mut calling = Calling::start(&[COMMAND], &json!({"elicitation": {}}), &[]);
    let form = calling.form();
    let error = json!({"code": -32603, "message": "no \u{1b}[2Juser"});
    calling.server.send(&json!({"jsonrpc": "2.0", "id": form["id"], "error": error}));
    assert_eq!(answer(&calling.world, &["no"]).code, Some(0));
    let (world, output, said) = calling.finish();
    assert!(output.contains("rejected"), "{output}");
    assert_eq!(lives(&world.only_run()), [asked(1), "1 no by shell".to_owned()]);
    let run = world.only_run();
    let run = run.file_name().unwrap().to_str().unwrap();
    let warning = format!(
        "the client does not ask what asker asks: no user. Answer with \
         `pi-subagents answer {run} 1 ANSWER`"
    );
    assert!(said.contains(&warning), "{said}");
}

#[test]
fn a_question_is_denied_when_its_server_is_killed_and_when_its_client_leaves() {
    for is_killed in [true, false] {
        let mut calling = Calling::start(&[COMMAND], &json!({"elicitation": {}}), &[]);
        calling.form();
        if is_killed {
            calling.server.kill();
        }
        let Calling { world, server, .. } = calling;
        assert_eq!(server.close().code.is_none(), is_killed);
        wait_until(|| world.only_run().join("result.json").exists());
        assert_eq!(lives(&world.only_run()), [asked(1), "1 no by end".to_owned()]);
        world.wait_until_nothing_is_left();
        let told = fs::read_to_string(world.only_run().join("transcript.log")).unwrap();
        assert!(told.contains("answered no by the end of the run"), "{told}");
    }
}
