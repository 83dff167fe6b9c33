//! Models that call tools with invalid arguments: they get an error, and the work continues.

use serde_json::{Value, json};

use super::harness::{
    ANSWER, Api, Asked, Builtin, CALLS, CLOSING, FAILURE, NEXT_TURN, OPENING, RESULT, text_of,
};

/// Checks what happens to one call that is refused.
const REFUSED: &[&str] = &["bash runs", "bash failed"];

#[track_caller]
fn assert_refused(builtin: &Builtin, words: &str) {
    let heard = builtin.ask(&["do it"]);
    heard.assert_story(0, &[OPENING, CALLS, REFUSED, FAILURE, NEXT_TURN, ANSWER, CLOSING]);
    let results = heard.results();
    assert!(results[0].contains(words), "{results:#?}");
    // The model gets the same words, and the call in a form that the provider takes.
    let asked = builtin.asked();
    let conversation = Asked(&asked[1]).conversation();
    assert_eq!(conversation[2], ("tool".to_owned(), results[0].clone()));
    assert!(!builtin.project("made").exists(), "the call was executed");
}

#[test]
fn arguments_that_are_no_json_are_not_executed() {
    for arguments in ["{\"command\": \"touch made\"", "touch made", "[\"touch made\"]", "{]"] {
        let tool = json!({"name": "bash", "arguments": arguments});
        let turns = json!([{"tools": [tool]}, {"text": "sorry"}]);
        for api in Api::ALL {
            let builtin = Builtin::new(api, &turns);
            assert_refused(&builtin, "its arguments cannot be read");
        }
    }
}

#[test]
fn arguments_of_the_wrong_kind_are_told() {
    let turns = json!([
        {"tools": [{"name": "bash", "args": {"cmd": "touch made"}}]}, {"text": "sorry"},
    ]);
    for api in Api::ALL {
        assert_refused(&Builtin::new(api, &turns), "command");
    }
}

#[test]
fn a_tool_that_does_not_exist_is_told() {
    for name in ["browse", "", "BASH", "ls"] {
        let tool = json!({"name": name, "args": {"command": "touch made"}});
        let turns = json!([{"tools": [tool]}, {"text": "sorry"}]);
        for api in Api::ALL {
            let builtin = Builtin::new(api, &turns);
            let heard = builtin.ask(&["do it"]);
            let ran = [format!("{name} runs"), format!("{name} failed")];
            let ran: Vec<&str> = ran.iter().map(String::as_str).collect();
            heard.assert_story(0, &[OPENING, CALLS, &ran, FAILURE, NEXT_TURN, ANSWER, CLOSING]);
            assert_eq!(heard.results(), [format!("Tool {name} not found")]);
        }
    }
}

#[test]
fn calls_of_the_same_name_are_all_answered() {
    let tool = |command: &str| json!({"name": "bash", "id": "same", "args": {"command": command}});
    let turns = json!([{"tools": [tool("echo one"), tool("echo two")]}, {"text": "done"}]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        let heard = builtin.ask(&["do it"]);
        assert_eq!(heard.code, Some(0), "{heard:#?}");
        assert_eq!(heard.results(), ["one\n", "two\n"], "{heard:#?}");
        // Neither provider takes two results for one call.
        let mut ids: Vec<Value> =
            heard.messages("toolResult").iter().map(|it| it["toolCallId"].clone()).collect();
        ids.dedup();
        assert_eq!(ids.len(), 2, "{ids:?}");
        let asked = builtin.asked()[1].to_string();
        for id in ids {
            // With the responses API, the item of a call has an id of its own behind it.
            let call = id.as_str().unwrap().split('|').next().unwrap();
            let count = asked.matches(&format!("\"{call}\"")).count();
            // Gemini knows calls by their order.
            let expected = if api == Api::Gemini { 0 } else { 2 };
            assert_eq!(count, expected, "a call and its result: {asked}");
        }
        let running: &[&str] = &[
            "bash runs",
            "bash runs",
            "bash runs…",
            "bash finished",
            "bash runs…",
            "bash finished",
        ];
        let turn = [CALLS, running, RESULT, RESULT, &["turn ends, 2 results", "turn start"]];
        heard.assert_story(0, &[OPENING, &turn.concat(), ANSWER, CLOSING]);
    }
}

#[test]
fn a_call_that_was_cut_off_is_not_executed() {
    let tool = json!({"name": "bash", "args": {"command": "touch made"}});
    let turns = json!([{"tools": [tool], "finish": "length"}, {"text": "again"}]);
    for builtin in Builtin::everywhere(&turns) {
        let heard = builtin.ask(&["do it"]);
        let cut: &[&str] = &["assistant starts", "assistant writes…", "assistant ends: length"];
        heard.assert_story(0, &[OPENING, cut, REFUSED, FAILURE, NEXT_TURN, ANSWER, CLOSING]);
        assert!(heard.results()[0].contains("hit the output token limit"), "{heard:#?}");
        assert!(!builtin.project("made").exists(), "the call was executed");
    }
}

#[test]
fn an_answer_that_was_cut_off_is_the_answer() {
    let turns = json!([{"text": "so far", "finish": "length"}]);
    for builtin in Builtin::everywhere(&turns) {
        let heard = builtin.ask(&["do it"]);
        let cut = ["assistant starts", "assistant writes…", "assistant ends: length", "turn ends"];
        heard.assert_story(0, &[OPENING, &cut, CLOSING]);
        let content = &heard.answer()["content"];
        assert_eq!((&content[0]["text"], &content[1]), (&json!("so far"), &Value::Null));
    }
}

#[test]
fn a_model_that_says_nothing_has_answered() {
    for builtin in Builtin::everywhere(&json!([{"text": ""}])) {
        let heard = builtin.ask(&["do it"]);
        let silent: &[&str] = match builtin.api {
            // Its records have empty texts.
            Api::Gemini => ANSWER,
            _ => &["assistant starts", "assistant ends: stop", "turn ends"],
        };
        heard.assert_story(0, &[OPENING, silent, CLOSING]);
        assert_eq!(text_of(&heard.answer()), "");
    }
}
