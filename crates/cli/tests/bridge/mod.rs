//! `pi-subagents bridge` on real processes, with a test instead of pi: its responses, its notifications, and what
//! is left when one of the two ends.

mod agents;
mod background;
mod calls;
mod hello;
mod pressure;
mod profiles;
mod sessions;

use std::fs;
use std::ops::{Deref, DerefMut};

use serde_json::{Value, json};
use test_support::fake_agent::{quick, tasks};
use test_support::{Ran, RpcClient, World};

/// A world with a preset `scout`.
fn world() -> World {
    crate::world().with_scout()
}

/// A client of a bridge.
struct Bridge(RpcClient);

impl Deref for Bridge {
    type Target = RpcClient;

    fn deref(&self) -> &RpcClient {
        &self.0
    }
}

impl DerefMut for Bridge {
    fn deref_mut(&mut self) -> &mut RpcClient {
        &mut self.0
    }
}

impl Bridge {
    /// A bridge that is not initialized yet.
    fn start(world: &World) -> Bridge {
        Bridge(RpcClient::start(world.command(["bridge"])))
    }

    /// A bridge of a pi whose agents play the script.
    fn of_pi(world: &World, script: &Value) -> Bridge {
        Bridge::initialized(world, script, "json")
    }

    fn initialized(world: &World, script: &Value, mode: &str) -> Bridge {
        let mut bridge = Bridge::start(world);
        let agent: Value = serde_json::from_str(&world.agent(script)).unwrap();
        let hello = bridge.request(
            "initialize",
            &json!({
                "protocol": bridge::PROTOCOL, "extensionVersion": "0.0.0", "mode": mode,
                "sessionId": "the-session", "agent": agent, "trusted": true, "columns": 100,
            }),
        );
        assert_eq!(hello["result"]["protocol"], json!(bridge::PROTOCOL), "{hello}");
        bridge
    }

    /// Starts the call of a tool, with this call id.
    fn begin_call(&mut self, call: &str, tool: &str, arguments: &Value) -> u64 {
        let params = json!({
            "callId": call, "name": tool, "arguments": arguments,
            "models": ["a/one", "a/two"], "allTools": ["read", "bash", "subagent"],
        });
        self.start_request("tools/call", &params)
    }

    /// The result of a call.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.begin_call("call", tool, arguments);
        let answer = self.response(id);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Why a call is refused.
    fn refusal(&mut self, tool: &str, arguments: &Value) -> String {
        let id = self.begin_call("call", tool, arguments);
        let answer = self.response(id);
        answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// The entries that were written into pi's log so far.
    fn entries(&mut self) -> Vec<Value> {
        self.received("session/append")
    }

    fn close(self) -> Ran {
        self.0.close()
    }
}

/// The parts of a window without their roles and places.
fn text(parts: &Value) -> String {
    let spans = |line: &Value| -> String {
        line.as_array().unwrap().iter().map(|span| span[1].as_str().unwrap()).collect()
    };
    let part = |part: &Value| {
        if let Some(cells) = part["cells"].as_array() {
            let cells = cells.iter().map(|cell| spans(&cell["text"]));
            let cells: Vec<String> = cells.filter(|cell| !cell.is_empty()).collect();
            cells.join(" ")
        } else if let Some(steps) = part["steps"].as_array() {
            let steps = steps.iter().map(|step| format!("┃ {}", spans(&step["line"])));
            steps.collect::<Vec<String>>().join("\n")
        } else if let Some(answer) = part["markdown"].as_str() {
            answer.to_owned()
        } else {
            spans(part)
        }
    };
    parts.as_array().unwrap().iter().map(|shown| part(shown) + "\n").collect()
}
