//! The agents of a soak, and what the fake ones print: each the stream of another make of agents, as steps of
//! `fake-agent`.

use serde_json::{Value, json};

/// The agent that runs a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// The fake agent, which prints what pi does.
    Fake,
    Builtin,
    /// The fake agent, which prints what Claude Code does.
    Claude,
    /// The fake agent, which prints what Codex does.
    Codex,
    /// The fake agent, which speaks the Agent Client Protocol and can ask for permissions.
    Acp,
}

impl Agent {
    /// Those that have an entry in the settings.
    pub(crate) const OF_SETTINGS: [Agent; 4] =
        [Agent::Fake, Agent::Claude, Agent::Codex, Agent::Acp];

    /// The word that the names of its profiles and presets begin with, and its name in the settings.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Agent::Fake => "fake",
            Agent::Builtin => "builtin",
            Agent::Claude => "fake-claude",
            Agent::Codex => "fake-codex",
            Agent::Acp => "fake-acp",
        }
    }

    pub(crate) fn protocol(self) -> &'static str {
        match self {
            Agent::Fake | Agent::Builtin => "pi",
            Agent::Claude => "claude",
            Agent::Codex => "codex",
            Agent::Acp => "acp",
        }
    }

    /// The steps by which it finds the script in its prompt, unless its prompt is all that it reads.
    pub(crate) fn opening(self) -> Option<Value> {
        match self {
            Agent::Claude => Some(json!(["follow_message"])),
            Agent::Acp => Some(json!([{"acp": {"open": {}}}, "follow_prompt"])),
            Agent::Fake | Agent::Builtin | Agent::Codex => None,
        }
    }

    /// What it prints first.
    pub(crate) fn start(self) -> Vec<Value> {
        match self {
            Agent::Fake => vec![json!("start")],
            Agent::Claude => vec![record(
                json!({"type": "system", "subtype": "init", "model": "fake-1", "session_id": "s"}),
            )],
            Agent::Codex => vec![
                record(json!({"type": "thread.started", "thread_id": "t"})),
                record(json!({"type": "turn.started"})),
            ],
            Agent::Acp | Agent::Builtin => Vec::new(),
        }
    }

    /// It says something, and goes on.
    pub(crate) fn say(self, text: &str) -> Vec<Value> {
        match self {
            Agent::Fake => vec![json!({"message": {"text": text, "stop": "toolUse"}})],
            Agent::Claude => claude_message(&json!([{"type": "text", "text": text}]), "tool_use"),
            Agent::Codex => vec![item(0, json!({"type": "agent_message", "text": text}))],
            // All that it says is its answer.
            Agent::Acp => vec![thought(text)],
            Agent::Builtin => Vec::new(),
        }
    }

    /// It calls a tool, which succeeds: always the same one, each time with another number.
    pub(crate) fn call(self, number: usize) -> Vec<Value> {
        let (id, command) = (format!("call-{number}"), "ls");
        match self {
            Agent::Fake => {
                let tool = json!({"id": id, "name": "bash", "args": {"command": command}, "result": "a.txt"});
                vec![json!({"tool": tool}), json!({"deltas": 200})]
            }
            Agent::Claude => {
                let call = json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]);
                let result =
                    json!([{"type": "tool_result", "tool_use_id": id, "content": "a.txt"}]);
                let mut steps = claude_message(&call, "tool_use");
                steps.push(claude("user", &result));
                steps
            }
            Agent::Codex => vec![item(
                number,
                json!({"type": "command_execution", "command": command,
                    "aggregated_output": "a.txt", "exit_code": 0, "status": "completed"}),
            )],
            Agent::Acp => {
                let call = json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": command, "kind": "execute",
                    "status": "pending", "rawInput": {"command": command}});
                let result = json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed"});
                [call, result].map(|update| json!({"acp": {"update": update}})).to_vec()
            }
            Agent::Builtin => Vec::new(),
        }
    }

    /// Its last word.
    pub(crate) fn answer(self, text: &str) -> Vec<Value> {
        match self {
            Agent::Fake => vec![json!({"say": text}), json!({"end": false}), json!("settle")],
            Agent::Claude => {
                let content = json!([{"type": "text", "text": text}]);
                let mut steps = claude_message(&content, "end_turn");
                steps.push(record(json!({"type": "result", "subtype": "success", "is_error": false, "result": text,
                    "usage": {"input_tokens": 100, "output_tokens": 20}, "total_cost_usd": 0.003})));
                steps
            }
            Agent::Codex => {
                let mut steps = self.say(text);
                let usage =
                    json!({"input_tokens": 100, "cached_input_tokens": 0, "output_tokens": 20});
                steps.push(record(json!({"type": "turn.completed", "usage": usage})));
                steps
            }
            Agent::Acp => vec![
                json!({"acp": {"say": text}}),
                json!({"acp": {"answer": {"stopReason": "end_turn"}}}),
                json!({"acp": "await_end"}),
            ],
            Agent::Builtin => Vec::new(),
        }
    }

    /// Its provider has refused.
    pub(crate) fn refuse(self, reason: &str) -> Vec<Value> {
        let refused = match self {
            Agent::Fake => json!({"message": {"text": "", "stop": "error", "error": reason}}),
            Agent::Claude => record(
                json!({"type": "result", "subtype": "success", "is_error": true, "result": reason}),
            ),
            Agent::Codex => record(json!({"type": "turn.failed", "error": {"message": reason}})),
            Agent::Acp => json!({"acp": {"fail": {"code": -32603, "message": reason}}}),
            Agent::Builtin => return Vec::new(),
        };
        vec![refused, json!({"exit": 1})]
    }
}

/// The step in which an agent that speaks the Agent Client Protocol asks whether it may run a command. Each has another
/// command: an agent that repeats itself is stopped.
pub(crate) fn ask(number: u64) -> Value {
    let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
    let call = json!({"toolCallId": format!("c{number}"), "title": "run", "kind": "execute",
        "status": "pending", "rawInput": {"command": format!("make {number}")}});
    let params = json!({"toolCall": call,
        "options": [option("allowed", "allow_once"), option("rejected", "reject_once")]});
    json!({"acp": {"ask": {"method": "session/request_permission", "params": params}}})
}

fn record(record: Value) -> Value {
    Value::Object([("record".to_owned(), record)].into_iter().collect())
}

/// A whole message of Claude Code's model, with what tells where it begins and ends.
fn claude_message(content: &Value, stop: &str) -> Vec<Value> {
    let event = |event: Value| record(json!({"type": "stream_event", "event": event}));
    let (input, output) = (json!({"input_tokens": 100}), json!({"output_tokens": 20}));
    vec![
        event(json!({"type": "message_start", "message": {"usage": input}})),
        claude("assistant", content),
        event(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": output})),
        event(json!({"type": "message_stop"})),
    ]
}

fn claude(role: &str, content: &Value) -> Value {
    record(json!({"type": role, "message": {"model": "fake-1", "role": role, "content": content}}))
}

fn item(number: usize, mut item: Value) -> Value {
    item["id"] = json!(format!("item_{number}"));
    record(json!({"type": "item.completed", "item": item}))
}

fn thought(text: &str) -> Value {
    let content = json!({"type": "text", "text": text});
    json!({"acp": {"update": {"sessionUpdate": "agent_thought_chunk", "content": content}}})
}
