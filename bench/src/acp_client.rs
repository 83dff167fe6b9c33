//! The smallest client of the Agent Client Protocol: what an agent that only speaks it needs to do one task.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};

/// `bench acp-client PROMPT_FILE PROGRAM ARGUMENT…`, with which this program starts itself.
pub(crate) const WORD: &str = "acp-client";

/// Opens a session in the working directory, gives the agent the prompt of the file, allows what it asks for, ends its
/// input when it has answered, and waits for its end.
#[expect(clippy::disallowed_methods, reason = "what is measured is started directly")]
pub(crate) fn converse(arguments: &[String]) -> Result<(), String> {
    let [prompt, program, arguments @ ..] = arguments else {
        return Err(format!("`{WORD}` takes a file and a command"));
    };
    let prompt = fs::read_to_string(prompt).map_err(failed)?;
    let directory = std::env::current_dir().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut agent = Agent::new(command.spawn().map_err(failed)?)?;
    let capabilities = json!({"fs": {"readTextFile": false, "writeTextFile": false}});
    agent.ask("initialize", &json!({"protocolVersion": 1, "clientCapabilities": capabilities}))?;
    let session = agent.ask("session/new", &json!({"cwd": directory, "mcpServers": []}))?;
    let prompt = json!([{"type": "text", "text": prompt}]);
    let ended = agent
        .ask("session/prompt", &json!({"sessionId": session["sessionId"], "prompt": prompt}))?;
    if ended["stopReason"] != "end_turn" {
        return Err(format!("the turn did not end well: {ended}"));
    }
    drop(agent.input);
    // How it exits when it is told to go says nothing.
    agent.child.wait().map(drop).map_err(failed)
}

struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<std::process::ChildStdout>,
    requests: u64,
}

impl Agent {
    fn new(mut child: Child) -> Result<Agent, String> {
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or("the agent has no pipes")?;
        Ok(Agent { child, input, output: BufReader::new(output), requests: 0 })
    }

    /// Sends a request, and reads until its answer.
    fn ask(&mut self, method: &str, parameters: &Value) -> Result<Value, String> {
        self.requests += 1;
        let id = json!(self.requests);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}))?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line).map_err(failed)? == 0 {
                return Err(format!("the agent ended before it answered `{method}`"));
            }
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            match (message.get("method"), message.get("id")) {
                (Some(_), Some(request)) => self.allow(request, &message["params"])?,
                (None, Some(answered)) if *answered == id => {
                    return match message.get("error") {
                        Some(error) => Err(format!("`{method}`: {error}")),
                        None => Ok(message["result"].clone()),
                    };
                }
                _ => {}
            }
        }
    }

    /// Allows what the agent asks for, once.
    fn allow(&mut self, id: &Value, parameters: &Value) -> Result<(), String> {
        let mut options = parameters["options"].as_array().into_iter().flatten();
        let once = options.find(|option| option["kind"] == "allow_once");
        let option = once.map_or(Value::Null, |option| option["optionId"].clone());
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": outcome}))
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        writeln!(self.input, "{message}").map_err(failed)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
fn failed(error: std::io::Error) -> String {
    format!("the agent cannot be measured: {error}")
}
