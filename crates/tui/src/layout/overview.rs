//! The line above all windows: the progress of all tasks together.

use model::Usage;
use session::view::{Line, Role, Tally, clock};
use session::{token_words, total_cost_words};

use super::{Scene, with_right};
use crate::fit::line_width;
use crate::table::Table;

/// How many have ended, a bar, the numbers of tasks by status, and the totals over their columns.
pub(super) fn overview(scene: &Scene<'_>, table: &Table, totals: &[(&str, &str)]) -> Line {
    let columns = table.width();
    let count = scene.tasks.len();
    if count == 0 {
        return Line::of(Role::Muted, " Nothing running.");
    }
    let tally = Tally::of(scene.tasks);
    let ended = tally.done + tally.failed;
    let mut counts = vec![
        (tally.running, "running", Role::Accent),
        (tally.queued, "queued", Role::Muted),
        (tally.done, "done", Role::Plain),
        (tally.failed, "failed", Role::Error),
    ];
    counts.retain(|(number, ..)| *number > 0);
    let start = |length: usize| {
        let start = Line::default().with_bold(Role::Plain, &format!(" {ended}/{count} "));
        bar(start, length, ended, count).with(Role::Plain, " ")
    };
    // The bar gives way, so that the totals stay over their columns.
    let words = line_width(&with_counts(start(0), &counts));
    let room = columns.saturating_sub(words + line_width(&table.totals(totals)) + 2);
    let longest = bar_length(columns);
    let length = if room < SHORTEST_BAR { longest } else { room.min(longest) };
    let start = start(length);
    let mut line = with_counts(start.clone(), &counts);
    // A failure is told on every screen. How many are done, can be seen from how many have ended.
    for word in ["done", "queued"] {
        if line_width(&line) > columns {
            counts.retain(|(_, other, _)| *other != word);
            line = with_counts(start.clone(), &counts);
        }
    }
    // With less room they leave their columns, and then the line.
    let fewer = (0..totals.len()).filter_map(|first| totals.get(first..));
    let mut totals = fewer.flat_map(|totals| [table.totals(totals), side_by_side(totals)]);
    let fits = |totals: &Line| line_width(&line) + line_width(totals) + 2 <= columns;
    match totals.find(fits) {
        Some(totals) => with_right(line, totals, columns),
        None => line,
    }
}

/// `4 running · 96 queued`
fn with_counts(line: Line, counts: &[(usize, &str, Role)]) -> Line {
    let mut separator = " ";
    counts.iter().fold(line, |line, (number, word, role)| {
        let separator = std::mem::replace(&mut separator, " · ");
        line.with(Role::Dim, separator).with(*role, &format!("{number} {word}"))
    })
}

/// Heavy as far as tasks have ended: the bar is read without colours, too.
fn bar(line: Line, length: usize, ended: usize, count: usize) -> Line {
    let halves = 2 * length * ended / count.max(1);
    let half = halves % 2;
    line.with(Role::Success, &"━".repeat(halves / 2))
        .with(Role::Success, &"╸".repeat(half))
        .with(Role::Dim, &"─".repeat(length - halves / 2 - half))
}

/// A shorter one tells nothing.
const SHORTEST_BAR: usize = 4;

/// The words need the rest of the line.
fn bar_length(columns: usize) -> usize {
    match columns {
        0..60 => 0,
        60..100 => 14,
        _ => 34,
    }
}

fn side_by_side(totals: &[(&str, &str)]) -> Line {
    let texts = totals.iter().map(|(_, text)| *text).filter(|text| !text.is_empty());
    Line::of(Role::Plain, &texts.collect::<Vec<_>>().join("  "))
}

/// The tokens, the cost and the time of all tasks together, by the names of their columns.
pub(super) fn totals(scene: &Scene<'_>) -> [(&'static str, String); 3] {
    let usages = scene.tasks.iter().map(|task| task.state.facts.usage);
    let usage: Usage = usages.clone().sum();
    [
        ("tokens", token_words(&usage).unwrap_or_default()),
        ("cost", total_cost_words(usages).unwrap_or_default()),
        ("time", clock(scene.elapsed_ms)),
    ]
}
