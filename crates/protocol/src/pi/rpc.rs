//! pi's RPC mode: the stream of its JSON mode, and commands on its standard input.
//!
//! The prompt is a command, too. The agent stays when it has answered, until its input ends.

use std::time::Duration;

use model::{Activity, Answer, Event, Outcome, Question, QuestionKind, ToolEffect, Verdict};
use process::{Keep, Line};
use serde_json::{Value, json};

use super::stream;
use crate::conversation::Told;
use crate::json;
use crate::question::{Asked, OpenQuestions};
use crate::{LastWord, Reading};

/// The names of the commands. Those that bring messages are named by the numbers of the messages.
const PROMPT: &str = "prompt";
/// The prompt, if it may be a command of an extension.
const SLASH_PROMPT: &str = "slash-prompt";
const STATE: &str = "state";
const INTERRUPTION: &str = "interruption";

const IDLE: LastWord = LastWord::Idle { is_settled: true };

/// How an answer of the model begins.
const ANSWER: &[u8] = b"{\"type\":\"message_start\",\"message\":{\"role\":\"assistant\"";
/// How a question of an extension to its user begins.
const DIALOG: &[u8] = b"{\"type\":\"extension_ui_request\"";
/// The kinds of them that wait for an answer, with the fields that say what is asked.
const DIALOGS: [(&str, QuestionKind, [&str; 2]); 4] = [
    ("select", QuestionKind::Choice, ["title", ""]),
    ("confirm", QuestionKind::Confirmation, ["title", "message"]),
    ("input", QuestionKind::Text, ["title", "placeholder"]),
    ("editor", QuestionKind::Text, ["title", "prefill"]),
];

/// Reads what one pi in RPC mode prints.
#[derive(Debug, Default)]
pub struct RpcReader {
    told: Told,
    /// Whether the agent has begun to work.
    has_begun: bool,
    /// Whether the user is asked what extensions ask.
    asks: bool,
    dialogs: OpenQuestions<Dialog>,
}

/// A question of an extension.
#[derive(Debug)]
struct Dialog {
    id: Value,
    kind: QuestionKind,
    options: Vec<String>,
}

/// Whether a long line must be kept whole, judged by its beginning.
pub(crate) fn keep(head: &[u8]) -> Keep {
    if head.starts_with(DIALOG) { Keep::Whole } else { stream::keep(head) }
}

/// The first command.
pub(crate) fn opening(prompt: &str) -> Vec<u8> {
    let id = if prompt.starts_with('/') { SLASH_PROMPT } else { PROMPT };
    line_of(&json!({"id": id, "type": "prompt", "message": prompt}))
}

impl RpcReader {
    pub(crate) fn new(asks: bool) -> RpcReader {
        RpcReader { asks, ..RpcReader::default() }
    }

    /// The command that tells the agent something: before its next request if it works, else as the
    /// next prompt. The agent itself decides which, so that no message falls between the two.
    pub(crate) fn tell(&mut self, number: u64, text: &str) -> Vec<u8> {
        self.told.write(number, text);
        line_of(&json!({
            "id": number.to_string(),
            "type": "prompt",
            "message": text,
            "streamingBehavior": "steer",
        }))
    }

    pub(crate) fn read(&mut self, line: Line<'_>) -> Reading {
        if line.head().starts_with(DIALOG) {
            return self.dialog(line);
        }
        let mut reading = stream::read(line);
        if reading == Reading::default() {
            return response(line).map_or(reading, |response| self.respond(&response));
        }
        self.has_begun |= reading.last_word == LastWord::NotYet;
        for event in &reading.events {
            if let Event::UserMessage { text } = event {
                self.told.show(text);
            }
        }
        let is_said = |event: &Event| matches!(event, Event::AssistantMessage { .. });
        let is_being_said = matches!(
            reading.activity,
            Some(Activity::Writing | Activity::Thinking | Activity::Calling)
        );
        let is_answer =
            line.head().starts_with(ANSWER) || is_being_said || reading.events.iter().any(is_said);
        if is_answer {
            reading.deliveries = self.told.answer();
        }
        if reading.last_word == LastWord::Said {
            // It waits for more.
            reading.last_word = IDLE;
        }
        reading
    }

