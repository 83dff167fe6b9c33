//! What stays on the screen when the view has closed.

use model::{Changes, Usage};
use session::view::{Line, Role, Standing, TaskView, clock, mark};
use session::{cost_words, token_words, total_cost_words};

use crate::fit::{line_width, wrap};

/// A table of the tasks that have ended: what became of each, its time, tools, tokens, cost, changes and
/// session, and why it failed; below it, if there are several, all of them together. `elapsed_ms` is
/// the time since the first of them was started. An error that does not fit into `columns` stands below its task.
pub fn ending(tasks: &[TaskView<'_>], elapsed_ms: u64, columns: usize) -> Vec<Line> {
    let has_ended =
        |task: &&TaskView<'_>| matches!(task.standing(), Standing::Done | Standing::Failed);
    let rows: Vec<(&TaskView<'_>, [Line; CELLS])> =
        tasks.iter().filter(has_ended).map(|task| (task, cells(task))).collect();
    let widths: [usize; CELLS] = std::array::from_fn(|column| {
        rows.iter().map(|(_, cells)| line_width(&cells[column])).max().unwrap_or(0)
    });
    let count = rows.len();
    let usages: Vec<Usage> = rows.iter().map(|(task, _)| task.state.facts.usage).collect();
    let mut lines: Vec<Line> =
        rows.into_iter().flat_map(|(task, cells)| row(task, cells, &widths, columns)).collect();
    if count > 1 {
        let mut words = vec![format!("{count} tasks"), clock(elapsed_ms)];
        let usage = usages.iter().copied().sum();
        words.extend(token_words(&usage).map(|tokens| format!("{tokens} tokens")));
        words.extend(total_cost_words(usages.into_iter()));
        lines.push(Line::of(Role::Muted, &words.join(" · ")));
    }
    lines
}

/// Name, time, tools, tokens, cost and changes.
const CELLS: usize = 6;

fn cells(task: &TaskView<'_>) -> [Line; CELLS] {
    let facts = &task.state.facts;
    let tools = match facts.tool_calls {
        0 => String::new(),
        // The words of several stand below each other.
        1 => "1 tool ".to_owned(),
        count => format!("{count} tools"),
    };
    let tokens = token_words(&facts.usage).unwrap_or_default();
    let cost =
        if facts.usage == Usage::default() { String::new() } else { cost_words(&facts.usage) };
    let time = facts.started_at.map(|_| clock(task.elapsed_ms)).unwrap_or_default();
    let changes = facts.changes.as_deref().map(Changes::brief).unwrap_or_default();
    let [time, tools, tokens, cost, changes] =
        [time, tools, tokens, cost, changes].map(|words| Line::of(Role::Plain, &words));
    [Line::default().with_bold(Role::Plain, task.name), time, tools, tokens, cost, changes]
}

fn row(
    task: &TaskView<'_>,
    cells: [Line; CELLS],
    widths: &[usize; CELLS],
    columns: usize,
) -> Vec<Line> {
    let (role, mark) = mark(task.standing()).unwrap_or((Role::Plain, " "));
    let [name, numbers @ ..] = cells;
    let [widest_name, widths @ ..] = widths;
    let blanks = " ".repeat(widest_name.saturating_sub(line_width(&name)));
    let mut line = Line::of(role, mark).with(Role::Plain, " ").and(name).with(Role::Plain, &blanks);
    for (number, wide) in numbers.into_iter().zip(widths).filter(|(_, wide)| **wide > 0) {
        let blanks = " ".repeat(3 + wide.saturating_sub(line_width(&number)));
        line = line.with(Role::Plain, &blanks).and(number);
    }
    line = line.with(Role::Muted, &format!("   {}", task.session));
    let error = task.state.facts.error.as_deref().filter(|_| task.standing() == Standing::Failed);
    let Some(error) = error else { return vec![line] };
    let beside = Line::of(Role::Error, &format!("   {error}"));
    // The lines of a long error are kept as they are.
    if !error.contains('\n') && line_width(&line) + line_width(&beside) <= columns {
        return vec![line.and(beside)];
    }
    let below = error.lines().flat_map(|text| {
        wrap(Line::of(Role::Plain, INDENT).with(Role::Error, text), columns, INDENT.len())
    });
    std::iter::once(line).chain(below).collect()
}

/// Before an error that stands below its task: below the name.
const INDENT: &str = "  ";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{changing, done, failed, queued, views};

    #[test]
    fn a_table_stays() {
        let tasks = [done("review"), failed("fix-flaky", "Timed out."), queued("later")];
        let texts = |tasks: &[TaskView<'_>]| -> Vec<String> {
            ending(tasks, 61_000, 60).iter().map(Line::text).collect()
        };
        assert_eq!(
            texts(&views(&tasks)),
            [
                "✓ review      0:12   0123456789abcdef",
                "✗ fix-flaky   0:12   0123456789abcdef   Timed out.",
                "2 tasks · 1:01",
            ]
        );
        assert_eq!(texts(&views(&tasks[..1])), ["✓ review   0:12   0123456789abcdef"]);
        assert_eq!(texts(&views(&tasks[2..])), [""; 0]);
        assert_eq!(
            texts(&views(&[changing("fix", 3), done("look")])),
            [
                "✓ fix    0:12   3 files +40 −2   0123456789abcdef",
                "✓ look   0:12                    0123456789abcdef",
                "2 tasks · 1:01",
            ]
        );
        let long =
            "Timed out after 300s. Consider resuming with a longer timeout, or with another task.";
        assert_eq!(
            texts(&views(&[failed("fix-flaky", long)])),
            [
                "✗ fix-flaky   0:12   0123456789abcdef",
                "  Timed out after 300s. Consider resuming with a longer",
                "  timeout, or with another task.",
            ]
        );
    }
}
