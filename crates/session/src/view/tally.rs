//! How many tasks stand where.

use super::{Line, Role, Standing, TaskView};

/// `Sub-agents: 2 running, 1 done, 1 error, 3 queued`, without those that there are none of.
pub fn overview(tasks: &[TaskView<'_>]) -> Line {
    let tally = Tally::of(tasks);
    let errors = if tally.failed == 1 { "error" } else { "errors" };
    let mut line = Line::default().with_bold(Role::Title, "Sub-agents: ");
    let mut separator = "";
    for (count, word, role) in [
        (tally.running, "running", Role::Warning),
        (tally.done, "done", Role::Success),
        (tally.failed, errors, Role::Error),
        (tally.queued, "queued", Role::Muted),
    ] {
        if count > 0 {
            line = line.with(Role::Dim, separator).with(role, &format!("{count} {word}"));
            separator = ", ";
        }
    }
    line
}

/// What is still to come, or where to find what came out.
pub fn footer(tasks: &[TaskView<'_>]) -> Vec<Line> {
    let tally = Tally::of(tasks);
    if tally.running > 0 {
        return vec![Line::of(Role::Muted, &format!("{} running...", tally.running))];
    }
    if tally.queued > 0 {
        return vec![Line::of(Role::Muted, &format!("{} queued...", tally.queued))];
    }
    let mut lines = vec![Line::of(Role::Dim, "Session IDs (use with get_subagent_output):")];
    lines.extend(tasks.iter().map(|task| {
        Line::of(Role::Plain, &format!("    {}: ", task.name))
            .with(Role::Accent, task.session.as_str())
    }));
    lines
}

/// The same as [`overview`] for where there is only room for a few words.
pub fn streaming_text(tasks: &[TaskView<'_>]) -> String {
    let tally = Tally::of(tasks);
    let parts: Vec<String> = [
        (tally.running, "running"),
        (tally.done, "done"),
        (tally.failed, "error(s)"),
        (tally.queued, "queued"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| format!("{count} {word}"))
    .collect();
    if parts.is_empty() { "processing...".to_owned() } else { parts.join(", ") }
}

/// How many tasks there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Those that wait for their turn.
    pub queued: usize,
    /// Those that run.
    pub running: usize,
    /// Those that have completed.
    pub done: usize,
    /// Those that have ended in any other way.
    pub failed: usize,
}

impl Tally {
    /// Counts them.
    pub fn of<'a>(tasks: impl IntoIterator<Item = &'a TaskView<'a>>) -> Tally {
        let mut tally = Tally::default();
        for task in tasks {
            *match task.standing() {
                Standing::Queued => &mut tally.queued,
                Standing::Running => &mut tally.running,
                Standing::Done => &mut tally.done,
                Standing::Failed => &mut tally.failed,
            } += 1;
        }
        tally
    }
}
