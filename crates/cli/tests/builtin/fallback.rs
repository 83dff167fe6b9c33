//! Models that fail for good, and those that continue in their place.

use std::fs;

use serde_json::{Value, json};
use test_support::write_file;

use super::bash;
use super::harness::{
    ANSWER, Api, Asked, Builtin, CALLS, CLOSING, Heard, KEY, NEXT_TURN, OPENING, RESULT,
};

/// An answer that failed before its first word.
const ERROR: &[&str] = &["assistant starts", "assistant ends: error", "turn ends"];
/// What comes between a failure and the first request to the next model.
const FALLBACK: &[&str] =
    &["agent ends, will retry", "model fallback", "agent start", "turn start"];
/// The same, when the model was asked more than once.
const FALLBACK_AFTER_RETRIES: &[&str] =
    &["agent ends, will retry", "retry failed", "model fallback", "agent start", "turn start"];
/// What comes between a failure and the next request to the same model.
const RETRY: &[&str] = &["agent ends, will retry", "retry 1/1", "agent start", "turn start"];

/// A provider that has three models, and is never asked twice for the same answer.
fn without_retries(api: Api, turns: &Value) -> Builtin {
    let builtin = Builtin::new(api, turns);
    let model = |id: &str| json!({"id": id, "contextWindow": 1_000_000});
    let models: Vec<Value> = ["fake-1", "fake-2", "fake-3"].map(model).into();
    builtin.models(&json!({"models": models}), &json!({}));
    builtin.settings(&json!({"retry": {"enabled": false}}));
    builtin
}

/// From which model to which the agent went.
fn steps(heard: &Heard) -> Vec<(String, String)> {
    let word = |record: &Value, key: &str| record[key].as_str().unwrap().to_owned();
    let records = heard.of("model_fallback");
    records.iter().map(|record| (word(record, "from"), word(record, "to"))).collect()
}

#[test]
fn the_next_model_continues_the_same_conversation() {
    for (status, words) in [(529, "overloaded"), (429, "slow down"), (400, "overloaded_error")] {
        for api in Api::ALL {
            let turns = json!([{"error": status, "error_message": words}, {"text": "here"}]);
            let builtin = without_retries(api, &turns);
            let heard = builtin.ask(&["--fallback-model", "fake/fake-2", "do it"]);
            heard.assert_story(0, &[OPENING, ERROR, FALLBACK, ANSWER, CLOSING]);
            assert_eq!(heard.answer()["content"][0]["text"], "here");
            assert_eq!(builtin.models_asked(), ["fake-1", "fake-2"]);
            let asked = builtin.asked();
            assert_eq!(
                Asked(&asked[0]).messages(),
                Asked(&asked[1]).messages(),
                "the failure was kept"
            );
            let record = &heard.of("model_fallback")[0];
            assert_eq!(
                (&record["from"], &record["to"]),
                (&json!("fake/fake-1"), &json!("fake/fake-2"))
            );
            assert!(record["reason"].as_str().unwrap().contains(words), "{record}");
            assert_eq!(heard.stderr, "");
        }
    }
}

#[test]
fn a_model_is_given_up_only_when_its_retries_are_used_up() {
    for api in Api::ALL {
        let turns = json!([{"error": 529}, {"error": 529}, {"error": 529}, {"text": "here"}]);
        let builtin = without_retries(api, &turns);
        builtin.settings(&json!({"retry": {"baseDelayMs": 1, "maxRetries": 1}}));
        let heard = builtin.ask(&["--fallback-model", "fake/fake-2", "do it"]);
        let recovered = [
            "assistant starts",
            "assistant writes…",
            "assistant ends: stop",
            "retry succeeded",
            "turn ends",
        ];
        let story = [
            OPENING,
            ERROR,
            RETRY,
            ERROR,
            FALLBACK_AFTER_RETRIES,
            ERROR,
            RETRY,
            &recovered,
            CLOSING,
        ];
        heard.assert_story(0, &story);
        // The next model has all of its own retries.
        assert_eq!(builtin.models_asked(), ["fake-1", "fake-1", "fake-2", "fake-2"]);
    }
}

