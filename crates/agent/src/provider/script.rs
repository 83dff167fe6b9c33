//! A provider without a network and a key, which plays the turns of a file.
//!
//! A script is a JSON array of turns, played one after the other; after the last one the model says
//! `(end of script)`. All fields of a turn are optional, unknown ones are an error:
//!
//! | field | meaning |
//! |---|---|
//! | `"text": "..."` | the text of the answer |
//! | `"thinking": "..."` | the thinking before it |
//! | `"tools": [{"name": "ls", "args": {}}]` | the tool calls, all in one message |
//! | `"delay_ms": 0` | the delay before each piece |
//! | `"chunk": 20` | the number of characters of a piece |
//! | `"usage": {"input": 100, "output": 20}` | the tokens |
//! | `"finish": "length"` | the answer is cut off at its end |
//! | `"error": "..."` | the provider fails with this message |
//! | `"retry_after": 1` | and asks for a retry after this many seconds |
//! | `"times": 2` | the failure happens this often; then the turn is played |
//! | `"too_long": true` | the provider refuses the conversation for its length |
//! | `"hang": true` | the provider begins to answer, and never ends |
//!
//! In texts and arguments, `{{prompt}}` is replaced by the prompt, `{{result:N}}` by the result of
//! tool call number N since the prompt (from 0), `{{count:N}}` by the number of its lines, `{{first:N}}`
//! and `{{last:N}}` by its first and its last line. Empty lines do not count, nor do notices in
//! brackets at the end.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Piece, Provider, ProviderError, Remedy, Request, demo};
use crate::cancel::Cancel;
use crate::message::{Message, StopReason, Usage, text_of};
use crate::text_file::read_whole;

const MAX_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Script {
    turns: Vec<Turn>,
    position: Mutex<Position>,
    /// Ends every delay.
    cancel: Cancel,
}

