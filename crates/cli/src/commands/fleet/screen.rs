//! One screen for a batch, however many tasks it has.

use fleet::{Figures, TaskName};
use session::view::{Line, Role, duration};

use super::status::ended;

/// The rows of the screen.
pub(super) fn rows(batch: &TaskName, figures: &Figures, width: usize) -> Vec<Line> {
    let mut rows = vec![
        Line::default()
            .with_bold(Role::Name, batch.as_str())
            .with(Role::Plain, &format!("  {} of {}", ended(figures), figures.tasks)),
        bar(figures, width.clamp(20, 72)),
        counts(figures),
    ];
    let mut pace: Vec<String> = Vec::new();
    pace.extend(figures.rate.map(|rate| format!("{rate:.0} tasks a minute")));
    pace.extend(figures.left_ms.map(|left| format!("{} left", duration(left))));
    pace.extend(figures.usage.iter().flat_map(session::usage_words));
    rows.push(Line::of(Role::Muted, &pace.join(" · ")));
    let mut part = |title: &str, lines: Vec<Line>| {
        if !lines.is_empty() {
            rows.push(Line::default());
            rows.push(Line::of(Role::Title, title));
            rows.extend(lines);
        }
    };
    part(
        "Failures",
        figures
            .failures
            .iter()
            .map(|failure| {
                let count = format!("{:>7}  ", failure.count);
                Line::of(Role::Error, &count).with(Role::Plain, &failure.reason)
            })
            .collect(),
    );
    part(
        "Slowest",
        figures
            .slowest
            .iter()
            .map(|slow| {
                let time = format!("{:>7}  ", duration(slow.running_ms));
                Line::of(Role::Warning, &time)
                    .with(Role::Plain, slow.key.as_str())
                    .with(Role::Muted, &format!("  {}", slow.worker))
            })
            .collect(),
    );
    part(
        "Workers",
        figures
            .workers
            .iter()
            .map(|(worker, running)| {
                Line::of(Role::Success, &format!("{running:>7}  ")).with(Role::Plain, worker)
            })
            .collect(),
    );
    rows.push(Line::default());
    rows.push(Line::of(Role::Dim, "q stops watching; the batch goes on"));
    rows
}

fn counts(figures: &Figures) -> Line {
    [
        (figures.completed, "completed", Role::Success),
        (figures.running, "running", Role::Warning),
        (figures.queued, "queued", Role::Muted),
        (figures.failed, "failed", Role::Error),
        (figures.cancelled, "cancelled", Role::Muted),
        (figures.restarted, "restarted", Role::Muted),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .fold(Line::default(), |line, (count, word, role)| {
        let gap = if line.spans().is_empty() { "" } else { "  " };
        line.with(role, &format!("{gap}{count} {word}"))
    })
}

/// The parts of the tasks that completed, failed and run, as parts of a bar.
fn bar(figures: &Figures, width: usize) -> Line {
    let cells = |count: usize| (count * width).checked_div(figures.tasks).unwrap_or(0);
    let done = cells(figures.completed);
    let bad = cells(figures.failed + figures.cancelled);
    let busy = cells(figures.running);
    let rest = width.saturating_sub(done + bad + busy);
    Line::of(Role::Success, &"█".repeat(done))
        .with(Role::Error, &"█".repeat(bad))
        .with(Role::Warning, &"▒".repeat(busy))
        .with(Role::Dim, &"░".repeat(rest))
}

#[cfg(test)]
mod tests {
    use fleet::{FailureReason, SlowTask};

    use super::*;

    #[test]
    fn ten_thousand_tasks_are_one_screen() {
        let reason = |reason: &str, count| FailureReason { reason: reason.to_owned(), count };
        let figures = Figures {
            tasks: 10_000,
            queued: 5_000,
            running: 1_000,
            completed: 3_500,
            failed: 500,
            rate: Some(1_200.4),
            left_ms: Some(300_000),
            failures: vec![reason("timeout: Timed out", 400), reason("loop", 100)],
            slowest: vec![SlowTask {
                key: TaskName::parse("a.1").unwrap(),
                worker: "w1".to_owned(),
                running_ms: 65_000,
            }],
            workers: vec![("w1".to_owned(), 1_000)],
            ..Figures::default()
        };
        let rows = rows(&TaskName::parse("nightly").unwrap(), &figures, 20);
        let text: Vec<String> = rows.iter().map(Line::text).collect();
        assert_eq!(
            text.join("\n"),
            "nightly  4000 of 10000\n\
             ████████▒▒░░░░░░░░░░\n\
             3500 completed  1000 running  5000 queued  500 failed\n\
             1200 tasks a minute · 5:00 left\n\
             \n\
             Failures\n\
             \x20   400  timeout: Timed out\n\
             \x20   100  loop\n\
             \n\
             Slowest\n\
             \x20  1:05  a.1  w1\n\
             \n\
             Workers\n\
             \x20  1000  w1\n\
             \n\
             q stops watching; the batch goes on"
        );
    }
}
