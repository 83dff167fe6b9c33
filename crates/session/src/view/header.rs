//! The header of a task: the facts that have a column of their own in its line, and their order.
//!
//! A screen draws the headers as a table, so that each fact stays where it is while it changes. A new
//! fact is an entry of [`COLUMNS`].

use model::{Usage, dollars};

use super::{Line, Phase, Role, Standing, TaskView};
use crate::text::{cut_chars, one_line};
use crate::usage::{cost_words, rounded, token_words};

/// A fact about a task.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// What it is called.
    pub name: &'static str,
    /// Where a short text stands in a wide column.
    pub alignment: Alignment,
    /// How many blanks are before it.
    pub gap: usize,
    /// It is at least so wide, so that it does not move when the numbers grow.
    pub least: usize,
    /// When it leaves a screen that is too narrow for all: the lowest first. `None`: never.
    pub leaves: Option<u8>,
    /// What it says about a task.
    pub cell: fn(&TaskView<'_>) -> Line,
}

/// Where a short text stands in a wide column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Alignment {
    Left,
    Right,
    /// It takes the room that the others leave.
    Rest,
}

/// From left to right, behind the mark of the state.
pub const COLUMNS: &[Column] = &[
    Column { leaves: None, ..left("name", name) },
    Column { leaves: Some(5), ..left("agent", agent) },
    Column { leaves: Some(2), ..left("model", model) },
    Column { alignment: Alignment::Rest, least: 20, leaves: None, ..left("now", now) },
    Column { leaves: Some(8), ..left("changes", changes) },
    Column { least: 3, leaves: Some(0), ..right("since", since) },
    Column { least: 3, leaves: Some(1), ..right("tools", tools) },
    Column { least: 6, leaves: Some(3), ..right("tokens", tokens) },
    Column { least: 6, leaves: Some(6), ..right("cost", cost) },
    Column { least: 4, leaves: Some(7), ..right("time", time) },
    Column { gap: 0, leaves: Some(4), ..left("limit", limit) },
];

const fn left(name: &'static str, cell: fn(&TaskView<'_>) -> Line) -> Column {
    Column { name, alignment: Alignment::Left, gap: 2, least: 0, leaves: None, cell }
}

const fn right(name: &'static str, cell: fn(&TaskView<'_>) -> Line) -> Column {
    Column { alignment: Alignment::Right, ..left(name, cell) }
}

/// The mark of a task's state; `None` for a running one, whose mark moves.
pub fn mark(standing: Standing) -> Option<(Role, &'static str)> {
    match standing {
        Standing::Queued => Some((Role::Muted, "○")),
        Standing::Running => None,
        Standing::Done => Some((Role::Success, "✓")),
        Standing::Failed => Some((Role::Error, "✗")),
    }
}

/// `0:38`, `12:05` or `1:02:03`.
pub fn clock(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// A short duration: `9s`, then as [`clock`] has it.
pub fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..60_000 => format!("{}s", milliseconds / 1000),
        _ => clock(milliseconds),
    }
}

fn name(task: &TaskView<'_>) -> Line {
    Line::default().with_bold(Role::Name, task.name)
}

fn agent(task: &TaskView<'_>) -> Line {
    Line::of(Role::Muted, task.agent.unwrap_or_default())
}

/// The model that answered, or else that was asked for, and its level of thinking.
fn model(task: &TaskView<'_>) -> Line {
    let model = task.state.facts.model.as_deref().or(task.model).unwrap_or_default();
    let words = [short_model(model), task.thinking.unwrap_or_default()];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    Line::of(Role::Muted, &words.join(" "))
}

/// The name of a model without its provider, its maker and its date.
pub(crate) fn short_model(model: &str) -> &str {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("claude-").unwrap_or(name);
    match name.rsplit_once('-') {
        Some((name, date)) if date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()) => {
            name
        }
        _ => name,
    }
}

/// What a running task does now, or what became of it.
fn now(task: &TaskView<'_>) -> Line {
    let facts = &task.state.facts;
    match task.standing() {
        Standing::Queued => Line::of(Role::Muted, &queued_words(task)),
        Standing::Running if facts.stopping.is_some() => Line::of(Role::Warning, "stopping"),
        Standing::Running => match task.state.recent.open_tool() {
            Some(tool) => Line::of(Role::Accent, &tool.tool)
                .with(Role::Plain, "  ")
                .with(Role::Plain, &tool.subject),
            None => Line::of(Role::Muted, &task.state.doing_words()),
        },
        Standing::Done => Line::of(Role::Muted, &first_words(&facts.output)),
        Standing::Failed => {
            let error = facts.error.as_deref().unwrap_or("ended without saying how");
            Line::of(Role::Error, &one_line(error))
        }
    }
}

