//! What the agents of the pictures print: the streams of pi, Claude Code and Codex, as scripts for `fake-agent`.

use serde_json::{Value, json};

/// What an agent does, one thing after the other. The last one is its answer.
#[derive(Clone, Copy)]
pub(super) enum Act {
    /// The model thinks for so many milliseconds, and says this.
    Say(u64, &'static str),
    /// The model calls a tool, which takes so many milliseconds.
    Use(u64, Tool),
}

/// A call of a tool, and what comes of it.
#[derive(Clone, Copy)]
pub(super) enum Tool {
    Bash {
        command: &'static str,
        output: &'static str,
    },
    FailingBash {
        command: &'static str,
        output: &'static str,
    },
    /// A file with so many lines.
    Read {
        path: &'static str,
        lines: usize,
    },
    /// A pattern, where it is searched, and how often it is found.
    Grep {
        pattern: &'static str,
        path: &'static str,
        matches: usize,
    },
    /// A file, and how many lines are added and removed.
    Edit {
        path: &'static str,
        added: usize,
        removed: usize,
    },
}

/// How pi in JSON mode prints it.
pub(super) fn pi(model: &str, acts: &[Act]) -> Value {
    let mut script = Script { steps: vec![json!("start")], ..Script::default() };
    let delta =
        |kind: &str| json!({"type": "message_update", "assistantMessageEvent": {"type": kind}});
    for (number, act) in acts.iter().enumerate() {
        let stop = if number + 1 == acts.len() { "stop" } else { "toolUse" };
        let Tokens { input, output } = script.ask();
        let message = |content: Value| {
            let cost = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": price(input + output)});
            let usage = json!({"input": input, "output": output, "cacheRead": 0, "cacheWrite": 0, "totalTokens": input + output, "cost": cost});
            let message = json!({"role": "assistant", "content": content, "provider": "anthropic", "model": model, "usage": usage, "stopReason": stop});
            json!({"type": "message_end", "message": message})
        };
        match act {
            Act::Say(milliseconds, text) => {
                script.record(delta("thinking_delta"));
                script.wait(milliseconds / 2);
                script.record(delta("text_delta"));
                script.wait(milliseconds / 2);
                script.record(message(json!([{"type": "text", "text": text}])));
            }
            Act::Use(milliseconds, tool) => {
                let id = format!("call-{number}");
                let name = tool.name();
                script.record(message(json!([])));
                script.record(json!({"type": "tool_execution_start", "toolCallId": id, "toolName": name, "args": tool.arguments()}));
                script.wait(*milliseconds);
                let result = json!({"content": [{"type": "text", "text": tool.output()}]});
                script.record(json!({"type": "tool_execution_end", "toolCallId": id, "toolName": name, "result": result, "isError": tool.has_failed()}));
            }
        }
    }
    script.steps.extend([json!({"end": false}), json!("settle")]);
    script.into()
}

/// How Claude Code in its print mode does.
pub(super) fn claude(model: &str, acts: &[Act]) -> Value {
    let mut script = Script::default();
    let event =
        |event: Value| json!({"type": "stream_event", "event": event, "parent_tool_use_id": null});
    let block =
        |kind: &str| event(json!({"type": "content_block_start", "content_block": {"type": kind}}));
    script.record(json!({"type": "system", "subtype": "init", "model": model, "session_id": "s"}));
    for (number, act) in acts.iter().enumerate() {
        let stop = if number + 1 == acts.len() { "end_turn" } else { "tool_use" };
        let Tokens { input, output } = script.ask();
        let said = |content: Value| json!({"type": "assistant", "message": {"model": model, "content": [content]}, "parent_tool_use_id": null});
        script.record(event(json!({"type": "message_start", "message": {"usage": {"input_tokens": input, "output_tokens": 1}}})));
        let call = match act {
            Act::Say(milliseconds, text) => {
                script.record(block("thinking"));
                script.wait(milliseconds / 2);
                script.record(block("text"));
                script.wait(milliseconds / 2);
                script.record(said(json!({"type": "text", "text": text})));
                None
            }
            Act::Use(milliseconds, tool) => {
                let id = format!("toolu_{number}");
                script.record(said(json!({"type": "tool_use", "id": id, "name": tool.claude_name(), "input": tool.claude_input()})));
                Some((id, *milliseconds, tool))
            }
        };
        script.record(event(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": output}})));
        script.record(event(json!({"type": "message_stop"})));
        if let Some((id, milliseconds, tool)) = call {
            script.wait(milliseconds);
            let result = json!({"type": "tool_result", "tool_use_id": id, "content": tool.output(), "is_error": tool.has_failed()});
            script.record(json!({"type": "user", "message": {"role": "user", "content": [result]}, "parent_tool_use_id": null}));
        }
    }
    let Tokens { input, output } = script.used;
    let answer = acts.iter().rev().find_map(|act| match act {
        Act::Say(_, text) => Some(*text),
        Act::Use(..) => None,
    });
    script.record(json!({"type": "result", "subtype": "success", "is_error": false, "result": answer,
        "usage": {"input_tokens": input, "output_tokens": output}, "total_cost_usd": price(input + output)}));
    script.into()
}

/// How `codex exec --json` does. It tells no model, and tokens only at the end.
pub(super) fn codex(acts: &[Act]) -> Value {
    let mut script = Script::default();
    script.record(json!({"type": "thread.started", "thread_id": "t"}));
    script.record(json!({"type": "turn.started"}));
    for (number, act) in acts.iter().enumerate() {
        script.ask();
        let id = format!("item_{number}");
        match act {
            Act::Say(milliseconds, text) => {
                script.record(json!({"type": "item.started", "item": {"id": id, "type": "reasoning", "text": ""}}));
                script.wait(*milliseconds);
                script.record(json!({"type": "item.completed", "item": {"id": id, "type": "agent_message", "text": text}}));
            }
            Act::Use(milliseconds, Tool::Edit { path, .. }) => {
                let item = |status: &str| {
                    let changes = json!([{"path": path, "kind": "update"}]);
                    json!({"id": id, "type": "file_change", "status": status, "changes": changes})
                };
                script.record(json!({"type": "item.started", "item": item("in_progress")}));
                script.wait(*milliseconds);
                script.record(json!({"type": "item.completed", "item": item("completed")}));
            }
            Act::Use(milliseconds, tool) => {
                let command = tool.shell();
                let item = |status: &str, output: &str, code: Option<i32>| json!({"id": id, "type": "command_execution", "command": command, "aggregated_output": output, "exit_code": code, "status": status});
                let (word, code) =
                    if tool.has_failed() { ("failed", 101) } else { ("completed", 0) };
                script
                    .record(json!({"type": "item.started", "item": item("in_progress", "", None)}));
                script.wait(*milliseconds);
                script.record(json!({"type": "item.completed", "item": item(word, &tool.output(), Some(code))}));
            }
        }
    }
    let Tokens { input, output } = script.used;
    script.record(json!({"type": "turn.completed", "usage": {"input_tokens": input, "cached_input_tokens": 0, "output_tokens": output}}));
    script.into()
}

/// The steps of a fake agent, and what its answers have used.
#[derive(Default)]
struct Script {
    steps: Vec<Value>,
    asked: u64,
    used: Tokens,
}

#[derive(Clone, Copy, Default)]
struct Tokens {
    input: u64,
    output: u64,
}

impl Script {
    /// What the next answer uses: the conversation so far, and some words.
    fn ask(&mut self) -> Tokens {
        self.asked += 1;
        let tokens = Tokens { input: 1_300 + 410 * self.asked, output: 160 };
        self.used.input += tokens.input;
        self.used.output += tokens.output;
        tokens
    }

    fn record(&mut self, record: Value) {
        self.steps.push(Value::Object([("record".to_owned(), record)].into_iter().collect()));
    }

    fn wait(&mut self, milliseconds: u64) {
        self.steps.push(json!({"sleep_ms": milliseconds}));
    }
}

impl From<Script> for Value {
    fn from(script: Script) -> Value {
        Value::Array(script.steps)
    }
}

/// As if all tokens cost the same.
fn price(tokens: u64) -> f64 {
    tokens as f64 * 0.000_004
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Bash { .. } | Tool::FailingBash { .. } => "bash",
            Tool::Read { .. } => "read",
            Tool::Grep { .. } => "grep",
            Tool::Edit { .. } => "edit",
        }
    }

    fn arguments(self) -> Value {
        match self {
            Tool::Bash { command, .. } | Tool::FailingBash { command, .. } => {
                json!({"command": command})
            }
            Tool::Read { path, .. } => json!({"path": path}),
            Tool::Grep { pattern, path, .. } => json!({"pattern": pattern, "path": path}),
            Tool::Edit { path, added, removed } => {
                json!({"path": path, "edits": [{"oldText": lines("old", removed), "newText": lines("new", added)}]})
            }
        }
    }

    fn claude_name(self) -> &'static str {
        match self {
            Tool::Bash { .. } | Tool::FailingBash { .. } => "Bash",
            Tool::Read { .. } => "Read",
            Tool::Grep { .. } => "Grep",
            Tool::Edit { .. } => "Edit",
        }
    }

