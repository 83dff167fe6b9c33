//! A window or a line for each task, as many as there is room for.

use session::view::{Line, Phase, Role, Step, Tally, TaskView, steps};

use super::heights::{Share, share};
use super::{Scene, bar_role, task_mark};
use crate::fit::{line_width, wrap};
use crate::table::{MARGIN, Table};

/// Results stand below each other where they are short.
const RESULTS_AT: usize = 60;

pub(super) fn windows(
    scene: &Scene<'_>,
    table: &Table,
    room: usize,
    selected: Option<usize>,
) -> Vec<Line> {
    let tasks = scene.tasks;
    let running = tasks.iter().filter(|task| task.phase == Phase::Running).count();
    // There is no room for more than a line below each.
    let is_crowded = running * 2 > room;
    let bodies: Vec<Vec<Line>> = tasks.iter().map(|task| body(task, table, is_crowded)).collect();
    // The line of the task and a blank one belong to a window.
    let wanted = bodies.iter().map(|body| if body.is_empty() { 1 } else { body.len() + 2 });
    let shares = share(tasks, &wanted.collect::<Vec<_>>(), room, selected);
    let mut lines = Vec::new();
    let mut hidden = Vec::new();
    for (index, ((task, body), share)) in tasks.iter().zip(bodies).zip(shares).enumerate() {
        let Share::Rows(height) = share else {
            hidden.push(task);
            continue;
        };
        let mark = task_mark(scene, task, index, selected == Some(index));
        lines.push(table.row(mark, task));
        let is_window = height > 2 && !body.is_empty();
        let rows = height.saturating_sub(1 + usize::from(is_window));
        let bar = || Line::of(bar_role(task.standing()), " ┃ ");
        lines.extend(body.into_iter().rev().take(rows).rev().map(|line| bar().and(line)));
        if is_window {
            lines.push(Line::default());
        }
    }
    if !hidden.is_empty() {
        lines.push(Line::of(Role::Muted, &more(&hidden, lines.is_empty())));
    }
    lines
}

/// The latest steps of a running task. One line is enough for the others.
fn body(task: &TaskView<'_>, table: &Table, is_crowded: bool) -> Vec<Line> {
    if task.phase != Phase::Running {
        return Vec::new();
    }
    let limit = if is_crowded { 1 } else { task.state.context().window_lines };
    let width = table.width().saturating_sub(MARGIN);
    // What the line of the task says is not said again below it, unless it is cut there.
    let steps = steps(task, limit, table.shows_now_whole(task));
    let mut lines: Vec<Line> = steps.into_iter().flat_map(|step| step_lines(step, width)).collect();
    lines.drain(..lines.len().saturating_sub(limit));
    lines
}

/// A step: its result beside it where that is short, else below.
fn step_lines(step: Step, width: usize) -> Vec<Line> {
    let Step { line, indent, result } = step;
    let Some(result) = result else { return wrap(line, width, indent) };
    let used = line_width(&line);
    let at = RESULTS_AT.min(width / 2).max(used + 2);
    if at + line_width(&result) <= width.min(2 * RESULTS_AT) {
        return vec![line.with(Role::Plain, &" ".repeat(at - used)).and(result)];
    }
    let below = Line::of(Role::Plain, &" ".repeat(indent)).and(result);
    let mut lines = wrap(line, width, indent);
    lines.extend(wrap(below, width, indent));
    lines
}

/// `   … 84 more: 60 done, 20 queued, 4 running`
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
    let beginning = if is_all { format!("{count} agents") } else { format!("… {count} more") };
    format!("   {beginning}: {}", kinds.join(", "))
}
