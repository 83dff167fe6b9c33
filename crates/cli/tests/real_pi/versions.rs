//! What the versions of pi differ in, as far as a task can tell.

use std::fs;

use serde_json::json;
use test_support::{Ran, is_newest_pi};

use crate::PiWorld;

#[test]
fn restricted_tools_start_none_of_the_servers_that_pi_connects_to() {
    let pi = PiWorld::new(&json!([{"text": "done"}]));
    let started = pi.world.path("started");
    let server = json!({"command": "/bin/touch", "args": [started.to_str().unwrap()]});
    pi.agent_file("mcp.json", &json!({"mcpServers": {"probe": server}}).to_string());
    for fields in ["tools: read", "noTools: true"] {
        pi.worker(fields, "");
        pi.complete(&["--profile", "worker"]);
        assert!(!started.exists(), "{fields}");
    }
    // Earlier versions have no servers, and would not know the flag that closes them.
    pi.complete(&[]);
    assert_eq!(started.exists(), is_newest_pi());
    fs::remove_file(&started).unwrap_or_default();
}

#[test]
fn a_provider_without_a_model_is_refused_where_pi_refuses_it() {
    let pi = PiWorld::new(&json!([{"text": "done"}]));
    pi.worker("provider: fake", "");
    if is_newest_pi() {
        let ran = pi.run(&["--profile", "worker"]);
        assert_eq!((ran.code, pi.asked().len()), (Some(2), 0), "{ran:#?}");
        let message = "Profile \"worker\" names the provider \"fake\" and no model, which pi 1.";
        assert!(ran.stderr.contains(message), "{ran:#?}");
    } else {
        pi.complete(&["--profile", "worker"]);
    }
}

#[test]
fn a_model_of_two_providers_is_told_in_the_words_of_pi() {
    let pi = PiWorld::new(&json!([{"text": "done"}]));
    let provider = json!({"baseUrl": pi.llm.base_url(), "api": "openai-completions", "apiKey": "k",
        "models": [{"id": "twin"}]});
    let both = json!({"providers": {"one": provider, "two": provider}});
    pi.agent_file("models.json", &both.to_string());
    let ran: Ran = pi.run(&["--model", "twin"]);
    assert_eq!((ran.code, pi.asked().len()), (Some(1), 0), "{ran:#?}");
    assert_eq!(ran.task()["outcome"], "non_zero_exit");
    let error = ran.task()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("\"twin\"") && error.contains("one/twin, two/twin"), "{error}");
}

#[test]
fn an_answer_that_was_cut_off_is_a_success_with_a_warning() {
    let pi = PiWorld::new(&json!([{"text": "First,", "finish": "length"}]));
    let task = pi.complete(&[]);
    assert_eq!(task["output"], "First,");
    assert_eq!(task["warnings"], json!(["The answer was cut off at the model's limit of length"]));
}
