//! The line above all windows: the progress of all tasks together.

use model::Usage;
use session::usage_words;
use session::view::{self, Line, Role, Tally};

use super::Scene;

/// The numbers of tasks by status, a bar, the time and the usage.
pub(super) fn overview(scene: &Scene<'_>, columns: usize) -> Line {
    let mut line = view::overview(scene.tasks);
    let count = scene.tasks.len();
    if count == 0 {
        return Line::of(Role::Muted, "Nothing running.");
    }
    let tally = Tally::of(scene.tasks);
    let ended = tally.done + tally.failed;
    line = line.with(Role::Dim, " • ");
    let length = bar_length(columns);
    if length > 0 {
        let filled = length * ended / count;
        line = line
            .with(Role::Success, &"━".repeat(filled))
            .with(Role::Dim, &"╌".repeat(length - filled))
            .with(Role::Plain, " ");
    }
    line = line.with(Role::Muted, &format!("{ended}/{count}"));
    let usage: Usage = scene.tasks.iter().map(|task| task.state.facts.usage).sum();
    let time = format!("{}s", scene.elapsed_ms / 1000);
    for segment in [time].into_iter().chain(usage_words(&usage)) {
        line = line.with(Role::Dim, " • ").with(Role::Muted, &segment);
    }
    line
}

/// The words need the rest of the line.
fn bar_length(columns: usize) -> usize {
    match columns {
        0..60 => 0,
        60..100 => 10,
        _ => 20,
    }
}
