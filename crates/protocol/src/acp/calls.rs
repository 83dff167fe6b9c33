//! The calls of tools that are under way: announced, filled in, and answered by updates that name only their id.

use std::collections::VecDeque;

use model::{Event, Question};
use serde_json::{Value, json};

use super::tools::{self, Told};
use crate::json::{readable_arguments, take_in};
use crate::question::permission_text;

/// The calls of one agent.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: VecDeque<Call>,
    /// The ids of those that have ended last: some are told of again.
    ended: VecDeque<String>,
}

#[derive(Debug, Default)]
struct Call {
    id: String,
    told: Told,
    output: String,
    /// Its tool, when it has become an event.
    tool: Option<String>,
    /// What a user must see of it, to permit it.
    text: String,
}

/// A call that needs a permission.
pub(super) struct Asking {
    /// What was not told of it yet.
    pub(super) events: Vec<Event>,
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) tool: String,
    /// What a user must see of it, to permit it.
    pub(super) text: String,
}

/// What a child prints must not fill the memory: the oldest calls beyond these are forgotten, and long texts cut.
const MOST: usize = 64;
const ID_BYTES: usize = 256;
const TITLE_BYTES: usize = 4 * 1024;
const INPUT_BYTES: usize = 1024 * 1024;

impl Calls {
    /// Takes what the agent tells of a call: the events, and whether the call goes on.
    pub(super) fn update(&mut self, update: Value) -> (Vec<Event>, bool) {
        let status = update["status"].as_str().unwrap_or_default().to_owned();
        let Some(index) = self.take_in(update) else { return (Vec::new(), false) };
        let call = &mut self.open[index];
        let is_over = matches!(status.as_str(), "completed" | "failed");
        let mut events = Vec::new();
        // An announcement is followed by the arguments; of what is too large to wait, what is there is told.
        let is_ready = is_over
            || status == "in_progress"
            || tools::has_input(&call.told.input)
            || call.told.edits.len() > MOST;
        if is_ready {
            events.extend(call.tell());
        }
        if is_over {
            events.extend(self.end(index, status == "failed", None));
        }
        (events, !is_over)
    }

    /// Whether a call has begun and not ended.
    pub(super) fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Takes a call that the agent asks about.
    pub(super) fn ask(&mut self, update: Value) -> Asking {
        let id = id_of(&update);
        let kind = update["kind"].as_str().unwrap_or_default().to_owned();
        // What it asks about counts, whatever it has announced.
        let title = update["title"].as_str().unwrap_or_default().to_owned();
        let input = update["rawInput"].clone();
        let Some(index) = self.take_in(update) else {
            let (tool, text) = ("tool".to_owned(), format!("{title}\n{input}"));
            return Asking { events: Vec::new(), id, kind, tool, text };
        };
        let call = &mut self.open[index];
        let kind = if kind.is_empty() { call.told.kind.clone() } else { kind };
        let events: Vec<Event> = call.tell().into_iter().collect();
        let tool = call.tool.clone().unwrap_or_default();
        let mut text = call.text.clone();
        let is_told = !events.is_empty() || !tools::has_input(&input);
        if !is_told {
            let (_, args) =
                tools::call(&Told { kind: kind.clone(), title, input, ..Told::default() });
            text = permission_text(&tool, &args);
        }
        Asking { events, id, kind, tool, text }
    }

    /// Ends a call that was refused: not every agent tells the end of such a call. Returns the tool besides.
    pub(super) fn refuse(&mut self, id: &str, reason: &str) -> (Option<Event>, String) {
        let Some(index) = self.open.iter().position(|call| call.id == id) else {
            return (None, "a tool".to_owned());
        };
        let tool = self.open[index].tool.clone().unwrap_or_default();
        (self.end(index, true, Some(reason)), tool)
    }

    /// What was announced and never told, when nothing follows any more.
    pub(super) fn finish(&mut self) -> Vec<Event> {
        self.open.drain(..).filter_map(|mut call| call.tell()).collect()
    }

    /// The calls that were left when the turn was cancelled: not every agent tells their end.
    pub(super) fn leave(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(call) = self.open.front_mut() {
            events.extend(call.tell());
            let reason = call.output.is_empty().then_some("The call was cancelled");
            events.extend(self.end(0, true, reason));
        }
        events
    }

