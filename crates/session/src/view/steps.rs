//! The last things that an agent said and did, for the window below its line.

use super::{Line, Phase, Role, TaskView};
use crate::conversation::{Entry, EntryKind, ToolEntry};

/// A line of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// What was said, or the tool and what it was called for.
    pub line: Line,
    /// Where the rest of a long line begins.
    pub indent: usize,
    /// What the tool returned.
    pub result: Option<Line>,
}

/// The names of most tools fit, and what they are called for stands in a column.
const TOOL_WIDTH: usize = 6;

/// The last `limit` steps, oldest first. `without_now` leaves out the tool that is at work, which the line of the
/// task shows.
pub fn steps(task: &TaskView<'_>, limit: usize, without_now: bool) -> Vec<Step> {
    let left_out = task.state.recent.open_tool().filter(|_| without_now);
    let mut steps = Vec::new();
    for (_, entry) in task.state.recent.entries().rev() {
        if steps.len() >= limit {
            break;
        }
        match &entry.kind {
            EntryKind::Tool(call) if left_out.is_some_and(|open| std::ptr::eq(open, call)) => {}
            _ => steps.extend(entry_steps(entry).into_iter().rev()),
        }
    }
    steps.truncate(limit);
    steps.reverse();
    steps
}

/// All steps that are remembered, the answer not among them, and how many entries are forgotten.
pub(super) fn all_steps(task: &TaskView<'_>) -> (Vec<Step>, usize) {
    let recent = &task.state.recent;
    let answer = answer_entry(task).map(|(number, _)| number);
    let steps = recent.entries().filter(|(number, _)| Some(*number) != answer);
    let forgotten = recent.entries().next().map_or(0, |(number, _)| number);
    (steps.flat_map(|(_, entry)| entry_steps(entry)).collect(), forgotten)
}

/// What the agent said last, if its run has ended with that.
pub(super) fn answer<'a>(task: &TaskView<'a>) -> Option<&'a str> {
    let answer = task.state.facts.output.trim();
    answer_entry(task).map(|_| answer).filter(|answer| !answer.is_empty())
}

/// The message that the agent ended with. What comes behind it is only about the end.
fn answer_entry<'a>(task: &TaskView<'a>) -> Option<(usize, &'a Entry)> {
    let mut last = task.state.recent.entries().rev();
    let is_about_end =
        |entry: &Entry| matches!(entry.kind, EntryKind::Note(_) | EntryKind::Problem(_));
    let last = last.find(|(_, entry)| !is_about_end(entry));
    last.filter(|(_, entry)| {
        task.phase == Phase::Ended
            && matches!(&entry.kind, EntryKind::Said { text, .. } if !text.is_empty())
    })
}

/// The tool, what it is called for, and what it returned.
pub fn tool_step(call: &ToolEntry) -> Step {
    let name = format!("{:<TOOL_WIDTH$} ", call.tool);
    let indent = name.chars().count();
    let line = Line::of(Role::Accent, &name).with(Role::Plain, &call.subject);
    let result = call.result.as_ref();
    let failed = result.filter(|result| result.is_error);
    let result = match (failed, call.changed) {
        (Some(failed), _) => Some(Line::of(Role::Error, &format!("✗ {}", failed.brief))),
        (None, Some((added, 0))) => Some(Line::of(Role::Added, &format!("+{added}"))),
        (None, Some((added, removed))) => Some(
            Line::of(Role::Added, &format!("+{added}"))
                .with(Role::Removed, &format!(" −{removed}")),
        ),
        (None, None) => result
            .filter(|result| !result.brief.is_empty())
            .map(|result| Line::of(Role::Dim, &result.brief)),
    };
    Step { line, indent, result }
}

fn entry_steps(entry: &Entry) -> Vec<Step> {
    let lines = |role: Role, text: &str| -> Vec<Step> {
        let lines = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
        lines.map(|line| Step { line: Line::of(role, line), ..Step::default() }).collect()
    };
    match &entry.kind {
        EntryKind::Prompt(_) => Vec::new(),
        EntryKind::Told(text) => lines(Role::Accent, text),
        EntryKind::Said { text, .. } => lines(Role::Plain, text),
        EntryKind::Tool(call) => vec![tool_step(call)],
        EntryKind::Note(text) => lines(Role::Muted, text),
        EntryKind::Problem(text) => lines(Role::Error, text),
    }
}
