//! Coding agents of other makers as clients of `pi-subagents mcp`, with a model that plays a script: Claude Code, Codex
//! and opencode, pinned in `e2e/clients/package.json`. `setup` connects them, as it does for a user, and the
//! tests look at what the model was asked. `cargo xtask test` installs the clients and says where they are.

#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

mod claude;
mod claude_conversation;
mod codex;
// It is pinned for this platform only.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod opencode;

use std::process::Command;

use serde_json::{Value, json};
use test_support::fake_llm::FakeLlm;
use test_support::{Program, Ran, World};

/// What the model asks the sub-agents.
const PROMPTS: [&str; 2] = ["find the parser", "count the tests"];

/// What the user asks the client.
const QUESTION: &str = "Let two sub-agents look at this project.";

/// Where a client runs: a world, and a model that calls `delegate_to_subagents` once, and then tells what came back.
struct Scene {
    world: World,
    llm: FakeLlm,
}

impl Scene {
    /// A scene with the client of this name set up. In it, our tool is called as `tool` says. The sub-agents repeat
    /// what they are asked.
    fn new(client: &str, tool: &Value) -> Scene {
        Scene::with_agent(client, tool, &json!([env!("CARGO_BIN_EXE_fake-agent")]))
    }

    /// The same with sub-agents of the user's choice.
    fn with_agent(client: &str, tool: &Value, agent: &Value) -> Scene {
        let world = World::new(Program {
            pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
            fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
        });
        let tasks: Vec<Value> =
            PROMPTS.iter().map(|prompt| json!({"name": prompt, "prompt": prompt})).collect();
        let mut call = tool.clone();
        call["args"] = json!({ "tasks": tasks });
        let llm = FakeLlm::start_with(&json!([{"tools": [call]}, {"text": "{{result:0}}"}]));
        let scene = Scene { world, llm: llm.unwrap() };
        scene.world.settings(&json!({ "agent": agent }));
        let ran = scene.world.run(&["setup", client]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        scene
    }

    /// Asks a client, and waits for its end.
    fn ask(&self, command: &Command) -> Ran {
        // A client that finds no provider tries again for minutes.
        let command = World::behind(&["timeout", "120"], command);
        let ran = self.world.feed(command, QUESTION);
        self.world.wait_until_nothing_is_left();
        ran
    }

    /// What the model was asked while it had tools: clients also let it find a title.
    fn asked(&self) -> Vec<Value> {
        let bodies = self.llm.requests().into_iter().map(|request| request.body);
        bodies.filter(|body| body["tools"].as_array().is_some_and(|it| !it.is_empty())).collect()
    }

    /// The result of the only call of the model.
    #[track_caller]
    fn result(&self, ran: &Ran) -> String {
        let asked = self.asked();
        assert_eq!(asked.len(), 2, "one call, and what follows it: {ran:#?}");
        let results = results(&asked[1]);
        assert_eq!(results.len(), 1, "{results:#?}");
        results[0].clone()
    }

    /// Fails unless one call has brought the model both answers, and the client has said them to its user.
    #[track_caller]
    fn assert_answered_in_one_call(&self, ran: &Ran) {
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        let result = self.result(ran);
        for prompt in PROMPTS {
            let answer = format!("You said: {prompt}");
            assert!(result.contains(&answer), "{result}");
            assert!(ran.stdout.contains(&answer), "{ran:#?}");
        }
        assert_eq!(self.world.runs().len(), PROMPTS.len());
    }
}

/// The results of tools in a request, in any of the protocols.
fn results(request: &Value) -> Vec<String> {
    let items = [&request["input"], &request["messages"]];
    let items = items.into_iter().filter_map(Value::as_array).flatten();
    let texts = items.flat_map(|item| {
        let parts = item["content"].as_array().into_iter().flatten();
        let blocks =
            parts.filter(|part| part["type"] == "tool_result").map(|part| &part["content"]);
        let message = (item["role"] == "tool").then_some(&item["content"]);
        let output = (item["type"] == "function_call_output").then_some(&item["output"]);
        blocks.chain(message).chain(output).map(|content| match content {
            Value::String(text) => text.clone(),
            parts => parts
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|it| it["text"].as_str())
                .collect(),
        })
    });
    texts.collect()
}
