//! Providers that fail: what is retried, how often, and what the error says in the end.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::harness::{Api, Asked, Builtin, CLOSING, Heard, OPENING, text_of};

/// An answer that failed before its first word.
const ERROR: &[&str] = &["assistant starts", "assistant ends: error", "turn ends"];
/// An answer that failed in its middle.
const CUT: &[&str] =
    &["assistant starts", "assistant writes…", "assistant ends: error", "turn ends"];
/// An answer after a failure.
const RECOVERED: &[&str] = &[
    "agent start",
    "turn start",
    "assistant starts",
    "assistant writes…",
    "assistant ends: stop",
    "retry succeeded",
    "turn ends",
    "agent ends",
    "agent settled",
];

/// What comes between a failure and the next attempt.
fn retry(attempt: &'static str) -> Vec<&'static str> {
    vec!["agent ends, will retry", attempt]
}

/// The same, when the next attempt fails as well.
fn retry_in_vain(attempt: &'static str) -> Vec<&'static str> {
    [&retry(attempt)[..], &["agent start", "turn start"], ERROR].concat()
}

#[track_caller]
fn error_of(heard: &Heard) -> String {
    let answer = heard.answer();
    assert_eq!(answer["stopReason"], "error", "{answer:#}");
    answer["errorMessage"].as_str().unwrap().to_owned()
}

#[test]
fn a_request_that_is_refused_is_not_sent_again() {
    for status in [400, 401, 403, 404, 422] {
        for api in Api::ALL {
            let turns = json!([{"error": status, "error_message": "no such thing"}, {"text": "?"}]);
            let builtin = Builtin::new(api, &turns);
            let heard = builtin.ask(&["do it"]);
            heard.assert_story(0, &[OPENING, ERROR, CLOSING]);
            builtin.asked_once();
            let words = error_of(&heard);
            assert!(words.contains("no such thing"), "{words}");
            assert!(words.contains(&status.to_string()), "{words}");
            // As with pi, a reader of the stream finds it there.
            assert_eq!(heard.stderr, "");
        }
    }
}

#[test]
fn what_passes_is_asked_for_again() {
    for status in [429, 500, 502, 503, 529] {
        for api in Api::ALL {
            let turns = json!([{"error": status}, {"text": "here"}]);
            let builtin = Builtin::new(api, &turns);
            let heard = builtin.ask(&["do it"]);
            heard.assert_story(0, &[OPENING, ERROR, &retry("retry 1/3"), RECOVERED]);
            assert_eq!(heard.answer()["content"][0]["text"], "here");
            let asked = builtin.asked();
            assert_eq!(asked.len(), 2);
            assert_eq!(asked[0], asked[1], "the failure has become part of the conversation");
            let start = &heard.of("auto_retry_start")[0];
            assert!((1..=2).contains(&start["delayMs"].as_u64().unwrap()), "{start}");
            assert_eq!(start["errorMessage"], json!(error_of_first(&heard)));
            assert_eq!(
                heard.of("auto_retry_end")[0],
                json!({
                    "type": "auto_retry_end", "success": true, "attempt": 1,
                })
            );
        }
    }
}

fn error_of_first(heard: &Heard) -> String {
    heard.messages("assistant")[0]["errorMessage"].as_str().unwrap().to_owned()
}

#[test]
fn the_provider_says_how_long_to_wait() {
    for api in Api::ALL {
        for (headers, delays) in [
            (json!({"retry-after-ms": "40"}), 40..=50),
            (json!({"retry-after": "0"}), 0..=0),
            (json!({"retry-after": "1"}), 1000..=1250),
        ] {
            let turns = json!([{"error": 429, "headers": headers}, {"text": "here"}]);
            let builtin = Builtin::new(api, &turns);
            let heard = builtin.ask(&["do it"]);
            heard.assert_story(0, &[OPENING, ERROR, &retry("retry 1/3"), RECOVERED]);
            let delay = heard.of("auto_retry_start")[0]["delayMs"].as_u64().unwrap();
            assert!(delays.contains(&delay), "{delay} is not in {delays:?}");
        }
    }
}

#[test]
fn a_provider_that_wants_to_be_waited_for_too_long_is_given_up() {
    for api in Api::ALL {
        let turns = json!([{"error": 429, "retry_after": 3600}, {"text": "?"}]);
        let builtin = Builtin::new(api, &turns);
        let heard = builtin.ask(&["do it"]);
        heard.assert_story(0, &[OPENING, ERROR, CLOSING]);
        builtin.asked_once();
        // Where a longer wait is allowed, it is waited for; longer than this test waits.
        let turns = json!([{"error": 429, "headers": {"retry-after-ms": "30"}}, {"text": "?"}]);
        let builtin = Builtin::new(api, &turns);
        builtin.settings(&json!({"retry": {"provider": {"maxRetryDelayMs": 29}}}));
        let heard = builtin.ask(&["do it"]);
        heard.assert_story(0, &[OPENING, ERROR, CLOSING]);
    }
}

#[test]
fn a_provider_that_always_fails_is_given_up() {
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!(vec![json!({"error": 500}); 9]));
        builtin.settings(&json!({"retry": {"baseDelayMs": 1, "maxRetries": 2}}));
        let heard = builtin.ask(&["do it"]);
        let vain = [retry_in_vain("retry 1/2"), retry_in_vain("retry 2/2")].concat();
        let end = ["agent ends", "retry failed", "agent settled"];
        heard.assert_story(0, &[OPENING, ERROR, &vain, &end]);
        assert_eq!(builtin.asked().len(), 3);
        let delays: Vec<u64> =
            heard.of("auto_retry_start").iter().map(|it| it["delayMs"].as_u64().unwrap()).collect();
        assert!(delays[0] <= 2 && (2..=3).contains(&delays[1]), "{delays:?}");
        let end = &heard.of("auto_retry_end")[0];
        assert_eq!((&end["attempt"], &end["finalError"]), (&json!(2), &json!(error_of(&heard))));
    }
}

