//! How many agents of other makes run at a time for a provider that has refused one of them.

use serde_json::{Value, json};
use test_support::fake_agent::quick;
use test_support::{World, wait_until};

use crate::agents::recorded;
use crate::world;

/// What an agent prints that was refused and tries again at once.
fn retry(protocol: &str) -> Value {
    json!({"record": match protocol {
        "claude" => json!({"type": "system", "subtype": "api_retry", "attempt": 1,
            "max_retries": 10, "retry_delay_ms": 0, "error_status": 429, "error": "rate_limit"}),
        "codex" => json!({"type": "error", "message":
            "Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)"}),
        _ => json!({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 0,
            "errorMessage": "429 rate limit"}),
    }})
}

/// The rest of an agent's work.
fn work(protocol: &str) -> Vec<Value> {
    match protocol {
        "pi" => quick().as_array().unwrap().clone(),
        _ => recorded(protocol, "tool"),
    }
}

fn start(world: &World, agent: &str, model: Option<&str>) -> String {
    let mut arguments = vec!["bg", "start", "--access", "full", "--agent", agent];
    arguments.extend(model.iter().flat_map(|model| ["--model", model]));
    arguments.push("do it");
    let ran = world.run(&arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout.trim().to_owned()
}

fn waiting(world: &World, id: &str) -> Value {
    world.run(&["bg", "status", id, "--json"]).json()["runs"][0]["waiting"].clone()
}

fn running(world: &World) -> usize {
    world.run(&["status", "--json"]).json()["running"].as_array().unwrap().len()
}

#[test]
fn a_limit_that_one_agent_meets_narrows_how_many_run_at_a_time() {
    for (protocol, provider) in [("pi", "google"), ("claude", "anthropic"), ("codex", "openai")] {
        let world = world();
        let go = json!({"await": world.path("go")});
        let patient: Vec<Value> = [go.clone()].into_iter().chain(work(protocol)).collect();
        let others = json!({"await": world.path("others")});
        let told = json!({"touch": world.path("told")});
        let refused = [others, retry(protocol), told, go].into_iter().chain(work(protocol));
        let refused: Vec<Value> = refused.collect();
        let agent = |script: &[Value]| {
            let command = [env!("CARGO_BIN_EXE_fake-agent").to_owned(), json!(script).to_string()];
            json!({"command": command, "protocol": protocol})
        };
        let (patient, refused) = (agent(&patient), agent(&refused));
        let quick = json!({"command": [env!("CARGO_BIN_EXE_fake-agent"), quick().to_string()],
            "protocol": "pi"});
        let agents = json!({"patient": patient, "refused": refused, "other": quick});
        world.settings(&json!({"agents": agents}));
        let model = (protocol == "pi").then_some("google/gemini-2.5-pro");

        let mut runs = vec![start(&world, "refused", model)];
        runs.extend((0..2).map(|_| start(&world, "patient", model)));
        wait_until(|| running(&world) == 3);
        std::fs::write(world.path("others"), "").unwrap();
        wait_until(|| world.path("told").exists());
        wait_until(|| world.run(&["status"]).stdout.contains(" has refused requests: 2 at a time"));
        // Of three agents there are 0.7 at a time from here on.
        let fourth = start(&world, "patient", model);
        wait_until(|| waiting(&world, &fourth).is_object());
        let waits = waiting(&world, &fourth);
        let expected = json!({"for": "provider_width", "provider": provider, "running": 3,
            "most": 2, "since": waits["since"]});
        assert_eq!(waits, expected);
        let status = world.run(&["bg", "status", &fourth]).stdout;
        let words = format!("queued: 3 agents use {provider}, which bears 2 at a time");
        assert!(status.contains(&words), "{status}");
        // Another provider has refused nothing.
        let other = start(&world, "other", Some("mistral/large"));
        assert_eq!(world.run(&["bg", "wait", &other]).code, Some(0));
        assert!(waiting(&world, &fourth).is_object());
        world.let_go();
        runs.push(fourth);
        for run in &runs {
            let ran = world.run(&["bg", "wait", run]);
            assert_eq!(ran.code, Some(0), "{protocol} {ran:?}");
        }
        world.wait_until_nothing_is_left();
    }
}
