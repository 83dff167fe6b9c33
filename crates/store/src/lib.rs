//! Run directories: the truth about every run.
//!
//! ```text
//! <project>/.pi/subagents/runs/<runId>/
//!   meta.json        what was asked for; written once, before anything starts
//!   prompt.md        the prompt
//!   events.jsonl     what happened; its lock says that the run lives
//!   stdout.log       the child's records without deltas
//!   stderr.log       what the child wrote to its standard error
//!   transcript.log   the events in words
//!   prepare.log      what the preparation of the worktree has printed, if there was one
//!   check.log        what the checks of the agent's work have printed, if there were any
//!   pi-bash-*.log    the whole output of a command, kept by the built-in agent
//!   outputs/         what a restricted agent may write, besides its session
//!   result.json      how it ended; appears once, whole, and is never replaced
//!   stop-request     a request to stop the run; `kill-request`: at once
//!   message-1.json   what a running agent is told, numbered in the order of acceptance
//!   notified         the end was reported to the run's owner
//!   changes-applied  what the user did with the changes of the run; `changes-merged`, `changes-discarded`
//! ```
//!
//! A run directory is built under a hidden name and then renamed, so that other programs see all of
//! it or nothing. From then on a shared lock on `events.jsonl` is held without a gap: first by the
//! program that made the directory, then by the supervisor, which takes its own lock before the
//! first is released. So a run without a result whose lock is free has lost its supervisor.
//!
//! This is the only crate that writes below `.pi/subagents`. Two files are the child's own: the
//! session of an agent with a preset, `child-session.jsonl`, and the long output of a command.

mod agent_versions;
mod bounds;
mod error;
mod export;
mod journal;
mod remove_tree;
mod requests;
mod retention;
mod run_dir;
mod runs;
mod survey;
mod tail;
mod temporary_dir;
mod watch;
mod write_once;

pub use agent_versions::{AgentVersion, AgentVersions};
pub use error::StoreError;
pub use export::{create_export, create_export_directory, write_export, write_temporary_export};
pub use journal::{Journal, Log};
pub use remove_tree::remove_tree;
pub use requests::StopForce;
pub use retention::{Pruned, Retention};
pub use run_dir::{Abandoned, Claim, EVENTS, Hold, Life, RunDir};
pub use runs::{NewRun, Store};
pub use survey::Debris;
pub use tail::Tail;
pub use temporary_dir::TemporaryDir;
pub use watch::Watch;
