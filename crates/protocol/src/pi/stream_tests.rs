use process::LineBuffer;
use serde_json::json;

use super::recorded_tests::describe;
use super::*;

pub(super) fn read_whole(line: impl AsRef<[u8]>) -> Reading {
    bounded(read(Line::Whole(line.as_ref())))
}

/// What the supervisor keeps of a reading.
fn bounded(reading: Reading) -> Reading {
    let events = reading.events.into_iter().map(Event::bounded).collect();
    Reading { events, ..reading }
}

/// Reads a line that arrives little by little, as far as it is kept.
fn read_long(line: &str) -> Reading {
    let mut lines = LineBuffer::new(keep);
    for chunk in line.as_bytes().chunks(50_000) {
        lines.push(chunk);
        assert_eq!(lines.next_line(), None);
    }
    lines.push(b"\n");
    bounded(read(lines.next_line().unwrap()))
}

fn event_of(line: impl AsRef<[u8]>) -> Event {
    let line = line.as_ref();
    let mut events = read_whole(line).events;
    assert_eq!(events.len(), 1, "{}", String::from_utf8_lossy(line));
    events.remove(0)
}

/// The end of a message of the model; `fields` come after the role.
fn message_end(fields: &str) -> String {
    format!(r#"{{"type":"message_end","message":{{"role":"assistant"{fields}}}}}"#)
}

fn tool_end(result: &Value) -> String {
    json!({"type": "tool_execution_end", "toolCallId": "c1", "toolName": "ls", "result": result})
        .to_string()
}

/// A line that only says what the child is doing now.
fn busy(activity: Activity) -> Reading {
    Reading { activity: Some(activity), last_word: LastWord::NotYet, ..Reading::default() }
}

fn ended() -> Reading {
    Reading { last_word: LastWord::AgentEnded, ..Reading::default() }
}

fn unreadable_line(bytes: u64, text: &str) -> Reading {
    let event = Event::UnreadableLine { bytes, text: text.to_owned() };
    Reading { events: vec![event], ..Reading::default() }
}

#[test]
fn a_delta_tells_what_the_model_is_doing() {
    let long = format!(r#"{{"input":1,"notes":"{}"}}"#, "x".repeat(1500));
    let table = [
        (["text_start", "text_delta", "text_end"], Some(Activity::Writing)),
        (["thinking_start", "thinking_delta", "thinking_end"], Some(Activity::Thinking)),
        (["toolcall_start", "toolcall_delta", "toolcall_end"], Some(Activity::Calling)),
        (["start", "done", "error"], None),
    ];
    for (kind, activity) in table.iter().flat_map(|(kinds, it)| kinds.map(|kind| (kind, *it))) {
        let expected =
            Reading { activity, last_word: LastWord::NotYet, is_delta: true, ..Reading::default() };
        for usage in ["{}", &long] {
            let start = format!(
                r#"{{"type":"message_update","usage":{usage},"assistantMessageEvent":{{"type":"{kind}""#
            );
            let whole = format!(r#"{start},"contentIndex":0,"delta":"a \"text_delta\" b"}}}}"#);
            assert_eq!(read_whole(&whole), expected, "{kind}");
            let cut = Line::Cut { head: whole.as_bytes(), tail: b"x\"}}", bytes: 100_000 };
            assert_eq!(read(cut), expected, "{kind}");
            // Torn, or not JSON at all: it is not looked at.
            assert_eq!(read_whole(&start), expected, "{kind}");
            assert_eq!(read_whole([start.as_bytes(), b",\xff]]"].concat()), expected, "{kind}");
        }
    }
    let torn = read_whole(r#"{"type":"message_update","usage":{"#);
    assert!(torn.is_delta && torn.events.is_empty() && torn.activity.is_none());
}

#[test]
fn a_report_of_a_tool_is_a_delta_and_tool_activity() {
    let expected = Reading { is_tool_activity: true, is_delta: true, ..busy(Activity::Tool) };
    let start = r#"{"type":"tool_execution_update","toolCallId":"c1""#;
    assert_eq!(read_whole(format!("{start}}}")), expected);
    assert_eq!(read_whole(start), expected);
    assert_eq!(read(Line::Cut { head: start.as_bytes(), tail: b"", bytes: 100_000 }), expected);
}

#[test]
fn the_agent_has_ended_unless_it_will_retry() {
    let retrying = || busy(Activity::Retrying);
    for (line, expected) in [
        (r#"{"type":"agent_end","messages":[],"willRetry":true}"#, retrying()),
        (r#"{"type":"agent_end","messages":[],"willRetry":false}"#, ended()),
        (r#"{"type":"agent_end","willRetry":true,"messages":[]}"#, retrying()),
        (r#"{"type":"agent_end","willRetry":false,"messages":[]}"#, ended()),
        (r#"{"willRetry":true,"messages":[],"type":"agent_end"}"#, retrying()),
        (r#"{"type":"agent_end","messages":[], "willRetry" : true }"#, retrying()),
        (r#"{"type":"agent_end","messages":[]}"#, ended()),
        (r#"{"type":"agent_end"}"#, ended()),
        (r#"{"type":"agent_end","messages":[{"willRetry":true}]}"#, ended()),
        (r#"{"type":"agent_end","last":{"willRetry":true}}"#, ended()),
    ] {
        assert_eq!(read_whole(line), expected, "{line}");
    }
}

#[test]
fn the_end_of_a_long_agent_end_is_enough() {
    let head = br#"{"type":"agent_end","messages":["#;
    for (tail, expected) in [
        (r#"x"}],"willRetry":true}"#, busy(Activity::Retrying)),
        (r#"x"}],"willRetry":false}"#, ended()),
        (r#"x"}]}"#, ended()),
        ("", ended()),
    ] {
        let line = Line::Cut { head, tail: tail.as_bytes(), bytes: 1 << 30 };
        assert_eq!(read(line), expected, "{tail}");
    }
    // The middle is no JSON, but it is not kept.
    let line = format!(r#"{{"type":"agent_end",{},"willRetry":true}}"#, "x".repeat(1_000_000));
    assert_eq!(read_long(&line), busy(Activity::Retrying));
}

#[test]
fn records_may_be_written_in_unusual_ways() {
    let settled =
        Reading { activity: Some(Activity::Done), last_word: LastWord::Said, ..Reading::default() };
    for line in [
        r#"{"type":"agent_settled"}"#,
        r#" {"type":"agent_settled"}"#,
        r#"{ "type" : "agent_settled" }"#,
        r#"{"type":"agent_\u0073ettled"}"#,
        r#"{"extra":{"type":"agent_end"},"type":"agent_settled"}"#,
        "\t{\"type\":\n\"agent_settled\"}\r",
    ] {
        assert_eq!(read_whole(line), settled, "{line}");
    }
    for kind in ["agent_start", "turn_start", "message_start", "compaction_start"] {
        let line = format!(r#"{{"type":"{kind}"}}"#);
        assert_eq!(read_whole(line), busy(Activity::Waiting), "{kind}");
    }
    let line = r#"{ "message": {"content": "hi", "role": "user"}, "type": "message_end" }"#;
    assert_eq!(event_of(line), Event::UserMessage { text: "hi".to_owned() });
}

#[test]
fn blank_lines_and_records_that_carry_nothing_are_passed_over() {
    for line in [
        "",
        "\r",
        " \t  \r",
        r#"{"type":"session","version":3}"#,
        r#"{"type":"turn_end","message":{"role":"assistant"}}"#,
        r#"{"type":"auto_retry_end","success":true}"#,
        r#"{"type":"compaction_end","willRetry":true}"#,
        r#"{"type":"message_end","message":{"role":"system","content":"x"}}"#,
        r#"{"type":"message_end","message":{"role":"toolResult","content":5}}"#,
        r#"{"type":"message_end","message":{"content":"x","role":"custom"}}"#,
        r#"{"type":"teleported","to":"mars"}"#,
        r#"{"type":"teleported-home"}"#,
        r#"{"to":"mars","type":"télé"}"#,
        r#"{"type":""}"#,
    ] {
        assert_eq!(read_whole(line), Reading::default(), "{line}");
    }
    let head = br#"{"type":"message_end","message":{"role":"toolResult","content":"#;
    assert_eq!(read(Line::Cut { head, tail: b"", bytes: 1 << 30 }), Reading::default());
}

#[test]
fn lines_that_are_no_records_are_unreadable() {
    for line in [
        "123",
        "null",
        "true",
        r#""x""#,
        "[]",
        r#"[{"type":"agent_settled"}]"#,
        r#"["agent_settled"]"#,
        "{}",
        r#"{"type":5}"#,
        r#"{"type":null}"#,
        r#"{"kind":"agent_settled"}"#,
        "npm warn deprecated",
        r#"{"type":"agent_start"#,
        r#" {"type":"agent_start"} {"type":"agent_start"}"#,
        r#"{"type":"message_end","message":{"role":"user","content":"x"#,
        r#"{"type":"tool_execution_start","toolName":"ls"}"#,
        r#"{"type":"tool_execution_end","toolCallId":"c1"}"#,
        r#"{"type":"auto_retry_start","attempt":1"#,
        r#"{"type":"agent_end","messages":["#,
    ] {
        assert_eq!(read_whole(line), unreadable_line(line.len() as u64, line), "{line}");
    }
    assert_eq!(read_whole(b"a\xffb\xfe"), unreadable_line(4, "a\u{fffd}b\u{fffd}"));
}

#[test]
fn a_message_that_cannot_be_read_is_missed() {
    for line in [
        r#"{"type":"message_end"}"#,
        r#"{"type":"message_end","message":{"content":"x"}}"#,
        r#"{"type":"message_end","message":{"role":"assistant","content":"x"#,
        r#"{"message":{"role":"assistant","content":5},"type":"message_end"}"#,
    ] {
        let (bytes, text) = (line.len() as u64, line.to_owned());
        assert_eq!(event_of(line), Event::MessageLost { bytes, text }, "{line}");
    }
    let head = message_end(r#","content":"x""#);
    let cut = Line::Cut { head: head.as_bytes(), tail: b"x\"}}", bytes: 1 << 40 };
    let lost = Event::MessageLost { bytes: 1 << 40, text: head.clone() };
    assert_eq!(bounded(read(cut)).events, [lost]);
}

#[test]
fn one_bad_byte_costs_one_character() {
    let line =
        [message_end(r#","content":"caf"#).trim_end_matches('}').as_bytes(), b"\xe9\"}}"].concat();
    let Event::AssistantMessage { text, .. } = event_of(&line) else { panic!("a message") };
    assert_eq!(text, "caf\u{fffd}");
}

#[test]
fn only_the_beginning_of_a_long_unreadable_line_is_kept() {
    let (odd, binary) = (format!("x{}", "ż".repeat(5_000)), [0xff; 5_000]);
    assert_eq!(read_whole(&odd), unreadable_line(10_001, &odd[..Event::LINE_BYTES - 1]));
    assert_eq!(read_whole(binary), unreadable_line(5_000, &"\u{fffd}".repeat(1365)));
    let line = "x".repeat(10_000);
    let start = &line[..Event::LINE_BYTES];
    assert_eq!(read_whole(&line), unreadable_line(10_000, start));
    let cut = Line::Cut { head: line.as_bytes(), tail: b"x", bytes: 1 << 40 };
    assert_eq!(bounded(read(cut)), unreadable_line(1 << 40, start));
}

#[test]
fn a_message_brings_its_text_model_usage_and_error() {
    let usage = Usage {
        input: 1,
        output: 2,
        cache_read: 3,
        cache_write: 4,
        total_tokens: 10,
        cost: Some(Cost {
            input: 0.5,
            output: 0.25,
            cache_read: 0.125,
            cache_write: 1.0,
            total: 1.875,
        }),
    };
    let line = message_end(&format!(
        r#","content":"hi","model":"m","usage":{},"stopReason":"error","errorMessage":"why""#,
        r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0.5,"output":0.25,"cacheRead":0.125,"cacheWrite":1,"total":1.875}}"#
    ));
    let event = Event::AssistantMessage {
        text: "hi".to_owned(),
        model: Some("m".to_owned()),
        stop_reason: Some(StopReason::Error),
        error: Some("why".to_owned()),
        usage,
    };
    let last_word = LastWord::MessageEnded;
    assert_eq!(read_whole(line), Reading { events: vec![event], last_word, ..Reading::default() });
}

#[test]
fn what_later_versions_add_is_understood() {
    let settled = |fields: &str| read_whole(format!(r#"{{"type":"agent_settled"{fields}}}"#));
    for (fields, expected) in [
        ("", None),
        (r#","aborted":"yes""#, None),
        (r#","aborted":true"#, Some(model::Outcome::Cancelled)),
        // It takes the place of one before it.
        (r#","aborted":false"#, Some(model::Outcome::Completed)),
    ] {
        let reading = settled(fields);
        let outcome = reading.verdict.map(|verdict| verdict.outcome);
        assert_eq!((reading.last_word, outcome), (LastWord::Said, expected), "{fields}");
    }
    // Whether the provider has told the total, or pi has computed it, it is the total.
    for is_told in [true, false] {
        let line = message_end(&format!(
            r#","content":"hi","usage":{{"cost":{{"total":0.5,"totalFromProvider":{is_told}}}}}"#
        ));
        let Event::AssistantMessage { usage, .. } = event_of(line) else { panic!("{is_told}") };
        assert_eq!(usage.cost.map(|cost| cost.total), Some(0.5), "{is_told}");
    }
    let event = event_of(
        r#"{"type":"tool_execution_end","toolCallId":"c","toolName":"ls","isError":false,"durationMs":12,"result":{"content":[{"type":"text","text":"a"}]}}"#,
    );
    assert!(matches!(event, Event::ToolResult { text, .. } if text == "a"));
}

#[test]
fn the_text_of_a_message_is_found_in_every_kind_of_content() {
    for (content, text) in [
        ("", ""),
        (r#","content":null"#, ""),
        (r#","content":"""#, ""),
        (r#","content":"pl\u0061in \ud83e\udd80""#, "plain 🦀"),
        (r#","content":"a \ud83e b \udd80 \\ud83e""#, "a \u{fffd} b \u{fffd} \\ud83e"),
        (r#","content":[]"#, ""),
        (r#","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]"#, "one\ntwo"),
        (r#","content":[{"text":"one","type":"text"},{"type":"text"}]"#, "one"),
        (r#","content":[{"type":"text","text":null},{"type":"text","text":"two"}]"#, "two"),
        (
            r#","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"yes"},{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"toolCall","id":"c1","name":"ls","arguments":{"type":"text","text":"no"}},{"type":"other","text":"no"}]"#,
            "yes",
        ),
    ] {
        let Event::AssistantMessage { text: found, .. } = event_of(message_end(content)) else {
            panic!("{content}");
        };
        assert_eq!(found, text, "{content}");
        let user = message_end(content).replace("assistant", "user");
        assert_eq!(event_of(user), Event::UserMessage { text: text.to_owned() });
    }
}

#[test]
fn nonsense_about_usage_does_not_cost_the_message() {
    let none = Usage::default();
    let huge = Usage { input: u64::MAX, ..none };
    let quarter = Usage { cost: Some(Cost { total: 0.25, ..Cost::default() }), ..none };
    for (usage, expected) in [
        ("null", none),
        ("5", none),
        ("[1,2]", none),
        (r#""a lot""#, none),
        ("{}", none),
        (r#"{"input":-5,"output":"20","cacheRead":null,"cacheWrite":[]}"#, none),
        (r#"{"input":1.9}"#, Usage { input: 1, ..none }),
        (r#"{"input":18446744073709551615}"#, huge),
        (r#"{"input":99999999999999999999999999}"#, huge),
        (r#"{"input":1e308,"output":-1e308}"#, huge),
        (r#"{"cost":null}"#, none),
        (r#"{"cost":"free"}"#, none),
        (r#"{"cost":{"input":"0.1","output":null,"cacheRead":{},"total":0.25}}"#, quarter),
    ] {
        let line =
            message_end(&format!(r#","content":"kept","usage":{usage},"stopReason":"stop""#));
        let Event::AssistantMessage { text, usage: found, .. } = event_of(line) else {
            panic!("{usage}");
        };
        assert_eq!(text, "kept", "{usage}");
        assert_eq!(found, expected, "{usage}");
    }
}

#[test]
fn stop_reasons_have_one_word_each_and_only_known_ones_end_the_work() {
    for (words, last_word) in [
        ("stop end_turn endTurn stop_sequence", LastWord::MessageEnded),
        ("length max_tokens maxTokens max_output_tokens", LastWord::MessageEnded),
        ("error failed", LastWord::MessageEnded),
        ("aborted abort cancelled canceled", LastWord::MessageEnded),
        ("toolUse tool_use tool_calls", LastWord::NotYet),
        ("content_filter", LastWord::Unchanged),
        ("STOP", LastWord::Unchanged),
    ] {
        for word in words.split(' ') {
            let reading = read_whole(message_end(&format!(r#","stopReason":"{word}""#)));
            let [Event::AssistantMessage { stop_reason, .. }] = &reading.events[..] else {
                panic!("{word}");
            };
            assert_eq!(
                stop_reason.as_ref().map(StopReason::word),
                words.split(' ').next(),
                "{word}"
            );
            assert_eq!(reading.last_word, last_word, "{word}");
        }
    }
    for fields in ["", r#","stopReason":null"#] {
        let reading = read_whole(message_end(fields));
        assert!(matches!(reading.events[..], [Event::AssistantMessage { stop_reason: None, .. }]));
        assert_eq!(reading.last_word, LastWord::Unchanged);
    }
}

#[test]
fn a_call_keeps_its_arguments_as_they_were_written() {
    for (fields, args) in [
        (r#","args":{"z":1,"a":{"y":[null],"b":"ż"}}"#, r#"{"z":1,"a":{"y":[null],"b":"ż"}}"#),
        (r#","args":["x"]"#, r#"["x"]"#),
        (r#","args":null"#, "null"),
        ("", "null"),
    ] {
        let line = format!(
            r#"{{"type":"tool_execution_start","toolCallId":"c1","toolName":"mine"{fields}}}"#
        );
        let reading = read_whole(line);
        let [Event::ToolCall { id, tool, args: found }] = &reading.events[..] else {
            panic!("{fields}");
        };
        assert_eq!((id.as_str(), tool.as_str(), found.to_string().as_str()), ("c1", "mine", args));
        let expected = Reading { is_tool_activity: true, ..busy(Activity::Tool) };
        assert_eq!(Reading { events: Vec::new(), ..reading }, expected);
    }
}

#[test]
fn a_result_is_cut_between_characters() {
    const LIMIT: usize = Event::TOOL_RESULT_BYTES;
    for (text, kept) in [
        (String::new(), 0),
        ("x".repeat(LIMIT), LIMIT),
        ("x".repeat(LIMIT + 1), LIMIT),
        ("ż".repeat(LIMIT), LIMIT),
        (format!("x{}", "ż".repeat(LIMIT)), LIMIT - 1),
        (format!("{}🦀", "x".repeat(LIMIT - 3)), LIMIT - 3),
    ] {
        let reading = read_whole(tool_end(&json!({"content": [{"type": "text", "text": text}]})));
        let [Event::ToolResult { text: found, .. }] = &reading.events[..] else {
            panic!("{} bytes", text.len());
        };
        assert!(*found == text[..kept], "{} bytes of {}", found.len(), text.len());
        let expected = Reading { is_tool_activity: true, ..busy(Activity::Waiting) };
        assert_eq!(Reading { events: Vec::new(), ..reading }, expected);
    }
}

#[test]
fn a_result_says_whether_the_tool_has_more() {
    for (result, limit_reached) in [
        (json!({}), false),
        (json!({"details": null}), false),
        (json!({"details": {}}), false),
        (json!({"details": "two words"}), false),
        (json!({"details": [1, 2]}), false),
        (json!({"details": {"entryLimitReached": 0}}), false),
        (json!({"details": {"truncation": {"truncated": true}}}), false),
        (json!({"details": {"entryLimitReached": null, "resultLimitReached": false}}), false),
        (json!({"details": {"entryLimitReached": 500}}), true),
        (json!({"details": {"resultLimitReached": 1000}}), true),
        (json!({"details": {"entryLimitReached": null, "resultLimitReached": true}}), true),
    ] {
        let expected = if limit_reached { "ls ok \"\" and more" } else { "ls ok \"\"" };
        let found = describe(&event_of(tool_end(&result)));
        assert_eq!(found, format!("tool_result {expected}"), "{result}");
    }
}

#[test]
fn a_retry_may_leave_out_what_it_does_not_know() {
    let line = r#"{"type":"auto_retry_start"}"#;
    assert_eq!(describe(&event_of(line)), r#"retry 0/0 0ms """#);
    let reading = read_whole(line);
    assert_eq!(Reading { events: Vec::new(), ..reading }, busy(Activity::Retrying));
}

#[test]
fn long_lines_are_kept_whole_only_if_they_are_needed() {
    for (head, expected) in [
        (r#"{"type":"tool_execution_start","toolCallId""#, Keep::Whole),
        (r#"{"type":"tool_execution_end","toolCallId""#, Keep::Whole),
        (r#"{"type":"auto_retry_start","attempt""#, Keep::Whole),
        (r#"{"type":"message_end","message":{"role":"assistant","#, Keep::Whole),
        (r#"{"type":"message_end","message":{"role":"user","#, Keep::Whole),
        (r#"{"type":"message_end","message":{"content":""#, Keep::Whole),
        (r#"{"message":{"role":"toolResult","#, Keep::Whole),
        (" \t{\"type\":\"agent_end\"", Keep::Whole),
        (r#"{"type":"message_end","message":{"role":"toolResult","#, Keep::Ends),
        (r#"{"type":"message_end","message":{"role":"system","#, Keep::Ends),
        (r#"{"type":"message_start","message":{"role":"assistant","#, Keep::Ends),
        (r#"{"type":"message_update","usage":"#, Keep::Ends),
        (r#"{"type":"tool_execution_update","toolCallId""#, Keep::Ends),
        (r#"{"type":"turn_end","message":"#, Keep::Ends),
        (r#"{"type":"agent_end","messages":"#, Keep::Ends),
        (r#"{"type":"teleported","to":"#, Keep::Ends),
        ("[[[[", Keep::Ends),
        ("xxxx", Keep::Ends),
        ("\u{0}\u{0}", Keep::Ends),
        ("", Keep::Ends),
    ] {
        assert_eq!(keep(head.as_bytes()), expected, "{head}");
    }
}

#[test]
fn long_results_and_answers_arrive_whole() {
    let text = "x".repeat(1_000_000);
    let answer = message_end(&format!(r#","content":"{text}""#));
    for (line, kept) in [
        (tool_end(&json!({"content": text})), Some(Event::TOOL_RESULT_BYTES)),
        (answer.replace("assistant", "toolResult"), None),
        (answer, Some(text.len())),
    ] {
        let found = read_long(&line).events.pop().map(|event| match event {
            Event::ToolResult { text, .. } | Event::AssistantMessage { text, .. } => text.len(),
            other => panic!("{other:?}"),
        });
        assert_eq!(found, kept);
    }
}
