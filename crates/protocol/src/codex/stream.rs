//! What Codex prints: threads, turns and items.

use memchr::memmem;
use model::{Activity, Event, Outcome, Usage, Verdict};
use process::{Keep, Line};
use serde_json::{Value, json};

use crate::json::{self, count, provider_words, take_in};
use crate::open_calls::OpenCalls;
use crate::{LastWord, Reading};

/// Whether a long line must be kept whole, judged by its beginning.
pub(crate) fn keep(head: &[u8]) -> Keep {
    if head.trim_ascii_start().starts_with(b"{") { Keep::Whole } else { Keep::Ends }
}

/// Reads what one Codex prints.
#[derive(Debug, Default)]
pub struct CodexReader {
    calls: OpenCalls,
    /// What was told of the thread so far: every number is a sum over all turns.
    told: Usage,
}

impl CodexReader {
    pub(crate) fn read(&mut self, line: Line<'_>) -> Reading {
        let record = match line {
            Line::Whole(bytes) if bytes.trim_ascii().is_empty() => return Reading::default(),
            Line::Whole(bytes) => json::parse::<Value>(bytes),
            Line::Cut { .. } => None,
        };
        let Some(mut record) = record.filter(|record| record["type"].is_string()) else {
            let is_message = memmem::find(line.head(), b"\"agent_message\"").is_some();
            return Reading::unreadable(line, is_message);
        };
        let item = take_in(&mut record, "item");
        match record["type"].as_str().unwrap_or_default() {
            "thread.started" | "turn.started" => busy(Some(Activity::Waiting)),
            "item.started" => self.item(item, Stage::Started),
            "item.updated" => self.item(item, Stage::Updated),
            "item.completed" => self.item(item, Stage::Completed),
            "turn.completed" => self.turn_completed(&record["usage"]),
            "turn.failed" => failed(reason(record["error"]["message"].as_str())),
            "error" => error(record["message"].as_str()),
            // Records of other kinds, known or not, say nothing that is needed.
            _ => Reading::default(),
        }
    }

    fn item(&mut self, mut item: Value, stage: Stage) -> Reading {
        let text = |name: &str| item[name].as_str().unwrap_or_default();
        match item["type"].as_str().unwrap_or_default() {
            "agent_message" if stage == Stage::Completed => {
                let event = Event::AssistantMessage {
                    text: text("text").to_owned(),
                    model: None,
                    stop_reason: None,
                    error: None,
                    usage: Usage::default(),
                };
                Reading { events: vec![event], ..busy(Some(Activity::Waiting)) }
            }
            "agent_message" => busy(Some(Activity::Writing)),
            "reasoning" => busy(Some(Activity::Thinking)),
            // Of the items, an error is a warning: the turn goes on.
            "error" => {
                let event = Event::Warning { message: text("message").to_owned() };
                Reading { events: vec![event], ..busy(None) }
            }
            "command_execution" => {
                let args = json!({"command": command(text("command"))});
                let output = text("aggregated_output").to_owned();
                let is_error = text("status") == "failed" || text("status") == "declined";
                let failed = item["exit_code"].as_i64().is_some_and(|code| code != 0);
                self.call(&item, stage, "bash", args, is_error || failed, output)
            }
            "file_change" => {
                let changes = item["changes"].as_array().map_or(&[][..], Vec::as_slice);
                let paths = changes.iter().filter_map(|change| change["path"].as_str());
                let path = paths.collect::<Vec<_>>().join(", ");
                let is_error = text("status") == "failed";
                // What changes in a file is not told. Without the number of the item, several changes of one
                // file would look like a loop.
                let args = json!({"path": path, "changes": changes, "item": item["id"]});
                self.call(&item, stage, "edit", args, is_error, String::new())
            }
            "mcp_tool_call" => {
                let tool = format!("mcp__{}__{}", text("server"), text("tool"));
                let arguments = item["arguments"].clone();
                let error = item["error"]["message"].as_str();
                let output = match error {
                    Some(error) => error.to_owned(),
                    None => {
                        let content = take_in(&mut take_in(&mut item, "result"), "content");
                        serde_json::from_value::<json::Content>(content).unwrap_or_default().0
                    }
                };
                let is_error = item["status"] == "failed" || item["error"].is_object();
                self.call(&item, stage, &tool, arguments, is_error, output)
            }
            // What is searched for is told at the end.
            "web_search" if stage != Stage::Completed => {
                Reading { is_tool_activity: true, ..busy(Some(Activity::Tool)) }
            }
            "web_search" => {
                let args = json!({"query": text("query")});
                self.call(&item, stage, "web_search", args, false, String::new())
            }
            "todo_list" => todo_list(&item, stage),
            // What the agent tells its own helpers. That it waits for them, it may say many times.
            "collab_tool_call" if item["prompt"].is_string() => {
                let (tool, args) = (text("tool").to_owned(), json!({"prompt": text("prompt")}));
                let is_error = text("status") == "failed";
                self.call(&item, stage, &tool, args, is_error, String::new())
            }
            "collab_tool_call" => Reading { is_tool_activity: true, ..busy(Some(Activity::Tool)) },
            _ => busy(None),
        }
    }

