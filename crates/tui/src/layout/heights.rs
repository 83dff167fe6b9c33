//! Who gets how many rows.

use session::view::{Standing, TaskView};

/// What a task gets of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// So many rows, at least one.
    Rows(usize),
    /// It is only counted.
    Counted,
}

/// A window that is smaller than this tells little: its header, what it does, and three lines.
const COMFORTABLE: usize = 5;

/// Shares `room` rows among the tasks, whose bodies have so many lines. One row is kept for the
/// count of those that get none.
pub(super) fn share(
    tasks: &[TaskView<'_>],
    bodies: &[usize],
    room: usize,
    selected: Option<usize>,
) -> Vec<Share> {
    let mut shares = vec![Share::Counted; tasks.len()];
    let wanted: Vec<usize> = bodies.iter().map(|body| body + 1).collect();
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|index| (Some(*index) != selected, rank(tasks, *index)));
    let (windows, others): (Vec<usize>, Vec<usize>) =
        order.into_iter().partition(|index| bodies.get(*index).is_some_and(|body| *body > 0));
    let at_level = |indexes: &[usize], level: usize| -> usize {
        indexes.iter().filter_map(|index| wanted.get(*index)).map(|rows| (*rows).min(level)).sum()
    };

    // As many of the others as fit beside comfortable windows; the selected one in any case.
    let comfortable = at_level(&windows, COMFORTABLE);
    let is_all = comfortable.max(windows.len()) + others.len() <= room;
    let is_crowded = windows.len() + others.len() > room;
    let has_count = !is_all && (!others.is_empty() || is_crowded);
    let room = room.saturating_sub(usize::from(has_count));
    let keeps_selected = usize::from(others.first().is_some_and(|first| Some(*first) == selected));
    let shown_others =
        room.saturating_sub(comfortable).max(keeps_selected).min(others.len()).min(room);
    for index in others.iter().take(shown_others) {
        if let Some(share) = shares.get_mut(*index) {
            *share = Share::Rows(1);
        }
    }

    // The windows grow together until the room is used up.
    let room = room - shown_others;
    let windows: Vec<usize> = windows.into_iter().take(room).collect();
    let most = windows.iter().filter_map(|index| wanted.get(*index)).max().copied().unwrap_or(1);
    let level = (1..=most).rev().find(|level| at_level(&windows, *level) <= room).unwrap_or(1);
    let mut left = room.saturating_sub(at_level(&windows, level));
    for index in windows {
        let wanted = wanted.get(index).copied().unwrap_or(1);
        let extra = usize::from(wanted > level && left > 0);
        left -= extra;
        if let Some(share) = shares.get_mut(index) {
            *share = Share::Rows(wanted.min(level) + extra);
        }
    }
    shares
}

/// Who is shown first where not all can be.
fn rank(tasks: &[TaskView<'_>], index: usize) -> usize {
    match tasks.get(index).map(TaskView::standing) {
        Some(Standing::Running) => 0,
        Some(Standing::Failed) => 1,
        Some(Standing::Queued) => 2,
        Some(Standing::Done) | None => 3,
    }
}
