use model::Access;

use super::*;
use crate::Protocol;
use crate::retelling::check;

macro_rules! recorded {
    ($($name:literal),*) => {
        [$((
            $name,
            include_bytes!(concat!("../../tests/streams/acp/", $name, ".jsonl")),
            include_str!(concat!("../../tests/streams/acp/", $name, ".txt")),
        )),*]
    };
}

/// What real agents said, and what it means.
const STREAMS: [(&str, &[u8], &str); 6] =
    recorded! { "claude", "opencode", "gemini", "copilot", "copilot-400", "gemini-400" };

#[test]
fn recorded_streams_tell_what_is_written_beside_them() {
    check(Protocol::Acp, &STREAMS);
}

/// One agent, and what it is told.
struct Talk {
    reader: AcpReader,
    readings: Vec<Reading>,
}

impl Talk {
    fn with(assignment: Assignment) -> Talk {
        Talk { reader: AcpReader::new(assignment), readings: Vec::new() }
    }

    /// A conversation in which the prompt was sent.
    fn at_work(assignment: Assignment) -> Talk {
        let mut talk = Talk::with(assignment);
        talk.answer(0, &json!({"protocolVersion": 1}));
        talk.answer(1, &json!({"sessionId": "s"}));
        talk
    }

    fn hear(&mut self, message: &Value) -> &Reading {
        let reading = self.reader.read(Line::Whole(message.to_string().as_bytes()));
        self.readings.push(reading);
        self.readings.last().unwrap()
    }

