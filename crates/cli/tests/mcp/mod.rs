//! `pi-subagents mcp` on real processes, with a test as its client: its responses, its notifications, and what is
//! left when one of the two ends. Real clients are in
//! `mcp_clients`.

mod bounds;
mod calls;
mod conformance;
mod ends;
mod pressure;
mod resources;
mod schemas;
mod waiting;

use std::ops::{Deref, DerefMut};

use serde_json::{Value, json};
use test_support::fake_agent::{quick, tasks};
use test_support::{Ran, RpcClient, World};

/// A world with a preset `scout`.
fn world() -> World {
    crate::world().with_scout()
}

/// How many agents of a world are alive.
fn agents(world: &World) -> usize {
    world.processes().iter().filter(|(_, command)| command.contains("fake-agent")).count()
}

/// A client of a server.
struct Server(RpcClient);

impl Deref for Server {
    type Target = RpcClient;

    fn deref(&self) -> &RpcClient {
        &self.0
    }
}

impl DerefMut for Server {
    fn deref_mut(&mut self) -> &mut RpcClient {
        &mut self.0
    }
}

impl Server {
    /// A server that is not initialized yet, and whose agents play the script.
    fn start(world: &World, script: &Value) -> Server {
        Server::start_with(world, script, &[])
    }

    fn start_with(world: &World, script: &Value, variables: &[(&str, &str)]) -> Server {
        let mut command = world.command(["mcp"]);
        command.env("PI_SUBAGENTS_AGENT", world.agent(script));
        command.envs(variables.iter().copied());
        Server(RpcClient::start(command))
    }

    /// A server that is initialized.
    fn initialized(world: &World, script: &Value) -> Server {
        let mut server = Server::start(world, script);
        server.initialize(&json!({}));
        server
    }

    fn initialize(&mut self, capabilities: &Value) -> Value {
        let hello = self.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18", "capabilities": capabilities,
                "clientInfo": {"name": "a test", "version": "1"},
            }),
        );
        self.notify("notifications/initialized", &json!({}));
        hello["result"].clone()
    }

    /// Starts the call of a tool. With a token, the client asks for progress.
    fn begin_call(&mut self, tool: &str, arguments: &Value, token: Option<&str>) -> u64 {
        let mut params = json!({"name": tool, "arguments": arguments});
        if let Some(token) = token {
            params["_meta"] = json!({"progressToken": token});
        }
        self.start_request("tools/call", &params)
    }

    /// The result of a call.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.begin_call(tool, arguments, None);
        self.result(id)
    }

    fn result(&mut self, id: u64) -> Value {
        let answer = self.response(id);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// The code and the message of an error.
    fn refusal(&mut self, method: &str, params: &Value) -> (i64, String) {
        let answer = self.request(method, params);
        let error = &answer["error"];
        let message = error["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        (error["code"].as_i64().unwrap(), message)
    }

    /// The text of what is at an address.
    fn read(&mut self, uri: &str) -> String {
        let answer = self.request("resources/read", &json!({"uri": uri}));
        let content = &answer["result"]["contents"][0];
        assert_eq!(content["uri"], json!(uri), "{answer}");
        content["text"].as_str().unwrap().to_owned()
    }

    fn close(self) -> Ran {
        self.0.close()
    }
}

/// The text of a result.
fn text(result: &Value) -> &str {
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
    result["content"][0]["text"].as_str().unwrap()
}

/// The id of the session of one of the tasks of a call.
fn session(result: &Value, index: usize) -> String {
    let id = &result["structuredContent"]["sessions"][index]["sessionId"];
    id.as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}
