//! Conversations that grow too long.

use std::fs;

use serde_json::{Value, json};
use test_support::{Ran, Running};

use super::bash;
use super::harness::{ANSWER, Api, Asked, Builtin, CALLS, CLOSING, OPENING};

const TASK: &str = "Read the long file, and mind the gap.";
/// Part of the result that must not be sent again.
const NEEDLE: &str = "needle-in-the-result";

const READ: &[&str] =
    &["read runs", "read finished", "toolResult starts", "toolResult ends", "turn ends, 1 results"];
const REFUSED: &[&str] =
    &["assistant starts", "assistant ends: error", "turn ends", "agent ends, will retry"];

/// A turn that reads the long file, after which the window is nearly full.
fn read() -> Value {
    json!({"tools": [{"name": "read", "args": {"path": "long"}}], "usage": {"input": 900, "output": 9}})
}

/// The provider's words for a conversation that is too long.
fn too_long() -> Value {
    json!({"error": 400, "error_message": "prompt is too long: 210000 tokens > 200000 maximum"})
}

/// A world with a small window, and a file that does not fit into it.
fn small(api: Api, turns: &Value) -> Builtin {
    let builtin = Builtin::new(api, turns);
    builtin.models(&json!({}), &json!({"contextWindow": 10_000}));
    with_long_file(builtin)
}

fn with_long_file(builtin: Builtin) -> Builtin {
    builtin.project_file("long", &format!("{NEEDLE} and more of it\n").repeat(1000));
    builtin
}

/// Checks a request for a summary.
#[track_caller]
fn assert_asks_for_summary(asked: &Value) {
    let request = Asked(asked);
    assert!(request.system().starts_with("You summarise conversations"), "{asked:#}");
    assert_eq!(request.tools(), Vec::<String>::new());
    let conversation = request.conversation();
    assert_eq!(conversation.len(), 1, "{conversation:#?}");
    let words = &conversation[0].1;
    assert!(words.contains(&format!("[User]: {TASK}")), "{words}");
    assert!(words.contains("read {\"path\":\"long\"}") && words.contains(NEEDLE), "{words}");
}

/// Checks a request that goes on from a summary.
#[track_caller]
fn assert_goes_on(asked: &Value, summary: &str) {
    let request = Asked(asked);
    let conversation = request.conversation();
    let (role, words) = &conversation[0];
    assert_eq!(role, "user");
    assert!(words.contains("The task, in the user's own words:"), "{words}");
    assert!(words.contains(TASK) && words.contains(summary), "{words}");
    assert!(!asked.to_string().contains(NEEDLE), "the old result is still there");
    assert!(request.tools().contains(&"read".to_owned()));
}

#[test]
fn a_conversation_is_compacted_before_it_is_too_long() {
    let turns = json!([read(), {"text": "## Goal\nMind it."}, {"text": "The gap is minded."}]);
    for api in Api::ALL {
        let builtin = small(api, &turns);
        let heard = builtin.ask(&[TASK]);
        let compacted = ["compaction starts: threshold", "compaction succeeded", "turn start"];
        heard.assert_story(0, &[OPENING, CALLS, READ, &compacted, ANSWER, CLOSING]);
        let end = &heard.of("compaction_end")[0];
        assert_eq!((&end["reason"], &end["willRetry"]), (&json!("threshold"), &json!(false)));
        let (before, after) =
            (&end["result"]["tokensBefore"], &end["result"]["estimatedTokensAfter"]);
        assert!(before.as_u64() > Some(7500) && after.as_u64() < Some(1000), "{end:#}");
        let asked = builtin.asked();
        assert_eq!(asked.len(), 3);
        assert!(asked[0]["tools"].is_array());
        assert_asks_for_summary(&asked[1]);
        assert_goes_on(&asked[2], "Mind it.");
        assert_eq!(heard.answer()["content"][0]["text"], "The gap is minded.");
    }
}

#[test]
fn what_was_said_last_is_kept_as_it_is() {
    let turns = json!([
        read(),
        {"text": "a short summary"},
        bash("echo recent words"),
        {"text": "done"},
    ]);
    for api in Api::ALL {
        let builtin = small(api, &turns);
        let heard = builtin.ask(&[TASK]);
        assert_eq!(heard.code, Some(0), "{heard:#?}");
        let asked = builtin.asked();
        assert_eq!(Asked(&asked[3]).roles(), ["user", "assistant", "tool"]);
        assert_eq!(Asked(&asked[3]).conversation()[2].1, "recent words\n");
        assert_goes_on(&asked[3], "a short summary");
    }
}

