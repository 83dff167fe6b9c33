//! Tables.

use session::view::{Line, Role};

use crate::fit::{line_width, wrap};

/// The rows of a table; the first is its head.
#[derive(Default)]
pub(super) struct Rows {
    rows: Vec<Vec<Line>>,
    row: Vec<Line>,
}

/// Between two columns.
const GAP: usize = 2;

impl Rows {
    pub(super) fn push_cell(&mut self, cell: Line) {
        self.row.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// Columns side by side, or, where there is no room for them, the cells of each row below each
    /// other.
    pub(super) fn lines(self, room: usize) -> Vec<Line> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(line_width).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..count).map(widest).collect();
        let needed = widths.iter().sum::<usize>() + GAP * count.saturating_sub(1);
        if needed > room { stacked(self.rows, room) } else { side_by_side(&self.rows, &widths) }
    }
}

fn side_by_side(rows: &[Vec<Line>], widths: &[usize]) -> Vec<Line> {
    let mut lines = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(widths).map(|(cell, width)| (cell.clone(), *width));
        lines.push(joined(cells));
        if index == 0 {
            let rules = widths.iter().map(|width| Line::of(Role::Dim, &"─".repeat(*width)));
            lines.push(joined(rules.zip(widths.iter().copied())));
        }
    }
    lines
}

fn joined(cells: impl Iterator<Item = (Line, usize)>) -> Line {
    let mut line = Line::default();
    let mut blanks = 0;
    for (cell, width) in cells {
        let used = line_width(&cell);
        line = line.with(Role::Plain, &" ".repeat(blanks)).and(cell);
        blanks = width.saturating_sub(used) + GAP;
    }
    line
}

fn stacked(rows: Vec<Vec<Line>>, room: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for row in rows {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        for (index, cell) in row.into_iter().enumerate() {
            let indent = if index == 0 { 0 } else { GAP };
            let cell = Line::of(Role::Plain, &" ".repeat(indent)).and(cell);
            lines.extend(wrap(cell, room, indent));
        }
    }
    lines
}