    /// A question of an extension. If the user is not asked, it is answered as in JSON mode, which has
    /// no user.
    fn dialog(&mut self, line: Line<'_>) -> Reading {
        let Line::Whole(bytes) = line else { return Reading::default() };
        let Some(mut request) = json::parse::<Value>(bytes) else { return Reading::default() };
        let known = DIALOGS.iter().find(|(method, ..)| request["method"] == *method);
        let Some((_, kind, [title, text])) = known else { return Reading::default() };
        let id = json::take_in(&mut request, "id");
        if !self.asks {
            let reply = dialog_answer(&id, "cancelled", &json!(true));
            return Reading { reply, ..Reading::default() };
        }
        let words = [title, text].map(|name| request[*name].as_str().unwrap_or_default());
        let words: Vec<&str> = words.into_iter().filter(|words| !words.is_empty()).collect();
        let options = request["options"].as_array().map_or(&[][..], Vec::as_slice);
        let options: Vec<String> =
            options.iter().filter_map(|option| option.as_str().map(str::to_owned)).collect();
        let question = Question::dialog(*kind, &words.join("\n"), options.clone());
        let patience = request["timeout"].as_u64().filter(|timeout| *timeout > 0);
        let asked = Asked {
            number: self.dialogs.add(Dialog { id, kind: *kind, options }),
            question,
            effect: ToolEffect::Other,
            patience: patience.map(Duration::from_millis),
        };
        Reading { questions: vec![asked], ..Reading::default() }
    }

    pub(crate) fn answer(&mut self, number: u64, answer: &Answer) -> Reading {
        let Some(Dialog { id, kind, options }) = self.dialogs.take(number) else {
            return Reading::default();
        };
        let reply = match (kind, answer) {
            (QuestionKind::Confirmation, Answer::Yes | Answer::Always) => {
                dialog_answer(&id, "confirmed", &json!(true))
            }
            (QuestionKind::Confirmation, _) => dialog_answer(&id, "confirmed", &json!(false)),
            (_, Answer::Option(index)) => dialog_answer(&id, "value", &json!(options.get(*index))),
            (_, Answer::Text(text)) => dialog_answer(&id, "value", &json!(text)),
            (_, Answer::Yes | Answer::Always | Answer::No(_)) => {
                dialog_answer(&id, "cancelled", &json!(true))
            }
        };
        Reading { reply, ..Reading::default() }
    }

    /// The agent answers a command.
    fn respond(&mut self, response: &Value) -> Reading {
        let id = response["id"].as_str().unwrap_or_default();
        let has_succeeded = response["success"] == true;
        let error = response["error"].as_str().unwrap_or("pi gave no reason");
        let mut reading = Reading::default();
        match (id, has_succeeded) {
            // After a command of an extension nothing comes.
            (SLASH_PROMPT, true) => {
                reading.reply = line_of(&json!({"id": STATE, "type": "get_state"}));
            }
            (PROMPT | SLASH_PROMPT, false) => {
                reading.verdict =
                    Some(Verdict { outcome: Outcome::NonZeroExit, error: Some(error.to_owned()) });
                reading.last_word = IDLE;
            }
            (STATE, true) => {
                let is_at_work = self.has_begun
                    || response["data"]["isStreaming"] == true
                    || response["data"]["isCompacting"] == true;
                if !is_at_work {
                    reading.last_word = IDLE;
                }
            }
            (number, false) => {
                let refused =
                    number.parse().ok().and_then(|number| self.told.refuse(number, error));
                reading.deliveries.extend(refused);
            }
            _ => {}
        }
        reading
    }
}

/// The command that stops what the agent is doing. Its last word follows, and it waits for more.
pub(crate) fn interruption() -> Vec<u8> {
    line_of(&json!({"id": INTERRUPTION, "type": "abort"}))
}

fn dialog_answer(id: &Value, name: &str, value: &Value) -> Vec<u8> {
    line_of(&json!({"type": "extension_ui_response", "id": id, name: value}))
}

/// The line, if it is an answer to a command.
fn response(line: Line<'_>) -> Option<Value> {
    let Line::Whole(bytes) = line else { return None };
    let head = &bytes[..bytes.len().min(256)];
    memchr::memmem::find(head, b"\"response\"")?;
    json::parse::<Value>(bytes).filter(|record| record["type"] == "response")
}

fn line_of(command: &Value) -> Vec<u8> {
    let mut line = command.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
#[path = "rpc_tests.rs"]
mod tests;
