//! What an agent says over the Agent Client Protocol, and what it is told.
//!
//! The conversation has a fixed course: `initialize`, a session, the model, the prompt. Each request is sent when the
//! one before it has been answered. In between, the agent tells what it does, and asks what it may do. Every message to
//! the agent is a further prompt: at once, between two calls, or when the turn has ended, as the agent can take it.
//!
//! Texts come in pieces without an end: a message is told when something else begins, or when the turn ends. That a
//! turn has ended well is believed only if there is an answer: agents end their turn in the same way when their
//! provider has refused.

mod ending;
mod opening;
mod permissions;

use memchr::memmem;
use model::{Activity, Event, StopReason, Usage};
use process::{Keep, Line};
use serde_json::{Value, json};

use super::calls::Calls;
use super::make::Make;
use super::notices::{self, Notice};
use super::permission;
use super::prompts::{Answer, PromptTiming, Prompts};
use super::selection;
use crate::json::{self, provider_words, take_in};
use crate::question::OpenQuestions;
use crate::{Assignment, LastWord, Reading};
use permissions::Permission;

/// The version of the protocol.
const VERSION: u64 = 1;
/// What an agent answers that wants its user to sign in.
const SIGN_IN_REQUIRED: i64 = -32000;
/// The way to sign in that needs nobody: the key is in the environment.
const KEY_SIGN_IN: &str = "gemini-api-key";
/// What is answered to a request that is not offered.
const UNKNOWN_METHOD: i64 = -32601;

/// A message that grows beyond this is told in parts.
const MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// Whether a long line must be kept whole, judged by its beginning.
pub(crate) fn keep(head: &[u8]) -> Keep {
    if head.trim_ascii_start().starts_with(b"{") { Keep::Whole } else { Keep::Ends }
}