#[test]
fn a_conversation_that_the_provider_refuses_for_its_length_is_compacted() {
    let turns = json!([read(), too_long(), {"text": "Mind it."}, {"text": "Minded."}]);
    for api in Api::ALL {
        let builtin = with_long_file(Builtin::new(api, &turns));
        let heard = builtin.ask(&[TASK]);
        let compacted =
            ["compaction starts: overflow", "compaction succeeded", "agent start", "turn start"];
        let story = [CALLS, READ, &["turn start"], REFUSED, &compacted].concat();
        heard.assert_story(0, &[OPENING, &story, ANSWER, CLOSING]);
        assert_eq!(heard.of("compaction_end")[0]["willRetry"], true);
        let asked = builtin.asked();
        assert_eq!(asked.len(), 4);
        assert_asks_for_summary(&asked[2]);
        assert_goes_on(&asked[3], "Mind it.");
    }
}

#[test]
fn a_script_can_be_too_long_as_well() {
    let turns = json!([
        read(),
        {"too_long": true, "times": 1, "text": "Mind it."},
        {"text": "Minded."},
    ]);
    let builtin = with_long_file(Builtin::script(&turns));
    let heard = builtin.ask(&[TASK]);
    let compacted =
        ["compaction starts: overflow", "compaction succeeded", "agent start", "turn start"];
    let story = [CALLS, READ, &["turn start"], REFUSED, &compacted].concat();
    heard.assert_story(0, &[OPENING, &story, ANSWER, CLOSING]);
    let summary = heard.of("compaction_end")[0]["result"]["summary"].as_str().unwrap().to_owned();
    assert!(summary.contains(TASK) && summary.ends_with("Mind it."), "{summary}");
}

#[test]
fn a_conversation_that_stays_too_long_is_given_up() {
    let turns = json!([read(), too_long(), {"text": "Mind it."}, too_long(), {"text": "?"}]);
    for api in Api::ALL {
        let builtin = with_long_file(Builtin::new(api, &turns));
        let heard = builtin.ask(&[TASK]);
        let compacted =
            ["compaction starts: overflow", "compaction succeeded", "agent start", "turn start"];
        let refused = ["assistant starts", "assistant ends: error", "turn ends"];
        let story = [CALLS, READ, &["turn start"], REFUSED, &compacted, &refused].concat();
        heard.assert_story(0, &[OPENING, &story, CLOSING]);
        assert_eq!(builtin.asked().len(), 4);
        let words = heard.answer()["errorMessage"].as_str().unwrap().to_owned();
        assert!(words.contains("prompt is too long"), "{words}");
    }
}

#[test]
fn a_summary_that_fails_costs_nothing_but_the_summary() {
    let turns = json!([read(), {"error": 400, "error_message": "not now"}, {"text": "done"}]);
    for api in Api::ALL {
        let builtin = small(api, &turns);
        let heard = builtin.ask(&[TASK]);
        let compacted = ["compaction starts: threshold", "compaction failed", "turn start"];
        heard.assert_story(0, &[OPENING, CALLS, READ, &compacted, ANSWER, CLOSING]);
        let end = &heard.of("compaction_end")[0];
        assert!(end["errorMessage"].as_str().unwrap().contains("not now"), "{end}");
        assert!(builtin.asked()[2].to_string().contains(NEEDLE), "something is lost");
    }
}

#[test]
fn a_conversation_that_must_be_compacted_and_cannot_ends_with_an_error() {
    let summaries = [
        json!({"error": 400, "error_message": "not now"}),
        json!({"text": ""}),
        json!({"text": "half a", "finish": "length"}),
    ];
    for summary in summaries {
        for api in Api::ALL {
            let builtin = with_long_file(Builtin::new(api, &json!([read(), too_long(), summary])));
            let heard = builtin.ask(&[TASK]);
            let compacted = ["compaction starts: overflow", "compaction failed", "agent settled"];
            let story = [CALLS, READ, &["turn start"], REFUSED, &compacted].concat();
            heard.assert_story(0, &[OPENING, &story]);
            assert_eq!(builtin.asked().len(), 3);
            // Without the stream, the user gets a message.
            let turns = json!([read(), too_long(), summary]);
            let ran = with_long_file(Builtin::new(api, &turns)).text(&["agent", "-p", TASK]);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:#?}");
            assert!(ran.stderr.contains("prompt is too long"), "{ran:#?}");
        }
    }
}

