//! Lays out the headers of tasks as a table. What they show is in `session::view::header`.

use session::view::{Alignment, COLUMNS, Column, Line, Role, TaskView};

use crate::fit::{fit, line_width};

/// The widest cell of each column that was ever shown. Columns never become narrower: what the eye has found
/// stays where it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    widths: [usize; COLUMNS.len()],
}

impl Measured {
    /// More tasks than this are not measured: no screen shows them all.
    const TASKS: usize = 500;

    pub(crate) fn grow(&mut self, tasks: &[TaskView<'_>], totals: &[(&str, &str)]) {
        for (column, widest) in COLUMNS.iter().zip(&mut self.widths) {
            let of_column = totals.iter().filter(|(name, _)| *name == column.name);
            let widths = of_column.map(|(_, text)| line_width(&Line::of(Role::Plain, text)));
            *widest = widths.fold(*widest, usize::max);
        }
        for task in tasks.iter().take(Measured::TASKS) {
            for (column, widest) in COLUMNS.iter().zip(&mut self.widths) {
                if column.alignment != Alignment::Rest {
                    *widest = (*widest).max(line_width(&(column.cell)(task)));
                }
            }
        }
    }
}

/// The columns that fit into a screen.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: usize,
    /// `None` for a column that has left.
    widths: [Option<usize>; COLUMNS.len()],
}

/// What a column says about a task, and the room that it has there.
struct Cell {
    column: &'static Column,
    width: usize,
    text: Line,
}

/// The blank or the mark of the selected task, the mark of the state, and a blank.
pub(crate) const MARGIN: usize = 3;

impl Table {
    pub(crate) fn new(measured: &Measured, columns: usize) -> Table {
        let mut widths = [None; COLUMNS.len()];
        for ((width, column), measured) in widths.iter_mut().zip(COLUMNS).zip(measured.widths) {
            // A long name leaves room for the rest.
            let measured =
                if column.leaves.is_none() { measured.min(columns / 3) } else { measured };
            let wide = measured.max(column.least);
            *width = (wide > 0).then_some(wide);
        }
        let mut table = Table { columns, widths };
        while table.needed() > columns {
            let leaving =
                COLUMNS.iter().zip(&mut table.widths).filter(|(_, width)| width.is_some());
            let first = leaving.filter(|(column, _)| column.leaves.is_some());
            let Some((_, width)) = first.min_by_key(|(column, _)| column.leaves) else { break };
            *width = None;
        }
        let others = table.needed();
        for (column, width) in COLUMNS.iter().zip(&mut table.widths) {
            if let Some(width) = width.as_mut().filter(|_| column.alignment == Alignment::Rest) {
                *width = (*width + columns).saturating_sub(others);
            }
        }
        table
    }

    /// How many columns the screen has.
    pub(crate) fn width(&self) -> usize {
        self.columns
    }

    /// Whether the line of a task has room for all that it does now.
    pub(crate) fn shows_now_whole(&self, task: &TaskView<'_>) -> bool {
        let cells = self.cells(task);
        let mut now = cells.iter().filter(|cell| cell.column.alignment == Alignment::Rest);
        now.any(|now| line_width(&now.text) <= now.width)
    }

    /// Figures of all tasks together, by the names of their columns, each at the end of its column. Those whose
    /// column has left stand where it would be.
    pub(crate) fn totals(&self, figures: &[(&str, &str)]) -> Line {
        let mut line = Line::default();
        let columns = COLUMNS.iter().zip(self.widths);
        for (column, width) in columns.filter(|(column, _)| column.alignment != Alignment::Rest) {
            let figure =
                figures.iter().find(|(name, text)| *name == column.name && !text.is_empty());
            // Nothing is in front of the first figure: the room there belongs to the words.
            let width = if line.spans().is_empty() && figure.is_none() { None } else { width };
            let text = figure.map_or("", |(_, text)| text);
            if width.is_some() || !text.is_empty() {
                let gap = if line.spans().is_empty() { 0 } else { column.gap };
                let blanks =
                    width.unwrap_or(0).saturating_sub(line_width(&Line::of(Role::Plain, text)));
                line = line.with(Role::Plain, &format!("{}{text}", " ".repeat(gap + blanks)));
            }
        }
        line
    }