    fn answer(&mut self, id: u64, result: &Value) -> &Reading {
        self.hear(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn refuse(&mut self, id: u64, error: &Value) -> &Reading {
        self.hear(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
    }

    fn update(&mut self, update: &Value) -> &Reading {
        let params = json!({"sessionId": "s", "update": update});
        self.hear(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    }

    fn say(&mut self, text: &str) -> &Reading {
        let content = json!({"type": "text", "text": text});
        self.update(&json!({"sessionUpdate": "agent_message_chunk", "content": content}))
    }

    fn call(&mut self, id: &str, fields: &Value) -> &Reading {
        let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": id});
        update.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.update(&update)
    }

    fn ask(&mut self, tool_call: &Value) -> &Reading {
        let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
        let options = json!([option("yes", "allow_once"), option("no", "reject_once")]);
        let params = json!({"sessionId": "s", "toolCall": tool_call, "options": options});
        self.hear(&json!({"jsonrpc": "2.0", "id": "q", "method": "session/request_permission", "params": params}))
    }

    /// All events so far, as JSON.
    fn events(&self) -> Vec<Value> {
        let events = self.readings.iter().flat_map(|reading| &reading.events);
        events.map(|event| serde_json::to_value(event).unwrap()).collect()
    }

    fn verdict(&self) -> (&'static str, String) {
        let told = self.readings.iter().rev().find_map(|reading| reading.verdict.as_ref());
        told.map_or(("", String::new()), |verdict| {
            (verdict.outcome.word(), verdict.error.clone().unwrap_or_default())
        })
    }
}

fn sent(reading: &Reading) -> Value {
    serde_json::from_slice(&reading.reply).unwrap_or_default()
}

fn assignment() -> Assignment {
    Assignment { prompt: "do it".to_owned(), cwd: "/p".into(), ..Assignment::default() }
}

#[test]
fn each_request_follows_the_answer_to_the_one_before() {
    let first: Value = serde_json::from_slice(&opening()).unwrap();
    assert_eq!((&first["id"], &first["method"]), (&json!(0), &json!("initialize")));
    assert_eq!(first["params"]["clientCapabilities"]["terminal"], false);
    let mut talk = Talk::with(Assignment { model: Some("m2".to_owned()), ..assignment() });
    let request = sent(talk.answer(0, &json!({"protocolVersion": 1})));
    assert_eq!(request["method"], "session/new");
    assert_eq!(request["params"], json!({"cwd": "/p", "mcpServers": []}));
    let models =
        json!({"currentModelId": "m1", "availableModels": [{"modelId": "m1"}, {"modelId": "m2"}]});
    let request = sent(talk.answer(1, &json!({"sessionId": "s", "models": models})));
    assert_eq!((&request["id"], &request["method"]), (&json!(2), &json!("session/set_model")));
    let reading = talk.answer(2, &json!({}));
    let request = sent(reading);
    assert_eq!(reading.activity, Some(Activity::Waiting));
    assert_eq!((&request["id"], &request["method"]), (&json!(3), &json!("session/prompt")));
    assert_eq!(request["params"]["prompt"], json!([{"type": "text", "text": "do it"}]));
    talk.say("Done.");
    let ended = talk.answer(3, &json!({"stopReason": "end_turn"}));
    assert_eq!(ended.last_word, LastWord::Idle { is_settled: true });
    assert_eq!(talk.verdict().0, "completed");
    assert_eq!(talk.events()[0]["model"], "m2");
    assert_eq!(*talk.say("More."), Reading::default(), "nothing follows the end of a turn");
}

#[test]
fn an_agent_that_wants_a_sign_in_is_signed_in_once_with_the_key_of_its_environment() {
    let mut talk = Talk::with(assignment());
    talk.answer(0, &json!({"protocolVersion": 1, "authMethods": [{"id": "gemini-api-key"}]}));
    let required = json!({"code": -32000, "message": "Authentication required"});
    let request = sent(talk.refuse(1, &required));
    assert_eq!(request["method"], "authenticate");
    assert_eq!(request["params"], json!({"methodId": "gemini-api-key"}));
    assert_eq!(sent(talk.answer(2, &json!({})))["method"], "session/new");
    talk.refuse(3, &required);
    let (outcome, error) = talk.verdict();
    assert_eq!(outcome, "provider_error");
    assert!(error.starts_with("Authentication required (sign in to the agent first"), "{error}");
}

#[test]
fn a_turn_without_an_answer_is_no_success_whatever_the_agent_says() {
    for (stop, text, has_call, expected) in [
        // It is decided without a word of the agent.
        ("end_turn", "", false, ""),
        ("end_turn", " \n", false, ""),
        ("end_turn", "x", false, "completed"),
        ("max_tokens", "x", false, "completed"),
        ("cancelled", "x", false, "cancelled"),
        ("refusal", "x", false, "provider_error"),
        ("max_turn_requests", "x", false, "interrupted"),
        ("end_turn", "I look.", true, "no_assistant_message"),
    ] {
        let mut talk = Talk::at_work(assignment());
        talk.say(text);
        if has_call {
            talk.call("c", &json!({"kind": "read", "status": "completed"}));
        }
        talk.answer(2, &json!({ "stopReason": stop }));
        assert_eq!(talk.verdict().0, expected, "{stop} {text:?}");
    }
}

#[test]
fn the_reason_of_a_failure_is_the_innermost_one() {
    for (error, expected) in [
        (json!({"code": 400, "message": "bad thing"}), "bad thing"),
        (json!({"code": 400, "message": "{\"error\":{\"message\":\"bad thing\"}}"}), "bad thing"),
        (
            json!({"code": -32603, "message": "Internal error", "data": {"details": "slow down"}}),
            "slow down",
        ),
        (
            json!({"code": -32603, "message": "Internal error", "data": "{\"message\":\"no credit\"}"}),
            "no credit",
        ),
        (json!({"code": -32603, "message": "Internal error: bad thing"}), "bad thing"),
        (json!({"code": -32603, "message": "Internal error"}), "Internal error"),
        (json!({"code": 1}), "The agent failed without a reason"),
    ] {
        let mut talk = Talk::at_work(assignment());
        talk.refuse(2, &error);
        assert_eq!(talk.verdict(), ("provider_error", expected.to_owned()));
    }
}

#[test]
fn a_call_is_told_when_its_arguments_are_there_and_ends_once() {
    let mut talk = Talk::at_work(assignment());
    talk.say("I look.");
    talk.call("1", &json!({"title": "bash", "kind": "execute", "status": "pending", "rawInput": {"cwd": "/p"}}));
    assert_eq!(talk.events().len(), 1, "the message has ended, and the call has no arguments yet");
    let reading = talk.call("1", &json!({"status": "in_progress", "title": "ls", "rawInput": {"command": "ls", "cwd": "/p"}}));
    assert!(reading.is_tool_activity && reading.activity == Some(Activity::Tool));
    talk.call(
        "1",
        &json!({"content": [{"type": "content", "content": {"type": "text", "text": "a\n"}}]}),
    );
    talk.call("1", &json!({"status": "completed"}));
    talk.call("1", &json!({"status": "completed", "rawOutput": "a"}));
    talk.call("2", &json!({"title": "Remove it", "kind": "delete", "status": "pending"}));
    talk.reader.finish().events.into_iter().for_each(|event| {
        talk.readings.push(Reading { events: vec![event], ..Reading::default() });
    });
    let events = talk.events();
    assert_eq!(events[0]["stopReason"], "toolUse");
    assert_eq!(
        events[1..],
        [
            json!({"type": "tool_call", "id": "1", "tool": "bash", "args": {"command": "ls"}}),
            json!({"type": "tool_result", "id": "1", "tool": "bash", "isError": false, "text": "a\n"}),
            json!({"type": "tool_call", "id": "2", "tool": "delete", "args": {"path": "Remove it"}}),
        ]
    );
}

#[test]
fn the_access_of_the_run_answers_what_the_agent_asks() {
    let edit = json!({"toolCallId": "1", "title": "Edit a", "kind": "edit", "locations": [{"path": "/p/a"}]});
    for (access, expected) in
        [(Access::Full, "yes"), (Access::Workspace, "yes"), (Access::Read, "no")]
    {
        let mut talk = Talk::at_work(Assignment { access, ..assignment() });
        let answer = sent(talk.ask(&edit));
        assert_eq!(
            (&answer["id"], &answer["result"]["outcome"]["optionId"]),
            (&json!("q"), &json!(expected))
        );
        assert_eq!(talk.events()[0]["args"], json!({"path": "/p/a"}));
        if access == Access::Read {
            let words = "access \"read\" did not permit the agent to use edit";
            assert_eq!(talk.events()[1]["isError"], true);
            assert_eq!(talk.events()[2], json!({"type": "warning", "message": words}));
            talk.call("1", &json!({"status": "failed"}));
            assert_eq!(talk.events().len(), 3, "the call has ended already");
        }
    }
}

#[test]
fn what_is_not_offered_is_refused_at_once() {
    let mut talk = Talk::at_work(assignment());
    for method in ["fs/read_text_file", "terminal/create", "elicitation/create"] {
        let answer =
            sent(talk.hear(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {}})));
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32601)));
    }
    let notified = talk.hear(&json!({"jsonrpc": "2.0", "method": "_x/y", "params": {}}));
    assert_eq!(*notified, Reading::default());
}

