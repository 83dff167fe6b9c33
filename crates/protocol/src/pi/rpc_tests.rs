use super::*;
use crate::Delivery;

fn read(reader: &mut RpcReader, record: &Value) -> Reading {
    reader.read(Line::Whole(record.to_string().as_bytes()))
}

fn user(text: &str) -> Value {
    let message = json!({"role": "user", "content": [{"type": "text", "text": text}]});
    json!({"type": "message_end", "message": message})
}

/// As pi spells it: the type comes first.
fn answer_begins(reader: &mut RpcReader) -> Reading {
    reader.read(Line::Whole(
        br#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#,
    ))
}

#[test]
fn the_prompt_is_a_command_of_one_line() {
    let line = opening("a\n\"b\"");
    assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
    let command: Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(command, json!({"id": "prompt", "type": "prompt", "message": "a\n\"b\""}));
}

#[test]
fn a_message_is_delivered_when_the_model_answers_after_it_was_shown() {
    let mut reader = RpcReader::default();
    read(&mut reader, &user("go"));
    let told: Value = serde_json::from_slice(&reader.tell(3, "not there")).unwrap();
    assert_eq!((&told["type"], &told["id"]), (&json!("prompt"), &json!("3")));
    assert_eq!(told["streamingBehavior"], "steer");
    assert_eq!(read(&mut reader, &json!({"id": "3", "type": "response", "success": true})), {
        Reading::default()
    });
    assert_eq!(answer_begins(&mut reader).deliveries, [], "it was not shown");
    let shown = read(&mut reader, &user("not there"));
    assert!(matches!(shown.events[..], [Event::UserMessage { .. }]));
    assert_eq!(shown.deliveries, []);
    assert_eq!(answer_begins(&mut reader).deliveries, [Delivery::Delivered(3)]);
    assert_eq!(read(&mut reader, &json!({"type": "agent_settled"})).last_word, IDLE);
}

#[test]
fn a_message_that_pi_does_not_take_is_refused_with_its_reason() {
    let mut reader = RpcReader::default();
    read(&mut reader, &user("go"));
    reader.tell(1, "/no-such-command");
    let refused =
        read(&mut reader, &json!({"id": "1", "type": "response", "success": false, "error": "no"}));
    assert_eq!(refused.deliveries, [Delivery::Refused(1, "no".to_owned())]);
}

#[test]
fn a_prompt_that_pi_does_not_take_ends_the_run_with_its_reason() {
    let response =
        json!({"id": "prompt", "type": "response", "success": false, "error": "No API key found"});
    let reading = read(&mut RpcReader::default(), &response);
    assert_eq!(reading.last_word, IDLE);
    let verdict = reading.verdict.unwrap();
    assert_eq!(
        (verdict.outcome, verdict.error.as_deref()),
        (Outcome::NonZeroExit, Some("No API key found"))
    );
}

#[test]
fn a_prompt_that_is_a_command_of_an_extension_is_over_when_pi_does_not_work() {
    let opened: Value = serde_json::from_slice(&opening("/deploy")).unwrap();
    assert_eq!(opened["id"], "slash-prompt");
    let taken = json!({"id": "slash-prompt", "type": "response", "success": true});
    for (is_streaming, expected) in [(false, IDLE), (true, LastWord::Unchanged)] {
        let mut reader = RpcReader::default();
        let asked = read(&mut reader, &taken).reply;
        assert!(String::from_utf8(asked).unwrap().contains("get_state"));
        let data = json!({"isStreaming": is_streaming});
        let state = json!({"id": "state", "type": "response", "success": true, "data": data});
        assert_eq!(read(&mut reader, &state).last_word, expected);
    }
}

#[test]
fn a_question_of_an_extension_is_answered_as_without_a_user() {
    let ask = |method: &str| {
        let line = format!(r#"{{"type":"extension_ui_request","id":"u1","method":"{method}"}}"#);
        RpcReader::default().read(Line::Whole(line.as_bytes())).reply
    };
    for (method, ..) in DIALOGS {
        let answer: Value = serde_json::from_slice(&ask(method)).unwrap();
        let expected = json!({"type": "extension_ui_response", "id": "u1", "cancelled": true});
        assert_eq!(answer, expected, "{method}");
    }
    assert_eq!(ask("notify"), b"", "it waits for nothing");
}

#[test]
fn the_recorded_conversation_is_understood() {
    let mut reader = RpcReader::default();
    let (mut deliveries, mut last_words) = (Vec::new(), Vec::new());
    for line in include_str!("../../tests/streams/rpc/two-way.jsonl").lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        match (&record["to"], &record["from"]) {
            (Value::Object(command), _) if command["type"] == "steer" => {
                let text = command["message"].as_str().unwrap();
                reader.tell(1, text);
            }
            (Value::Null, from) => {
                let reading = read(&mut reader, from);
                deliveries.extend(reading.deliveries);
                last_words.extend((reading.last_word == IDLE).then_some(deliveries.len()));
                assert_eq!(reading.verdict, None);
            }
            _ => {}
        }
    }
    assert_eq!(deliveries, [Delivery::Delivered(1)]);
    assert_eq!(last_words, [1, 1], "it was idle after the interruption, and after the next prompt");
}