    /// The line of a task, behind its mark.
    pub(crate) fn row(&self, mark: Line, task: &TaskView<'_>) -> Line {
        let mut line = mark;
        let mut is_first = true;
        for Cell { column, width, text } in self.cells(task) {
            let cell = fit(text, width);
            let blanks = width.saturating_sub(line_width(&cell));
            let gap = if std::mem::take(&mut is_first) { 0 } else { column.gap };
            let (before, after) = match column.alignment {
                Alignment::Right => (gap + blanks, 0),
                Alignment::Left | Alignment::Rest => (gap, blanks),
            };
            line = line
                .with(Role::Plain, &" ".repeat(before))
                .and(cell)
                .with(Role::Plain, &" ".repeat(after));
        }
        fit(line, self.columns)
    }

    /// What the columns say about a task. What it does now, or what became of it, also has the room of the empty
    /// cells behind it: a reason is not cut in front of a blank.
    fn cells(&self, task: &TaskView<'_>) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        for (column, width) in COLUMNS.iter().zip(self.widths) {
            let Some(width) = width else { continue };
            let text = (column.cell)(task);
            match cells.last_mut() {
                Some(now) if now.column.alignment == Alignment::Rest && line_width(&text) == 0 => {
                    now.width += column.gap + width;
                }
                _ => cells.push(Cell { column, width, text }),
            }
        }
        cells
    }

    /// How many columns of the screen the table needs, if no text is cut.
    fn needed(&self) -> usize {
        let widths = COLUMNS.iter().zip(self.widths);
        let mut shown = widths.filter_map(|(column, width)| Some((column.gap, width?)));
        let first = shown.next().map_or(0, |(_, width)| width);
        MARGIN + first + shown.map(|(gap, width)| gap + width).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{failed, queued, running, views};

    fn shown(columns: usize) -> Vec<&'static str> {
        let tasks = [running("survey-errors", &["x"]), queued("port"), failed("fix", "No.")];
        let mut measured = Measured::default();
        measured.grow(&views(&tasks), &[]);
        let table = Table::new(&measured, columns);
        let columns = COLUMNS.iter().zip(table.widths);
        columns.filter_map(|(column, width)| width.map(|_| column.name)).collect()
    }

    #[test]
    fn columns_leave_one_after_the_other() {
        let all =
            ["name", "agent", "model", "now", "since", "tools", "tokens", "cost", "time", "limit"];
        assert_eq!(shown(120), all);
        let mut before = all.len();
        for (columns, gone) in [
            (90, &["since"][..]),
            (85, &["since", "tools"]),
            (80, &["since", "tools", "model"]),
            (68, &["since", "tools", "model", "tokens"]),
            (60, &["since", "tools", "model", "tokens", "limit"]),
        ] {
            let shown = shown(columns);
            let left: Vec<&str> = all.into_iter().filter(|name| !gone.contains(name)).collect();
            assert_eq!(shown, left, "{columns}");
            assert!(shown.len() < before);
            before = shown.len();
        }
        assert_eq!(shown(10), ["name", "now"]);
    }

    #[test]
    fn numbers_stay_where_they_are() {
        let tasks = [running("survey-errors", &["x"]), queued("port"), failed("fix", "No.")];
        let views = views(&tasks);
        let mut measured = Measured::default();
        measured.grow(&views, &[]);
        let table = Table::new(&measured, 120);
        let rows: Vec<String> =
            views.iter().map(|task| table.row(Line::of(Role::Plain, " - "), task).text()).collect();
        assert_eq!(
            rows.iter().map(|row| row.trim_end()).collect::<Vec<_>>(),
            [
                " - survey-errors  pi  haiku-4-5  waiting                                             3s                       0:12/10:00",
                " - port           pi  haiku-4-5  queued",
                " - fix            pi  haiku-4-5  No.                                                                          0:12",
            ]
        );
        // A narrower table remembers how wide its columns were.
        let mut again = measured.clone();
        again.grow(&views[1..2], &[]);
        assert_eq!(again.widths, measured.widths);
    }

    #[test]
    fn a_reason_takes_the_room_of_empty_cells() {
        let reason = "Its directory /home/me/project is not there.";
        let tasks = [running("survey", &["x"]), failed("fix", reason)];
        let views = views(&tasks);
        let mut measured = Measured::default();
        measured.grow(&views, &[]);
        let row = |columns| {
            let table = Table::new(&measured, columns);
            table.row(Line::of(Role::Plain, " - "), &views[1]).text().trim_end().to_owned()
        };
        assert_eq!(row(90), format!(" - fix     pi  haiku-4-5  {reason:<52}  0:12"));
        assert_eq!(row(60), " - fix     pi  Its directory /home/me/project i…  0:12");
    }
}
