//! Decides what is shown in the rows and columns of a screen.

mod heights;
mod overview;
#[cfg(test)]
mod tests;

use session::view::{
    Extent, Line, Phase, Role, Tally, TaskView, compact_line, doing_line, error_lines,
    window_header, window_lines,
};

use self::heights::{Share, share};
use self::overview::overview;
use crate::controls::{Controls, Mode, Ownership};
use crate::fit::{add, fit, line_width, wrap};

/// The size of a screen in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// Everything that can be shown.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// In the order of the call.
    pub tasks: &'a [TaskView<'a>],
    /// Since the first of them was started.
    pub elapsed_ms: u64,
    /// Whether the terminal has a keyboard.
    pub has_keys: bool,
}

/// What is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Fewer than the screen has rows, each narrower than the screen.
    pub lines: Vec<Line>,
    /// By how many rows PgUp and PgDn scroll.
    pub page: usize,
    /// By how many rows the view can scroll back.
    pub rows_above: usize,
}

/// Lays out the tasks for a screen.
///
/// Running tasks have windows, the others a line each. With less room, the others are only counted;
/// then the windows shrink, down to a line; then some of them are only counted, too.
pub fn layout(scene: &Scene<'_>, size: Size, controls: &Controls) -> Layout {
    // One row is left for the cursor, and one column, because terminals differ in what they do
    // after a character in the last one.
    let (rows, columns) = (size.rows.saturating_sub(1), size.columns.saturating_sub(1));
    let selected = controls.selected.filter(|selected| *selected < scene.tasks.len());
    let top = (scene.tasks.len() != 1).then(|| overview(scene, columns));
    let bottom = hint(scene, controls, rows, columns);
    let room = rows.saturating_sub(usize::from(top.is_some()) + usize::from(bottom.is_some()));
    let (middle, page, rows_above) = match (controls.mode, selected) {
        (Mode::Help, _) => (help(controls.ownership), 1, 0),
        (Mode::Expanded { back }, Some(selected)) => match scene.tasks.get(selected) {
            Some(task) => expanded(task, room, columns, back),
            None => (Vec::new(), 1, 0),
        },
        _ => (windows(scene.tasks, room, selected), 1, 0),
    };
    let middle = middle.into_iter().take(room);
    let lines = top.into_iter().chain(middle).chain(bottom).take(rows);
    Layout { lines: lines.map(|line| fit(line, columns)).collect(), page, rows_above }
}

/// With fewer rows, none is spent on the hint.
const ROWS_WITH_HINT: usize = 5;
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
    let words = match (controls.mode, controls.ownership) {
        (Mode::Help, _) => "Esc back",
        (Mode::Expanded { .. }, _) => "Esc back • PgUp PgDn scroll • ↑ ↓ another • s stop • ? help",
        (_, Ownership::Owner) if scene.tasks.len() == 1 => "Ctrl+O expand • s stop • ? help",
        (_, Ownership::Owner) => "↑ ↓ select • Ctrl+O expand • s stop • S stop all • ? help",
        (_, Ownership::Watcher) => "↑ ↓ select • Ctrl+O expand • s stop • q leave • ? help",
    };
    let line = Line::of(Role::Dim, words);
    let is_narrow = line_width(&line) > columns;
    Some(if is_narrow { Line::of(Role::Dim, NARROW_HINT) } else { line })
}

fn help(ownership: Ownership) -> Vec<Line> {
    let (ctrl_c, leave, all) = match ownership {
        Ownership::Owner => (
            "stop all agents; a second time: at once",
            "close what is open",
            Some(("S", "stop all agents")),
        ),
        Ownership::Watcher => ("leave; the runs go on", "close what is open, or leave", None),
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

/// Everything of one task that fits, with the page and the rows above as [`Layout`] has them.
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
    let bodies: Vec<Vec<Line>> = tasks.iter().map(last_lines).collect();
    // Two more for the header and the activity; without a body, both fit into one line.
    let wanted = bodies.iter().map(|body| if body.is_empty() { 1 } else { body.len() + 2 });
    let shares = share(tasks, &wanted.collect::<Vec<_>>(), room, selected);
    let mut lines = Vec::new();
    let mut hidden = Vec::new();
    for (index, ((task, body), share)) in tasks.iter().zip(bodies).zip(shares).enumerate() {
        match share {
            Share::Rows(height) => {
                let mark = if selected == Some(index) { "❯ " } else { "  " };
                let marks = [mark].into_iter().chain(std::iter::repeat("  "));
                for (line, mark) in window(task, body, height).into_iter().zip(marks) {
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

/// One task in `height` rows.
fn window(task: &TaskView<'_>, mut body: Vec<Line>, height: usize) -> Vec<Line> {
    // With one or two rows, the activity is beside the name.
    let mut lines = if height > 2 {
        [window_header(task)].into_iter().chain(doing_line(task)).collect()
    } else {
        vec![compact_line(task)]
    };
    let room = height.saturating_sub(lines.len());
    lines.extend(body.drain(body.len().saturating_sub(room)..));
    lines
}

/// The latest entries of a running task. One line is enough for the others.
fn last_lines(task: &TaskView<'_>) -> Vec<Line> {
    let is_silent = task.state.window.history().next().is_none();
    if task.phase != Phase::Running || is_silent {
        return Vec::new();
    }
    window_lines(task, Extent::Collapsed)
}

fn prefixed(line: &Line, prefix: &str) -> Line {
    let start = Line::of(Role::Accent, prefix);
    line.spans().iter().fold(start, |line, span| add(line, span, span.text()))
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
