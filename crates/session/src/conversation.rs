//! What was said and done in a run, entry by entry: a fold of its events.

mod brief;

use std::collections::VecDeque;

use model::{Event, Record, Usage, clean};

use self::brief::brief;
use crate::event_kind::is_problem;
use crate::preview::{PreviewContext, Subject, subject};
use crate::progress_words::plain_words;
use crate::text::cut_chars;

/// How much of a run is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// The last entries, without what tools returned: for a window.
    #[default]
    Recent,
    /// Everything: for a reader.
    Whole,
}

/// The entries of a run, oldest first. An entry keeps its number for as long as it is remembered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    depth: Depth,
    entries: VecDeque<Entry>,
    forgotten: usize,
    last_seq: u64,
    started_at: Option<u64>,
    /// Whether the message that carries the prompt has come.
    is_asked: bool,
}

/// Something that was said or done.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// In milliseconds since 1970.
    pub at: u64,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry is. All texts are safe to show.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryKind {
    /// What the agent was told to do.
    Prompt(String),
    /// What it was told later.
    Told(String),
    /// A message of the model, in Markdown; empty if it only called tools.
    Said {
        /// What it says.
        text: String,
        /// What it cost.
        usage: Usage,
    },
    /// A tool that the agent called.
    Tool(ToolEntry),
    /// Something else that happened.
    Note(String),
    /// Something that went wrong.
    Problem(String),
}

/// A call of a tool, with its result as soon as there is one.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct ToolEntry {
    id: String,
    pub tool: String,
    /// What the call is about, in one line.
    pub subject: String,
    /// The lines that it adds and removes, where the call tells.
    pub changed: Option<(u64, u64)>,
    pub result: Option<ToolOutput>,
}

/// What a tool returned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct ToolOutput {
    pub at: u64,
    pub is_error: bool,
    /// The result in one short line; empty where the call says it all.
    pub brief: String,
    /// Empty where only recent entries are kept.
    pub text: String,
}

impl Conversation {
    /// How many entries a window can show.
    const RECENT: usize = 40;
    /// How much of a text a window can show.
    const RECENT_CHARS: usize = 2_000;

    /// An empty conversation.
    pub fn new(depth: Depth) -> Conversation {
        Conversation { depth, ..Conversation::default() }
    }

    /// The whole conversation, which begins with its prompt.
    pub fn with_prompt(prompt: &str, at: u64) -> Conversation {
        let mut conversation = Conversation::new(Depth::Whole);
        let prompt = clean(prompt.trim()).into_owned();
        if !prompt.is_empty() {
            conversation.push(at, EntryKind::Prompt(prompt));
        }
        conversation
    }

    /// The entries that are remembered, each with its number.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = (usize, &Entry)> {
        self.entries.iter().enumerate().map(|(index, entry)| (self.forgotten + index, entry))
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// When the child was started, in milliseconds since 1970.
    pub fn started_at(&self) -> Option<u64> {
        self.started_at
    }

    /// The tool that was called last and has not returned.
    pub fn open_tool(&self) -> Option<&ToolEntry> {
        let mut tools = self.entries.iter().rev().filter_map(|entry| match &entry.kind {
            EntryKind::Tool(tool) => Some(tool),
            _ => None,
        });
        tools.find(|tool| tool.result.is_none())
    }

    /// Takes the next event. Events that it has taken before are passed over, so that a reader can
    /// take the record of a run first, and then what it is told live.
    pub fn apply(&mut self, record: &Record, context: &PreviewContext) {
        if self.depth == Depth::Whole && record.seq <= self.last_seq {
            return;
        }
        self.last_seq = record.seq;
        let at = record.at;
        match &record.event {
            Event::RunStarted { .. } => {
                self.started_at.get_or_insert(at);
            }
            // The first message is the prompt, with everything that was put in front of it.
            Event::UserMessage { text } if self.is_asked => {
                self.push(at, EntryKind::Told(self.kept(text.trim())));
            }
            Event::UserMessage { .. } => self.is_asked = true,
            Event::AssistantMessage { text, error, usage, .. } => {
                let text = self.kept_end(text.trim());
                if !text.is_empty() || *usage != Usage::default() {
                    self.push(at, EntryKind::Said { text, usage: *usage });
                }
                if let Some(error) = error {
                    self.push(at, EntryKind::Problem(self.kept(error)));
                }
            }
            Event::ToolCall { id, tool, args } => {
                let Subject { tool, subject, changed } = subject(tool, args, context);
                let call = ToolEntry { id: id.clone(), tool, subject, changed, result: None };
                self.push(at, EntryKind::Tool(call));
            }
            Event::ToolResult { id, tool, is_error, text, limit_reached } => {
                let output = ToolOutput {
                    at,
                    is_error: *is_error,
                    brief: brief(tool, text, *is_error, *limit_reached),
                    text: match self.depth {
                        Depth::Recent => String::new(),
                        Depth::Whole => clean(text.trim_end()).into_owned(),
                    },
                };
                self.finish(id, tool, output);
            }
            event => {
                let Some(words) = plain_words(event).filter(|words| !words.trim().is_empty())
                else {
                    return;
                };
                let words = self.kept(words.trim());
                let kind = if is_problem(event) { EntryKind::Problem } else { EntryKind::Note };
                self.push(at, kind(words));
            }
        }
    }

