//! A whole session as one document, for people who read it elsewhere.
//!
//! Everything from agents, tools and providers is shown as text only: it cannot end the block that
//! contains it, become an element, or send control characters to a terminal.

mod harmless;
mod markdown;

use jiff::Timestamp;
use model::{Changes, Event, Meta, Record, RunResult, SessionId, Status, Usage};

use crate::{Progress, ShownDiff, usage_words};
use model::clean;

/// A session with everything that happened in it.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct ExportedSession {
    pub id: SessionId,
    /// Oldest first.
    pub runs: Vec<ExportedRun>,
}

/// One run of an exported session.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct ExportedRun {
    pub meta: Meta,
    /// The prompt, without files and earlier runs.
    pub asked: String,
    /// `None` while it runs.
    pub result: Option<RunResult>,
    pub records: Vec<Record>,
    /// What it changed in its worktree. Only a page shows it, so others need not read it.
    pub diff: Option<ShownDiff>,
}

/// A Markdown document with these sessions.
pub fn to_markdown(sessions: &[ExportedSession]) -> String {
    markdown::render(sessions)
}

impl ExportedSession {
    /// The name of its latest run.
    pub fn name(&self) -> &str {
        self.runs.last().map_or("", |run| &run.meta.name)
    }

    /// The status of its latest run.
    pub fn status(&self) -> Status {
        self.runs.last().map_or(Status::Running, ExportedRun::status)
    }

    /// The sum of all its runs.
    pub fn usage(&self) -> Usage {
        self.runs.iter().filter_map(|run| run.result.as_ref()).map(|result| result.usage).sum()
    }

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
    /// As its result says, else running.
    pub fn status(&self) -> Status {
        self.result.as_ref().map_or(Status::Running, |result| result.status)
    }

    /// The table at the head of a run.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let result = self.result.as_ref();
        let answered = result.and_then(|result| result.model.clone());
        let seconds = |ms: u64| format!("{:.1} s", ms as f64 / 1000.0);
        let changes = result.and_then(|result| result.changes.as_deref());
        let used = result.map(|result| usage_words(&result.usage).join(", "));
        let all = [
            ("run", Some(self.meta.run_id.to_string())),
            ("outcome", result.map(|result| result.outcome.word().to_owned())),
            ("error", result.and_then(|result| result.error.clone())),
            ("started", Some(utc(self.meta.created_at))),
            ("took", result.map(|result| seconds(result.duration_ms))),
            ("agent", self.meta.agent.as_ref().map(|agent| agent.word().to_owned())),
            ("profile", self.meta.profile.clone()),
            ("preset", self.meta.preset.clone()),
            ("model", answered.or_else(|| self.meta.model.clone())),
            ("directory", Some(self.meta.cwd.display().to_string())),
            ("changes", changes.map(Changes::brief)),
            ("tool calls", result.map(|result| result.tool_calls.to_string())),
            ("used", used.filter(|used| !used.is_empty())),
        ];
        let known = all.into_iter().filter_map(|(name, value)| Some((name, value?)));
        known.map(|(name, value)| (name, clean(&value).into_owned())).collect()
    }

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
                // The table at the head of the run says it.
                Event::RunEnded { .. } => None,
                _ => words.map(Entry::Note),
            };
            entries.extend(entry.map(Entry::cleaned));
        }
        entries
    }
}

/// Such as `2026-11-16 02:31:00 UTC`, from milliseconds since 1970.
pub(crate) fn utc(milliseconds: u64) -> String {
    let milliseconds = i64::try_from(milliseconds).unwrap_or(i64::MAX);
    // A run directory can hold any number, and a timestamp ends with the year 9999.
    let timestamp = Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::MAX);
    timestamp.strftime("%F %T UTC").to_string()
}

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
pub(crate) mod tests;
