//! Views as they are sent. A part of a window is one of these:
//!
//! - a line of spans, `[role, text]` or, in bold, `[role, text, true]`, which is wrapped;
//! - `{row, cells}`: a row of the table with that name, each cell with its `text` and where it stands;
//! - `{steps, bar, most}`: what an agent said and did, behind a bar of that role;
//! - `{markdown}`: what an agent answered.

use serde_json::{Value, json};
use session::cut_chars;
use session::view::{Alignment, Block, Cell, Line, Role, Step};

/// How much of a line is sent in what pi keeps: more than a screen has in a row. pi has the whole text of an
/// answer.
const LONGEST: usize = 1_000;
/// Marks that the rest of a line is not sent.
const CUT: &str = "…";

/// Lines that pi keeps with the result of a call.
pub(crate) fn kept_lines(lines: &[Line]) -> Value {
    lines.iter().map(|line| spans(line, LONGEST)).collect()
}

/// Parts of windows that pi keeps with the result of a call.
pub(crate) fn kept(blocks: &[Block]) -> Value {
    blocks.iter().map(|block| part(block, LONGEST)).collect()
}

/// Parts of windows that are only shown.
pub(crate) fn whole(blocks: &[Block]) -> Value {
    blocks.iter().map(|block| part(block, usize::MAX)).collect()
}

fn part(block: &Block, longest: usize) -> Value {
    match block {
        Block::Text(line) => spans(line, longest),
        Block::Row(row) => {
            let cells = row.cells.iter().map(|cell| placed(cell, longest));
            json!({"row": row.table, "cells": cells.collect::<Vec<Value>>()})
        }
        Block::Steps { bar, steps, most } => {
            let steps = steps.iter().map(|step| step_of(step, longest));
            json!({"steps": steps.collect::<Vec<Value>>(), "bar": word(*bar), "most": most})
        }
        Block::Markdown(text) => json!({"markdown": text}),
    }
}

/// A cell. What most cells have in common is left out.
fn placed(cell: &Cell, longest: usize) -> Value {
    let mut placed = json!({"text": spans(&cell.line, longest), "gap": cell.gap});
    match cell.alignment {
        Alignment::Left => {}
        Alignment::Right => placed["align"] = "right".into(),
        Alignment::Rest => placed["align"] = "rest".into(),
    }
    if cell.least > 0 {
        placed["least"] = cell.least.into();
    }
    if let Some(leaves) = cell.leaves {
        placed["leaves"] = leaves.into();
    }
    placed
}

fn step_of(step: &Step, longest: usize) -> Value {
    let mut sent = json!({"line": spans(&step.line, longest), "indent": step.indent});
    if let Some(result) = &step.result {
        sent["result"] = spans(result, longest);
    }
    sent
}

fn spans(line: &Line, longest: usize) -> Value {
    let mut left = longest;
    let mut spans = Vec::new();
    for span in line.spans() {
        let text = cut_chars(span.text(), left);
        left -= text.chars().count();
        if !text.is_empty() {
            let role = word(span.role());
            spans.push(if span.is_bold() {
                json!([role, text, true])
            } else {
                json!([role, text])
            });
        }
        if text.len() < span.text().len() {
            spans.push(json!([word(Role::Dim), CUT]));
            break;
        }
    }
    Value::Array(spans)
}

fn word(role: Role) -> &'static str {
    match role {
        Role::Plain | Role::Literal => "plain",
        Role::Title | Role::Keyword => "title",
        Role::Accent | Role::Name | Role::Code | Role::Found => "accent",
        Role::Moving => "moving",
        Role::OpeningKey => "openingKey",
        Role::Muted => "muted",
        Role::Dim => "dim",
        Role::Success => "success",
        Role::Warning => "warning",
        Role::Error => "error",
        Role::Added => "added",
        Role::Removed => "removed",
    }
}

#[cfg(test)]
mod tests {
    use session::view::{Row, call_line, truncated};

    use super::*;

    #[test]
    fn a_line_is_its_spans_and_what_is_kept_is_short() {
        let line = call_line("get_subagent_output", &json!({"sessionId": "0a"}));
        assert_eq!(
            kept_lines(&[line, Line::default()]),
            json!([[["title", "get_subagent_output", true], ["plain", " "], ["accent", "0a"]], []])
        );
        for (length, is_cut) in [(LONGEST, false), (LONGEST + 1, true)] {
            let long = truncated(&"ä".repeat(length), 5);
            let kept = &kept_lines(&long)[0];
            assert_eq!(kept[0][1].as_str().unwrap().chars().count(), LONGEST);
            assert_eq!(kept.get(1) == Some(&json!(["dim", "…"])), is_cut, "{length}");
            let whole = &whole(&[Block::Text(long[0].clone())])[0];
            assert_eq!(whole[0][1].as_str().unwrap().chars().count(), length);
        }
    }

    #[test]
    fn every_part_of_a_window_has_its_form() {
        let name = Cell { gap: 0, ..Cell::left(Line::of(Role::Name, "a")) };
        let cost = Cell {
            alignment: Alignment::Right,
            least: 6,
            leaves: Some(3),
            ..Cell::left(Line::default())
        };
        let step = Step {
            line: Line::of(Role::Accent, "bash"),
            indent: 7,
            result: Some(Line::of(Role::Added, "+1")),
        };
        let blocks = [
            Block::Row(Row { table: "tasks", cells: vec![name, cost] }),
            Block::Steps { bar: Role::Accent, steps: vec![step], most: Some(15) },
            Block::Markdown("**x**".to_owned()),
        ];
        assert_eq!(
            kept(&blocks),
            json!([
                {"row": "tasks", "cells": [
                    {"text": [["accent", "a"]], "gap": 0},
                    {"text": [], "gap": 2, "align": "right", "least": 6, "leaves": 3},
                ]},
                {"steps": [{"line": [["accent", "bash"]], "indent": 7, "result": [["added", "+1"]]}],
                 "bar": "accent", "most": 15},
                {"markdown": "**x**"},
            ])
        );
    }
}
