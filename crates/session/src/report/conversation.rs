//! What was said and done in a run, entry by entry, within a number of bytes.

use std::collections::HashMap;

use model::{Event, Usage};
use serde_json::Value;

use crate::Progress;
use crate::event_kind::is_problem;
use crate::export::ExportedRun;
use crate::preview::{PreviewContext, preview};
use crate::text::one_line;

/// A part of a conversation. Moments are in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Entry {
    /// The agent was told something after its task.
    Told {
        at: u64,
        text: String,
    },
    /// Markdown.
    Said {
        at: u64,
        text: String,
        usage: Usage,
    },
    Tool(ToolUse),
    Note {
        at: u64,
        text: String,
        is_error: bool,
    },
    /// So many entries stood here.
    LeftOut(usize),
}

/// A call of a tool with its result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolUse {
    pub(super) at: u64,
    pub(super) tool: String,
    /// What it was about, on one line.
    pub(super) subject: String,
    pub(super) arguments: String,
    /// Absent if there was none.
    pub(super) result: Option<ToolResult>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolResult {
    pub(super) took_ms: u64,
    pub(super) is_error: bool,
    pub(super) text: String,
}

/// The conversation in at most about so many bytes. What does not fit is left out in the middle: the
/// beginning says what was meant to be done, and the end what became of it.
pub(super) fn conversation(run: &ExportedRun, bytes: usize) -> Vec<Entry> {
    let longest = (bytes / 4).max(2_048);
    let mut entries = entries(run);
    for entry in &mut entries {
        entry.for_each_text(|text| shorten_middle(text, longest));
    }
    let mut left = bytes / 2;
    let head = fitting(entries.iter(), &mut left);
    left += bytes / 2;
    let tail = fitting(entries[head..].iter().rev(), &mut left);
    let left_out = entries.len() - head - tail;
    if left_out > 0 {
        entries.splice(head..head + left_out, [Entry::LeftOut(left_out)]);
    }
    entries
}

/// A text without its middle, if it is longer.
pub(super) fn shorten_middle(text: &mut String, longest: usize) {
    if text.len() <= longest {
        return;
    }
    let begin = text.floor_char_boundary(longest / 2);
    let end = text.ceil_char_boundary(text.len() - longest / 2);
    let sign = format!("\n… {} bytes are left out here …\n", end - begin);
    text.replace_range(begin..end, &sign);
}

/// How many of the entries fit.
fn fitting<'a>(entries: impl Iterator<Item = &'a Entry>, left: &mut usize) -> usize {
    let fits = |entry: &&Entry| match left.checked_sub(entry.bytes()) {
        Some(rest) => {
            *left = rest;
            true
        }
        None => false,
    };
    entries.take_while(fits).count()
}

fn entries(run: &ExportedRun) -> Vec<Entry> {
    let cwd = run.meta.cwd.display().to_string();
    let context = PreviewContext { cwd, ..PreviewContext::default() };
    let mut entries: Vec<Entry> = Vec::new();
    let mut calls: HashMap<&str, usize> = HashMap::new();
    let mut progress = Progress::default();
    let mut is_first = true;
    for record in &run.records {
        let at = record.at;
        let words = progress.words(&record.event);
        match &record.event {
            Event::UserMessage { text } => {
                // The first is the prompt once more, with files and what was said before.
                if !std::mem::take(&mut is_first) && !text.is_empty() {
                    entries.push(Entry::Told { at, text: text.clone() });
                }
            }
            Event::AssistantMessage { text, error, usage, .. } => {
                if !text.trim().is_empty() {
                    entries.push(Entry::Said { at, text: text.clone(), usage: *usage });
                }
                entries.extend(error.as_ref().map(|error| Entry::Note {
                    at,
                    text: format!("Provider error: {error}"),
                    is_error: true,
                }));
            }
            Event::ToolCall { id, tool, args } => {
                calls.insert(id, entries.len());
                entries.push(Entry::Tool(ToolUse {
                    at,
                    tool: one_line(tool).into_owned(),
                    subject: subject(tool, args, &context),
                    arguments: arguments(args),
                    result: None,
                }));
            }
            Event::ToolResult { id, tool, is_error, text, .. } => {
                let call = calls.remove(id.as_str()).and_then(|index| entries.get_mut(index));
                let result = |began: u64| ToolResult {
                    took_ms: at.saturating_sub(began),
                    is_error: *is_error,
                    text: text.clone(),
                };
                match call {
                    Some(Entry::Tool(call)) => call.result = Some(result(call.at)),
                    _ => entries.push(Entry::Tool(ToolUse {
                        at,
                        tool: one_line(tool).into_owned(),
                        subject: String::new(),
                        arguments: String::new(),
                        result: Some(result(at)),
                    })),
                }
            }
            // The facts above the conversation say it.
            Event::RunEnded { .. } => {}
            event => {
                let is_error = is_problem(event);
                let note = |text: String| one_line(&text).into_owned();
                entries.extend(words.map(|words| Entry::Note { at, text: note(words), is_error }));
            }
        }
    }
    entries
}

/// The preview of a call without the name of its tool.
fn subject(tool: &str, args: &Value, context: &PreviewContext) -> String {
    let preview = preview(tool, args, context);
    let subject = preview.strip_prefix(tool).unwrap_or(&preview).trim_start();
    one_line(subject.strip_prefix('→').unwrap_or(subject).trim()).into_owned()
}

/// The arguments, one after the other: texts as they are, everything else as JSON.
fn arguments(args: &Value) -> String {
    let Some(fields) = args.as_object() else {
        return if args.is_null() { String::new() } else { args.to_string() };
    };
    let shown = fields.iter().map(|(name, value)| match value {
        Value::String(text) if text.contains('\n') => format!("{name}:\n{}", text.trim_end()),
        Value::String(text) => format!("{name}: {text}"),
        value => format!("{name}: {}", serde_json::to_string_pretty(value).unwrap_or_default()),
    });
    shown.collect::<Vec<_>>().join("\n")
}

impl Entry {
    /// About what its elements need.
    const OVERHEAD: usize = 120;

    fn bytes(&self) -> usize {
        let texts = match self {
            Entry::Told { text, .. } | Entry::Said { text, .. } | Entry::Note { text, .. } => {
                text.len()
            }
            Entry::Tool(call) => {
                let result = call.result.as_ref().map_or(0, |result| result.text.len());
                call.tool.len() + call.subject.len() + call.arguments.len() + result
            }
            Entry::LeftOut(_) => 0,
        };
        texts + Entry::OVERHEAD
    }

    fn for_each_text(&mut self, mut change: impl FnMut(&mut String)) {
        match self {
            Entry::Told { text, .. } | Entry::Said { text, .. } | Entry::Note { text, .. } => {
                change(text);
            }
            Entry::Tool(call) => {
                change(&mut call.arguments);
                call.result.iter_mut().for_each(|result| change(&mut result.text));
            }
            Entry::LeftOut(_) => {}
        }
    }
}