#[test]
fn asking_again_can_be_switched_off() {
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!([{"error": 500}, {"text": "?"}]));
        builtin.settings(&json!({"retry": {"enabled": false}}));
        builtin.ask(&["do it"]).assert_story(0, &[OPENING, ERROR, CLOSING]);
        builtin.asked_once();
    }
}

#[test]
fn every_answer_of_a_conversation_may_fail_again() {
    let turns = json!([
        {"error": 500},
        {"tools": [{"name": "bash", "args": {"command": "echo hi"}}]},
        {"error": 503},
        {"error": 503},
        {"text": "It says {{result:0}}"},
    ]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        let heard = builtin.ask(&["do it"]);
        let tool = [
            "agent start",
            "turn start",
            "assistant starts",
            "assistant writes…",
            "assistant ends: toolUse",
            "retry succeeded",
            "bash runs",
            "bash runs…",
            "bash finished",
            "toolResult starts",
            "toolResult ends",
            "turn ends, 1 results",
            "turn start",
        ];
        let second = [ERROR, &retry_in_vain("retry 1/3"), &retry("retry 2/3")].concat();
        heard.assert_story(0, &[OPENING, ERROR, &retry("retry 1/3"), &tool, &second, RECOVERED]);
        assert_eq!(Asked(&builtin.asked()[4]).roles(), ["user", "assistant", "tool"]);
    }
}

#[test]
fn an_answer_that_breaks_off_is_asked_for_again() {
    let words = "a long answer, of which only the first half arrives";
    for broken in [json!({"cut": true, "text": words}), json!({"unfinished": true, "text": words})]
    {
        for api in Api::ALL {
            let builtin = Builtin::new(api, &json!([broken, {"text": "here"}]));
            let heard = builtin.ask(&["do it"]);
            heard.assert_story(0, &[OPENING, CUT, &retry("retry 1/3"), RECOVERED]);
            let asked = builtin.asked();
            assert_eq!(asked[0], asked[1], "half an answer has become part of the conversation");
            let content = &heard.answer()["content"];
            assert_eq!((&content[0]["text"], &content[1]), (&json!("here"), &Value::Null));
        }
    }
}

#[test]
fn a_call_that_breaks_off_is_not_executed() {
    let call = json!({"name": "bash", "args": {"command": "touch made; echo a long command"}});
    let turns = json!([{"cut": true, "tools": [call]}, {"text": "here"}]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        let heard = builtin.ask(&["do it"]);
        heard.assert_story(0, &[OPENING, CUT, &retry("retry 1/3"), RECOVERED]);
        assert!(!builtin.project("made").exists(), "half a call was executed");
    }
}

