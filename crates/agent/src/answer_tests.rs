use serde_json::json;

use super::*;
use crate::testing::model;

/// Puts the pieces together, and tells what was shown.
fn put_together(pieces: Vec<Piece>) -> (Finished, Vec<Value>) {
    let mut shown = Vec::new();
    let mut tell = |_: &Usage, update: Update<'_>| {
        shown.push(serde_json::to_value(update).unwrap());
    };
    let mut answer = Answer::new(&model(), 7);
    for piece in pieces {
        answer.add(piece, &mut tell);
    }
    let failure = answer.check_whole().err().map(|error| (StopReason::Error, error.message));
    (answer.finish(failure, &mut tell), shown)
}

fn ended(reason: StopReason) -> Piece {
    Piece::Ended { reason, raw: None }
}

fn call(index: u64, id: &str, json: &[&str]) -> Vec<Piece> {
    let start = Piece::ToolCall { index, id: id.to_owned(), name: "ls".to_owned() };
    let more = json.iter().map(|json| Piece::Arguments { index, json: (*json).to_owned() });
    [start].into_iter().chain(more).collect()
}

#[test]
fn everything_is_shown_as_it_comes_and_once_more_at_the_end() {
    let mut pieces = vec![
        Piece::Started { response_id: Some("r1".to_owned()) },
        Piece::Thinking("Hm".to_owned()),
        Piece::ThinkingSignature("sig".to_owned()),
        Piece::Text("I ".to_owned()),
        Piece::Text("look.".to_owned()),
    ];
    pieces.extend(call(0, "c1", &["{\"path\":", "\".\"}"]));
    pieces.push(ended(StopReason::ToolUse));
    let (finished, shown) = put_together(pieces);
    let call = json!({"type": "toolCall", "id": "c1", "name": "ls", "arguments": {"path": "."}});
    assert_eq!(
        shown,
        [
            json!({"type": "thinking_start", "contentIndex": 0}),
            json!({"type": "thinking_delta", "contentIndex": 0, "delta": "Hm"}),
            json!({"type": "text_start", "contentIndex": 1}),
            json!({"type": "text_delta", "contentIndex": 1, "delta": "I "}),
            json!({"type": "text_delta", "contentIndex": 1, "delta": "look."}),
            json!({"type": "toolcall_start", "contentIndex": 2, "id": "c1", "toolName": "ls"}),
            json!({"type": "toolcall_delta", "contentIndex": 2, "delta": "{\"path\":"}),
            json!({"type": "toolcall_delta", "contentIndex": 2, "delta": "\".\"}"}),
            json!({"type": "thinking_end", "contentIndex": 0, "content": "Hm"}),
            json!({"type": "text_end", "contentIndex": 1, "content": "I look."}),
            json!({"type": "toolcall_end", "contentIndex": 2, "toolCall": call}),
        ]
    );
    let message = &finished.message;
    assert_eq!(message.response_id.as_deref(), Some("r1"));
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    assert_eq!(message.text(), "I look.");
    let thinking = json!({"type": "thinking", "thinking": "Hm", "thinkingSignature": "sig"});
    assert_eq!(serde_json::to_value(&message.content[0]).unwrap(), thinking);
}

#[test]
fn no_two_calls_have_one_id() {
    let mut pieces = call(0, "a", &[]);
    pieces.extend(call(1, "a_2", &[]));
    pieces.extend(call(2, "a", &[]));
    let (finished, _) = put_together(pieces);
    let ids = finished.message.content.iter().filter_map(|part| match part {
        Content::ToolCall { id, .. } => Some(id.as_str()),
        _ => None,
    });
    assert_eq!(ids.collect::<Vec<_>>(), ["a", "a_2", "a_2_2"]);
}

#[test]
fn a_block_ends_where_the_provider_says_so() {
    let mut pieces =
        vec![Piece::Text("a".to_owned()), Piece::BlockEnded, Piece::Text("b".to_owned())];
    pieces.push(Piece::BlockEnded);
    pieces.extend(call(0, "c1", &["{\"x\":1}"]));
    pieces.push(Piece::BlockEnded);
    pieces.extend(call(1, "c2", &["{\"x\":"]));
    let kinds = |shown: &[Value]| -> Vec<String> {
        shown
            .iter()
            .map(|update| format!("{} {}", update["type"], update["contentIndex"]))
            .collect()
    };
    let text = |index| ["start", "delta", "end"].map(|step| format!("\"text_{step}\" {index}"));
    let call = |index| ["start", "delta", "end"].map(|step| format!("\"toolcall_{step}\" {index}"));
    let mut expected = [text(0), text(1), call(2), call(3)].concat();
    let (_, shown) = put_together([&pieces[..], &[ended(StopReason::ToolUse)]].concat());
    assert_eq!(kinds(&shown), expected);
    assert_eq!(shown[8]["toolCall"]["arguments"], json!({"x": 1}));
    // What is cut off never becomes whole.
    let (finished, shown) = put_together(pieces);
    expected.pop();
    assert_eq!(kinds(&shown), expected);
    assert_eq!(finished.unreadable.len(), 1);
}

#[test]
fn a_signature_belongs_to_the_last_thoughts_whenever_it_comes() {
    let (finished, _) = put_together(vec![
        Piece::Thinking("Hm".to_owned()),
        Piece::ThinkingSignature("first".to_owned()),
        Piece::Text("Yes.".to_owned()),
        Piece::ThinkingSignature("all of it".to_owned()),
        ended(StopReason::Stop),
    ]);
    assert_eq!(
        serde_json::to_value(&finished.message.content).unwrap(),
        json!([
            {"type": "thinking", "thinking": "Hm", "thinkingSignature": "all of it"},
            {"type": "text", "text": "Yes."},
        ])
    );
}

#[test]
fn calls_may_be_written_in_turns_and_numbers_may_repeat() {
    let mut pieces = call(0, "a", &["{\"x\":"]);
    pieces.extend(call(1, "b", &["{\"y\":"]));
    pieces.push(Piece::Arguments { index: 0, json: "1}".to_owned() });
    pieces.push(Piece::Arguments { index: 1, json: "2}".to_owned() });
    pieces.push(Piece::Arguments { index: 9, json: "lost".to_owned() });
    pieces.extend(call(0, "c", &["{\"z\":3}"]));
    pieces.push(ended(StopReason::Stop));
    let (finished, _) = put_together(pieces);
    let arguments: Vec<Value> = finished
        .message
        .content
        .iter()
        .map(|part| match part {
            Content::ToolCall { arguments, .. } => json!(arguments),
            _ => Value::Null,
        })
        .collect();
    assert_eq!(arguments, [json!({"x": 1}), json!({"y": 2}), json!({"z": 3})]);
    assert_eq!(finished.message.stop_reason, StopReason::ToolUse, "it waits for the tools");
}

#[test]
fn arguments_that_cannot_be_read_are_told() {
    let mut pieces = call(0, "empty", &[]);
    pieces.extend(call(1, "broken", &["{\"path\": "]));
    pieces.extend(call(2, "list", &["[1]"]));
    pieces.push(ended(StopReason::ToolUse));
    let (finished, _) = put_together(pieces);
    let names: Vec<&str> = finished.unreadable.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(names, ["broken", "list"]);
}

#[test]
fn an_answer_without_an_end_is_a_failure_that_keeps_what_was_said() {
    let (finished, _) = put_together(vec![Piece::Text("half".to_owned())]);
    assert_eq!(finished.message.stop_reason, StopReason::Error);
    assert_eq!(finished.message.text(), "half");
}
