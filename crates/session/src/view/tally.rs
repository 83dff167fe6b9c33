//! The number of tasks by status.

use super::{Line, Role, Standing, TaskView};

/// `Sub-agents: 2 running, 1 done, 1 error, 3 queued`, without zeros.
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

/// As [`overview`], for a title with room for a few words.
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

/// The number of tasks for each [`Standing`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Tally {
    pub queued: usize,
    pub running: usize,
    pub done: usize,
    pub failed: usize,
}

impl Tally {
    /// Counts the tasks.
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
