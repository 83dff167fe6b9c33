//! An answer of the model, put together from its pieces.

use serde_json::{Map, Value};

use crate::config::Model;
use crate::event::Update;
use crate::message::{AssistantMessage, Content, StopReason, Usage};
use crate::provider::{Piece, ProviderError};

/// The message that these pieces make. The fuzzer uses it, which has answers but no agent.
pub fn message_of(model: &Model, pieces: impl IntoIterator<Item = Piece>) -> AssistantMessage {
    let mut answer = Answer::new(model, 0);
    for piece in pieces {
        answer.add(piece, &mut |_, _| {});
    }
    answer.finish(None, &mut |_, _| {}).message
}

#[derive(Debug)]
pub(crate) struct Answer {
    message: AssistantMessage,
    /// The block of text or thinking to which more is added.
    open: Option<usize>,
    calls: Vec<Call>,
    /// The number of blocks, from the first, whose end was reported.
    ended: usize,
    /// Tool calls of which the arguments are no JSON object, with the reason.
    unreadable: Vec<(String, String)>,
    has_started: bool,
    is_whole: bool,
}

/// A tool call whose arguments are still text.
#[derive(Debug)]
struct Call {
    index: u64,
    content_index: usize,
    json: String,
}

#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) message: AssistantMessage,
    /// Tool calls of which the arguments cannot be read, with the reason.
    pub(crate) unreadable: Vec<(String, String)>,
}

/// The longest arguments of one tool call: more than any file that a model can write in one answer,
/// and little enough for our memory.
const MAX_ARGUMENTS: usize = 16 * 1024 * 1024;

impl Answer {
    pub(crate) fn new(model: &Model, timestamp: u64) -> Answer {
        let message = AssistantMessage {
            content: Vec::new(),
            api: model.api.name().to_owned(),
            provider: model.provider.clone(),
            model: model.id.clone(),
            usage: Usage::default().priced(model.rates),
            stop_reason: StopReason::Pending,
            timestamp,
            response_id: None,
            error_message: None,
            raw_stop_reason: None,
        };
        Answer {
            message,
            open: None,
            calls: Vec::new(),
            ended: 0,
            unreadable: Vec::new(),
            has_started: false,
            is_whole: false,
        }
    }

    pub(crate) fn message(&self) -> &AssistantMessage {
        &self.message
    }

    pub(crate) fn has_started(&self) -> bool {
        self.has_started
    }

    /// Takes the provider's id of the answer from its first piece, if that has it.
    pub(crate) fn start(&mut self, first: &Piece) {
        if let Piece::Started { response_id } = first {
            self.message.response_id.clone_from(response_id);
        }
    }

    /// An answer without [`Piece::Ended`] was cut off.
    pub(crate) fn check_whole(&self) -> Result<(), ProviderError> {
        if self.is_whole {
            return Ok(());
        }
        Err(ProviderError::temporary("the provider ended its answer in the middle"))
    }