#[test]
fn a_summary_is_asked_for_again_like_any_answer() {
    let turns = json!([
        read(), {"error": 500}, {"text": "a long summary that breaks off", "cut": true},
        {"text": "Mind it."}, {"text": "done"},
    ]);
    for api in Api::ALL {
        let builtin = small(api, &turns);
        let heard = builtin.ask(&[TASK]);
        let compacted = [
            "compaction starts: threshold",
            "summarization retry scheduled",
            "summarization retry attempt start",
            "summarization retry scheduled",
            "summarization retry attempt start",
            "summarization retry finished",
            "compaction succeeded",
            "turn start",
        ];
        heard.assert_story(0, &[OPENING, CALLS, READ, &compacted, ANSWER, CLOSING]);
        let asked = builtin.asked();
        assert_eq!((&asked[1], &asked[2]), (&asked[2], &asked[3]));
        assert_goes_on(&asked[4], "Mind it.");
    }
}

#[test]
fn a_conversation_can_be_compacted_again_and_again() {
    let turns = json!([
        read(), {"text": "the first summary"},
        read(), {"text": "the second summary"},
        read(), {"text": "the third summary"},
        {"text": "done"},
    ]);
    for api in Api::ALL {
        let builtin = small(api, &turns);
        let heard = builtin.ask(&[TASK]);
        let turn =
            [CALLS, READ, &["compaction starts: threshold", "compaction succeeded", "turn start"]];
        heard.assert_story(0, &[OPENING, &turn.concat().repeat(3), ANSWER, CLOSING]);
        let asked = builtin.asked();
        let words = &Asked(&asked[3]).conversation()[0].1;
        assert!(words.contains("<previous-summary>\nthe first summary\n"), "{words}");
        assert_goes_on(&asked[6], "the third summary");
        let words = &Asked(&asked[6]).conversation()[0].1;
        assert_eq!(words.matches(TASK).count(), 1, "{words}");
        assert!(!words.contains("second summary"), "{words}");
    }
}

#[test]
fn a_session_that_was_compacted_goes_on_from_its_summary() {
    let turns = json!([read(), {"text": "Mind it."}, {"text": "Minded."}, {"text": "Yes."}]);
    for api in Api::ALL {
        let builtin = small(api, &turns);
        let session = ["--session", "kept.jsonl"];
        assert_eq!(builtin.ask(&[&session[..], &[TASK]].concat()).code, Some(0));
        let heard = builtin.ask(&[&session[..], &["Are you sure?"]].concat());
        assert_eq!(heard.code, Some(0), "{heard:#?}");
        let asked = builtin.asked();
        assert_eq!(Asked(&asked[3]).roles(), ["user", "assistant", "user"]);
        assert_goes_on(&asked[3], "Mind it.");
        assert_eq!(Asked(&asked[3]).conversation()[2].1, "Are you sure?");
    }
}

#[test]
fn nobody_is_stopped_while_a_summary_is_written() {
    let starts = Api::ALL.into_iter().flat_map(|api| {
        // Together longer than the five seconds for which a child may be silent that seems to have
        // said its last word. One protocol has more events around the words.
        let chunk = if api == Api::Completions { 1 } else { 4 };
        let slow = json!({"text": "Mind", "chunk": chunk, "delay_ms": 1900});
        let threshold = small(api, &json!([read(), slow, {"text": "Minded."}]));
        let turns = json!([read(), too_long(), slow, {"text": "Minded."}]);
        [threshold, with_long_file(Builtin::new(api, &turns))]
    });
    // All at once: the time is the provider's.
    let running: Vec<(Builtin, Running)> = starts
        .map(|builtin| {
            let command = ["run", "--json", "--agent", "builtin", TASK];
            let running = Running::start(builtin.world.command(command));
            (builtin, running)
        })
        .collect();
    for (builtin, running) in running {
        let ran: Ran = running.finish();
        builtin.world.assert_nothing_left();
        let task = ran.task();
        assert_eq!((ran.code, &task["outcome"]), (Some(0), &json!("completed")), "{ran:#?}");
        assert_eq!((&task["output"], &task["agent"]), (&json!("Minded."), &json!("builtin")));
        let events = fs::read_to_string(ran.run_dir().join("events.jsonl")).unwrap();
        assert!(!events.contains("\"stopping\""), "{events}");
    }
}