#[derive(Debug, Default)]
struct Position {
    turn: usize,
    failures: u32,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Turn {
    text: String,
    thinking: String,
    tools: Vec<ScriptedCall>,
    delay_ms: u64,
    chunk: Option<NonZeroUsize>,
    usage: ScriptedUsage,
    finish: Finish,
    error: Option<String>,
    retry_after: Option<f64>,
    times: Option<u32>,
    too_long: bool,
    hang: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ScriptedUsage {
    input: u64,
    output: u64,
}

impl Default for ScriptedUsage {
    fn default() -> ScriptedUsage {
        ScriptedUsage { input: 100, output: 20 }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Finish {
    #[default]
    Stop,
    Length,
}

/// Whether there is such a script.
pub(crate) fn check_script(path: &str, cwd: &Path) -> Result<(), String> {
    read_turns(path, cwd).map(drop)
}

fn read_turns(path: &str, cwd: &Path) -> Result<Vec<Turn>, String> {
    let text = match path.strip_prefix("demo:").and_then(demo::script) {
        Some(text) => text.to_owned(),
        None => read_whole(&cwd.join(path), MAX_BYTES)
            .map_err(|error| error.to_string())?
            .ok_or_else(|| "there is no such file".to_owned())?,
    };
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

impl Script {
    /// Reads the script, whose path is relative to `cwd`.
    pub(super) fn load(path: &str, cwd: &Path, cancel: Cancel) -> Result<Script, ProviderError> {
        let turns = read_turns(path, cwd).map_err(|reason| {
            ProviderError::permanent(format!("the script {path:?} cannot be played: {reason}"))
        })?;
        Ok(Script { turns, position: Mutex::default(), cancel })
    }

    fn next_turn(&self) -> Result<Turn, ProviderError> {
        let mut position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(turn) = self.turns.get(position.turn) else {
            return Ok(Turn { text: "(end of script)".to_owned(), ..Turn::default() });
        };
        let is_failing = turn.times.is_none_or(|times| position.failures < times);
        if is_failing && (turn.error.is_some() || turn.too_long) {
            position.failures += 1;
            let message = turn.error.clone();
            let message = message.unwrap_or_else(|| "the conversation is too long".to_owned());
            let after = turn.retry_after.and_then(|after| Duration::try_from_secs_f64(after).ok());
            let remedy = if turn.too_long {
                Remedy::Compact
            } else if turn.retry_after.is_some() || turn.times.is_some() {
                Remedy::Retry { after }
            } else {
                Remedy::None
            };
            return Err(ProviderError { message, remedy });
        }
        *position = Position { turn: position.turn + 1, failures: 0 };
        Ok(turn.clone())
    }

    /// Waits. If the agent is stopped meanwhile, the answer fails.
    fn wait(&self, time: Option<Duration>) -> Result<(), ProviderError> {
        if time != Some(Duration::ZERO) && self.cancel.wait(time) {
            return Err(ProviderError::permanent("the script was stopped"));
        }
        Ok(())
    }
}

impl Provider for Script {
    fn stream(&self, request: &Request, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        let turn = self.next_turn()?;
        let results = results(request);
        sink(Piece::Started { response_id: None });
        if turn.hang {
            self.wait(None)?;
        }
        let delay = Some(Duration::from_millis(turn.delay_ms));
        let mut pieces = |text: &str, kind: fn(String) -> Piece| {
            let text = fill(text, request, &results);
            let characters: Vec<char> = text.chars().collect();
            for chunk in characters.chunks(turn.chunk.map_or(20, NonZeroUsize::get)) {
                self.wait(delay)?;
                sink(kind(chunk.iter().collect()));
            }
            Ok(())
        };
        pieces(&turn.thinking, Piece::Thinking)?;
        pieces(&turn.text, Piece::Text)?;
        for (index, call) in (0_u64..).zip(&turn.tools) {
            self.wait(delay)?;
            let id = format!("call_{}", &uuid::Uuid::new_v4().simple().to_string()[..12]);
            sink(Piece::ToolCall { index, id, name: call.name.clone() });
            let arguments = fill_value(&Value::Object(call.args.clone()), request, &results);
            sink(Piece::Arguments { index, json: arguments.to_string() });
        }
        let ScriptedUsage { input, output } = turn.usage;
        let total_tokens = input + output;
        sink(Piece::Usage(Usage { input, output, total_tokens, ..Usage::default() }));
        let reason = match turn.finish {
            Finish::Length => StopReason::Length,
            Finish::Stop if turn.tools.is_empty() => StopReason::Stop,
            Finish::Stop => StopReason::ToolUse,
        };
        sink(Piece::Ended { reason, raw: None });
        Ok(())
    }
}

/// The results of the tool calls since the user's last message.
fn results(request: &Request) -> Vec<String> {
    let since = request.messages.iter().rposition(|message| matches!(**message, Message::User(_)));
    let since = &request.messages[since.unwrap_or(0)..];
    let results = since.iter().filter_map(|message| match &**message {
        Message::ToolResult(result) => Some(text_of(&result.content)),
        _ => None,
    });
    results.collect()
}

fn prompt(request: &Request) -> String {
    let prompt = request.messages.iter().rev().find_map(|message| match &**message {
        Message::User(message) => Some(text_of(&message.content)),
        _ => None,
    });
    prompt.unwrap_or_default()
}

fn fill_value(value: &Value, request: &Request, results: &[String]) -> Value {
    match value {
        Value::String(text) => Value::String(fill(text, request, results)),
        Value::Array(values) => {
            values.iter().map(|value| fill_value(value, request, results)).collect()
        }
        Value::Object(fields) => {
            let filled = fields
                .iter()
                .map(|(name, value)| (name.clone(), fill_value(value, request, results)));
            Value::Object(filled.collect())
        }
        other => other.clone(),
    }
}

/// Replaces the names in double braces by their values. Other braces stay.
fn fill(text: &str, request: &Request, results: &[String]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let named = after.split_once("}}");
        match named.and_then(|(name, rest)| Some((meaning(name, request, results)?, rest))) {
            Some((meaning, behind)) => {
                filled.push_str(&meaning);
                rest = behind;
            }
            None => {
                filled.push_str("{{");
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

fn meaning(name: &str, request: &Request, results: &[String]) -> Option<String> {
    if name == "prompt" {
        return Some(prompt(request));
    }
    let (what, number) = name.split_once(':')?;
    let number: usize = number.parse().ok()?;
    let result = results.get(number).map_or("", String::as_str);
    let mut lines = result.lines().filter(|line| !line.trim().is_empty() && !is_notice(line));
    match what {
        "result" => Some(result.to_owned()),
        "count" => Some(lines.count().to_string()),
        "first" => Some(lines.next().unwrap_or_default().to_owned()),
        "last" => Some(lines.next_back().unwrap_or_default().to_owned()),
        _ => None,
    }
}

/// Whether the line is a notice of the tool about its output, such as that it was cut.
fn is_notice(line: &str) -> bool {
    (line.starts_with('[') && line.ends_with(']')) || line == "(no output)"
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
