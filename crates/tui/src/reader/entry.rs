//! The rows of one entry of a conversation.

use model::Usage;
use session::view::{Line, Role, Step, clock, duration, tool_step};
use session::{Entry, EntryKind, ToolEntry, cost_words, token_words};

use crate::fit::{line_width, wrap};
use crate::layout::with_right;
use crate::markdown;

/// The rows of an entry.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) stamp: Stamp,
    kept: Vec<Line>,
    /// What is shown only when the entry is unfolded.
    folded: Vec<Line>,
    /// Whether the next entry follows without a blank row.
    is_joined: bool,
    /// Tells what is folded, or that it can be folded again; and a blank row.
    end: Vec<Line>,
}

/// A row of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum Row<'a> {
    /// What was said or done.
    Text(&'a Line),
    /// What the view says about it.
    Sign(&'a Line),
}

/// Everything that the rows depend on, beside the entry's own text, which never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    columns: usize,
    is_unfolded: bool,
    has_result: bool,
}

/// How much is shown of a prompt and of what a tool returned.
const PROMPT_ROWS: usize = 5;
const OUTPUT_ROWS: usize = 3;
/// The mark of an entry and a blank stand before its rows; the reader's own mark before them.
const MARGIN: usize = 2;
/// A message is not made narrower than this for the numbers beside it.
const NARROWEST: usize = 48;
/// What a tool returned is shown up to here; the run directory has all of it.
const OUTPUT_LINES: usize = 2_000;

impl Stamp {
    pub(super) fn of(entry: &Entry, columns: usize, is_unfolded: bool) -> Stamp {
        let has_result = matches!(&entry.kind, EntryKind::Tool(call) if call.result.is_some());
        Stamp { columns, is_unfolded, has_result }
    }
}

impl Block {
    pub(super) fn draw(entry: &Entry, stamp: Stamp, started_at: Option<u64>) -> Block {
        // One column is the reader's.
        let width = stamp.columns.saturating_sub(1 + MARGIN).max(1);
        let Drawn { mark, mut rows, kept } = match &entry.kind {
            EntryKind::Prompt(prompt) => Drawn {
                kept: Some(PROMPT_ROWS),
                ..Drawn::text((Role::Accent, "❯"), Role::Plain, prompt, width)
            },
            EntryKind::Told(told) => Drawn::text((Role::Accent, "❯"), Role::Plain, told, width),
            EntryKind::Said { text, usage } => {
                let time = started_at.map(|started| clock(entry.at.saturating_sub(started)));
                message(text, usage, time, width)
            }
            EntryKind::Tool(call) => tool(call, entry.at, width),
            EntryKind::Note(note) => Drawn::text((Role::Muted, "·"), Role::Muted, note, width),
            EntryKind::Problem(problem) => {
                Drawn::text((Role::Error, "✗"), Role::Error, problem, width)
            }
        };
        // One row more than is kept needs no fold: the sign would take its place.
        let kept = kept.filter(|kept| rows.len() > kept + 1);
        set_marks(&mut rows, mark);
        let folded = kept.map_or_else(Vec::new, |kept| rows.split_off(kept));
        // A turn without words is one with what it calls.
        let is_joined =
            matches!(&entry.kind, EntryKind::Said { text, .. } if text.trim().is_empty());
        let mut block = Block { stamp, kept: rows, folded, is_joined, end: Vec::new() };
        block.set_end();
        block
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let folded = if self.stamp.is_unfolded { self.folded.as_slice() } else { &[] };
        let texts = self.kept.iter().chain(folded).map(Row::Text);
        texts.chain(self.end.iter().map(Row::Sign))
    }

    pub(super) fn height(&self) -> usize {
        self.rows().count()
    }

    pub(super) fn can_fold(&self) -> bool {
        !self.folded.is_empty()
    }

    /// What is not shown.
    pub(super) fn hidden(&self) -> &[Line] {
        if self.stamp.is_unfolded { &[] } else { &self.folded }
    }

    pub(super) fn unfold(&mut self) {
        self.stamp.is_unfolded = true;
        self.set_end();
    }

