//! The real pi, pinned in `e2e/package.json`, with a model without a network: the tests compare what the provider
//! receives. `cargo xtask test` installs pi and says where it is. It runs them once more with the newest pi, pinned in
//! `e2e/newest`.

#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

mod access;
mod answers;
mod builtin;
mod conversation;
mod key;
mod modes;
mod peer;
mod presets;
mod profiles;
mod project;
mod stops;
mod versions;
mod worktrees;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use test_support::fake_llm::FakeLlm;
use test_support::{Program, Ran, Running, World, pi_programs, write_file};

/// The key that is used unless a profile has another one.
const KEY_OF_MODELS: &str = "key-of-models-json";

/// A world with pi on its `PATH`, and a model that plays one script to every task.
struct PiWorld {
    world: World,
    llm: FakeLlm,
}

impl PiWorld {
    fn new(script: &Value) -> PiWorld {
        let world = World::new(Program {
            pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
            fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
        });
        let llm = FakeLlm::start_with(script).unwrap();
        let model = |id: &str| json!({"id": id, "reasoning": true, "contextWindow": 1_000_000});
        let provider = json!({
            "baseUrl": llm.base_url(), "api": "openai-completions", "apiKey": KEY_OF_MODELS,
            "models": [model("fake-1"), model("fake-2"), model("maker/fake-3")],
        });
        let pi = PiWorld { world, llm };
        pi.agent_file("models.json", &json!({"providers": {"fake": provider}}).to_string());
        let settings = json!({
            "defaultProvider": "fake", "defaultModel": "fake-1", "retry": {"baseDelayMs": 1},
        });
        pi.agent_file("settings.json", &settings.to_string());
        pi
    }

    /// Writes a file of the user's.
    fn agent_file(&self, name: &str, text: &str) {
        write_file(&self.world.agent_dir().join(name), text);
    }

    /// Writes a file of the project's.
    fn project_file(&self, name: &str, text: &str) {
        write_file(&self.world.project().join(name), text);
    }

    /// Writes a profile of the user's, called `worker`.
    fn worker(&self, fields: &str, body: &str) {
        let text = format!("---\nname: worker\n{fields}\n---\n{body}");
        self.agent_file("agent-profiles/worker.md", &text);
    }

    /// Any command, with the real pi on its `PATH`.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command(arguments);
        command.env("PATH", pi_programs().1).env("PI_OFFLINE", "1");
        command
    }

    fn run_command(&self, arguments: &[&str]) -> Command {
        self.command(&[&["run", "--json"], arguments, &["do it"]].concat())
    }

    /// Runs a task, `do it`, to its end.
    fn run(&self, arguments: &[&str]) -> Ran {
        let ran = self.run_command(arguments).output().unwrap().into();
        self.world.assert_nothing_left();
        ran
    }

    /// Runs a task that has to succeed.
    #[track_caller]
    fn complete(&self, arguments: &[&str]) -> Value {
        let ran = self.run(arguments);
        assert_eq!((ran.code, &ran.task()["outcome"]), (Some(0), &json!("completed")), "{ran:#?}");
        ran.task()
    }

    /// The same, running.
    fn start(&self, arguments: &[&str]) -> Running {
        Running::start(self.run_command(arguments))
    }

    /// What the model was asked, in order.
    fn asked(&self) -> Vec<Value> {
        let requests = self.llm.requests().into_iter();
        requests.filter(|request| request.method == "POST").map(|request| request.body).collect()
    }

    /// What the model was asked, where that was one thing.
    #[track_caller]
    fn asked_once(&self) -> Value {
        let asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:#?}");
        asked[0].clone()
    }
}

/// A turn of the model that calls bash.
fn bash(command: &str) -> Value {
    json!({"tools": [{"name": "bash", "args": {"command": command}}]})
}

/// The text of the first message of a role.
fn text_of(request: &Value, roles: &[&str]) -> String {
    let messages = request["messages"].as_array().unwrap();
    let has_role = |message: &&Value| roles.iter().any(|role| message["role"] == *role);
    match &messages.iter().find(has_role).unwrap()["content"] {
        Value::String(text) => text.clone(),
        parts => {
            parts.as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect()
        }
    }
}

fn system_prompt(request: &Value) -> String {
    text_of(request, &["system", "developer"])
}

fn prompt(request: &Value) -> String {
    text_of(request, &["user"])
}

/// The names of the tools that the model was offered, in order.
fn tools(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    let mut names: Vec<String> =
        tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// The events of a run of this type.
fn events(task: &Value, kind: &str) -> Vec<Value> {
    let path = Path::new(task["runDir"].as_str().unwrap()).join("events.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["type"] == kind).collect()
}