    /// A call of a tool. Some items have no beginning, so that the call is told with its result.
    fn call(
        &mut self,
        item: &Value,
        stage: Stage,
        tool: &str,
        args: Value,
        is_error: bool,
        output: String,
    ) -> Reading {
        let id = item["id"].as_str().unwrap_or_default().to_owned();
        let mut events = Vec::new();
        if stage != Stage::Completed {
            if self.calls.is_open(&id) {
                return Reading { is_tool_activity: true, ..busy(Some(Activity::Tool)) };
            }
            self.calls.open(&id, tool);
        }
        if stage != Stage::Completed || self.calls.close(&id).is_none() {
            let args = json::readable_arguments(args);
            events.push(Event::ToolCall { id: id.clone(), tool: tool.to_owned(), args });
        }
        let mut activity = Activity::Tool;
        if stage == Stage::Completed {
            activity = Activity::Waiting;
            let (tool, limit_reached) = (tool.to_owned(), false);
            events.push(Event::ToolResult { id, tool, is_error, text: output, limit_reached });
        }
        Reading { events, is_tool_activity: true, ..busy(Some(activity)) }
    }

    fn turn_completed(&mut self, usage: &Value) -> Reading {
        let cached = count(usage, "cached_input_tokens");
        let sum = Usage {
            input: count(usage, "input_tokens").saturating_sub(cached),
            output: count(usage, "output_tokens"),
            cache_read: cached,
            cache_write: count(usage, "cache_write_input_tokens"),
            ..Usage::default()
        };
        let mut rest = Usage {
            input: sum.input.saturating_sub(self.told.input),
            output: sum.output.saturating_sub(self.told.output),
            cache_read: sum.cache_read.saturating_sub(self.told.cache_read),
            cache_write: sum.cache_write.saturating_sub(self.told.cache_write),
            ..Usage::default()
        };
        self.told += rest;
        let parts = [rest.input, rest.output, rest.cache_read, rest.cache_write];
        rest.total_tokens = parts.into_iter().fold(0, u64::saturating_add);
        let is_told = rest != Usage::default();
        let event = is_told.then_some(Event::UsageReported { usage: rest });
        Reading {
            events: event.into_iter().collect(),
            activity: Some(Activity::Done),
            last_word: LastWord::AgentEnded,
            verdict: Some(Verdict { outcome: Outcome::Completed, error: None }),
            ..Reading::default()
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Started,
    Updated,
    Completed,
}

fn busy(activity: Option<Activity>) -> Reading {
    Reading { activity, last_word: LastWord::NotYet, ..Reading::default() }
}

/// The plan of the agent, whenever it changes. Its end repeats it.
fn todo_list(item: &Value, stage: Stage) -> Reading {
    if stage == Stage::Completed {
        return busy(None);
    }
    let items = item["items"].as_array().map_or(&[][..], Vec::as_slice);
    let todo = |item: &Value| {
        let status = if item["completed"] == true { "completed" } else { "pending" };
        json!({"text": item["text"], "status": status})
    };
    let todos: Vec<Value> = items.iter().map(todo).collect();
    let (id, tool) = (item["id"].as_str().unwrap_or_default(), "write_todos");
    let call = Event::ToolCall {
        id: id.to_owned(),
        tool: tool.to_owned(),
        args: json::readable_arguments(json!({"todos": todos})),
    };
    let result = Event::ToolResult {
        id: id.to_owned(),
        tool: tool.to_owned(),
        is_error: false,
        text: String::new(),
        limit_reached: false,
    };
    Reading { events: vec![call, result], is_tool_activity: true, ..busy(Some(Activity::Waiting)) }
}

/// Codex says so when it tries again: `Reconnecting... 2/5 (the reason)`. Another error is the reason
/// for a failure, which the next record repeats.
fn error(message: Option<&str>) -> Reading {
    let message = message.unwrap_or_default();
    let Some(rest) = message.strip_prefix("Reconnecting...") else {
        return Reading {
            last_word: LastWord::NotYet,
            activity: None,
            ..failed(reason(Some(message)))
        };
    };
    let (numbers, why) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    let (attempt, most) = numbers.split_once('/').unwrap_or((numbers, "0"));
    let event = Event::RetryScheduled {
        attempt: attempt.parse().unwrap_or(0),
        max_attempts: most.parse().unwrap_or(0),
        delay_ms: 0,
        error: why.trim().trim_start_matches('(').trim_end_matches(')').to_owned(),
    };
    Reading { events: vec![event], ..busy(Some(Activity::Retrying)) }
}

fn failed(error: String) -> Reading {
    Reading {
        activity: Some(Activity::Done),
        last_word: LastWord::AgentEnded,
        verdict: Some(Verdict { outcome: Outcome::ProviderError, error: Some(error) }),
        ..Reading::default()
    }
}

fn reason(message: Option<&str>) -> String {
    let message = message.map(str::trim).filter(|message| !message.is_empty());
    message.map_or_else(|| "Codex failed without a reason".to_owned(), provider_words)
}

/// The command itself, without the shell that Codex starts for it.
fn command(words: &str) -> &str {
    let Some((shell, script)) = words.split_once(" -lc ").or_else(|| words.split_once(" -c "))
    else {
        return words;
    };
    let is_shell = matches!(shell.rsplit('/').next(), Some("bash" | "sh" | "zsh"));
    let quoted = |quote: char| {
        let inner = script.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains([quote, '\\'])).then_some(inner)
    };
    match quoted('\'').or_else(|| quoted('"')) {
        Some(script) if is_shell => script,
        _ if is_shell && !script.contains(['\'', '"', '\\', ' ']) => script,
        _ => words,
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