    fn set_end(&mut self) {
        let sign = match (self.folded.len(), self.stamp.is_unfolded) {
            (0, _) => None,
            (_, true) => Some("  ▾".to_owned()),
            (count, false) => Some(format!("  ▸ {count} more lines")),
        };
        self.end = sign.map(|sign| Line::of(Role::Accent, &sign)).into_iter().collect();
        self.end.extend((!self.is_joined).then(Line::default));
    }
}

/// The rows of an entry without its mark, and how many of them are kept when it is folded.
struct Drawn {
    mark: (Role, &'static str),
    rows: Vec<Line>,
    kept: Option<usize>,
}

impl Drawn {
    fn text(mark: (Role, &'static str), role: Role, text: &str, width: usize) -> Drawn {
        let lines = text.lines().flat_map(|line| wrap(Line::of(role, line), width, 0));
        Drawn { mark, rows: lines.collect(), kept: None }
    }
}

/// What the model said, with the time and the usage at the right edge.
fn message(text: &str, usage: &Usage, time: Option<String>, width: usize) -> Drawn {
    let mut rows = markdown::render(text, width);
    // Some agents tell it only at the end.
    let cost = usage.cost.map(|_| cost_words(usage));
    let words: Vec<String> = [time, token_words(usage), cost].into_iter().flatten().collect();
    let aside = Line::of(Role::Dim, &words.join("  "));
    if rows.is_empty() {
        let row = with_right(Line::default(), aside, width);
        return Drawn { mark: (Role::Dim, "·"), rows: vec![row], kept: None };
    }
    let room = width.saturating_sub(line_width(&aside) + 2);
    let fits = |rows: &[Line]| rows.first().is_some_and(|first| line_width(first) <= room);
    if !fits(&rows) && room >= NARROWEST {
        rows = markdown::render(text, room);
    }
    match rows.first_mut() {
        Some(first) if line_width(first) <= room => {
            *first = with_right(std::mem::take(first), aside, width);
        }
        // Above the text if there is no room beside it.
        _ => rows.insert(0, with_right(Line::default(), aside, width)),
    }
    Drawn { mark: (Role::Success, "●"), rows, kept: None }
}

/// A call, with its duration at the right edge and what it returned below.
fn tool(call: &ToolEntry, called_at: u64, width: usize) -> Drawn {
    let Step { line, indent, result } = tool_step(call);
    let mut rows = wrap(line, width, indent);
    let Some(output) = &call.result else {
        return Drawn { mark: (Role::Accent, "▪"), rows, kept: None };
    };
    if let Some(first) = rows.first_mut() {
        let changed = result.filter(|_| call.changed.is_some()).unwrap_or_default();
        let took = duration(output.at.saturating_sub(called_at));
        let aside = changed.with(Role::Dim, &format!("  {took}"));
        *first = with_right(std::mem::take(first), aside, width);
    }
    let (mark, role) = if output.is_error {
        ((Role::Error, "✗"), Role::Error)
    } else {
        ((Role::Muted, "▪"), Role::Muted)
    };
    let kept = rows.len() + OUTPUT_ROWS;
    let bar = || Line::of(Role::Dim, "│ ");
    for line in output.text.lines().take(OUTPUT_LINES) {
        let wrapped = wrap(Line::of(role, line), width.saturating_sub(2), 0);
        rows.extend(wrapped.into_iter().map(|line| bar().and(line)));
    }
    let beyond = output.text.lines().count().saturating_sub(OUTPUT_LINES);
    if beyond > 0 {
        let words = format!("… {beyond} more lines are in the run directory");
        rows.push(bar().with(Role::Dim, &words));
    }
    Drawn { mark, rows, kept: Some(kept) }
}

fn set_marks(rows: &mut [Line], (role, mark): (Role, &str)) {
    for (index, row) in rows.iter_mut().enumerate() {
        let mark = if index == 0 { mark } else { " " };
        *row = Line::of(role, mark).with(Role::Plain, " ").and(std::mem::take(row));
    }
}
