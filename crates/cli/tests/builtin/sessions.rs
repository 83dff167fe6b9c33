//! Conversations that outlive their process.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::bash;
use super::harness::{ANSWER, Api, Asked, Builtin, CALLS, CLOSING, NEXT_TURN, OPENING, RESULT};

const SESSION: &[&str] = &["--session", "kept.jsonl"];

/// What is asked in a conversation that knows the system prompt already.
const RESUMED: &[&str] = &["session", "agent start", "turn start", "user starts", "user ends"];

/// Every line of the session file; none is torn.
fn lines(builtin: &Builtin) -> Vec<Value> {
    let text = builtin.read("kept.jsonl");
    assert!(text.ends_with('\n'), "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every message of the session file; each names the one before it.
fn kept(builtin: &Builtin) -> Vec<String> {
    let lines = lines(builtin);
    assert_eq!((&lines[0]["type"], &lines[0]["version"]), (&json!("session"), &json!(3)));
    for pair in lines[1..].windows(2) {
        assert_eq!(pair[1]["parentId"], pair[0]["id"], "{pair:#?}");
    }
    let messages = lines.iter().filter(|line| line["type"] == "message");
    messages.map(|line| line["message"]["role"].as_str().unwrap().to_owned()).collect()
}

fn words(asked: &Value) -> Vec<String> {
    Asked(asked).conversation().into_iter().map(|(_, text)| text).collect()
}

#[test]
fn a_session_goes_on_in_another_process() {
    let turns = json!([
        {"thinking": "hm", "text": "I look.", "tools": [{"name": "bash", "args": {"command": "echo hi"}}]},
        {"text": "It says hi."},
        {"text": "I said so."},
    ]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        let first = builtin.ask(&[SESSION, &["what does it say?"]].concat());
        let running: &[&str] = &["bash runs", "bash runs…", "bash finished"];
        first.assert_story(0, &[OPENING, CALLS, running, RESULT, NEXT_TURN, ANSWER, CLOSING]);
        assert_eq!(kept(&builtin), ["system", "user", "assistant", "toolResult", "assistant"]);
        let mode = fs::metadata(builtin.project("kept.jsonl")).unwrap().permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);

        let second = builtin.ask(&[SESSION, &["are you sure?"]].concat());
        second.assert_story(0, &[RESUMED, ANSWER, CLOSING]);
        assert_eq!(second.records[0]["id"], first.records[0]["id"], "it is another session");
        assert_eq!(lines(&builtin)[0]["id"], first.records[0]["id"]);
        let asked = builtin.asked();
        assert_eq!(
            words(&asked[2]),
            ["what does it say?", "I look.", "hi\n", "It says hi.", "are you sure?"]
        );
        assert_eq!(Asked(&asked[2]).system(), Asked(&asked[0]).system());
        assert_eq!(
            kept(&builtin),
            ["system", "user", "assistant", "toolResult", "assistant", "user", "assistant"]
        );
    }
}

#[test]
fn a_session_that_was_killed_in_the_middle_of_an_answer_goes_on() {
    let turns = json!([
        bash("echo hi"),
        {"text": "I was about to say", "stall": true},
        {"text": "Here I am."},
    ]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        let live = builtin.start(&[SESSION, &["what does it say?"]].concat());
        live.wait_for("about to say");
        live.kill();
        builtin.world.wait_until_nothing_is_left();
        assert_eq!(kept(&builtin), ["system", "user", "assistant", "toolResult"]);

        let heard = builtin.ask(&[SESSION, &["go on"]].concat());
        heard.assert_story(0, &[RESUMED, ANSWER, CLOSING]);
        let asked = builtin.asked();
        assert_eq!(words(&asked[2]), ["what does it say?", "", "hi\n", "go on"]);
        assert_eq!(heard.answer()["content"][0]["text"], "Here I am.");
    }
}

#[test]
fn a_session_that_was_killed_while_a_tool_ran_goes_on() {
    let turns = json!([bash("echo $$ > pid; exec sleep 600"), {"text": "Here I am."}]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        let live = builtin.start(&[SESSION, &["what does it say?"]].concat());
        test_support::wait_until(|| builtin.read("pid").ends_with('\n'));
        live.kill();
        // The kernel stops the command of an agent that was killed.
        builtin.world.wait_until_nothing_is_left();

        let heard = builtin.ask(&[SESSION, &["go on"]].concat());
        heard.assert_story(0, &[RESUMED, ANSWER, CLOSING]);
        // Providers refuse a call without a result.
        let asked = builtin.asked();
        assert_eq!(Asked(&asked[1]).roles(), ["user", "assistant", "tool", "user"]);
    }
}

#[test]
fn a_session_that_was_stopped_goes_on_with_what_was_said() {
    let turns = json!([{"text": "So far so good", "stall": true}, {"text": "Here I am."}]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        let live = builtin.start(&[SESSION, &["tell me"]].concat());
        live.wait_for("so good");
        live.signal(Signal::TERM);
        assert_eq!(live.finish().code, Some(143));
        assert_eq!(kept(&builtin), ["system", "user", "assistant"]);
        let heard = builtin.ask(&[SESSION, &["go on"]].concat());
        heard.assert_story(0, &[RESUMED, ANSWER, CLOSING]);
    }
}

#[test]
fn a_torn_last_line_costs_only_itself() {
    let turns = json!([{"text": "one"}, {"text": "two"}]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        builtin.ask(&[SESSION, &["first"]].concat());
        let text = builtin.read("kept.jsonl");
        let torn = format!("{text}{{\"type\":\"message\",\"id\":\"12345678\",\"par");
        builtin.project_file("kept.jsonl", &torn);
        let heard = builtin.ask(&[SESSION, &["second"]].concat());
        heard.assert_story(0, &[RESUMED, ANSWER, CLOSING]);
        assert_eq!(words(&builtin.asked()[1]), ["first", "one", "second"]);
        let text = builtin.read("kept.jsonl");
        let roles: Vec<Option<Value>> = text
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str::<Value>(line).ok())
            .map(|line| Some(line?["message"]["role"].clone()))
            .collect();
        let [system, user, assistant] = ["system", "user", "assistant"].map(|it| Some(json!(it)));
        assert_eq!(roles, [system, user.clone(), assistant.clone(), None, user, assistant]);
    }
}

#[test]
fn a_file_that_is_no_session_is_refused_and_left_alone() {
    let builtin = Builtin::new(Api::Completions, &json!([{"text": "one"}]));
    builtin.project_file("kept.jsonl", "my precious notes\n");
    let heard = builtin.ask(&[SESSION, &["first"]].concat());
    assert_eq!((heard.code, heard.records.len()), (Some(2), 0), "{heard:#?}");
    assert!(heard.stderr.contains("cannot be used: line 1 is not the header"), "{heard:#?}");
    assert_eq!(builtin.read("kept.jsonl"), "my precious notes\n");
    assert_eq!(builtin.asked().len(), 0);
}
