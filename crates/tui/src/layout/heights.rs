//! Shares the rows of the screen among the tasks.

use session::view::{Standing, TaskView};

/// What a task gets of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// At least one.
    Rows(usize),
    /// The task is only counted.
    Counted,
}

/// The rows of a useful window: the line of the task, three lines, and a blank one.
const COMFORTABLE: usize = 5;

/// Shares `room` rows among the tasks; `wanted` has at least one row for each. If some get none, one
/// row is kept for their count.
pub(super) fn share(
    tasks: &[TaskView<'_>],
    wanted: &[usize],
    room: usize,
    selected: Option<usize>,
) -> Vec<Share> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|index| (Some(*index) != selected, rank(tasks, *index)));
    let (windows, others): (Vec<usize>, Vec<usize>) =
        order.into_iter().partition(|index| rank(tasks, *index) == RUNNING);
    let rows_at = |level: usize| -> usize {
        windows.iter().filter_map(|index| wanted.get(*index)).map(|rows| (*rows).min(level)).sum()
    };

    let has_count =
        rows_at(COMFORTABLE) + others.len() > room && (!others.is_empty() || windows.len() > room);
    let room = room.saturating_sub(usize::from(has_count));
    // The others get what comfortable windows leave, and the selected one in any case.
    let is_selected = |index: &usize| Some(*index) == selected;
    let shown_others = room
        .saturating_sub(rows_at(COMFORTABLE))
        .max(usize::from(others.first().is_some_and(is_selected)))
        .min(others.len())
        .min(room);
    // The windows grow together, until the room is used up or none wants more.
    let for_windows = room - shown_others;
    let most = wanted.iter().max().copied().unwrap_or(1);
    let level = (1..=most).rev().find(|level| rows_at(*level) <= for_windows).unwrap_or(1);
    let mut left = for_windows.saturating_sub(rows_at(level));

    let mut shares = vec![Share::Counted; tasks.len()];
    let mut give = |index: usize, rows: usize| {
        if let Some(share) = shares.get_mut(index) {
            *share = Share::Rows(rows);
        }
    };
    for index in windows.into_iter().take(for_windows) {
        let wanted = wanted.get(index).copied().unwrap_or(1);
        // Some lines among windows, or some windows among lines, would look like a mistake. So would a blank row
        // below some of them, which is all that a third row would be.
        let extra = usize::from(level > 2 && wanted > level && left > 0);
        left -= extra;
        give(index, wanted.min(level) + extra);
    }
    // Rows that no window can use go to the others.
    for index in others.into_iter().take(shown_others + left) {
        give(index, 1);
    }
    shares
}

const RUNNING: usize = 0;

/// The order in which tasks are shown if not all fit.
fn rank(tasks: &[TaskView<'_>], index: usize) -> usize {
    match tasks.get(index).map(TaskView::standing) {
        Some(Standing::Running) => RUNNING,
        Some(Standing::Failed) => 1,
        Some(Standing::Queued) => 2,
        Some(Standing::Done) | None => 3,
    }
}
