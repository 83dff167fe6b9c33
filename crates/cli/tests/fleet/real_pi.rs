//! Sixteen agents that are the real pi, on two workers, on a repository with uncommitted changes.

use std::fs;

use serde_json::{Value, json};
use test_support::fake_llm::FakeLlm;
use test_support::{Running, pi_programs, wait_until, write_file};

use super::machines::Fleet;

const AGENTS: usize = 16;

#[test]
fn sixteen_real_agents_elsewhere_are_seen_at_work_and_their_changes_are_applied() {
    let mut fleet = Fleet::new();
    let llm = FakeLlm::start().unwrap();
    let provider = json!({"baseUrl": llm.base_url(), "api": "openai-completions", "apiKey": "key",
        "models": [{"id": "fake-1", "contextWindow": 1_000_000}]});
    let agent_dir = fleet.world.agent_dir();
    write_file(
        &agent_dir.join("models.json"),
        &json!({"providers": {"fake": provider}}).to_string(),
    );
    let settings = json!({"defaultProvider": "fake", "defaultModel": "fake-1"});
    write_file(&agent_dir.join("settings.json"), &settings.to_string());
    let with_pi = |mut command: std::process::Command| {
        command.env("PATH", pi_programs().1).env("PI_OFFLINE", "1");
        command
    };
    for _ in 0..2 {
        fleet.worker_with(&["--slots", "8"], with_pi);
    }
    let go = fleet.world.path("go");
    let tasks: Vec<Value> = (0..AGENTS)
        .map(|index| {
            let command = format!(
                "until [ -e {} ]; do sleep 0.05; done; cat a.txt new.txt > made-{index}.txt",
                go.display()
            );
            let turns = json!([
                {"tools": [{"name": "bash", "args": {"command": command}}]},
                {"text": format!("made {index}")},
            ]);
            let prompt = format!("Do it. <<SCRIPT>>{turns}<<END>>");
            json!({"name": format!("t{index}"), "prompt": prompt, "agent": "pi", "timeout": 240})
        })
        .collect();
    let call = fleet.world.path("call.json");
    write_file(&call, &json!(tasks).to_string());
    let mut delegate =
        fleet.command(&["delegate", "--on", "fleet", "--concurrency", "16", "--json"]);
    delegate.arg(call);
    let caller = Running::start(with_pi(delegate));
    // Every agent is seen at work while all of them are.
    let is_seen = || {
        let events = fleet.world.runs().into_iter();
        let events = events.filter_map(|run| fs::read_to_string(run.join("events.jsonl")).ok());
        events.filter(|events| events.contains("\"tool_call\"")).count()
    };
    wait_until(|| is_seen() == AGENTS);
    write_file(&go, "");
    let ran = caller.finish();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = ran.json();
    for index in 0..AGENTS {
        let task = &document["tasks"][index];
        assert_eq!(task["output"], format!("made {index}"), "{task}");
        assert_eq!(task["changes"]["files"], 1, "{task}");
        let applied = fleet.world.run(&["changes", "apply", &format!("t{index}")]);
        assert_eq!(applied.code, Some(0), "{applied:?}");
        let made = fs::read_to_string(fleet.world.project().join(format!("made-{index}.txt")));
        assert_eq!(made.unwrap(), "not committed\nuntracked\n");
    }
    let own = fs::read_to_string(fleet.world.project().join("a.txt")).unwrap();
    assert_eq!(own, "not committed\n");
    fleet.end_all();
}
