//! What the tests of this crate share.

use crate::config::{Compat, Model, Rates};
use crate::history::Entry;
use crate::message::{
    AssistantMessage, Content, Message, StopReason, ToolResultMessage, Usage, UserMessage,
};
use crate::provider::Api;

/// A model that plays no script.
pub(crate) fn model() -> Model {
    Model {
        provider: "script".to_owned(),
        id: "turns.json".to_owned(),
        api: Api::Script,
        base_url: String::new(),
        headers: Default::default(),
        reasoning: false,
        thinking_levels: Default::default(),
        images: false,
        context_window: 1000,
        max_tokens: 100,
        rates: Some(Rates::default()),
        sampling: Default::default(),
        compat: Compat::default(),
        azure: None,
    }
}

pub(crate) fn user(id: &str, text: &str) -> Entry {
    let message = UserMessage { content: vec![Content::text(text)], timestamp: 1 };
    Entry::new(id.to_owned(), Message::User(message))
}

pub(crate) fn assistant(id: &str, text: &str, total_tokens: u64) -> Entry {
    let message = AssistantMessage {
        content: vec![Content::text(text)],
        api: "script".to_owned(),
        provider: "script".to_owned(),
        model: "m".to_owned(),
        usage: Usage { total_tokens, ..Usage::default() },
        stop_reason: StopReason::Stop,
        timestamp: 2,
        response_id: None,
        error_message: None,
        raw_stop_reason: None,
    };
    Entry::new(id.to_owned(), Message::Assistant(message))
}

pub(crate) fn result(id: &str, text: &str) -> Entry {
    let message = ToolResultMessage {
        tool_call_id: "c".to_owned(),
        tool_name: "read".to_owned(),
        content: vec![Content::text(text)],
        details: None,
        is_error: false,
        timestamp: 3,
    };
    Entry::new(id.to_owned(), Message::ToolResult(message))
}