#[test]
fn the_error_of_the_last_model_ends_the_task() {
    let turns = json!([
        {"error": 400, "error_message": "first"},
        {"error": 400, "error_message": "second"},
        {"error": 400, "error_message": "third"},
        {"text": "?"},
    ]);
    for api in Api::ALL {
        let builtin = without_retries(api, &turns);
        // A model that is named twice is asked once.
        let others = ["fake/fake-1", "fake/fake-2", "fake/fake-2", "fake/fake-3"];
        let flags = others.iter().flat_map(|name| ["--fallback-model", name]);
        let heard = builtin.ask(&flags.chain(["do it"]).collect::<Vec<_>>());
        heard.assert_story(0, &[OPENING, ERROR, FALLBACK, ERROR, FALLBACK, ERROR, CLOSING]);
        assert_eq!(builtin.models_asked(), ["fake-1", "fake-2", "fake-3"]);
        let error = heard.answer()["errorMessage"].as_str().unwrap().to_owned();
        assert!(error.contains("third"), "{error}");
    }
}

#[test]
fn tools_that_have_run_stay_done_whatever_protocol_comes_next() {
    let turns =
        json!([bash("echo once | tee -a made"), {"error": 400}, {"text": "It says {{result:0}}"}]);
    let pairs = Api::ALL.into_iter().flat_map(|first| Api::ALL.map(|next| (first, next)));
    for (first, next) in pairs.filter(|(first, next)| first != next) {
        let builtin = Builtin::new(first, &turns);
        let provider = |api: Api| {
            let base_url = api.base_url(&builtin.llm);
            json!({"baseUrl": base_url, "api": api.name(), "apiKey": KEY, "models": [{"id": "m"}]})
        };
        let providers: Value =
            Api::ALL.map(|api| (api.name(), provider(api))).into_iter().collect();
        builtin.agent_file("models.json", &json!({"providers": providers}).to_string());
        let (first, next) = (first.name(), next.name());
        let (model, other) = (format!("{first}/m"), format!("{next}/m"));
        let heard = builtin.ask(&["--model", &model, "--fallback-model", &other, "do it"]);
        let tool: &[&str] = &["bash runs", "bash runs…", "bash finished"];
        let story = [OPENING, CALLS, tool, RESULT, NEXT_TURN, ERROR, FALLBACK, ANSWER, CLOSING];
        heard.assert_story(0, &story);
        assert_eq!(steps(&heard), [(model, other)]);
        assert_eq!(builtin.read("made"), "once\n");
        assert_eq!(heard.answer()["content"][0]["text"], "It says once\n");
        assert_eq!(heard.answer()["provider"], next);
        let asked = builtin.asked();
        assert_eq!(Asked(&asked[2]).roles(), ["user", "assistant", "tool"]);
    }
}

