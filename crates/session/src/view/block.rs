//! The windows of a call for a screen that alone knows how wide it is, and how high.
//!
//! The order of the facts is that of the live view in a terminal: the progress of all tasks, then a row for each,
//! below which a running task has its latest steps and an opened one everything.

use model::Usage;

use super::header::first_words;
use super::steps::{all_steps, answer};
use super::{
    Alignment, COLUMNS, Line, Phase, Role, Standing, Step, Tally, TaskView, about, clock, mark,
    steps,
};
use crate::usage::{cost_words, token_words, total_cost_words};

/// A part of a window.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Wrapped at words. The rows after the first begin with the same blanks.
    Text(Line),
    /// A row of a table.
    Row(Row),
    /// Steps of a task behind a bar of this role; of a running task only the latest, which share the screen with the
    /// other windows.
    Steps {
        /// The state of the task.
        bar: Role,
        /// Oldest first.
        steps: Vec<Step>,
        /// How many rows they have together; all of them if absent.
        most: Option<usize>,
    },
    /// What an agent answered.
    Markdown(String),
}

/// A row of a table. Cells of the same table stand below each other.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Row {
    pub table: &'static str,
    pub cells: Vec<Cell>,
}

impl From<Row> for Block {
    fn from(row: Row) -> Block {
        Block::Row(row)
    }
}

/// A cell of a row, with what a screen has to know to place it: see [`super::Column`].
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Cell {
    pub line: Line,
    pub alignment: Alignment,
    pub gap: usize,
    pub least: usize,
    pub leaves: Option<u8>,
}

/// How long the bar is that fills while tasks end.
const BAR: usize = 24;
/// How much of a prompt is shown.
const PROMPT_LINES: usize = 5;
/// How many sessions are named below a call.
const SESSIONS: usize = 4;
/// How much of a session's id is shown: enough for the command line to know it.
const SESSION_CHARS: usize = 8;