#[test]
fn nonsense_in_the_middle_of_an_answer_is_asked_for_again() {
    // One protocol names its events, the others ignore names.
    let garbage = "event: content_block_start\ndata: {nonsense\n\n";
    for api in Api::ALL {
        let turns = json!([{"garbage": garbage, "text": "x"}, {"text": "here"}]);
        let heard = Builtin::new(api, &turns).ask(&["do it"]);
        // The first record of Gemini has an empty text.
        let failed = if api == Api::Gemini { CUT } else { ERROR };
        heard.assert_story(0, &[OPENING, failed, &retry("retry 1/3"), RECOVERED]);
        let words = error_of_first(&heard);
        assert!(words.contains("nonsense"), "{words}");
    }
}

#[test]
fn a_web_page_is_no_answer_and_will_not_be_one() {
    let page = "<html><body>Sign in to the network</body></html>";
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!([{"page": page}, {"text": "?"}]));
        let heard = builtin.ask(&["do it"]);
        heard.assert_story(0, &[OPENING, ERROR, CLOSING]);
        let words = error_of(&heard);
        assert!(words.contains("a web page") && words.contains("Sign in"), "{words}");
        builtin.asked_once();
    }
}

#[test]
fn a_provider_that_falls_silent_is_asked_again() {
    let silent = [json!({"hang": true}), json!({"text": "I was about to", "stall": true})];
    let cases = silent.iter().zip([ERROR, CUT]);
    let cases = cases.flat_map(|(turn, story)| Api::ALL.map(|api| (turn, story, api)));
    // All at once, with a limit that a busy machine does not exceed.
    let running: Vec<_> = cases
        .map(|(turn, story, api)| {
            let builtin = Builtin::new(api, &json!([turn, {"text": "here"}]));
            builtin.settings(&json!({"httpIdleTimeoutMs": 1500, "retry": {"baseDelayMs": 1}}));
            let live = builtin.start(&["do it"]);
            (builtin, live, story)
        })
        .collect();
    for (builtin, live, story) in running {
        let heard = live.finish();
        builtin.world.assert_nothing_left();
        heard.assert_story(0, &[OPENING, story, &retry("retry 1/3"), RECOVERED]);
        let words = error_of_first(&heard);
        assert!(words.contains("was silent for 1.5 s"), "{words}");
    }
}

#[test]
fn a_provider_that_is_slow_is_awaited_as_long_as_it_goes_on() {
    let turn = json!({"text": "slow but sure", "chunk": 1, "delay_ms": 250});
    let running = Api::ALL.map(|api| {
        let builtin = Builtin::new(api, &json!([turn]));
        // Less than the whole answer takes, and more than a piece of it does on a busy machine.
        builtin.settings(&json!({"httpIdleTimeoutMs": 3000}));
        let live = builtin.start(&["do it"]);
        (builtin, live)
    });
    for (builtin, live) in running {
        let heard = live.finish();
        assert_eq!(heard.code, Some(0), "{heard:#?}");
        assert_eq!(text_of(&heard.answer()), "slow but sure");
        assert_eq!(builtin.asked().len(), 1, "it was not asked again");
    }
}

#[test]
fn a_provider_that_is_not_there_is_named() {
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!([]));
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        builtin.models(&json!({"baseUrl": format!("http://{address}")}), &json!({}));
        builtin.settings(&json!({"retry": {"baseDelayMs": 1, "maxRetries": 1}}));
        let heard = builtin.ask(&["do it"]);
        let end = ["agent ends", "retry failed", "agent settled"];
        heard.assert_story(0, &[OPENING, ERROR, &retry_in_vain("retry 1/1"), &end]);
        let words = error_of(&heard);
        assert!(words.contains(&address.to_string()), "{words}");
        assert!(words.to_lowercase().contains("connection refused"), "{words}");
    }
}

#[test]
fn errors_of_a_script_are_like_those_of_a_provider() {
    let turns = json!([{"error": "overloaded", "times": 2, "text": "here"}]);
    let heard = Builtin::script(&turns).ask(&["do it"]);
    let again = [retry_in_vain("retry 1/3"), retry("retry 2/3")].concat();
    heard.assert_story(0, &[OPENING, ERROR, &again, RECOVERED]);
    let script = Builtin::script(&json!([{"error": "no such thing"}]));
    let heard = script.ask(&["do it"]);
    heard.assert_story(0, &[OPENING, ERROR, CLOSING]);
    assert_eq!(error_of(&heard), "no such thing");
}
