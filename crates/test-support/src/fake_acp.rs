//! The part of [`crate::fake_agent`] that speaks the Agent Client Protocol.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::fake_agent::record;

const SESSION: &str = "session-1";

/// One step of a conversation.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AcpStep {
    /// Answers everything up to the prompt. The result of `session/new` has these fields besides its id, and that of
    /// `initialize` the field `agentInfo`.
    Open(Value),
    /// Waits for a further prompt. `{prompt}` stands for it from then on.
    AwaitPrompt,
    /// Waits until the client cancels the turn.
    AwaitCancel,
    /// Answers up to the request of this method, and that one with an error.
    Refuse { method: String, error: Value },
    /// Says something. `{prompt}` stands for the prompt, `{answer}` for the last answer of the client, and
    /// `{requests}` for the methods that were asked for.
    Say(String),
    /// Tells any update of the session.
    Update(Value),
    /// Asks the client something, and waits for its answer.
    Ask { method: String, params: Value },
    /// Answers the oldest prompt that was not answered.
    Answer(Value),
    /// Answers it with an error.
    Fail(Value),
    /// Waits until the input ends.
    AwaitEnd,
}

/// What the agent knows of its client.
#[derive(Debug, Default)]
pub(crate) struct FakeAcp {
    prompt: String,
    /// Of the prompts that were not answered.
    prompt_ids: VecDeque<Value>,
    answer: Value,
    requests: Vec<String>,
    asked: u64,
}

impl FakeAcp {
    /// The last prompt.
    pub(crate) fn prompt(&self) -> &str {
        &self.prompt
    }

    pub(crate) fn play(&mut self, step: &AcpStep) -> io::Result<()> {
        match step {
            AcpStep::Open(session) => self.serve(session, None),
            AcpStep::Refuse { method, error } => self.serve(&json!({}), Some((method, error))),
            AcpStep::Say(text) => {
                let text = text
                    .replace("{prompt}", &self.prompt)
                    .replace("{answer}", &self.answer.to_string())
                    .replace("{requests}", &self.requests.join(" "));
                let content = json!({"type": "text", "text": text});
                update(&json!({"sessionUpdate": "agent_message_chunk", "content": content}))
            }
            AcpStep::Update(fields) => update(fields),
            AcpStep::Ask { method, params } => {
                self.asked += 1;
                let id = format!("question-{}", self.asked);
                let mut params = params.clone();
                params["sessionId"] = json!(SESSION);
                record(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
                self.answer = loop {
                    let message = next_message()?;
                    if message["id"] == *id {
                        break message;
                    }
                };
                Ok(())
            }
            AcpStep::AwaitPrompt => loop {
                let message = next_message()?;
                if message["method"] == "session/prompt" {
                    self.take_prompt(&message);
                    return Ok(());
                }
            },
            AcpStep::AwaitCancel => {
                while next_message()?["method"] != "session/cancel" {}
                Ok(())
            }
            AcpStep::Answer(result) => self.end_prompt("result", result),
            AcpStep::Fail(error) => self.end_prompt("error", error),
            AcpStep::AwaitEnd => {
                while next_message().is_ok() {}
                Ok(())
            }
        }
    }

    fn take_prompt(&mut self, request: &Value) {
        let text = request["params"]["prompt"][0]["text"].as_str().unwrap_or_default();
        text.clone_into(&mut self.prompt);
        self.prompt_ids.push_back(request["id"].clone());
    }

    fn end_prompt(&mut self, key: &str, value: &Value) -> io::Result<()> {
        respond(&self.prompt_ids.pop_front().unwrap_or_default(), key, value)
    }

    /// Answers requests until the prompt has come, or until one was refused.
    fn serve(&mut self, session: &Value, refused: Option<(&String, &Value)>) -> io::Result<()> {
        loop {
            let message = next_message()?;
            let (id, params) = (&message["id"], &message["params"]);
            let method = message["method"].as_str().unwrap_or_default();
            self.requests.push(method.to_owned());
            if let Some((_, error)) = refused.filter(|(refused, _)| *refused == method) {
                return respond(id, "error", error);
            }
            let result = match method {
                "initialize" => json!({"protocolVersion": 1, "agentCapabilities": {},
                    "agentInfo": session["agentInfo"],
                    "authMethods": [{"id": "gemini-api-key", "name": "A key"}]}),
                "session/new" => {
                    let mut result = session.clone();
                    result["sessionId"] = json!(SESSION);
                    result["_cwd"] = params["cwd"].clone();
                    result
                }
                "session/prompt" => {
                    self.take_prompt(&message);
                    return Ok(());
                }
                _ => json!({}),
            };
            respond(id, "result", &result)?;
        }
    }
}

fn next_message() -> io::Result<Value> {
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_str(&line)?)
}

fn respond(id: &Value, key: &str, value: &Value) -> io::Result<()> {
    let mut response = json!({"jsonrpc": "2.0", "id": id});
    response[key] = value.clone();
    record(&response)
}

fn update(fields: &Value) -> io::Result<()> {
    let params = json!({"sessionId": SESSION, "update": fields});
    record(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
}