    /// Merges an update into its call, which may be new.
    fn take_in(&mut self, mut update: Value) -> Option<usize> {
        let id = id_of(&update);
        if self.ended.contains(&id) {
            return None;
        }
        let index = self.open.iter().position(|call| call.id == id).unwrap_or_else(|| {
            if self.open.len() == MOST {
                self.open.pop_front();
            }
            self.open.push_back(Call { id, ..Call::default() });
            self.open.len() - 1
        });
        let Call { id: call_id, told, output, tool, .. } = &mut self.open[index];
        let content = take_in(&mut update, "content");
        if let Some(text) = output_of(&content, &update["rawOutput"]) {
            *output = cut(&text, Event::TOOL_RESULT_BYTES);
        }
        if tool.is_some() {
            return Some(index);
        }
        let text = |name: &str| update[name].as_str().map(|text| cut(text, TITLE_BYTES));
        if let Some(kind) = text("kind") {
            told.kind = kind;
        }
        if let Some(name) = own_name(&update) {
            told.name = Some(cut(name, ID_BYTES));
        } else if told.name.is_none() {
            // Some call it by its name at first, and by what it does later; the ids of others begin with it.
            let title = update["title"].as_str().unwrap_or_default();
            let names = [title, call_id.split("__").next().unwrap_or_default()];
            let name = names.into_iter().find(|name| tools::is_tool_name(name));
            told.name = name.map(str::to_owned);
        }
        if let Some(title) = text("title") {
            told.title = title;
        }
        if let Some(path) = update["locations"][0]["path"].as_str() {
            told.path = Some(cut(path, TITLE_BYTES));
        }
        let input = take_in(&mut update, "rawInput");
        if tools::has_input(&input) {
            told.input = input;
        }
        let edits = edits(&content);
        if !edits.is_empty() {
            told.path =
                content[0]["path"].as_str().map(|path| cut(path, TITLE_BYTES)).or(told.path.take());
            told.edits = edits;
        }
        Some(index)
    }

    fn end(&mut self, index: usize, is_error: bool, reason: Option<&str>) -> Option<Event> {
        let call = self.open.remove(index)?;
        if self.ended.len() == MOST {
            self.ended.pop_front();
        }
        self.ended.push_back(call.id.clone());
        let tool = call.tool.unwrap_or_default();
        let text = reason.map_or(call.output, str::to_owned);
        Some(Event::ToolResult { id: call.id, tool, is_error, text, limit_reached: false })
    }
}

impl Call {
    fn tell(&mut self) -> Option<Event> {
        if self.tool.is_some() {
            return None;
        }
        // Nothing else is needed of it any more, and it can be large.
        let told = std::mem::take(&mut self.told);
        let (tool, args) = tools::call(&told);
        self.told.kind = told.kind;
        self.tool = Some(tool.clone());
        self.text = permission_text(&tool, &args);
        // What is longer is not asked about.
        self.text.truncate(self.text.floor_char_boundary(Question::TEXT_BYTES + 1));
        Some(Event::ToolCall { id: self.id.clone(), tool, args: readable_arguments(args) })
    }
}

fn id_of(update: &Value) -> String {
    cut(update["toolCallId"].as_str().unwrap_or_default(), ID_BYTES)
}

/// What the agent calls the tool, where it says so.
fn own_name(update: &Value) -> Option<&str> {
    let named = update["name"].as_str().filter(|name| !name.is_empty());
    named.or_else(|| {
        let makers = update["_meta"].as_object()?;
        makers.values().find_map(|maker| maker["toolName"].as_str())
    })
}

/// The changes of the first file in the content.
fn edits(content: &Value) -> Vec<Value> {
    let parts = content.as_array().map_or(&[][..], Vec::as_slice);
    let diffs = parts.iter().filter(|part| part["type"] == "diff");
    let short =
        |value: &Value| value.as_str().map_or_else(String::new, |text| cut(text, INPUT_BYTES));
    diffs
        .take(MOST)
        .map(|diff| json!({"oldText": short(&diff["oldText"]), "newText": short(&diff["newText"])}))
        .collect()
}

/// What the tool has put out so far: as the tool did, or else as the agent shows it. Nothing if the update does not
/// tell. What it tells replaces what was told before.
fn output_of(content: &Value, raw: &Value) -> Option<String> {
    if let Some(text) = raw.as_str().filter(|text| !text.is_empty()) {
        return Some(text.to_owned());
    }
    let parts = content.as_array();
    let texts = parts.into_iter().flatten().filter_map(|part| part["content"]["text"].as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    let names = ["output", "content", "message", "error"];
    let raw = || names.iter().find_map(|name| raw[*name].as_str()).map(str::to_owned);
    if text.is_empty() { raw().or_else(|| parts.map(|_| text)) } else { Some(text) }
}

fn cut(text: &str, bytes: usize) -> String {
    text[..text.floor_char_boundary(bytes)].to_owned()
}