    fn finish(&mut self, id: &str, tool: &str, output: ToolOutput) {
        let open = self.entries.iter_mut().rev().find_map(|entry| match &mut entry.kind {
            EntryKind::Tool(call) if call.id == id => Some(call),
            _ => None,
        });
        match open {
            Some(call) if call.result.is_none() => call.result = Some(output),
            // Its call is forgotten, or was never seen.
            _ => {
                let at = output.at;
                let call = ToolEntry {
                    id: id.to_owned(),
                    tool: clean(tool).into_owned(),
                    subject: String::new(),
                    changed: None,
                    result: Some(output),
                };
                self.push(at, EntryKind::Tool(call));
            }
        }
    }

    fn kept(&self, text: &str) -> String {
        let kept = match self.depth {
            Depth::Recent => cut_chars(text, Conversation::RECENT_CHARS),
            Depth::Whole => text,
        };
        let sign = if kept.len() < text.len() { "…" } else { "" };
        format!("{}{sign}", clean(kept))
    }

    /// The end of a message: that is what a window shows.
    fn kept_end(&self, text: &str) -> String {
        let last = text.char_indices().rev().nth(Conversation::RECENT_CHARS.saturating_sub(1));
        match (self.depth, last) {
            (Depth::Recent, Some((from, _))) if from > 0 => format!("…{}", clean(&text[from..])),
            _ => clean(text).into_owned(),
        }
    }

    fn push(&mut self, at: u64, kind: EntryKind) {
        self.entries.push_back(Entry { at, kind });
        if self.depth == Depth::Recent && self.entries.len() > Conversation::RECENT {
            self.entries.pop_front();
            self.forgotten += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn records(events: Vec<Event>) -> Vec<Record> {
        (1..).zip(events).map(|(seq, event)| Record { seq, at: seq * 1_000, event }).collect()
    }

    fn said(text: &str) -> Event {
        Event::AssistantMessage {
            text: text.into(),
            model: None,
            stop_reason: None,
            error: None,
            usage: Usage::default(),
        }
    }

    fn call(id: &str, tool: &str, args: serde_json::Value) -> Event {
        Event::ToolCall { id: id.into(), tool: tool.into(), args }
    }

    fn result(id: &str, tool: &str, text: &str, is_error: bool) -> Event {
        let (id, tool, text) = (id.into(), tool.into(), text.into());
        Event::ToolResult { id, tool, is_error, text, limit_reached: false }
    }

    fn after(mut conversation: Conversation, records: &[Record]) -> Conversation {
        for record in records {
            conversation.apply(record, &PreviewContext::default());
        }
        conversation
    }

    fn lines(conversation: &Conversation) -> Vec<String> {
        let line = |(number, entry): (usize, &Entry)| match &entry.kind {
            EntryKind::Prompt(text) => format!("{number} prompt {text}"),
            EntryKind::Told(text) => format!("{number} told {text}"),
            EntryKind::Said { text, .. } => format!("{number} said {text}"),
            EntryKind::Tool(call) => {
                let result = call.result.as_ref().map_or("open", |result| result.brief.as_str());
                format!("{number} {} {}: {result}", call.tool, call.subject)
            }
            EntryKind::Note(text) => format!("{number} note {text}"),
            EntryKind::Problem(text) => format!("{number} problem {text}"),
        };
        conversation.entries().map(line).collect()
    }

    #[test]
    fn results_belong_to_their_calls_and_the_prompt_comes_once() {
        let records = records(vec![
            Event::RunStarted { pid: 1, agent: None },
            Event::UserMessage { text: "files and the prompt".into() },
            said("I look.\u{1b}[31m"),
            call("1", "ls", json!({"path": "src"})),
            call("2", "bash", json!({"command": "cargo test"})),
            result("1", "ls", "a\nb", false),
            Event::UserMessage { text: "Hurry.".into() },
            Event::Stderr { text: "careful".into() },
            result("9", "read", "one\ntwo", false),
        ]);
        let conversation = after(Conversation::with_prompt("Do it.\n", 1), &records);
        let expected = [
            "0 prompt Do it.",
            "1 said I look.",
            "2 ls src: 2 files",
            "3 bash cargo test: open",
            "4 told Hurry.",
            "5 note [stderr]: careful",
            "6 read : 2 lines",
        ];
        assert_eq!(lines(&conversation), expected);
        assert_eq!(conversation.open_tool().unwrap().tool, "bash");
        assert_eq!(conversation.started_at(), Some(1_000));
        // What a reader has read is not taken twice.
        assert_eq!(after(conversation.clone(), &records), conversation);
    }

    #[test]
    fn recent_entries_are_few_and_short_and_keep_their_numbers() {
        let long = "ż".repeat(5_000);
        let events = (0..100).map(|_| said(&long)).collect();
        let conversation = after(Conversation::default(), &records(events));
        let entries: Vec<(usize, &Entry)> = conversation.entries().collect();
        assert_eq!((entries.len(), entries[0].0), (Conversation::RECENT, 60));
        let EntryKind::Said { text, .. } = &entries[0].1.kind else { panic!("{entries:?}") };
        assert_eq!(text.chars().count(), Conversation::RECENT_CHARS + 1);
        assert!(text.starts_with('…'), "what is cut has a sign");
        let output = after(
            Conversation::default(),
            &records(vec![call("1", "ls", json!({})), result("1", "ls", "a", false)]),
        );
        let kept = output.entries().find_map(|(_, entry)| match &entry.kind {
            EntryKind::Tool(call) => call.result.clone(),
            _ => None,
        });
        assert_eq!(kept.unwrap().text, "", "the run directory has it");
    }
}
