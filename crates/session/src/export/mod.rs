//! A whole session as one document, for people who read it elsewhere.
//!
//! What came from agents, tools and providers is only ever shown as text: it cannot end the block
//! that it stands in, become an element, or reach a terminal as anything but characters.

mod html;
mod markdown;

use jiff::Timestamp;
use model::{Event, Meta, Record, RunResult, SessionId, Status, Usage};

use crate::text::clean;
use crate::{Progress, usage_words};

/// A session with everything that happened in it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedSession {
    /// Its id.
    pub id: SessionId,
    /// Its runs, oldest first.
    pub runs: Vec<ExportedRun>,
}

/// One run of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedRun {
    /// What was asked for.
    pub meta: Meta,
    /// What the agent was asked, without files and earlier runs.
    pub asked: String,
    /// How it ended, if it has.
    pub result: Option<RunResult>,
    /// What happened.
    pub records: Vec<Record>,
}

impl ExportedSession {
    /// As Markdown.
    pub fn to_markdown(&self) -> String {
        markdown::render(self)
    }

    /// As one HTML file that needs no other, and runs nothing.
    pub fn to_html(&self) -> String {
        html::render(self)
    }

    /// What the session is called: its latest run's name.
    pub fn name(&self) -> &str {
        self.runs.last().map_or("", |run| &run.meta.name)
    }

    /// Where its latest run stands.
    pub fn status(&self) -> Status {
        self.runs.last().map_or(Status::Running, ExportedRun::status)
    }

    /// What all runs have used.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        for result in self.runs.iter().filter_map(|run| run.result.as_ref()) {
            sum += result.usage;
        }
        sum
    }

    /// A line about all of it.
    fn summary(&self) -> String {
        let runs = match self.runs.len() {
            1 => "1 run".to_owned(),
            count => format!("{count} runs"),
        };
        let mut words = vec![self.status().word().to_owned(), runs];
        words.extend(usage_words(&self.usage()));
        words.join(", ")
    }
}

impl ExportedRun {
    /// Where it stands.
    pub fn status(&self) -> Status {
        self.result.as_ref().map_or(Status::Running, |result| result.status)
    }

    /// What is known about it, by name.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let result = self.result.as_ref();
        let answered = result.and_then(|result| result.model.clone());
        let seconds = |ms: u64| format!("{:.1} s", ms as f64 / 1000.0);
        let used = result.map(|result| usage_words(&result.usage).join(", "));
        let all = [
            ("run", Some(self.meta.run_id.to_string())),
            ("outcome", result.map(|result| result.outcome.word().to_owned())),
            ("error", result.and_then(|result| result.error.clone())),
            ("started", Some(utc(self.meta.created_at))),
            ("took", result.map(|result| seconds(result.duration_ms))),
            ("profile", self.meta.profile.clone()),
            ("preset", self.meta.preset.clone()),
            ("model", answered.or_else(|| self.meta.model.clone())),
            ("directory", Some(self.meta.cwd.display().to_string())),
            ("tool calls", result.map(|result| result.tool_calls.to_string())),
            ("used", used.filter(|used| !used.is_empty())),
        ];
        let told = all.into_iter().filter_map(|(name, value)| Some((name, value?)));
        told.map(|(name, value)| (name, clean(&value).into_owned())).collect()
    }

    /// What happened, in the order in which it did.
    fn entries(&self) -> Vec<Entry> {
        let mut entries = vec![Entry::Prompt(clean(&self.asked).into_owned())];
        let mut is_first = true;
        let mut progress = Progress::default();
        for record in &self.records {
            let words = progress.words(&record.event);
            let entry = match &record.event {
                Event::UserMessage { text } => {
                    // The first is the prompt once more, with files and what was said before.
                    let is_prompt = std::mem::take(&mut is_first);
                    (!is_prompt && !text.is_empty()).then(|| Entry::Prompt(text.clone()))
                }
                Event::AssistantMessage { text, error, .. } => {
                    if !text.trim().is_empty() {
                        entries.push(Entry::Said(clean(text).into_owned()));
                    }
                    error.as_ref().map(|error| Entry::Note(format!("Provider error: {error}")))
                }
                Event::ToolCall { tool, args, .. } => {
                    let json = serde_json::to_string_pretty(args);
                    let args = json.unwrap_or_else(|_| args.to_string());
                    Some(Entry::Call { tool: tool.clone(), args })
                }
                Event::ToolResult { tool, is_error, text, .. } => Some(Entry::Answer {
                    tool: tool.clone(),
                    is_error: *is_error,
                    text: text.clone(),
                }),
                // Told at the head of the run.
                Event::RunEnded { .. } => None,
                _ => words.map(Entry::Note),
            };
            entries.extend(entry.map(Entry::cleaned));
        }
        entries
    }
}

/// Such as `2026-11-16 02:31:00 UTC`, from milliseconds since 1970.
fn utc(milliseconds: u64) -> String {
    let milliseconds = i64::try_from(milliseconds).unwrap_or(i64::MAX);
    // A run directory can hold any number, and a timestamp ends with the year 9999.
    let timestamp = Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::MAX);
    timestamp.strftime("%F %T UTC").to_string()
}

/// Something that is shown.
enum Entry {
    Prompt(String),
    Said(String),
    Call { tool: String, args: String },
    Answer { tool: String, is_error: bool, text: String },
    Note(String),
}

impl Entry {
    fn cleaned(self) -> Entry {
        let tidy = |text: String| clean(&text).into_owned();
        let line = |text: String| crate::text::one_line(&text).into_owned();
        match self {
            Entry::Prompt(text) => Entry::Prompt(tidy(text)),
            Entry::Said(text) => Entry::Said(tidy(text)),
            Entry::Call { tool, args } => Entry::Call { tool: line(tool), args: tidy(args) },
            Entry::Answer { tool, is_error, text } => {
                Entry::Answer { tool: line(tool), is_error, text: tidy(text) }
            }
            Entry::Note(text) => Entry::Note(line(text)),
        }
    }
}

#[cfg(test)]
mod tests;