    fn claude_input(self) -> Value {
        match self {
            Tool::Read { path, .. } => json!({"file_path": path}),
            Tool::Edit { path, added, removed } => {
                json!({"file_path": path, "old_string": lines("old", removed), "new_string": lines("new", added)})
            }
            Tool::Bash { .. } | Tool::FailingBash { .. } | Tool::Grep { .. } => self.arguments(),
        }
    }

    /// The command of an agent that has no other tool.
    fn shell(self) -> String {
        match self {
            Tool::Bash { command, .. } | Tool::FailingBash { command, .. } => command.to_owned(),
            Tool::Read { path, .. } | Tool::Edit { path, .. } => format!("cat {path}"),
            Tool::Grep { pattern, path, .. } => format!("rg '{pattern}' {path}"),
        }
    }

    fn output(self) -> String {
        match self {
            Tool::Bash { output, .. } | Tool::FailingBash { output, .. } => output.to_owned(),
            Tool::Read { lines, .. } => {
                SOURCE.lines().cycle().take(lines).collect::<Vec<_>>().join("\n")
            }
            Tool::Grep { path, matches, .. } => {
                let found = (31..)
                    .step_by(17)
                    .map(|number| format!("{path}/src/token.rs:{number}: {FOUND}"));
                found.take(matches).collect::<Vec<_>>().join("\n")
            }
            Tool::Edit { .. } => "Successfully replaced 1 block".to_owned(),
        }
    }

    fn has_failed(self) -> bool {
        matches!(self, Tool::FailingBash { .. })
    }
}

/// Something to read.
const SOURCE: &str = "//! The tokens of sessions.

use std::time::Duration;

use crate::{Refused, Session};

/// How long a token is valid.
pub const LIFETIME: Duration = Duration::from_secs(60 * 60);

pub fn check(token: &[u8], expected: &[u8]) -> Result<Session, Refused> {
    if token == expected {
        return Ok(Session::new(LIFETIME));
    }
    Err(Refused)
}
";

/// Something to find.
const FOUND: &str = "if token == expected {";

/// So many lines, each of which is another.
fn lines(word: &str, count: usize) -> String {
    (1..=count).map(|number| format!("{word} {number}")).collect::<Vec<_>>().join("\n")
}
