//! What the worktrees of agents cost on disk, and why they are still there.

use std::env;
use std::path::{Path, PathBuf};

use model::paths;
use plan::Surroundings;
use serde::Serialize;
use store::{Life, RunDir};
use workspace::{Worktree, worktrees_in};

use super::gather::shown;
use super::section::{Area, Finding, Section, size};

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorktreesFacts {
    /// The directory of all worktrees, of every project.
    pub(super) directory: Option<String>,
    pub(super) bytes: u64,
    pub(super) worktrees: Vec<WorktreeFacts>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorktreeFacts {
    pub(super) path: String,
    pub(super) run_id: String,
    pub(super) bytes: u64,
    pub(super) state: WorktreeState,
    /// The project of the run, or the repository if there is no such run.
    pub(super) project: Option<String>,
    /// Why it is still there, if the run says so.
    pub(super) reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum WorktreeState {
    /// Its agent works in it.
    Used,
    /// Its run has lost its supervisor and was not ended yet.
    Abandoned,
    /// Its run has ended, and it stayed.
    Kept,
    /// A ref has everything that was in it.
    Removable,
    /// Its run is gone.
    Forgotten,
    /// Its repository is gone.
    Orphaned,
}

pub(super) fn gather(surroundings: &Surroundings) -> WorktreesFacts {
    let home = surroundings.home.as_deref();
    let Some(directory) = paths::worktrees(|name| env::var_os(name), home) else {
        return WorktreesFacts::default();
    };
    let own = surroundings.project_root();
    let found = worktrees_in(&directory);
    let worktrees: Vec<WorktreeFacts> = found.iter().map(|found| look(found, own)).collect();
    let bytes = worktrees.iter().map(|worktree| worktree.bytes).sum();
    WorktreesFacts { directory: Some(shown(&directory)), bytes, worktrees }
}

fn look(worktree: &Worktree, own_project: &Path) -> WorktreeFacts {
    let run_id = worktree.layout.run_id();
    let sources = worktree.sources();
    let projects = [own_project.to_owned()].into_iter().chain(sources.iter().cloned());
    let found = projects.into_iter().find_map(|project| {
        let path = paths::runs(&project).join(run_id.as_str());
        path.is_dir().then_some((project, path))
    });
    let (state, project, reason) = match found {
        Some((project, path)) => {
            let (state, reason) = state_of(&path, worktree.is_removed);
            (state, Some(project), reason)
        }
        None if worktree.is_removed => (WorktreeState::Removable, sources.first().cloned(), None),
        None if sources.is_empty() => (WorktreeState::Orphaned, None, None),
        None => (WorktreeState::Forgotten, sources.first().cloned(), None),
    };
    WorktreeFacts {
        path: shown(&worktree.path()),
        run_id: run_id.to_string(),
        bytes: worktree.bytes(),
        state,
        project: project.map(|project: PathBuf| shown(&project)),
        reason,
    }
}

fn state_of(run: &Path, is_removed: bool) -> (WorktreeState, Option<String>) {
    match RunDir::open(run).and_then(|run| run.life()) {
        Ok(Life::Alive) => (WorktreeState::Used, None),
        Ok(Life::Abandoned(_)) => (WorktreeState::Abandoned, None),
        Ok(Life::Ended(_)) if is_removed => (WorktreeState::Removable, None),
        Ok(Life::Ended(result)) => {
            (WorktreeState::Kept, result.changes.and_then(|changes| changes.problem))
        }
        Err(error) => (WorktreeState::Kept, Some(error.to_string())),
    }
}

pub(super) fn findings(facts: &WorktreesFacts) -> Vec<Finding> {
    let mut section = Section::new(Area::Runs);
    let directory = facts.directory.as_deref().unwrap_or_default();
    if facts.worktrees.is_empty() {
        return Vec::new();
    }
    let count = facts.worktrees.len();
    let plural = if count == 1 { "" } else { "s" };
    section
        .fine(format!("{count} worktree{plural} of agents, {} in {directory}", size(facts.bytes)));
    for worktree in &facts.worktrees {
        let WorktreeFacts { path, run_id, bytes, project, reason, .. } = worktree;
        let (size, project) = (size(*bytes), project.as_deref().unwrap_or_default());
        let what = format!("the worktree {path} ({size})");
        match worktree.state {
            WorktreeState::Used => {}
            WorktreeState::Abandoned => {
                section
                    .warning(format!("{what} is of a run in {project} that lost its supervisor"))
                    .remedy(format!(
                        "keep its changes as a ref, which removes it, with `pi-subagents changes list` in {project}"
                    ));
            }
            WorktreeState::Kept => {
                let reason = reason.as_deref().unwrap_or("the reason is not known");
                section
                    .warning(format!("{what} stayed after its run in {project}: {reason}"))
                    .remedy(format!("look at it with `pi-subagents changes show {run_id}` in {project}"))
                    .remedy(format!(
                        "when you have what you need, let it go with its run: `pi-subagents changes discard {run_id}`"
                    ));
            }
            WorktreeState::Removable => {
                section
                    .warning(format!(
                        "{what} could not be removed, and a ref has all that was in it"
                    ))
                    .remedy(format!("remove it with `rm -r {path}`"));
            }
            WorktreeState::Forgotten => {
                section
                    .warning(format!("{what} is of a run that is not in {project} any more"))
                    .remedy(format!(
                        "when you have what you need, remove it with `git -C {project} worktree remove --force {path}`"
                    ));
            }
            WorktreeState::Orphaned => {
                section
                    .warning(format!("{what} is of a repository that is gone"))
                    .remedy(format!("when you have what you need, remove it with `rm -r {path}`"));
            }
        }
    }
    section.findings
}
