//! Sessions as Markdown. Messages are quotations, and arguments and results of tools are blocks of
//! code: no content can end either. Quotations are Markdown themselves, of which only what is harmless
//! is left.

use std::fmt::Write;

use super::harmless::harmless;
use super::{Entry, ExportedRun, ExportedSession};
use crate::text::one_line;

pub(super) fn render(sessions: &[ExportedSession]) -> String {
    let mut text = String::new();
    for (index, session) in sessions.iter().enumerate() {
        let before = if index == 0 { "" } else { "\n" };
        let _ = writeln!(text, "{before}# {}\n", inline(session.name()));
        render_session(session, &mut text);
    }
    // The whole document, because a quotation can refer to what another one defines.
    harmless(text)
}

fn render_session(session: &ExportedSession, text: &mut String) {
    let _ = writeln!(text, "Session `{}`: {}.", session.id, session.summary());
    let count = session.runs.len();
    for (index, run) in session.runs.iter().enumerate() {
        let status = run.status().word();
        let _ = writeln!(text, "\n## Run {} of {count}: {status}\n", index + 1);
        render_run(run, text);
    }
}

fn render_run(run: &ExportedRun, text: &mut String) {
    text.push_str("| | |\n|---|---|\n");
    for (name, value) in run.facts() {
        let _ = writeln!(text, "| {name} | {} |", inline(&value));
    }
    for entry in run.entries() {
        let _ = match entry {
            Entry::Prompt(prompt) => write!(text, "\n### Prompt\n\n{}", quoted(&prompt)),
            Entry::Said(said) => write!(text, "\n### Agent\n\n{}", quoted(&said)),
            Entry::Call { tool, args } => {
                write!(text, "\n**Call of {}**\n\n{}", inline(&tool), block("json", &args))
            }
            Entry::Answer { tool, is_error, text: answer } => {
                let what = if is_error { "Error" } else { "Answer" };
                write!(text, "\n**{what} of {}**\n\n{}", inline(&tool), block("text", &answer))
            }
            Entry::Note(note) => write!(text, "\n*{}*\n", inline(&note)),
        };
    }
}

/// A quotation ends with its lines, even if a block of code within it was not closed.
fn quoted(text: &str) -> String {
    let lines = text.trim_end().lines();
    lines.map(|line| format!("> {line}").trim_end().to_owned() + "\n").collect()
}

/// A block of code whose fence is longer than any fence in the text.
fn block(language: &str, text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat((longest + 1).max(3));
    let line_feed = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{line_feed}{fence}\n")
}

/// A text on one line in which Markdown sees no markup.
fn inline(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in one_line(text).chars() {
        if "\\`*_[]<>#|&!~".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
