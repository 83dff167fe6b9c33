//! The commands of pi's RPC mode, as far as an agent without a screen needs them.

use std::collections::VecDeque;
use std::io::{BufRead, Read};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::message::Content;

/// A command from standard input.
#[derive(Debug)]
pub(crate) struct Command {
    /// Repeated in the response.
    pub(crate) id: Option<Value>,
    /// The word for its kind, as it was written.
    pub(crate) name: String,
    /// What to do, or why it cannot be done.
    pub(crate) kind: Result<CommandKind, String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CommandKind {
    /// A prompt for an idle agent. For one that works, it says how it waits.
    Prompt {
        message: String,
        waits: Option<Waits>,
    },
    Steer(String),
    FollowUp(String),
    Abort,
    GetState,
}

/// How long a message to an agent that works waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Waits {
    /// For the next request.
    Steer,
    /// Until the agent would end.
    FollowUp,
}

/// What an agent in RPC mode answers to each of its commands that cannot be carried out; nothing for the others.
pub fn refusals(mut commands: &[u8]) -> Vec<Option<String>> {
    let commands = std::iter::from_fn(|| read_command(&mut commands));
    let refusal = |Command { id, name, kind }: Command| {
        kind.err().map(|error| response(id.as_ref(), &name, Err(error)).to_string())
    };
    commands.map(refusal).collect()
}

/// The messages that wait.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) steering: VecDeque<String>,
    pub(crate) follow_up: VecDeque<String>,
    /// Whether the stream says that there are some.
    pub(crate) is_shown: bool,
}

/// The longest line that is read. A prompt can bring large files.
const MAX_LINE: u64 = 1024 * 1024 * 1024;

/// The next command of the input; nothing at its end.
pub(crate) fn read_command(input: &mut dyn BufRead) -> Option<Command> {
    loop {
        let mut line = Vec::new();
        let count = input.take(MAX_LINE).read_until(b'\n', &mut line).unwrap_or(0);
        if count == 0 {
            return None;
        }
        if !line.trim_ascii().is_empty() {
            return Some(Command::parse(&line));
        }
    }
}

impl Command {
    fn parse(line: &[u8]) -> Command {
        let record = match serde_json::from_slice::<Map<String, Value>>(line) {
            Ok(record) => record,
            Err(error) => {
                let kind = Err(format!("Failed to parse command: {error}"));
                return Command { id: None, name: "parse".to_owned(), kind };
            }
        };
        let id = record.get("id").cloned();
        let name = record.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let message = || match record.get("message") {
            Some(Value::String(message)) => Ok(message.clone()),
            _ => Err("the command has no message".to_owned()),
        };
        let kind = match name.as_str() {
            "prompt" => message().and_then(|message| {
                let waits = record.get("streamingBehavior").cloned().unwrap_or_default();
                let waits = serde_json::from_value(waits);
                let waits =
                    waits.map_err(|_| "streamingBehavior is steer or followUp".to_owned())?;
                Ok(CommandKind::Prompt { message, waits })
            }),
            "steer" => message().map(CommandKind::Steer),
            "follow_up" => message().map(CommandKind::FollowUp),
            "abort" => Ok(CommandKind::Abort),
            "get_state" => Ok(CommandKind::GetState),
            other => Err(format!("Unknown command: {other}")),
        };
        Command { id, name, kind }
    }
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.steering.len() + self.follow_up.len()
    }

    pub(crate) fn add(&mut self, message: String, waits: Waits) {
        match waits {
            Waits::Steer => self.steering.push_back(message),
            Waits::FollowUp => self.follow_up.push_back(message),
        }
    }

    /// What the model reads before it is asked again. All of it: the agent's user does not wait for
    /// further requests.
    pub(crate) fn take_steering(&mut self) -> Vec<Vec<Content>> {
        self.steering.drain(..).map(as_content).collect()
    }

    /// What an agent reads that would end: what came last for the next request, else the next one of
    /// those that wait for the end.
    pub(crate) fn take_next(&mut self) -> Vec<Vec<Content>> {
        let steering = self.take_steering();
        if steering.is_empty() {
            self.follow_up.pop_front().map(as_content).into_iter().collect()
        } else {
            steering
        }
    }
}

fn as_content(text: String) -> Vec<Content> {
    vec![Content::text(text)]
}

/// The record that answers a command.
pub(crate) fn response(
    id: Option<&Value>,
    name: &str,
    outcome: Result<Option<Value>, String>,
) -> Value {
    let mut record = json!({"type": "response", "command": name, "success": outcome.is_ok()});
    if let Some(id) = id {
        record["id"] = id.clone();
    }
    match outcome {
        Ok(Some(data)) => record["data"] = data,
        Ok(None) => {}
        Err(error) => record["error"] = error.into(),
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<CommandKind, String> {
        Command::parse(line.as_bytes()).kind
    }

    #[test]
    fn commands_are_pis() {
        let prompt = |waits| CommandKind::Prompt { message: "go".to_owned(), waits };
        for (line, expected) in [
            (r#"{"id":"1","type":"prompt","message":"go"}"#, prompt(None)),
            (
                r#"{"type":"prompt","message":"go","streamingBehavior":"steer"}"#,
                prompt(Some(Waits::Steer)),
            ),
            (
                r#"{"type":"prompt","message":"go","streamingBehavior":"followUp"}"#,
                prompt(Some(Waits::FollowUp)),
            ),
            (r#"{"type":"steer","message":"go"}"#, CommandKind::Steer("go".to_owned())),
            (r#"{"type":"follow_up","message":"go"}"#, CommandKind::FollowUp("go".to_owned())),
            (r#"{"type":"abort"}"#, CommandKind::Abort),
            (r#"{"type":"get_state"}"#, CommandKind::GetState),
        ] {
            assert_eq!(parsed(line), Ok(expected), "{line}");
        }
        for (line, error) in [
            ("[1]", "Failed to parse command"),
            (r#"{"type":"prompt"}"#, "the command has no message"),
            (r#"{"type":"bash"}"#, "Unknown command: bash"),
            (r#"{"type":"prompt","message":"a","streamingBehavior":"x"}"#, "streamingBehavior"),
        ] {
            assert!(parsed(line).unwrap_err().contains(error), "{line}");
        }
    }

    #[test]
    fn empty_lines_are_passed_over_and_the_last_needs_no_line_feed() {
        let mut input: &[u8] = b"\n  \n{\"type\":\"abort\"}\n{\"type\":\"get_state\"}";
        assert_eq!(read_command(&mut input).unwrap().name, "abort");
        assert_eq!(read_command(&mut input).unwrap().name, "get_state");
        assert!(read_command(&mut input).is_none());
    }

    #[test]
    fn what_waits_for_the_end_comes_one_by_one() {
        let mut queue = Queue::default();
        for (message, waits) in [
            ("a", Waits::FollowUp),
            ("b", Waits::Steer),
            ("c", Waits::Steer),
            ("d", Waits::FollowUp),
        ] {
            queue.add(message.to_owned(), waits);
        }
        let mut next = || {
            let taken = queue.take_next();
            taken.iter().map(|content| crate::message::text_of(content)).collect::<Vec<_>>()
        };
        assert_eq!(
            [next(), next(), next(), next()],
            [vec!["b", "c"], vec!["a"], vec!["d"], vec![]]
        );
    }
}
