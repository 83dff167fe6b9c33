//! What a script can say, and which of its turns answers a conversation.

use std::collections::BTreeMap;
use std::iter;
use std::num::NonZeroUsize;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

const SCRIPT_START: &str = "<<SCRIPT>>";
const SCRIPT_END: &str = "<<END>>";

/// One answer of the model. The documentation of [`super`] explains the fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Turn {
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) tools: Vec<Tool>,
    pub(super) chunk: Option<NonZeroUsize>,
    pub(super) delay_ms: u64,
    pub(super) usage: Usage,
    pub(super) finish: Option<String>,
    pub(super) error: Option<u16>,
    pub(super) error_message: Option<String>,
    pub(super) error_type: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) retry_after: Option<u64>,
    pub(super) times: Option<u64>,
    pub(super) hang: bool,
    pub(super) stall: bool,
    pub(super) cut: bool,
    pub(super) unfinished: bool,
    pub(super) garbage: Option<String>,
    pub(super) page: Option<String>,
}

/// A call of a tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    pub(super) name: String,
    #[serde(default)]
    pub(super) args: Map<String, Value>,
    /// What is sent in the place of `args`.
    arguments: Option<String>,
    /// What the call is called, if that matters.
    pub(super) id: Option<String>,
    /// The group that the tool belongs to; only the responses API has groups.
    pub(super) namespace: Option<String>,
    /// What a tool is given that takes a text; only the responses API has such tools.
    pub(super) input: Option<String>,
}

impl Tool {
    /// The arguments as the model writes them: as JSON text.
    pub(super) fn arguments(&self) -> String {
        self.arguments.clone().unwrap_or_else(|| json!(self.args).to_string())
    }
}

/// The token counts of a turn.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
    pub(super) written: u64,
    pub(super) thinking: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: 100, output: 20, cached: 0, written: 0, thinking: 0 }
    }
}

/// Cuts a text into pieces of `size` characters, else of twenty.
pub(super) fn pieces(text: &str, size: Option<NonZeroUsize>) -> impl Iterator<Item = &str> {
    let size = size.map_or(20, NonZeroUsize::get);
    let mut rest = text;
    iter::from_fn(move || {
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(position, _)| position);
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        (!piece.is_empty()).then_some(piece)
    })
}

/// A turn and its place in a script.
#[derive(Debug)]
pub(super) struct Step {
    /// The text of the script, which tells it from others.
    pub(super) script: String,
    pub(super) index: usize,
    /// The turn, with its text filled in.
    pub(super) turn: Turn,
}

impl Step {
    /// Finds the turn that comes next in a conversation.
    pub(super) fn next(messages: &[Value], default_script: &str) -> serde_json::Result<Self> {
        let (script, following) =
            last_script(messages).unwrap_or_else(|| (default_script.to_owned(), messages));
        let index = with_role(following, "assistant").count();
        Self::at(index, script, messages, following)
    }

    /// The turn with this number, whatever the conversation is.
    pub(super) fn nth(index: usize, messages: &[Value], script: &str) -> serde_json::Result<Self> {
        Self::at(index, script.to_owned(), messages, messages)
    }

    fn at(
        index: usize,
        script: String,
        messages: &[Value],
        following: &[Value],
    ) -> serde_json::Result<Self> {
        let mut turn = parse_script(&script)?.into_iter().nth(index).unwrap_or_else(end_of_script);
        turn.text = fill(&turn.text, |name| {
            if name == "prompt" {
                return with_role(messages, "user").next_back().map(prompt_of);
            }
            let number = name.strip_prefix("result:")?.parse().ok()?;
            with_role(following, "tool").nth(number).map(text_of)
        });
        Ok(Self { script, index, turn })
    }
}

/// Parses the text of a script.
pub(super) fn parse_script(script: &str) -> serde_json::Result<Vec<Turn>> {
    serde_json::from_str(script)
}

/// A script within the text of a message.
struct Block<'text> {
    before: &'text str,
    script: &'text str,
    after: &'text str,
}

impl<'text> Block<'text> {
    fn find(text: &'text str) -> Option<Self> {
        let (before, rest) = text.split_once(SCRIPT_START)?;
        // Where the JSON ends, and not where the first end mark stands: an agent that starts other
        // agents carries their scripts in the arguments of its own tool calls.
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        let json_length = match values.next() {
            Some(Ok(_)) => values.byte_offset(),
            // The script is malformed; parsing it reports the error.
            Some(Err(_)) | None => 0,
        };
        let script_length = json_length + rest[json_length..].find(SCRIPT_END)?;
        let (script, after) = rest.split_at(script_length);
        Some(Self { before, script, after: &after[SCRIPT_END.len()..] })
    }
}

/// The last script within a text, as it is written there: what a resumed agent is told begins with what was said before.
pub(crate) fn script_in(text: &str) -> Option<&str> {
    let first = Block::find(text);
    let blocks = std::iter::successors(first, |block| Block::find(block.after));
    blocks.last().map(|block| block.script)
}

/// Finds the script that counts, and the messages that came after it.
fn last_script(messages: &[Value]) -> Option<(String, &[Value])> {
    messages.iter().enumerate().rev().find_map(|(position, message)| {
        let text = (message["role"] == "user").then(|| text_of(message))?;
        let script = Block::find(&text)?.script.to_owned();
        Some((script, &messages[position + 1..]))
    })
}

fn end_of_script() -> Turn {
    Turn { text: "(end of script)".to_owned(), ..Turn::default() }
}

fn with_role<'messages>(
    messages: &'messages [Value],
    role: &'static str,
) -> impl DoubleEndedIterator<Item = &'messages Value> {
    messages.iter().filter(move |message| message["role"] == role)
}

/// The text of a message, whether it is a string or comes in parts.
fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// The text of a message without its script.
fn prompt_of(message: &Value) -> String {
    let text = text_of(message);
    match Block::find(&text) {
        Some(Block { before, after, .. }) => format!("{before}{after}").trim().to_owned(),
        None => text,
    }
}

/// Replaces each `{{name}}` that has a value, in one pass, so that values are never searched.
pub(super) fn fill(template: &str, value_of: impl Fn(&str) -> Option<String>) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, opened)) = rest.split_once("{{") {
        filled += before;
        let replacement =
            opened.split_once("}}").and_then(|(name, after)| Some((value_of(name)?, after)));
        if let Some((value, after)) = replacement {
            filled += &value;
            rest = after;
        } else {
            filled += "{{";
            rest = opened;
        }
    }
    filled + rest
}
