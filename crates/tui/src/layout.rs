//! Decides what is shown in the rows and columns of a screen.

mod heights;
mod hints;
mod overview;
mod question;
#[cfg(test)]
mod tests;
mod windows;

use session::Conversation;
use session::view::{Line, Role, Standing, TaskView, about, mark};

use self::overview::overview;
use crate::controls::{Controls, Mode};
use crate::fit::{fit, line_width};
use crate::table::Table;

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
    /// Everything of the task that [`Controls::opened`] names.
    pub opened: Option<&'a Conversation>,
}

/// Lays out the tasks for a screen: fewer lines than it has rows, each narrower than it is. The
/// controls learn from it where the columns are and how far the view can scroll.
///
/// Running tasks have windows, the others a line each. With less room, the others are only counted;
/// then the windows shrink to two lines, and to one; then some of them are only counted, too.
pub fn layout(scene: &Scene<'_>, size: Size, controls: &mut Controls) -> Vec<Line> {
    // One row is left for the cursor, and one column, because terminals differ in what they do
    // after a character in the last one.
    let (rows, columns) = (size.rows.saturating_sub(1), size.columns.saturating_sub(1));
    let totals = overview::totals(scene);
    let totals: Vec<(&str, &str)> =
        totals.iter().map(|(name, text)| (*name, text.as_str())).collect();
    controls.measured.grow(scene.tasks, &totals);
    let table = Table::new(&controls.measured, columns);
    let selected = controls.selected.filter(|selected| *selected < scene.tasks.len());
    let opened = controls.opened().and_then(|opened| scene.tasks.get(opened));
    let is_single = scene.tasks.len() == 1 || opened.is_some();
    let mut top: Vec<Line> =
        (!is_single).then(|| overview(scene, &table, &totals)).into_iter().collect();
    if !is_single && size.rows >= ROWS_WITH_GAP {
        top.push(Line::default());
    }
    let mut bottom: Vec<Line> = hints::hint(scene, controls, rows, columns).into_iter().collect();
    let room = rows.saturating_sub(top.len() + bottom.len());
    let asked = question::question(scene, controls, selected, Size { columns, rows: room });
    let room = room.saturating_sub(asked.len());
    bottom.splice(..0, asked);
    let middle = match (controls.mode, opened) {
        (Mode::Help, _) => hints::help(controls.ownership),
        (
            Mode::Opened
            | Mode::Draft { is_opened: true, .. }
            | Mode::Answer { is_opened: true, .. },
            Some(task),
        ) => {
            let mut lines = vec![table.row(task_mark(scene, task, 0, false), task)];
            lines.push(Line::of(Role::Plain, " ").and(about(task)));
            let room = room.saturating_sub(lines.len());
            lines.extend(match scene.opened {
                Some(conversation) => controls.reader.rows(conversation, columns, room),
                None => vec![Line::of(Role::Muted, "   It has not been started.")],
            });
            lines
        }
        _ => windows::windows(scene, &table, room, selected),
    };
    let middle = middle.into_iter().take(room);
    let lines = top.into_iter().chain(middle).chain(bottom).take(rows);
    lines.map(|line| fit(line, columns)).collect()
}

/// On a screen with so many rows, the overview stands apart from the tasks.
const ROWS_WITH_GAP: usize = 30;

/// How often the spinner moves, in milliseconds.
pub(crate) const SPINNER_MS: u64 = 100;
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// What is before the name of a task: whether it is selected, and its state. What runs, moves.
fn task_mark(scene: &Scene<'_>, task: &TaskView<'_>, index: usize, is_selected: bool) -> Line {
    let tick = (scene.elapsed_ms / SPINNER_MS) as usize + 3 * index;
    let running = (Role::Accent, SPINNER.get(tick % SPINNER.len()).copied().unwrap_or_default());
    let (role, mark) = mark(task.standing()).unwrap_or(running);
    let selected = if is_selected { "❯" } else { " " };
    Line::of(Role::Accent, selected).with(role, mark).with(Role::Plain, " ")
}

/// The colour of the bar beside a window.
fn bar_role(standing: Standing) -> Role {
    mark(standing).map_or(Role::Accent, |(role, _)| role)
}

/// A line with something at the right edge, if there is room for both.
pub(crate) fn with_right(line: Line, right: Line, columns: usize) -> Line {
    let used = line_width(&line) + line_width(&right);
    if used + 2 > columns {
        return line;
    }
    line.with(Role::Plain, &" ".repeat(columns - used)).and(right)
}
