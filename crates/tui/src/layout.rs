//! What is shown in so many rows and columns.

mod header;
mod heights;
#[cfg(test)]
mod tests;

use session::view::{
    Extent, Line, Phase, Role, Tally, TaskView, compact_line, doing_line, error_lines,
    window_header, window_lines,
};

use self::header::overview;
use self::heights::{Share, share};
use crate::controls::{Controls, Mode, Seat};
use crate::fit::{fit, line_width, wrap};

/// How large a screen is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How many characters stand beside each other.
    pub columns: usize,
    /// How many rows there are.
    pub rows: usize,
}

/// What there is to see.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The tasks, in the order in which they were given.
    pub tasks: &'a [TaskView<'a>],
    /// How long they have been worked on together.
    pub elapsed_ms: u64,
    /// Whether somebody can press keys.
    pub has_keys: bool,
}

/// What is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The rows, fewer than the screen has, each narrower than the screen is.
    pub lines: Vec<Line>,
    /// How many rows one turns over at a time.
    pub page: usize,
    /// How many rows there are to go back.
    pub rows_above: usize,
}

/// Lays out the tasks for a screen.
///
/// The running ones have windows. Where there is little room the others have a line each, then
/// they are only counted; then the windows become smaller, down to a line, and are counted too.
pub fn layout(scene: &Scene<'_>, size: Size, controls: &Controls) -> Layout {
    // One row is left for the cursor, and one column, because not every terminal knows what to do
    // with a character in the last one.
    let (rows, columns) = (size.rows.saturating_sub(1), size.columns.saturating_sub(1));
    let selected = controls.selected.filter(|selected| *selected < scene.tasks.len());
    let mut parts = Parts { top: Vec::new(), bottom: Vec::new() };
    if scene.tasks.len() != 1 {
        parts.top.push(overview(scene, columns));
    }
    parts.bottom.extend(hint(scene, controls, rows, columns));
    let room = rows.saturating_sub(parts.top.len() + parts.bottom.len());
    let (middle, page, rows_above) = match (controls.mode, selected) {
        (Mode::Help, _) => (help(controls.seat()), 1, 0),
        (Mode::Expanded { back }, Some(selected)) => match scene.tasks.get(selected) {
            Some(task) => expanded(task, room, columns, back),
            None => (Vec::new(), 1, 0),
        },
        _ => (windows(scene.tasks, room, selected), 1, 0),
    };
    let middle = middle.into_iter().take(room);
    let lines = parts.top.into_iter().chain(middle).chain(parts.bottom).take(rows);
    Layout { lines: lines.map(|line| fit(line, columns)).collect(), page, rows_above }
}

struct Parts {
    top: Vec<Line>,
    bottom: Vec<Line>,
}

/// With fewer rows, none is spent on what can be looked up.
const ROWS_WITH_HINT: usize = 5;
/// The help tells the rest.
const NARROW_HINT: &str = "↑ ↓ select • ? help";

fn hint(scene: &Scene<'_>, controls: &Controls, rows: usize, columns: usize) -> Option<Line> {
    if let Mode::Question(task) = controls.mode {
        let name = scene.tasks.get(task).map_or("", |task| task.name);
        return Some(Line::of(Role::Warning, &format!("Stop {name}? y/n")));
    }
    if let Some(message) = controls.message {
        return Some(Line::of(Role::Warning, message));
    }
    if rows < ROWS_WITH_HINT || !scene.has_keys {
        return None;
    }
    let words = match (controls.mode, controls.seat()) {
        (Mode::Help, _) => "Esc back",
        (Mode::Expanded { .. }, _) => "Esc back • PgUp PgDn scroll • ↑ ↓ another • s stop • ? help",
        (_, Seat::Owner) if scene.tasks.len() == 1 => "Ctrl+O expand • s stop • ? help",
        (_, Seat::Owner) => "↑ ↓ select • Ctrl+O expand • s stop • S stop all • ? help",
        (_, Seat::Watcher) => "↑ ↓ select • Ctrl+O expand • s stop • q leave • ? help",
    };
    let line = Line::of(Role::Dim, words);
    let is_narrow = line_width(&line) > columns;
    Some(if is_narrow { Line::of(Role::Dim, NARROW_HINT) } else { line })
}