/// A call: a window for each running task, and a row for each of the others. What is said below it when all have
/// ended is short: the answers are a key away.
pub fn call_blocks(tasks: &[TaskView<'_>]) -> Vec<Block> {
    let mut blocks: Vec<Block> = overview(tasks).into_iter().collect();
    let is_over = tasks.iter().all(|task| task.phase == Phase::Ended);
    for task in tasks {
        blocks.push(Block::Row(task_row(task, is_over)));
        if task.phase == Phase::Running {
            let most = task.state.context().window_lines;
            blocks.push(Block::Steps {
                bar: bar_role(task),
                steps: steps(task, most, false),
                most: Some(most),
            });
        }
    }
    if is_over {
        blocks.push(Block::Text(sessions(tasks)));
    }
    blocks
}

/// The same tasks, opened. Each has its prompt, if it is known.
pub fn opened_blocks(tasks: &[(TaskView<'_>, Option<String>)]) -> Vec<Block> {
    let views: Vec<TaskView<'_>> = tasks.iter().map(|(view, _)| *view).collect();
    let is_over = views.iter().all(|task| task.phase == Phase::Ended);
    let mut blocks: Vec<Block> = overview(&views).into_iter().collect();
    for (task, prompt) in tasks {
        if !blocks.is_empty() {
            blocks.push(Block::Text(Line::default()));
        }
        blocks.push(Block::Row(task_row(task, is_over)));
        blocks.push(Block::Text(about(task)));
        blocks.extend(prompt.iter().flat_map(|prompt| prompt_lines(prompt)));
        let (steps, forgotten) = all_steps(task);
        if forgotten > 0 {
            let words = format!(
                "  … {forgotten} earlier; `pi-subagents sessions show {}` has them",
                task.session
            );
            blocks.push(Block::Text(Line::of(Role::Dim, &words)));
        }
        if !steps.is_empty() {
            blocks.push(Block::Steps { bar: bar_role(task), steps, most: None });
        }
        if let Some(answer) = answer(task) {
            blocks.push(Block::Text(Line::default()));
            blocks.push(Block::Markdown(model::clean(answer).into_owned()));
        }
    }
    blocks
}

/// The row of a task: its mark and its columns. When all tasks have ended, no numbers grow any more, and columns
/// are as narrow as they can be.
pub fn task_row(task: &TaskView<'_>, is_over: bool) -> Row {
    let (role, sign) = mark(task.standing()).unwrap_or((Role::Moving, "⠋"));
    let columns = COLUMNS.iter().map(|column| Cell {
        line: (column.cell)(task),
        alignment: column.alignment,
        gap: if column.name == "name" { 1 } else { column.gap },
        least: if is_over && column.alignment == Alignment::Right { 0 } else { column.least },
        leaves: column.leaves,
    });
    let mark = Cell { gap: 0, least: 1, ..Cell::left(Line::of(role, sign)) };
    Row { table: "tasks", cells: [mark].into_iter().chain(columns).collect() }
}

/// The row of a task in a list of runs, which also says how long ago it ended.
pub fn listed_row(task: &TaskView<'_>, now: u64) -> Row {
    let ended = task.state.facts.ended_at.filter(|_| task.phase == Phase::Ended);
    let ago = ended.map(|ended| ago(now.saturating_sub(ended))).unwrap_or_default();
    let mut row = task_row(task, true);
    row.cells.push(Cell::number(&ago, 2));
    Row { table: "agents", ..row }
}

/// `now`, `5m ago`, `3h ago` or `2d ago`.
fn ago(milliseconds: u64) -> String {
    match milliseconds / 60_000 {
        0 => "now".to_owned(),
        minutes @ 1..60 => format!("{minutes}m ago"),
        minutes @ 60..1_440 => format!("{}h ago", minutes / 60),
        minutes => format!("{}d ago", minutes / 1_440),
    }
}

/// A run in the background that has ended: its mark, name, time, cost and task.
pub fn ended_row(is_done: bool, name: &str, elapsed_ms: u64, usage: &Usage, task: &str) -> Row {
    let standing = if is_done { Standing::Done } else { Standing::Failed };
    let (role, sign) = mark(standing).unwrap_or((Role::Plain, " "));
    let mut line = Line::of(role, sign).with(Role::Plain, " ").with_bold(Role::Name, name);
    let cost = (*usage != Usage::default()).then(|| cost_words(usage));
    for fact in [Some(clock(elapsed_ms)), cost].into_iter().flatten() {
        line = line.with(Role::Dim, " · ").with(Role::Muted, &fact);
    }
    let task = Line::of(Role::Dim, "· ").with(Role::Muted, &first_words(task));
    let cells = vec![Cell { gap: 0, ..Cell::left(line) }, Cell { gap: 1, ..Cell::rest(task) }];
    Row { table: "ended", cells }
}

impl Cell {
    /// A cell that never leaves, two blanks behind the one before.
    pub fn left(line: Line) -> Cell {
        Cell { line, alignment: Alignment::Left, gap: 2, least: 0, leaves: None }
    }

    /// One that takes the room that the others leave.
    pub fn rest(line: Line) -> Cell {
        Cell { alignment: Alignment::Rest, ..Cell::left(line) }
    }

    /// A number, which leaves in this order.
    fn number(text: &str, leaves: u8) -> Cell {
        let alignment = Alignment::Right;
        Cell { alignment, leaves: Some(leaves), ..Cell::left(Line::of(Role::Muted, text)) }
    }
}

/// How many of several tasks have ended, a bar, how many stand how, the time and the usage.
fn overview(tasks: &[TaskView<'_>]) -> Option<Block> {
    let count = tasks.len();
    if count < 2 {
        return None;
    }
    let tally = Tally::of(tasks);
    let ended = tally.done + tally.failed;
    let done = Line::default().with_bold(Role::Plain, &format!("{ended}/{count}"));
    let usages = tasks.iter().map(|task| task.state.facts.usage);
    let usage: Usage = usages.clone().sum();
    let cost = total_cost_words(usages).unwrap_or_default();
    let cells = vec![
        Cell { gap: 0, ..Cell::left(done) },
        Cell { gap: 1, leaves: Some(1), ..Cell::left(bar(ended, count)) },
        Cell::rest(tally_line(tally)),
        Cell::number(&token_words(&usage).unwrap_or_default(), 0),
        Cell::number(&cost, 2),
        Cell::number(&clock(elapsed_ms(tasks)), 3),
    ];
    Some(Block::Row(Row { table: "overview", cells }))
}

/// `2 running · 1 queued · 4 done · 1 failed`, without zeros.
fn tally_line(tally: Tally) -> Line {
    let mut line = Line::default();
    for (number, word, role) in [
        (tally.running, "running", Role::Accent),
        (tally.queued, "queued", Role::Muted),
        (tally.done, "done", Role::Success),
        (tally.failed, "failed", Role::Error),
    ] {
        if number > 0 {
            let separator = if line.spans().is_empty() { "" } else { " · " };
            line = line.with(Role::Dim, separator).with(role, &format!("{number} {word}"));
        }
    }
    line
}

/// Heavy as far as tasks have ended: the bar is read without colours, too.
fn bar(ended: usize, count: usize) -> Line {
    let halves = 2 * BAR * ended / count.max(1);
    let half = halves % 2;
    Line::of(Role::Success, &"━".repeat(halves / 2))
        .with(Role::Success, &"╸".repeat(half))
        .with(Role::Dim, &"─".repeat(BAR - halves / 2 - half))
}

/// From the start of the first task to the end of the last, or to now.
fn elapsed_ms(tasks: &[TaskView<'_>]) -> u64 {
    let started = tasks.iter().filter_map(|task| task.state.facts.started_at);
    let ended = tasks
        .iter()
        .filter_map(|task| Some(task.state.facts.started_at?.saturating_add(task.elapsed_ms)));
    ended.max().unwrap_or(0).saturating_sub(started.min().unwrap_or(0))
}

fn bar_role(task: &TaskView<'_>) -> Role {
    match task.standing() {
        Standing::Failed => Role::Error,
        Standing::Done | Standing::Queued => Role::Dim,
        Standing::Running => Role::Accent,
    }
}

fn prompt_lines(prompt: &str) -> Vec<Block> {
    let lines: Vec<&str> = prompt.trim().lines().collect();
    let mut blocks: Vec<Block> = Vec::new();
    for (index, line) in lines.iter().take(PROMPT_LINES).enumerate() {
        let sign = if index == 0 { "❯ " } else { "  " };
        // The sign stands in the blanks that the next rows begin with.
        let line = Line::of(Role::Plain, "  ").with(Role::Accent, sign).with(Role::Muted, line);
        blocks.push(Block::Text(line));
    }
    let more = lines.len().saturating_sub(PROMPT_LINES);
    if more > 0 {
        let lines = if more == 1 { "line" } else { "lines" };
        blocks.push(Block::Text(Line::of(Role::Dim, &format!("    … {more} more {lines}"))));
    }
    blocks
}

/// `sessions 3f2a9c1b 77ab01cd · Ctrl+O opens`
fn sessions(tasks: &[TaskView<'_>]) -> Line {
    let word = if tasks.len() == 1 { "session" } else { "sessions" };
    let short = |task: &TaskView<'_>| task.session.as_str().chars().take(SESSION_CHARS).collect();
    let ids: Vec<String> = tasks.iter().take(SESSIONS).map(short).collect();
    let more = match tasks.len().saturating_sub(SESSIONS) {
        0 => String::new(),
        more => format!(" … {more} more"),
    };
    Line::of(Role::Dim, &format!("{word} {}{more} · ", ids.join(" ")))
        .with(Role::OpeningKey, "Ctrl+O")
        .with(Role::Dim, " opens")
}
