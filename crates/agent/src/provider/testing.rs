//! What the tests of providers ask for.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use test_support::fake_llm::FakeLlm;

use super::stream::{Broken, Decoder, read_events};
use super::{
    HttpProvider, Options, Piece, Provider as _, ProviderError, Remedy, Request, ThinkingLevel,
};
use crate::config::{Compat, Model, Rates, Secret};
use crate::message::{
    AssistantMessage, Content, Message, StopReason, ToolDeclaration, ToolResultMessage, Usage,
    UserMessage,
};
use crate::provider::Api;

pub(super) fn model() -> Model {
    Model {
        provider: "fake".into(),
        id: "fake-1".into(),
        api: Api::OpenAiCompletions,
        base_url: "http://127.0.0.1:1/v1".into(),
        headers: BTreeMap::new(),
        reasoning: false,
        thinking_levels: BTreeMap::new(),
        images: true,
        context_window: 128_000,
        max_tokens: 4096,
        rates: Some(Rates::default()),
        sampling: Map::new(),
        compat: Compat::default(),
        azure: None,
    }
}

/// Without a proxy, whatever the environment of the tests says.
pub(super) fn options() -> Options {
    Options { proxy: Some(String::new()), ..Options::default() }
}

pub(super) fn compat(value: Value) -> Compat {
    serde_json::from_value(value).unwrap()
}

pub(super) fn request(messages: Vec<Message>) -> Request {
    Request {
        system: String::new(),
        tools: Vec::new(),
        messages: messages.into_iter().map(Arc::new).collect(),
        thinking: ThinkingLevel::Off,
        max_tokens: None,
    }
}

pub(super) fn user(text: impl Into<String>) -> Message {
    Message::User(UserMessage { content: vec![Content::text(text)], timestamp: 0 })
}

pub(super) fn picture() -> Content {
    Content::Image { data: "UE5H".into(), mime_type: "image/png".into() }
}

pub(super) fn thinking(text: &str, signature: Option<&str>) -> Content {
    let thinking_signature = signature.map(str::to_owned);
    Content::Thinking { thinking: text.into(), thinking_signature, redacted: false }
}

pub(super) fn call(id: &str, name: &str, arguments: Value) -> Content {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    Content::ToolCall { id: id.into(), name: name.into(), arguments, thought_signature: None }
}

/// An answer of [`model`] itself.
pub(super) fn assistant(content: Vec<Content>) -> AssistantMessage {
    AssistantMessage {
        content,
        api: "openai-completions".into(),
        provider: "fake".into(),
        model: "fake-1".into(),
        usage: Usage::default(),
        stop_reason: StopReason::Stop,
        timestamp: 0,
        response_id: None,
        error_message: None,
        raw_stop_reason: None,
    }
}

pub(super) fn result(id: &str, content: Vec<Content>) -> Message {
    Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "read".into(),
        content,
        details: None,
        is_error: false,
        timestamp: 0,
    })
}

pub(super) fn tool() -> ToolDeclaration {
    ToolDeclaration {
        name: "read".into(),
        description: "Reads a file".into(),
        parameters: json!({
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        }),
    }
}

/// Reads an answer that comes in pieces; an empty piece breaks the connection.
pub(super) fn decode(
    decoder: &mut dyn Decoder,
    bytes: Vec<Vec<u8>>,
) -> (Vec<Piece>, Result<(), ProviderError>) {
    let mut pieces = Vec::new();
    let result = read_events(&mut Pieces(bytes), decoder, &mut |piece| pieces.push(piece));
    let result = result.map_err(|broken| match broken {
        Broken::Wrong(error) => error,
        Broken::Cut(error) => ProviderError {
            message: format!("cut: {error}"),
            remedy: Remedy::Retry { after: None },
        },
    });
    (pieces, result)
}

/// Plays a turn of the fake provider to a model with this protocol, and returns the pieces, how they ended, and the
/// request.
pub(super) fn play(
    api: Api,
    turn: &Value,
) -> (Vec<Piece>, Result<(), ProviderError>, test_support::fake_llm::Request) {
    let server = FakeLlm::start().unwrap();
    let base_url = match api {
        Api::GoogleGenerativeAi => format!("{}/v1beta", server.root_url()),
        Api::AnthropicMessages => server.root_url(),
        _ => server.base_url(),
    };
    let options = Options { idle_timeout: Some(Duration::from_millis(400)), ..options() };
    let key = Some(Secret::new("sk-secret"));
    let provider = HttpProvider::new(Model { api, base_url, ..model() }, key, &options).unwrap();
    let mut pieces = Vec::new();
    let request = request(vec![user(format!("<<SCRIPT>>{}<<END>>", json!([turn])))]);
    let result = provider.stream(&request, &mut |piece| pieces.push(piece));
    (pieces, result, server.requests().pop().unwrap())
}

/// Bytes that come in these pieces. An empty one breaks the connection.
pub(super) struct Pieces(pub(super) Vec<Vec<u8>>);

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(piece) = self.0.first_mut() else { return Ok(0) };
        if piece.is_empty() {
            return Err(io::Error::new(io::ErrorKind::ConnectionReset, "connection reset"));
        }
        let count = piece.len().min(buffer.len());
        buffer[..count].copy_from_slice(&piece[..count]);
        piece.drain(..count);
        if piece.is_empty() {
            self.0.remove(0);
        }
        Ok(count)
    }
}
