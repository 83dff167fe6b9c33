//! Prepares a conversation for a model, which may be another one than that which answered before.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::config::Model;
use crate::message::{AssistantMessage, Content, Message, StopReason};

const IMAGE_OMITTED: &str = "(image omitted: model does not support images)";
const TOOL_IMAGE_OMITTED: &str = "(tool image omitted: model does not support images)";

/// A message in the order in which providers want them.
#[derive(Debug, PartialEq)]
pub(super) enum Entry<'a> {
    User(Vec<Part<'a>>),
    Assistant(Vec<Block<'a>>),
    /// The results of all calls of one answer.
    Results(Vec<Outcome<'a>>),
}

#[derive(Debug, PartialEq)]
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    Image { data: &'a str, mime_type: &'a str },
}

#[derive(Debug, PartialEq)]
pub(super) enum Block<'a> {
    Text {
        text: &'a str,
        signature: Option<&'a str>,
    },
    Thinking {
        text: &'a str,
        signature: Option<&'a str>,
        redacted: bool,
    },
    Call {
        id: Cow<'a, str>,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        signature: Option<&'a str>,
    },
}

#[derive(Debug, PartialEq)]
pub(super) struct Outcome<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) name: &'a str,
    pub(super) content: Vec<Part<'a>>,
    pub(super) is_error: bool,
}

impl Outcome<'_> {
    pub(super) fn texts(&self) -> Vec<&str> {
        let texts = self.content.iter().filter_map(|part| match part {
            Part::Text(text) => Some(&**text),
            Part::Image { .. } => None,
        });
        texts.collect()
    }
}

/// Prepares the messages for a model:
///
/// - An answer that failed or was stopped is left out: it is incomplete, and would be refused.
/// - The thinking of other models becomes text; all their signatures and hidden thinking are left out.
/// - The call ids of other models become ids that this one accepts.
/// - Every call has exactly one result, and every result a call.
/// - Images become text for models that do not accept them.
pub(super) fn prepare<'a>(
    messages: &'a [Arc<Message>],
    model: &Model,
    to_own_id: fn(&str) -> String,
) -> Vec<Entry<'a>> {
    let mut history = History { entries: Vec::new(), pending: Vec::new() };
    let mut renamed: HashMap<&str, String> = HashMap::new();
    for message in messages.iter().map(|message| &**message) {
        match message {
            Message::System(_) => {}
            Message::User(message) => {
                history.close_calls();
                history.entries.push(Entry::User(parts(&message.content, model, IMAGE_OMITTED)));
            }
            Message::CompactionSummary(message) => {
                history.close_calls();
                let text = format!(
                    "The conversation history before this point was compacted into the following \
                     summary:\n\n<summary>\n{}\n</summary>",
                    message.summary
                );
                history.entries.push(Entry::User(vec![Part::Text(text.into())]));
            }
            Message::Assistant(message) => {
                history.close_calls();
                if matches!(message.stop_reason, StopReason::Error | StopReason::Aborted) {
                    continue;
                }
                let is_own = is_same_model(message, model);
                let mut blocks = Vec::new();
                for part in &message.content {
                    if let (Content::ToolCall { id, .. }, false) = (part, is_own) {
                        renamed.insert(id, to_own_id(id));
                    }
                    blocks.extend(block(part, is_own, &renamed));
                }
                history.pending.extend(blocks.iter().filter_map(|block| match block {
                    Block::Call { id, name, .. } => Some((id.clone(), *name)),
                    _ => None,
                }));
                history.entries.push(Entry::Assistant(blocks));
            }
            Message::ToolResult(message) => {
                let id = match renamed.get(message.tool_call_id.as_str()) {
                    Some(id) => Cow::Owned(id.clone()),
                    None => Cow::Borrowed(message.tool_call_id.as_str()),
                };
                history.answer(Outcome {
                    id,
                    name: &message.tool_name,
                    content: parts(&message.content, model, TOOL_IMAGE_OMITTED),
                    is_error: message.is_error,
                });
            }
        }
    }
    history.close_calls();
    history.entries
}

struct History<'a> {
    entries: Vec<Entry<'a>>,
    /// The ids and tools of calls without a result.
    pending: Vec<(Cow<'a, str>, &'a str)>,
}

impl<'a> History<'a> {
    fn answer(&mut self, outcome: Outcome<'a>) {
        let Some(position) = self.pending.iter().position(|(id, _)| *id == outcome.id) else {
            return;
        };
        self.pending.remove(position);
        self.push_result(outcome);
    }

    /// Adds a result for every call that has none.
    fn close_calls(&mut self) {
        for (id, name) in std::mem::take(&mut self.pending) {
            let content = vec![Part::Text("No result provided".into())];
            self.push_result(Outcome { id, name, content, is_error: true });
        }
    }

    fn push_result(&mut self, outcome: Outcome<'a>) {
        if let Some(Entry::Results(outcomes)) = self.entries.last_mut() {
            outcomes.push(outcome);
        } else {
            self.entries.push(Entry::Results(vec![outcome]));
        }
    }
}

fn is_same_model(message: &AssistantMessage, model: &Model) -> bool {
    message.provider == model.provider
        && message.api == model.api.name()
        && message.model == model.id
}

fn block<'a>(
    part: &'a Content,
    is_own: bool,
    renamed: &HashMap<&str, String>,
) -> Option<Block<'a>> {
    match part {
        Content::Text { text, text_signature } => {
            Some(Block::Text { text, signature: text_signature.as_deref().filter(|_| is_own) })
        }
        Content::Image { .. } => None,
        Content::Thinking { thinking, thinking_signature, redacted } => {
            let signature = thinking_signature.as_deref().filter(|it| !it.is_empty());
            let has_words = !thinking.trim().is_empty();
            match (is_own, *redacted) {
                (false, true) => None,
                (false, false) => {
                    has_words.then_some(Block::Text { text: thinking, signature: None })
                }
                (true, redacted) => (redacted || has_words || signature.is_some())
                    .then_some(Block::Thinking { text: thinking, signature, redacted }),
            }
        }
        Content::ToolCall { id, name, arguments, thought_signature } => {
            let id = match renamed.get(id.as_str()) {
                Some(id) if !is_own => Cow::Owned(id.clone()),
                _ => Cow::Borrowed(id.as_str()),
            };
            let signature = thought_signature.as_deref().filter(|_| is_own);
            Some(Block::Call { id, name, arguments, signature })
        }
    }
}

fn parts<'a>(content: &'a [Content], model: &Model, omitted: &'static str) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    for part in content {
        match part {
            Content::Text { text, .. } => parts.push(Part::Text(text.as_str().into())),
            Content::Image { data, mime_type } if model.images => {
                parts.push(Part::Image { data, mime_type });
            }
            Content::Image { .. } => {
                let placeholder = Part::Text(omitted.into());
                // One is enough for several images.
                if parts.last() != Some(&placeholder) {
                    parts.push(placeholder);
                }
            }
            Content::Thinking { .. } | Content::ToolCall { .. } => {}
        }
    }
    parts
}
