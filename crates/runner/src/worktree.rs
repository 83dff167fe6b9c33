//! The worktree of a run: made before its agent starts, and kept as a ref when nothing of the agent is left.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use model::{CallId, Changes, Event, Meta, paths};
use store::{Life, RunDir};
use workspace::{Beginning, Kept, REPOSITORY_VARIABLES, WorkspaceError, WorktreeLayout};

/// A worktree that is ready for its agent.
pub(crate) struct Worktree {
    /// The task's directory in it.
    pub(crate) directory: PathBuf,
    /// What of the user's own tree is not in it.
    pub(crate) warning: Option<String>,
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
        let Some(layout) = worktree_layout(meta)? else { return Ok(None) };
        let plan = meta.worktree.as_ref();
        let continued = plan.and_then(|plan| plan.continues.as_ref());
        let call = shared_base(meta);
        let beginning = continued
            .map_or(Beginning::WorkingTree { call }, |run| Beginning::Result(run.as_str()));
        let prepared = workspace::prepare(&layout, &meta.cwd, beginning, is_stopped)?;
        let warning = missing_repositories(&prepared.left_out);
        let (directory, source) = (prepared.directory, meta.cwd.clone());
        Ok(Some(Worktree { directory, warning, layout, source }))
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

/// Says which repositories inside of the user's tree an agent does not see.
fn missing_repositories(left_out: &[PathBuf]) -> Option<String> {
    const NAMED: usize = 3;
    let names: Vec<String> = left_out.iter().map(|path| path.display().to_string()).collect();
    let (named, others) = names.split_at(names.len().min(NAMED));
    named.first()?;
    let more =
        if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    Some(format!(
        "The worktree is without {}{more}: a repository of its own inside of this one, whose files git cannot take along. Let \
         a task work in it with `cwd`, or let git ignore it to be told no more",
        named.join(", ")
    ))
}

/// Keeps what the agent of a run left in its worktree, if it had one. `may_remove` says that nothing of the agent is left, so
/// that the directory can go.
pub(crate) fn keep_changes(meta: &Meta, may_remove: bool) -> Option<Event> {
    let kept = match worktree_layout(meta) {
        Ok(layout) => workspace::keep(&layout?, &meta.cwd, may_remove),
        Err(error) => {
            let directory = meta.worktree.as_ref().map(|plan| plan.directory.clone());
            let problem = Some(error.to_string());
            Kept::Changes(Changes { directory, problem, ..Changes::default() })
        }
    };
    match kept {
        Kept::Unused => None,
        Kept::Changes(changes) => Some(Event::ChangesKept { changes }),
    }
}

/// How long changes stay after the first attempt to prune a run whose user has done nothing with them.
const UNSETTLED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Removes the refs and the worktree of a run that is about to be pruned. Returns false if the run has to stay: its changes
/// were neither applied, merged nor discarded, and it is less than a week since it was first kept for them.
pub fn release_before_pruning(dir: &RunDir) -> bool {
    // What is no run has no worktree.
    let Ok(meta) = dir.meta() else { return true };
    if meta.worktree.is_none() {
        return true;
    }
    let changes = match dir.life() {
        Ok(Life::Ended(result)) => result.changes,
        _ => None,
    };
    let is_settled =
        changes.is_none_or(|changes| changes.is_empty()) || dir.changes_state().is_some();
    let is_kept = !is_settled && stays_for_its_changes(dir);
    if !is_kept {
        release(&meta);
    }
    !is_kept
}

/// Whether a run whose user has done nothing with its changes stays. The first time begins its week.
fn stays_for_its_changes(dir: &RunDir) -> bool {
    let waits = |since: SystemTime| since.elapsed().unwrap_or_default() < UNSETTLED;
    dir.warn_of_changes().map_or(true, waits)
}

/// Removes the refs and the worktree of a run.
fn release(meta: &Meta) {
    let Ok(Some(layout)) = worktree_layout(meta) else { return };
    // A repository that is gone has taken them along.
    let _ = workspace::forget(&layout, &meta.cwd);
    if let Some(call) = shared_base(meta) {
        let _ = workspace::forget_shared_base(&meta.cwd, call);
    }
}

/// The call with whose other runs this one shares its base, if it does.
fn shared_base(meta: &Meta) -> Option<&str> {
    let shares = meta.worktree.as_ref().is_some_and(|plan| plan.shares_base);
    meta.call_id.as_ref().filter(|_| shares).map(CallId::as_str)
}

/// Where the worktree of a run is, if it has one. A record can come with a project, and worktrees are removed: so it is
/// believed only if it names a place in this user's own directory of worktrees.
pub fn worktree_layout(meta: &Meta) -> Result<Option<WorktreeLayout>, WorkspaceError> {
    let Some(plan) = &meta.worktree else { return Ok(None) };
    let home = env::home_dir().filter(|home| home.is_absolute());
    let own = paths::worktrees(|name| env::var_os(name), home.as_deref());
    let is_own = own.is_some_and(|own| plan.directory == own.join(meta.run_id.as_str()));
    let layout = WorktreeLayout::of(&meta.run_id, &plan.directory).filter(|_| is_own);
    layout.map(Some).ok_or_else(|| WorkspaceError::NotOwn(plan.directory.clone()))
}