fn help(seat: Seat) -> Vec<Line> {
    let (ctrl_c, leave, all) = match seat {
        Seat::Owner => (
            "stop all agents; a second time: at once",
            "close what is open",
            Some(("S", "stop all agents")),
        ),
        Seat::Watcher => ("leave; the runs go on", "close what is open, or leave", None),
    };
    let keys = [
        Some(("↑ ↓  j k  Tab", "select an agent")),
        Some(("Ctrl+O  Enter", "show everything that is remembered of it, or less again")),
        Some(("PgUp  PgDn", "scroll in it; Home and End go to its ends")),
        Some(("s", "stop it; a second time: at once")),
        all,
        Some(("Ctrl-C", ctrl_c)),
        Some(("Esc  q", leave)),
    ];
    let line = |(keys, words): (&str, &str)| {
        Line::of(Role::Plain, "  ")
            .with(Role::Accent, &format!("{keys:<15}"))
            .with(Role::Muted, words)
    };
    keys.into_iter().flatten().map(line).collect()
}

/// Everything of one task, as far as it fits, and how far it can be scrolled.
fn expanded(
    task: &TaskView<'_>,
    room: usize,
    columns: usize,
    back: usize,
) -> (Vec<Line>, usize, usize) {
    let mut lines = vec![window_header(task)];
    lines.extend(doing_line(task));
    let body = window_lines(task, Extent::Expanded).into_iter().chain(error_lines(task));
    let body: Vec<Line> = body.flat_map(|line| wrap(line, columns)).collect();
    let page = room.saturating_sub(lines.len());
    let rows_above = body.len().saturating_sub(page);
    let first = rows_above - back.min(rows_above);
    lines.extend(body.into_iter().skip(first).take(page));
    (lines, page, rows_above)
}

/// A window or a line for each task, as many as there is room for.
fn windows(tasks: &[TaskView<'_>], room: usize, selected: Option<usize>) -> Vec<Line> {
    let said: Vec<Vec<Line>> = tasks.iter().map(last_lines).collect();
    // A header and what it does now; both have room in the only line of a task that said nothing.
    let wanted = said.iter().map(|said| if said.is_empty() { 1 } else { said.len() + 2 });
    let shares = share(tasks, &wanted.collect::<Vec<_>>(), room, selected);
    let mut lines = Vec::new();
    let mut hidden = Vec::new();
    for (index, ((task, said), share)) in tasks.iter().zip(said).zip(shares).enumerate() {
        match share {
            Share::Rows(height) => {
                let mark = if selected == Some(index) { "❯ " } else { "  " };
                let marks = [mark].into_iter().chain(std::iter::repeat("  "));
                for (line, mark) in window(task, said, height).into_iter().zip(marks) {
                    lines.push(if selected.is_some() { prefixed(&line, mark) } else { line });
                }
            }
            Share::Counted => hidden.push(task),
        }
    }
    if !hidden.is_empty() {
        lines.push(Line::of(Role::Muted, &more(&hidden, lines.is_empty())));
    }
    lines
}

/// One task in so many rows.
fn window(task: &TaskView<'_>, mut said: Vec<Line>, height: usize) -> Vec<Line> {
    // In one or two rows, what it does now stands beside its name.
    let mut lines = if height > 2 {
        [window_header(task)].into_iter().chain(doing_line(task)).collect()
    } else {
        vec![compact_line(task)]
    };
    let room = height.saturating_sub(lines.len());
    lines.extend(said.drain(said.len().saturating_sub(room)..));
    lines
}

/// The last that a running task said or did. Of the others all is told in one line.
fn last_lines(task: &TaskView<'_>) -> Vec<Line> {
    let is_silent = task.state.window.history().next().is_none();
    if task.phase != Phase::Running || is_silent {
        return Vec::new();
    }
    window_lines(task, Extent::Collapsed)
}

fn prefixed(line: &Line, prefix: &str) -> Line {
    let start = Line::of(Role::Accent, prefix);
    line.spans().iter().fold(start, |line, span| {
        if span.is_bold() {
            line.with_bold(span.role(), span.text())
        } else {
            line.with(span.role(), span.text())
        }
    })
}

/// `… and 84 more: 60 done, 20 queued, 4 running`
fn more(hidden: &[&TaskView<'_>], is_all: bool) -> String {
    let tally = Tally::of(hidden.iter().copied());
    let kinds = [
        (tally.failed, "failed"),
        (tally.done, "done"),
        (tally.queued, "queued"),
        (tally.running, "running"),
    ];
    let kinds = kinds.into_iter().filter(|(count, _)| *count > 0);
    let kinds: Vec<String> = kinds.map(|(count, word)| format!("{count} {word}")).collect();
    let count = hidden.len();
    let beginning =
        if is_all { format!("{count} agents") } else { format!("… and {count} more") };
    format!("{beginning}: {}", kinds.join(", "))
}