/// The first request.
pub(crate) fn opening() -> Vec<u8> {
    // Files and terminals are the agent's own business, within its access.
    let capabilities =
        json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
    let params = json!({
        "protocolVersion": VERSION,
        "clientCapabilities": capabilities,
        "clientInfo": {"name": "pi-subagents", "version": env!("CARGO_PKG_VERSION")},
    });
    line_of(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
}

/// Speaks with one agent.
#[derive(Debug)]
pub struct AcpReader {
    assignment: Assignment,
    /// By its name, which decides how it was started.
    started_as: Make,
    /// As it tells.
    make: Make,
    /// What the agent has been asked and has not answered.
    asked: Asked,
    /// The number of that request.
    request: u64,
    can_sign_in: bool,
    session: String,
    model: Option<String>,
    prompts: Prompts,
    message: Message,
    calls: Calls,
    turn: Turn,
    /// Whether an earlier turn has ended.
    has_ended_turn: bool,
    /// Whether the agent tells less than all that was used.
    is_usage_partial: bool,
    /// What was told of it already.
    told: Usage,
    told_cost: f64,
    /// The list of things to do, as it was told last.
    plan: Value,
    /// What the session has cost so far, where the agent tells.
    cost: Option<f64>,
    /// How often the provider was asked again.
    retries: u64,
    /// What the agent asks and is not answered yet.
    permissions: OpenQuestions<Permission>,
}

/// What has happened since the agent was idle.
#[derive(Debug, Default)]
struct Turn {
    /// Whether the model has said something after its last call.
    has_answer: bool,
    has_calls: bool,
    /// Why the provider has failed for good, unless the model says something after all.
    failure: Option<String>,
    /// Whether the agent was told to leave it.
    is_cancelled: bool,
    /// Whether that was for a message which follows when the agent is idle.
    is_interrupted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Asked {
    Initialize,
    SignIn,
    Session,
    Model(String),
    Thinking,
    Prompt,
    /// The turn has ended, and another prompt can follow.
    Idle,
    /// The last word has been said.
    Nothing,
}

/// The message that is being written.
#[derive(Debug, Default)]
struct Message {
    id: Option<String>,
    text: String,
    /// A piece that could not be read.
    lost: Option<Event>,
}

impl AcpReader {
    pub(crate) fn new(assignment: Assignment) -> AcpReader {
        let make = Make::of(&assignment.agent);
        AcpReader {
            started_as: make,
            make,
            assignment,
            asked: Asked::Initialize,
            request: 0,
            can_sign_in: false,
            session: String::new(),
            model: None,
            prompts: Prompts::default(),
            message: Message::default(),
            calls: Calls::default(),
            turn: Turn::default(),
            has_ended_turn: false,
            is_usage_partial: false,
            told: Usage::default(),
            told_cost: 0.0,
            plan: Value::Null,
            cost: None,
            retries: 0,
            permissions: OpenQuestions::default(),
        }
    }

    /// What to write so that the agent reads a message. If that must wait, a later reading has it.
    pub(crate) fn tell(&mut self, number: u64, text: &str) -> Vec<u8> {
        self.prompts.hold(number, text);
        let takes_it = match self.asked {
            Asked::Idle => true,
            Asked::Prompt => {
                self.make.prompt_timing() == PromptTiming::DuringTurn && !self.turn.is_cancelled
            }
            _ => false,
        };
        if takes_it { self.send_held() } else { Vec::new() }
    }

    /// What to write so that the agent leaves what it is doing. It is idle when it has answered its prompts.
    pub(crate) fn interruption(&mut self) -> Vec<u8> {
        if self.asked != Asked::Prompt {
            return Vec::new();
        }
        self.turn.is_interrupted = true;
        self.cancel()
    }

    fn cancel(&mut self) -> Vec<u8> {
        if std::mem::replace(&mut self.turn.is_cancelled, true) {
            return Vec::new();
        }
        let params = json!({"sessionId": self.session});
        let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params});
        // An agent that waits for a permission would not see it.
        let result = permission::answer(false, &Value::Null);
        let answers = self.permissions.iter().map(|Permission { request, .. }| {
            line_of(&json!({"jsonrpc": "2.0", "id": request, "result": result}))
        });
        [line_of(&cancel)].into_iter().chain(answers).flatten().collect()
    }

    /// Sends every message that was held.
    fn send_held(&mut self) -> Vec<u8> {
        if self.prompts.has_open() {
            self.is_usage_partial |= self.make.tells_last_message_only();
        } else {
            self.turn = Turn::default();
        }
        self.asked = Asked::Prompt;
        self.request += 1;
        let text = self.prompts.send_held(self.request);
        line_of(&prompt_request(self.request, &self.session, &text))
    }

    pub(crate) fn read(&mut self, line: Line<'_>) -> Reading {
        let record = match line {
            Line::Whole(bytes) if bytes.trim_ascii().is_empty() => return Reading::default(),
            Line::Whole(bytes) => json::parse::<Value>(bytes),
            Line::Cut { .. } => None,
        };
        let is_message = |record: &Value| record["method"].is_string() || !record["id"].is_null();
        let Some(mut record) = record.filter(|record| record.is_object() && is_message(record))
        else {
            return self.unreadable(line);
        };
        if self.asked == Asked::Nothing {
            return Reading::default();
        }
        if self.asked == Asked::Idle {
            // What comes behind the end of a turn belongs to it, and is of no use any more.
            self.take_cost(&record["params"]["update"]);
            return Reading::default();
        }
        let (id, params) = (take_in(&mut record, "id"), take_in(&mut record, "params"));
        match record["method"].as_str() {
            Some("session/update") => self.update(params),
            Some("session/request_permission") if !id.is_null() => self.permission(&id, params),
            Some(method) if !id.is_null() => {
                let message =
                    format!("Method not found: {}", &method[..method.floor_char_boundary(200)]);
                let error = json!({"code": UNKNOWN_METHOD, "message": message});
                let reply = line_of(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                Reading { reply, ..busy(None) }
            }
            None if self.asked == Asked::Prompt => match id.as_u64() {
                Some(id) if self.prompts.is_open(id) => self.prompt_answered(id, record),
                _ => Reading::default(),
            },
            None if id == self.request => self.answered(record),
            // Notifications of other kinds, known or not, say nothing that is needed, and nothing else was asked.
            _ => Reading::default(),
        }
    }

    /// What was read, but not told yet, when the output has ended.
    pub(crate) fn finish(&mut self) -> Reading {
        if matches!(self.asked, Asked::Idle | Asked::Nothing) {
            return Reading::default();
        }
        let mut events = self.end_message(None);
        events.extend(self.calls.finish());
        events.extend(self.used(&Value::Null));
        Reading { events, ..Reading::default() }
    }

    fn unreadable(&mut self, line: Line<'_>) -> Reading {
        let contains = |word: &[u8]| memmem::find(line.head(), word).is_some();
        let is_end = contains(b"\"stopReason\"");
        let is_over = matches!(self.asked, Asked::Idle | Asked::Nothing);
        if is_over || !(is_end || contains(b"\"agent_message_chunk\"")) {
            return Reading::unreadable(line, false);
        }
        // A message with a hole is a lost message, whatever follows of it.
        let mut reading = Reading::unreadable(line, true);
        if is_end {
            let mut events = self.end_message(None);
            events.append(&mut reading.events);
            return Reading { events, last_word: LastWord::AgentEnded, ..reading };
        }
        self.message.lost = reading.events.pop();
        busy(Some(Activity::Writing))
    }

    /// Sends a request; `asked` says what it is about.
    fn ask(&mut self, asked: Asked, method: &str, params: &Value) -> Reading {
        self.asked = asked;
        self.request += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.request, "method": method, "params": params});
        Reading { reply: line_of(&request), ..busy(None) }
    }

    /// The answer to the request that was sent last.
    fn answered(&mut self, mut record: Value) -> Reading {
        let error = take_in(&mut record, "error");
        let result = take_in(&mut record, "result");
        let asked = self.asked.clone();
        if !error.is_null() {
            let wants_sign_in = error["code"] == SIGN_IN_REQUIRED;
            return match asked {
                Asked::Session if wants_sign_in && std::mem::take(&mut self.can_sign_in) => {
                    self.ask(Asked::SignIn, "authenticate", &json!({"methodId": KEY_SIGN_IN}))
                }
                Asked::Session | Asked::SignIn if wants_sign_in => {
                    let (title, reason) = (self.make.title(), reason(&error));
                    self.failed(format!(
                        "{reason} (sign in to {title} first, by starting it yourself)"
                    ))
                }
                Asked::Thinking => {
                    let message = format!("thinkingLevel has no effect: {}", reason(&error));
                    let mut reading = self.prompt();
                    reading.events.insert(0, Event::Warning { message });
                    reading
                }
                _ => self.failed(reason(&error)),
            };
        }
        match asked {
            Asked::Initialize => self.initialized(&result),
            Asked::SignIn => self.open_session(),
            Asked::Session => match result["sessionId"].as_str() {
                Some(session) => {
                    self.session = session.to_owned();
                    self.model = selection::current_model(&result);
                    self.choose_model(&result)
                }
                None => self.failed("The agent opened no session".to_owned()),
            },
            Asked::Model(model) => {
                self.model = Some(model);
                self.choose_thinking(&result)
            }
            Asked::Thinking => self.prompt(),
            Asked::Prompt | Asked::Idle | Asked::Nothing => Reading::default(),
        }
    }

    /// The agent has answered a prompt. The turn ends when all are answered.
    fn prompt_answered(&mut self, id: u64, mut record: Value) -> Reading {
        let error = take_in(&mut record, "error");
        let result = take_in(&mut record, "result");
        let failure = (!error.is_null()).then(|| reason(&error));
        let answer = match &failure {
            Some(failure) => Answer::Failed(failure),
            None if result["stopReason"] == "cancelled" => {
                Answer::Cancelled { is_forgotten: self.make.forgets_cancelled_turn() }
            }
            None => Answer::Given,
        };
        let deliveries = self.prompts.close(id, &answer);
        if self.prompts.has_open() {
            return Reading { deliveries, ..busy(None) };
        }
        let is_interrupted = self.turn.is_interrupted;
        let reading = match failure {
            Some(failure) => self.turn_failed(failure),
            None => self.turn_ended(&result),
        };
        self.has_ended_turn = true;
        if self.prompts.has_held() && !is_interrupted {
            let reply = self.send_held();
            let events = reading.events;
            return Reading { events, reply, deliveries, ..busy(Some(Activity::Waiting)) };
        }
        Reading { deliveries, ..reading }
    }

    fn update(&mut self, mut params: Value) -> Reading {
        let is_own = params["sessionId"].as_str().is_none_or(|session| session == self.session);
        let mut update = take_in(&mut params, "update");
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            // What a helper of the agent says is for the agent, not for the user; what it does is work.
            "agent_message_chunk" | "agent_thought_chunk" if !is_own => {
                Reading { is_delta: true, ..busy(None) }
            }
            "agent_message_chunk" => self.chunk(&mut update),
            "agent_thought_chunk" => self.aside(Some(Activity::Thinking)),
            "tool_call" | "tool_call_update" => {
                let events = self.end_message(Some(StopReason::ToolUse));
                let (told, goes_on) = self.calls.update(update);
                let activity = if goes_on { Activity::Tool } else { Activity::Waiting };
                let mut reading = self.working(events, told, activity);
                if !goes_on {
                    reading.reply = self.cancel_between_calls();
                }
                reading
            }
            "plan" => self.plan(&update["entries"]),
            "usage_update" => {
                self.take_cost(&update);
                busy(None)
            }
            _ => Reading::default(),
        }
    }

    /// Lets the agent leave its turn for the messages that wait, if no call would be lost.
    fn cancel_between_calls(&mut self) -> Vec<u8> {
        let is_moment = self.make.prompt_timing() == PromptTiming::BetweenCalls
            && self.prompts.has_held()
            && !self.calls.are_open();
        if is_moment { self.cancel() } else { Vec::new() }
    }

    /// Takes the sum that the session has cost, if the update tells it.
    fn take_cost(&mut self, update: &Value) {
        let cost = &update["cost"];
        if cost["currency"] == "USD" && cost["amount"].is_number() {
            self.cost = Some(json::number(cost, "amount"));
        }
    }

    /// A piece of the answer.
    fn chunk(&mut self, update: &mut Value) -> Reading {
        let id = update["messageId"].as_str().map(str::to_owned);
        let text = update["content"]["text"].as_str().unwrap_or_default();
        match notices::of_piece(self.make, text) {
            Some(Notice::Retry(error)) => {
                let mut events = self.end_message(None);
                self.turn.has_answer = false;
                self.retries += 1;
                let (attempt, max_attempts, delay_ms) = (self.retries, 0, 0);
                events.push(Event::RetryScheduled { attempt, max_attempts, delay_ms, error });
                return Reading { events, ..busy(Some(Activity::Retrying)) };
            }
            Some(Notice::Failure(reason)) => {
                self.turn.failure = Some(reason);
                let events = self.end_message(None);
                return Reading { events, ..busy(None) };
            }
            None => self.turn.failure = None,
        }
        let deliveries = self.prompts.hear_model();
        let is_other = self.message.id.is_some() && id.is_some() && self.message.id != id;
        let is_full = self.message.text.len() > MESSAGE_BYTES;
        let events = if is_other || is_full { self.end_message(None) } else { Vec::new() };
        self.message.id = id.filter(|id| id.len() <= 256);
        self.message.text.push_str(text);
        // Events are told, so the line is kept.
        let is_delta = events.is_empty();
        Reading { is_delta, events, deliveries, ..busy(Some(Activity::Writing)) }
    }

    /// Something else than an answer, after which a new message begins.
    fn aside(&mut self, activity: Option<Activity>) -> Reading {
        let events = self.end_message(None);
        let deliveries = self.prompts.hear_model();
        Reading { is_delta: events.is_empty(), events, deliveries, ..busy(activity) }
    }

    fn working(&mut self, mut events: Vec<Event>, told: Vec<Event>, activity: Activity) -> Reading {
        let mut deliveries = Vec::new();
        for event in &told {
            match event {
                Event::ToolCall { id, .. } => {
                    (self.turn.has_answer, self.turn.has_calls) = (false, true);
                    self.is_usage_partial |= self.make.tells_last_message_only();
                    deliveries.extend(self.prompts.hear_model());
                    self.prompts.begin_call(id);
                }
                Event::ToolResult { id, .. } => self.prompts.end_call(id),
                _ => {}
            }
        }
        events.extend(told);
        Reading { events, deliveries, is_tool_activity: true, ..busy(Some(activity)) }
    }

    /// The list of things to do, whenever it changes.
    fn plan(&mut self, entries: &Value) -> Reading {
        let entries = entries.as_array().map_or(&[][..], Vec::as_slice);
        let todo = |entry: &Value| json!({"text": entry["content"], "status": entry["status"]});
        let plan = Value::from(entries.iter().map(todo).collect::<Vec<_>>());
        if plan == self.plan {
            return busy(None);
        }
        self.plan = plan.clone();
        let (id, tool) = ("plan".to_owned(), "write_todos".to_owned());
        let args = json::readable_arguments(json!({"todos": plan}));
        let call = Event::ToolCall { id: id.clone(), tool: tool.clone(), args };
        let result = Event::ToolResult {
            id,
            tool,
            is_error: false,
            text: String::new(),
            limit_reached: false,
        };
        let mut events = self.end_message(None);
        events.extend([call, result]);
        Reading { events, is_tool_activity: true, ..busy(Some(Activity::Waiting)) }
    }

    /// Tells the message that has been written, if there is one, and whether a piece of it is missing.
    fn end_message(&mut self, stop_reason: Option<StopReason>) -> Vec<Event> {
        let Message { text, lost, .. } = std::mem::take(&mut self.message);
        let message = (!text.trim().is_empty()).then(|| {
            self.turn.has_answer = true;
            Event::AssistantMessage {
                text,
                model: self.model.clone(),
                stop_reason,
                error: None,
                usage: Usage::default(),
            }
        });
        message.into_iter().chain(lost).collect()
    }
}

fn prompt_request(id: u64, session: &str, text: &str) -> Value {
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params})
}

fn busy(activity: Option<Activity>) -> Reading {
    Reading { activity, last_word: LastWord::NotYet, ..Reading::default() }
}

fn line_of(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Why a request failed. Where the message is the same for everything, the reason is in the data.
fn reason(error: &Value) -> String {
    let message = error["message"].as_str().unwrap_or_default().trim();
    let message = message.strip_prefix("Internal error: ").unwrap_or(message);
    let data = &error["data"];
    let inner = [
        data.as_str(),
        data["details"].as_str(),
        data["message"].as_str(),
        data["error"]["message"].as_str(),
        data["error"].as_str(),
    ];
    let inner = inner.into_iter().flatten().map(str::trim).find(|text| !text.is_empty());
    let is_general = ["", "internal error", "invalid params", "unknown error"]
        .contains(&message.to_ascii_lowercase().as_str());
    match inner {
        Some(inner) if is_general => provider_words(inner),
        _ if message.is_empty() => "The agent failed without a reason".to_owned(),
        _ => provider_words(message),
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