    /// Adds a piece, and reports the change of the message to `tell`.
    pub(crate) fn add(&mut self, piece: Piece, tell: &mut dyn FnMut(&Usage, Update<'_>)) {
        self.has_started = true;
        match piece {
            Piece::Started { response_id } => self.message.response_id = response_id,
            Piece::TextStarted => {
                self.open = None;
                self.open_text(tell);
            }
            Piece::ThinkingStarted => {
                self.open = None;
                self.open_thinking(tell);
            }
            Piece::Text(delta) => self.add_text(&delta, tell),
            Piece::Thinking(delta) => self.add_thinking(&delta, tell),
            Piece::ThinkingSignature(signature) => {
                // A block that has ended has its own.
                let unended = self.message.content.iter().skip(self.ended);
                if !unended.into_iter().any(is_thinking) {
                    self.open_thinking(tell);
                }
                let mut thoughts = self.message.content.iter_mut().rev();
                if let Some(Content::Thinking { thinking_signature, .. }) =
                    thoughts.find(|part| is_thinking(part))
                {
                    *thinking_signature = Some(signature);
                }
            }
            Piece::RedactedThinking(data) => {
                self.open = None;
                let content_index = self.message.content.len();
                self.message.content.push(Content::Thinking {
                    thinking: String::new(),
                    thinking_signature: Some(data),
                    redacted: true,
                });
                tell(&self.message.usage, Update::ThinkingStart { content_index });
            }
            Piece::ToolCall { index, id, name } => {
                self.open = None;
                let content_index = self.message.content.len();
                let id = self.unused(id, content_index);
                let start = Update::ToolcallStart { content_index, id: &id, tool_name: &name };
                tell(&self.message.usage, start);
                let (arguments, thought_signature) = (Map::new(), None);
                let call = Content::ToolCall { id, name, arguments, thought_signature };
                self.message.content.push(call);
                self.calls.push(Call { index, content_index, json: String::new() });
            }
            Piece::Arguments { index, json } => {
                let call = self.calls.iter_mut().rev().find(|call| call.index == index);
                if let Some(call) = call.filter(|call| call.json.len() <= MAX_ARGUMENTS) {
                    call.json.push_str(&json);
                    let content_index = call.content_index;
                    let delta = Update::ToolcallDelta { content_index, delta: &json };
                    tell(&self.message.usage, delta);
                }
            }
            Piece::Block { block, text, signature } => self.settle(block, text, signature),
            Piece::BlockEnded => {
                self.open = None;
                self.end_blocks(tell);
            }
            Piece::Usage(usage) => self.message.usage = usage,
            Piece::StopWord(word) => self.message.raw_stop_reason = Some(word),
            Piece::Ended { reason, raw } => {
                self.message.stop_reason = reason;
                self.message.raw_stop_reason = raw;
                self.is_whole = true;
            }
        }
    }

    /// Ends the answer. After a failure, the end of incomplete blocks is not reported.
    pub(crate) fn finish(
        mut self,
        failure: Option<(StopReason, String)>,
        tell: &mut dyn FnMut(&Usage, Update<'_>),
    ) -> Finished {
        match failure {
            Some((reason, message)) => {
                self.message.stop_reason = reason;
                self.message.error_message = Some(message);
                self.end_blocks(&mut |_, _| {});
            }
            None => self.end_blocks(tell),
        }
        // After tool calls, a model that ends with `stop` waits for their results all the same.
        if self.message.stop_reason == StopReason::Stop && !self.calls.is_empty() {
            self.message.stop_reason = StopReason::ToolUse;
        }
        Finished { message: self.message, unreadable: self.unreadable }
    }

    /// Reports the end of all blocks whose end was not reported before.
    fn end_blocks(&mut self, tell: &mut dyn FnMut(&Usage, Update<'_>)) {
        for content_index in self.ended..self.message.content.len() {
            self.read_arguments(content_index);
            let part = &self.message.content[content_index];
            let update = match part {
                Content::Text { text, .. } => Update::TextEnd { content_index, content: text },
                Content::Thinking { thinking, .. } => {
                    Update::ThinkingEnd { content_index, content: thinking }
                }
                Content::ToolCall { .. } => Update::ToolcallEnd { content_index, tool_call: part },
                Content::Image { .. } => continue,
            };
            tell(&self.message.usage, update);
        }
        self.ended = self.message.content.len();
    }

    fn read_arguments(&mut self, content_index: usize) {
        let call = self.calls.iter().find(|call| call.content_index == content_index);
        let (Some(call), Some(Content::ToolCall { id, arguments, .. })) =
            (call, self.message.content.get_mut(content_index))
        else {
            return;
        };
        match parse_arguments(&call.json) {
            Ok(parsed) => *arguments = parsed,
            Err(reason) => self.unreadable.push((id.clone(), reason)),
        }
    }

    /// The id, or another one if the message has it already: results find their calls by it.
    fn unused(&self, mut id: String, content_index: usize) -> String {
        let is_used = |id: &str| {
            let mut parts = self.message.content.iter();
            parts.any(|part| matches!(part, Content::ToolCall { id: other, .. } if other == id))
        };
        // The other one can be in use as well.
        while is_used(&id) {
            id = format!("{id}_{content_index}");
        }
        id
    }

    /// Puts the final text and the signature into a block.
    fn settle(&mut self, block: usize, text: Option<String>, signature: Option<String>) {
        let (content, kept) = match self.message.content.get_mut(block) {
            Some(Content::Text { text, text_signature }) => (Some(text), text_signature),
            Some(Content::Thinking { thinking, thinking_signature, .. }) => {
                (Some(thinking), thinking_signature)
            }
            Some(Content::ToolCall { thought_signature, .. }) => {
                let call = self.calls.iter_mut().find(|call| call.content_index == block);
                (call.map(|call| &mut call.json), thought_signature)
            }
            Some(Content::Image { .. }) | None => return,
        };
        if let (Some(content), Some(text)) = (content, text) {
            *content = text;
        }
        *kept = signature.or(kept.take());
    }

    fn add_text(&mut self, delta: &str, tell: &mut dyn FnMut(&Usage, Update<'_>)) {
        if delta.is_empty() && !self.is_open(is_text) {
            return;
        }
        let content_index = self.open_text(tell);
        if let Some(Content::Text { text, .. }) = self.message.content.get_mut(content_index) {
            text.push_str(delta);
        }
        tell(&self.message.usage, Update::TextDelta { content_index, delta });
    }

    fn open_text(&mut self, tell: &mut dyn FnMut(&Usage, Update<'_>)) -> usize {
        let start = |content_index| Update::TextStart { content_index };
        self.open(is_text, Content::text(""), start, tell)
    }

    fn add_thinking(&mut self, delta: &str, tell: &mut dyn FnMut(&Usage, Update<'_>)) {
        if delta.is_empty() && !self.is_open(is_thinking) {
            return;
        }
        let content_index = self.open_thinking(tell);
        if let Some(Content::Thinking { thinking, .. }) =
            self.message.content.get_mut(content_index)
        {
            thinking.push_str(delta);
        }
        tell(&self.message.usage, Update::ThinkingDelta { content_index, delta });
    }

    fn open_thinking(&mut self, tell: &mut dyn FnMut(&Usage, Update<'_>)) -> usize {
        let (thinking, thinking_signature) = (String::new(), None);
        let new = Content::Thinking { thinking, thinking_signature, redacted: false };
        self.open(is_thinking, new, |content_index| Update::ThinkingStart { content_index }, tell)
    }

    fn is_open(&self, is_meant: fn(&Content) -> bool) -> bool {
        let open = self.open.and_then(|index| self.message.content.get(index));
        open.is_some_and(is_meant)
    }

    /// The index of the open block if it is of this kind, else of a new one.
    fn open(
        &mut self,
        is_meant: fn(&Content) -> bool,
        new: Content,
        start: fn(usize) -> Update<'static>,
        tell: &mut dyn FnMut(&Usage, Update<'_>),
    ) -> usize {
        if let Some(open) = self.open.filter(|_| self.is_open(is_meant)) {
            return open;
        }
        let content_index = self.message.content.len();
        self.message.content.push(new);
        self.open = Some(content_index);
        tell(&self.message.usage, start(content_index));
        content_index
    }
}

fn is_text(part: &Content) -> bool {
    matches!(part, Content::Text { .. })
}

fn is_thinking(part: &Content) -> bool {
    matches!(part, Content::Thinking { .. })
}

fn parse_arguments(json: &str) -> Result<Map<String, Value>, String> {
    if json.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(json) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("they are no JSON object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
