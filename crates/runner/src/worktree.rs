//! The worktree of a run: made before its agent starts, and kept as a ref when nothing of the agent is left.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use model::{Event, Meta};
use store::{Life, RunDir};
use workspace::{Beginning, Kept, REPOSITORY_VARIABLES, WorkspaceError, WorktreeLayout};

/// A worktree that is ready for its agent.
pub(crate) struct Worktree {
    /// The task's directory in it.
    pub(crate) directory: PathBuf,
    layout: WorktreeLayout,
    /// The task's directory in the user's own tree.
    source: PathBuf,
}

impl Worktree {
    /// Makes the worktree of a run, if it has one.
    pub(crate) fn prepare(
        meta: &Meta,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Worktree>, WorkspaceError> {
        let Some(layout) = layout_of(meta) else { return Ok(None) };
        let continued = meta.worktree.as_ref().and_then(|plan| plan.continues.as_ref());
        let beginning =
            continued.map_or(Beginning::WorkingTree, |run| Beginning::Result(run.as_str()));
        let prepared = workspace::prepare(&layout, &meta.cwd, beginning, is_stopped)?;
        let (directory, source) = (prepared.directory, meta.cwd.clone());
        Ok(Some(Worktree { directory, layout, source }))
    }

    /// Variables without which the agent's git finds the worktree, and no other repository.
    pub(crate) fn environment() -> BTreeMap<String, Option<String>> {
        REPOSITORY_VARIABLES.iter().map(|name| ((*name).to_owned(), None)).collect()
    }

    /// Removes the worktree of an agent that could not be started.
    pub(crate) fn discard(self) {
        // What is left is found by `doctor`.
        let _ = workspace::forget(&self.layout, &self.source);
    }
}

/// Keeps what the agent of a run left in its worktree, if it had one. `may_remove` says that nothing of the agent is left, so
/// that the directory can go.
pub(crate) fn keep_changes(meta: &Meta, may_remove: bool) -> Option<Event> {
    let layout = layout_of(meta)?;
    match workspace::keep(&layout, &meta.cwd, may_remove) {
        Kept::Unused => None,
        Kept::Changes(changes) => Some(Event::ChangesKept { changes }),
    }
}

/// How long changes stay after the first attempt to prune a run whose user has done nothing with them.
const UNSETTLED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Whether a run may be pruned. Its refs and its worktree go with it: at once if its changes were applied, merged or
/// discarded or if there are none, else only a week after it was first kept for them.
pub fn let_go(dir: &RunDir) -> bool {
    let Ok(meta) = dir.meta() else { return true };
    let Some(layout) = layout_of(&meta) else { return true };
    let changes = match dir.life() {
        Ok(Life::Ended(result)) => result.changes,
        _ => None,
    };
    let is_empty = changes.is_none_or(|changes| changes.is_empty());
    if !is_empty && dir.changes_state().is_none() {
        let waits = |since: SystemTime| since.elapsed().unwrap_or_default() < UNSETTLED;
        if dir.warn_of_changes().map_or(true, waits) {
            return false;
        }
    }
    // A repository that is gone has taken them along.
    let _ = workspace::forget(&layout, &meta.cwd);
    true
}

fn layout_of(meta: &Meta) -> Option<WorktreeLayout> {
    WorktreeLayout::of(&meta.run_id, &meta.worktree.as_ref()?.directory)
}