#[test]
fn a_message_with_a_hole_is_lost() {
    let mut talk = Talk::at_work(assignment());
    talk.say("The answer ");
    let torn = br#"{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"te"#;
    let reading = talk.reader.read(Line::Whole(torn));
    assert_eq!(reading.last_word, LastWord::NotYet);
    talk.say("is 42.");
    talk.answer(2, &json!({"stopReason": "end_turn"}));
    let kinds: Vec<Value> = talk.events().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds, ["assistant_message", "message_lost"], "the loss counts, so it comes last");
    let mut talk = Talk::at_work(assignment());
    talk.say("Done.");
    let reading =
        talk.reader.read(Line::Whole(br#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_t"#));
    assert_eq!((reading.events.len(), reading.last_word), (2, LastWord::AgentEnded));
}

#[test]
fn what_was_used_is_told_as_far_as_it_is_known() {
    let usage =
        json!({"inputTokens": 10, "outputTokens": 5, "cachedReadTokens": 2, "totalTokens": 17});
    let used = |agent: &str, with_call: bool, usage: &Value| {
        let mut talk = Talk::at_work(Assignment { agent: agent.to_owned(), ..assignment() });
        if with_call {
            talk.call("c", &json!({"kind": "read", "status": "completed"}));
        }
        talk.update(&json!({"sessionUpdate": "usage_update", "used": 3, "cost": {"amount": 0.5, "currency": "USD"}}));
        talk.update(&json!({"sessionUpdate": "usage_update", "used": 3, "cost": {"amount": 9, "currency": "EUR"}}));
        talk.say("x");
        talk.answer(2, &json!({"stopReason": "end_turn", "usage": usage}));
        let event = talk.events().pop().unwrap();
        (event["usage"]["totalTokens"].clone(), event["usage"]["cost"]["total"].clone())
    };
    assert_eq!(used("gemini", true, &usage), (json!(17), json!(0.5)));
    assert_eq!(used("opencode", false, &usage), (json!(17), json!(0.5)));
    assert_eq!(
        used("opencode", true, &usage),
        (json!(0), json!(0.5)),
        "they are of the last message only"
    );
    assert_eq!(used("gemini", false, &Value::Null), (json!(0), json!(0.5)));
    let mut talk = Talk::at_work(assignment());
    talk.say("x");
    let quota = json!({"quota": {"token_count": {"input_tokens": 10, "output_tokens": 5}}});
    talk.answer(2, &json!({"stopReason": "end_turn", "_meta": quota}));
    assert_eq!(talk.events()[1]["usage"]["totalTokens"], 15);
}

#[test]
fn the_words_of_an_agent_about_its_provider_are_no_answer() {
    let copilot = || Assignment { agent: "copilot".to_owned(), ..assignment() };
    let mut talk = Talk::at_work(copilot());
    talk.say("Half of");
    talk.say("Info: Response was interrupted due to a server error. Retrying...");
    talk.say("Half of");
    talk.say("Error: Failed to get response from the AI model; retried 5 times");
    talk.answer(2, &json!({"stopReason": "end_turn", "usage": {"inputTokens": 1}}));
    let (outcome, error) = talk.verdict();
    assert_eq!(outcome, "provider_error");
    assert_eq!(error, "Failed to get response from the AI model; retried 5 times");
    let kinds: Vec<Value> = talk.events().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds[..3], ["assistant_message", "retry_scheduled", "assistant_message"]);
    let mut talk = Talk::at_work(copilot());
    talk.say("Error: it is offline");
    talk.answer(2, &json!({"stopReason": "end_turn"}));
    assert_eq!(talk.verdict(), ("provider_error", "it is offline".to_owned()));
    assert_eq!(talk.events(), [Value::Null; 0], "the reason is no answer");
}

#[test]
fn a_list_of_things_to_do_is_told_when_it_changes() {
    let mut talk = Talk::at_work(assignment());
    let plan = |status: &str| json!({"sessionUpdate": "plan", "entries": [{"content": "Look", "status": status}]});
    for status in ["pending", "pending", "completed"] {
        talk.update(&plan(status));
    }
    let calls: Vec<Value> =
        talk.events().into_iter().filter(|event| event["type"] == "tool_call").collect();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1]["args"], json!({"todos": [{"text": "Look", "status": "completed"}]}));
}

#[test]
fn what_a_helper_of_the_agent_says_is_not_the_answer() {
    let mut talk = Talk::at_work(assignment());
    let content = json!({"type": "text", "text": "of a helper"});
    let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
    talk.hear(&json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "other", "update": update}}));
    talk.say("mine");
    talk.answer(2, &json!({"stopReason": "end_turn"}));
    assert_eq!(talk.events()[0]["text"], "mine");
}
