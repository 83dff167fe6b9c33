//! The arguments of `changes`.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;

use crate::candidates;

/// See, apply and merge what agents changed in their worktrees
///
/// Agents that run with --worktree work on a copy of your working tree. What they change is kept until you
/// apply, merge or discard it. Nothing comes into your own tree by itself.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents changes list
  pi-subagents changes show @last
  pi-subagents changes apply fix-tests
  pi-subagents changes merge docs changelog
  pi-subagents changes diff fix-tests | less")]
pub(crate) struct Changes {
    #[command(subcommand)]
    pub(crate) command: ChangesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChangesCommand {
    /// List the changes of this project, and what became of them
    #[command(after_help = "Examples:\n  pi-subagents changes list")]
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show the files that an agent changed, and the diff
    #[command(
        after_help = "Examples:\n  pi-subagents changes show @last\n  pi-subagents changes show docs changelog"
    )]
    Show(NamedChanges),
    /// Print the diff alone, for other programs
    #[command(after_help = "Examples:\n  pi-subagents changes diff fix-tests | less")]
    Diff(NamedChanges),
    /// Bring changes into your working tree, and leave your index and branch alone
    ///
    /// Files that you have changed meanwhile are merged with. If a line conflicts, nothing of that run is
    /// applied, and the files are named.
    #[command(after_help = "Examples:\n  pi-subagents changes apply fix-tests")]
    Apply(NamedChanges),
    /// Commit changes to your branch, one commit for each run
    ///
    /// You are the author. The commit runs none of your hooks and is not signed: use `apply` and `git commit`
    /// where that matters. What you have not committed stays as it is.
    #[command(after_help = "Examples:\n  pi-subagents changes merge docs changelog")]
    Merge(NamedChanges),
    /// Mark changes as not wanted; they are removed with their run
    #[command(after_help = "Examples:\n  pi-subagents changes discard fix-tests docs")]
    Discard(NamedChanges),
}

#[derive(Debug, Args)]
pub(crate) struct NamedChanges {
    /// Names of tasks, `@last` (the last call), or ids of runs, sessions or calls, or their beginnings
    #[arg(value_name = "ID", required = true, add = ArgValueCandidates::new(candidates::sessions))]
    pub(crate) ids: Vec<String>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
