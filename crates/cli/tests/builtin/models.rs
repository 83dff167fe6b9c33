//! Which model is asked, and what is said when none can be.

use serde_json::{Value, json};

use super::harness::{ANSWER, Api, Builtin, CLOSING, OPENING};

fn answering(api: Api) -> Builtin {
    Builtin::new(api, &json!(vec![json!({"text": "hi"}); 9]))
}

#[test]
fn the_model_can_be_named_in_many_ways() {
    for api in Api::ALL {
        let builtin = answering(api);
        for arguments in [
            &[][..],
            &["--model", "fake-1"],
            &["--model", "fake/fake-1"],
            &["--provider", "fake", "--model", "fake-1"],
            &["--provider", "fake"],
            &["--model", "fake/fake-1:off"],
        ] {
            let heard = builtin.ask(&[arguments, &["hello"]].concat());
            heard.assert_story(0, &[OPENING, ANSWER, CLOSING]);
            assert_eq!(heard.stderr, "", "{arguments:?}");
            let answer = heard.answer();
            assert_eq!((&answer["provider"], &answer["model"]), (&json!("fake"), &json!("fake-1")));
            assert_eq!(answer["api"], api.name());
            assert_eq!(builtin.models_asked().last().unwrap(), "fake-1");
        }
        let thinking = |request: &Value| match api {
            Api::Completions => request["reasoning_effort"].clone(),
            Api::Messages => request["thinking"]["budget_tokens"].clone(),
            Api::Responses => request["reasoning"]["effort"].clone(),
            Api::Gemini => request["generationConfig"]["thinkingConfig"].clone(),
        };
        let asked = builtin.asked();
        assert_ne!(thinking(&asked[5]), thinking(&asked[4]), "{:#}", asked[5]);
    }
}

#[test]
fn what_cannot_be_asked_is_explained_before_anything_is() {
    let builtin = answering(Api::Completions);
    let agent_dir = builtin.world.agent_dir();
    let (auth, models) = (agent_dir.join("auth.json"), agent_dir.join("models.json"));
    let (auth, models) = (auth.display(), models.display());
    let cases = [
        (&["--model", "fake/fake-2"][..], "Unknown model \"fake/fake-2\".".to_owned()),
        (&["--model", "fake/fake-2"], format!("{models} has for \"fake\": fake-1")),
        (
            &["--model", "no-such-model-at-all"],
            "Unknown model \"no-such-model-at-all\".".to_owned(),
        ),
        (&["--provider", "fakee"], "No provider \"fakee\". Did you mean \"fake\"?".to_owned()),
        (&["--provider", "fakee"], format!("Others can be added to {models}")),
        (
            &["--provider", "anthropic"],
            format!(
                "No API key for provider \"anthropic\": set ANTHROPIC_API_KEY, or put one into \
                 {auth} as {{\"anthropic\": {{\"type\": \"api_key\", \"key\": \"…\"}}}}"
            ),
        ),
        (
            &["--provider", "amazon-bedrock"],
            "cannot ask the provider \"amazon-bedrock\": Bedrock signs every request".to_owned(),
        ),
        (&["--thinking", "much"], "\"much\" is no level of thinking".to_owned()),
        (
            &["--model", "script/missing.json"],
            "the script \"missing.json\" cannot be played".to_owned(),
        ),
        (&["--provider", "script"], "--model script/PATH".to_owned()),
    ];
    for (arguments, words) in cases {
        let heard = builtin.ask(&[arguments, &["hello"]].concat());
        assert_eq!((heard.code, heard.records.len()), (Some(2), 0), "{arguments:?}: {heard:#?}");
        assert!(heard.stderr.starts_with("error: "), "{heard:#?}");
        assert!(heard.stderr.contains(&words), "{arguments:?}: {}", heard.stderr);
    }
    assert_eq!(builtin.asked().len(), 0);
}

#[test]
fn without_any_configuration_it_says_what_to_set_and_where() {
    let builtin = answering(Api::Completions);
    std::fs::remove_file(builtin.world.agent_dir().join("models.json")).unwrap();
    std::fs::remove_file(builtin.world.agent_dir().join("settings.json")).unwrap();
    let heard = builtin.ask(&["hello"]);
    assert_eq!((heard.code, heard.records.len()), (Some(2), 0), "{heard:#?}");
    let path = |name: &str| builtin.world.agent_dir().join(name).display().to_string();
    assert_eq!(
        heard.stderr,
        format!(
            "error: No model can be asked, because there is no API key for any provider. Set a \
             variable such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or put a key into {}, or a \
             server of your own into {}. To try it without a key, play a script: --model script/FILE\n",
            path("auth.json"),
            path("models.json")
        )
    );
}

#[test]
fn broken_files_are_named_with_their_line() {
    let cases = [
        ("models.json", "{\n  \"providers\": {\n    nonsense\n", "models.json:3: it is not JSON"),
        ("models.json", "[]", "models.json: "),
        ("models.json", "{\"providers\": {\"fake\": {\"models\": 7}}}", "models"),
        ("auth.json", "{\"fake\": ", "auth.json:1: it is not JSON"),
    ];
    for (name, text, words) in cases {
        let builtin = answering(Api::Completions);
        builtin.agent_file(name, text);
        let heard = builtin.ask(&["hello"]);
        assert_eq!((heard.code, heard.records.len()), (Some(2), 0), "{text}: {heard:#?}");
        assert!(heard.stderr.contains(words), "{text}: {}", heard.stderr);
        assert_eq!(builtin.asked().len(), 0);
    }
    // A setting is a preference, and stays as it was.
    let builtin = answering(Api::Completions);
    builtin.agent_file("settings.json", "{nonsense");
    let heard = builtin.ask(&["--model", "fake-1", "hello"]);
    heard.assert_story(0, &[OPENING, ANSWER, CLOSING]);
    assert!(heard.stderr.contains("settings.json: it is not JSON"), "{}", heard.stderr);
}

#[test]
fn through_the_supervisor_the_same_words_are_the_error_of_the_task() {
    let builtin = answering(Api::Completions);
    // A single task is refused before it starts, with the same words.
    let refused = builtin.run(&["--model", "fake/fake-2", "do it"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused:#?}");
    assert!(refused.stderr.contains("Unknown model \"fake/fake-2\"."), "{refused:#?}");
    let tasks = json!([{"name": "a", "prompt": "do it", "model": "fake/fake-2"}]);
    let command = builtin.world.command(["delegate", "--json", "--agent", "builtin"]);
    let ran = builtin.world.feed(command, &tasks.to_string());
    let task = ran.task();
    assert_eq!((ran.code, &task["agent"]), (Some(1), &json!("builtin")), "{ran:#?}");
    let error = task["error"].as_str().unwrap();
    assert!(error.contains("Unknown model \"fake/fake-2\"."), "{error}");
    assert_eq!(builtin.asked().len(), 0);
}