/// The first line of an answer that says something, without the signs of Markdown around it.
pub(crate) fn first_words(answer: &str) -> String {
    const CHARS: usize = 300;
    let is_sign = |character: char| character.is_whitespace() || "#*->`=_".contains(character);
    let mut lines = answer.lines().map(|line| line.trim_matches(is_sign));
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    one_line(cut_chars(line, CHARS)).into_owned()
}

/// What the agent changed in its worktree, when it has ended.
fn changes(task: &TaskView<'_>) -> Line {
    let changes = task.state.facts.changes.as_deref();
    Line::of(Role::Plain, &changes.map(model::Changes::brief).unwrap_or_default())
}

/// Why a task is queued, if the reason is not its own call.
pub(super) fn queued_words(task: &TaskView<'_>) -> String {
    let waiting = task.state.facts.waiting.as_ref();
    waiting.map_or_else(|| "queued".to_owned(), |waiting| waiting.words())
}

fn since(task: &TaskView<'_>) -> Line {
    let is_waiting = task.phase == Phase::Queued && task.state.facts.waiting.is_some();
    let words = (task.phase == Phase::Running || is_waiting).then(|| duration(task.doing_ms));
    Line::of(Role::Muted, &words.unwrap_or_default())
}

fn tools(task: &TaskView<'_>) -> Line {
    let count = task.state.facts.tool_calls;
    Line::of(Role::Muted, &if count > 0 { count.to_string() } else { String::new() })
}

fn tokens(task: &TaskView<'_>) -> Line {
    let spent = token_words(&task.state.facts.usage);
    Line::of(Role::Muted, &of_budget(spent, task.budget.tokens.map(rounded)))
}

/// Blank until anything was used at all.
fn cost(task: &TaskView<'_>) -> Line {
    let usage = &task.state.facts.usage;
    let spent = (*usage != Usage::default()).then(|| cost_words(usage));
    Line::of(Role::Plain, &of_budget(spent, task.budget.cost_usd.map(dollars)))
}

/// `$0.31/$0.50`: what was spent of how much. Blank until anything was.
fn of_budget(spent: Option<String>, budget: Option<String>) -> String {
    match (spent, budget) {
        (Some(spent), Some(budget)) => format!("{spent}/{budget}"),
        (spent, _) => spent.unwrap_or_default(),
    }
}

/// Blank until its child was started.
fn time(task: &TaskView<'_>) -> Line {
    match task.state.facts.started_at {
        None => Line::default(),
        Some(_) => Line::of(Role::Plain, &clock(task.elapsed_ms)),
    }
}

fn limit(task: &TaskView<'_>) -> Line {
    match task.timeout_ms {
        Some(timeout_ms) if task.phase == Phase::Running => {
            Line::of(Role::Muted, &format!("/{}", clock(timeout_ms.next_multiple_of(1000))))
        }
        _ => Line::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (milliseconds, as_clock, as_duration) in [
            (0, "0:00", "0s"),
            (59_999, "0:59", "59s"),
            (61_000, "1:01", "1:01"),
            (3_723_000, "1:02:03", "1:02:03"),
        ] {
            assert_eq!(clock(milliseconds), as_clock);
            assert_eq!(duration(milliseconds), as_duration);
        }
    }

    #[test]
    fn models_have_short_names() {
        for (model, expected) in [
            ("anthropic/claude-sonnet-4-5", "sonnet-4-5"),
            ("claude-haiku-4-5-20251001", "haiku-4-5"),
            ("gpt-5.2", "gpt-5.2"),
            ("openrouter/qwen/qwen3-coder", "qwen3-coder"),
            ("", ""),
        ] {
            assert_eq!(short_model(model), expected);
        }
    }

    #[test]
    fn the_first_words_are_words() {
        for (answer, expected) in [
            ("\n## Result\n\n12 files", "Result"),
            ("```\n\n**12 files** in 4", "12 files** in 4"),
            ("---\n", ""),
            ("12\tfiles\u{1b}[31m", "12 files"),
        ] {
            assert_eq!(first_words(answer), expected);
        }
    }

    #[test]
    fn columns_leave_in_the_order_that_is_documented() {
        let mut columns: Vec<(u8, &str)> =
            COLUMNS.iter().filter_map(|column| Some((column.leaves?, column.name))).collect();
        columns.sort_unstable();
        let names: Vec<&str> = columns.into_iter().map(|(_, name)| name).collect();
        assert_eq!(
            names,
            ["since", "tools", "model", "tokens", "limit", "agent", "cost", "time", "changes"]
        );
    }
}
