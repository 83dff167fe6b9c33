//! Where an agent works, and how its changes come back.
//!
//! # Theory of operation
//!
//! An agent that is isolated works in a git worktree of its own, outside of the user's tree. The worktree starts from the
//! user's working tree as it is: a commit made with a private index, kept as `refs/pi-subagents/<runId>/base`. When nothing of
//! the agent is left, everything that it left becomes `refs/pi-subagents/<runId>/result`, and only when that ref can be
//! read back, has all its objects, and equals the directory, is the directory removed. So at every moment the ref or the
//! directory has every byte that git does not ignore, whichever process is killed.
//!
//! The user's index, working tree, stash, configuration and branches are changed by [`apply`] and [`merge`] only.
//!
//! Everything that changes a repository is done by the program `git`, which is started with settings that keep it from
//! running anything that the repository names; see `git.rs`.

mod change;
mod conflict;
mod error;
mod files;
mod git;
mod keep;
mod landing;
mod layout;
mod left_out;
mod lock;
mod obstacles;
mod own_commits;
mod pipes;
mod prepare;
mod repository;
mod snapshot;
mod survey;
mod travel;
mod tree_state;
mod uncommitted;

pub use change::{Change, ChangedFile, diff, listed_changes};
pub use conflict::{Conflict, conflicts, listed_merge};
pub use error::{GitError, WorkspaceError};
pub use git::REPOSITORY_VARIABLES;
pub use keep::{Kept, keep};
pub use landing::{Landed, apply, merge};
pub use layout::WorktreeLayout;
pub use prepare::{Beginning, Prepared, prepare};
pub use repository::Repository;
pub use survey::{Worktree, forget, forget_shared_base, worktrees_in};
pub use travel::{
    Departure, ReceivedFile, checked_entry, departure_of_worktree, leads_out, pack_directory,
    pack_result, pack_worktree, receive_patch, receive_result, receive_snapshot,
};
pub use uncommitted::{UncommittedFile, listed_status, uncommitted_files};