#[test]
fn a_model_that_cannot_be_used_is_left_out() {
    let builtin = without_retries(Api::Completions, &json!([{"error": 400}, {"text": "here"}]));
    let others = ["--fallback-model", "nowhere/x", "--fallback-model", "fake/fake-2"];
    let heard = builtin.ask(&[&others[..], &["do it"]].concat());
    heard.assert_story(0, &[OPENING, ERROR, FALLBACK, ANSWER, CLOSING]);
    assert_eq!(builtin.models_asked(), ["fake-1", "fake-2"]);
    assert!(heard.stderr.contains("the fallback model \"nowhere/x\" is left out"), "{heard:?}");
    // Who types a wrong name is told before anything starts.
    let ran = builtin.run(&["--fallback-model", "nowhere/x", "do it"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.stderr.contains("nowhere"), "{ran:#?}");
    assert_eq!(builtin.asked().len(), 2);
}

#[test]
fn a_key_without_a_provider_stays_with_the_first_model() {
    const PROFILE_KEY: &str = "sk-secret-0123456789abcdef";
    let builtin = Builtin::new(Api::Completions, &json!([{"error": 400}, {"text": "here"}]));
    let provider = json!({
        "baseUrl": builtin.llm.base_url(), "api": builtin.api.name(), "apiKey": KEY,
        "models": [{"id": "m"}],
    });
    let models = json!({"providers": {"own": provider, "other": provider}});
    builtin.agent_file("models.json", &models.to_string());
    let profile = format!(
        "---\nname: keyed\nmodel: own/m\nfallbackModels: [other/m]\napiKey: {PROFILE_KEY}\n---\n"
    );
    builtin.agent_file("agent-profiles/keyed.md", &profile);
    let ran = builtin.run(&["--profile", "keyed", "do it"]);
    assert_eq!(ran.task()["outcome"], "completed", "{ran:#?}");
    assert_eq!(builtin.keys_seen(), [PROFILE_KEY, KEY]);
}

#[test]
fn profiles_presets_and_options_name_the_models_and_the_run_tells_of_them() {
    let fields = "model: fake/fake-1\nfallbackModels: [fake/fake-2]";
    let profile = format!("---\nname: p\n{fields}\n---\n");
    let preset = format!("---\nname: s\ndescription: D.\n{fields}\n---\nBe brief.\n");
    for (arguments, next) in [
        (&["--profile", "p"][..], "fake-2"),
        (&["--preset", "s"], "fake-2"),
        (&["--fallback-model", "fake/fake-3"], "fake-3"),
        (&["--profile", "p", "--fallback-model", "fake/fake-3"], "fake-3"),
    ] {
        let turns = json!([{"error": 400, "error_message": "no such thing"}, {"text": "here"}]);
        let builtin = without_retries(Api::Completions, &turns);
        builtin.agent_file("agent-profiles/p.md", &profile);
        builtin.agent_file("subagents/s.md", &preset);
        let ran = builtin.run(&[arguments, &["do it"]].concat());
        let task = ran.task();
        assert_eq!(
            (&task["outcome"], &task["output"]),
            (&json!("completed"), &json!("here")),
            "{ran:#?}"
        );
        assert_eq!(task["model"], next);
        assert_eq!(task["warnings"], json!([]));
        assert_eq!(builtin.models_asked(), ["fake-1", next]);
        let run_dir = ran.run_dir();
        let events = fs::read_to_string(run_dir.join("events.jsonl")).unwrap();
        let events: Vec<Value> =
            events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        let expected = [
            "run_started",
            "user_message",
            "assistant_message",
            "model_fallback",
            "assistant_message",
            "run_ended",
        ];
        assert_eq!(kinds, expected);
        let to = format!("fake/{next}");
        assert_eq!((&events[3]["from"], &events[3]["to"]), (&json!("fake/fake-1"), &json!(to)));
        let words = format!("fake/fake-1 failed, continuing with {to}: ");
        let session = task["sessionId"].as_str().unwrap();
        let shown = builtin.text(&["sessions", "show", session]);
        assert!(shown.stdout.contains(&words), "{shown:#?}");
    }
}

#[test]
fn a_script_of_an_untrusted_project_is_no_fallback() {
    let builtin = without_retries(Api::Completions, &json!([{"text": "here"}]));
    let profile = "---\nname: q\nmodel: fake/fake-1\nfallbackModels: [script/turns.json]\n---\n";
    write_file(&builtin.project(".pi/agent-profiles/q.md"), profile);
    let ran = builtin.run(&["--profile", "q", "do it"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.stderr.contains("sets \"fallbackModels\" to a script"), "{ran:#?}");
    assert!(builtin.asked().is_empty());
    // The user's own list takes the place of the project's.
    let ran = builtin.run(&["--profile", "q", "--fallback-model", "fake/fake-2", "do it"]);
    assert_eq!(ran.task()["outcome"], "completed", "{ran:#?}");
}
