//! Runs, from a planned task to a result that can be trusted.
//!
//! In the parent: a [`Dispatcher`] gives planned tasks their slots, a [`Launcher`] starts a
//! supervisor for each, and a lifeline brings events and the result back. In the supervisor:
//! [`supervise`] owns the child, turns its output into events by its protocol, applies the rules,
//! writes the run directory, and takes the whole tree down. A program that finds a run without its
//! supervisor calls [`recover`].

mod agent_version;
mod answer;
mod background;
mod control;
mod dispatcher;
mod durations;
mod interpretation;
mod lane;
mod launcher;
mod leftovers;
mod lifeline;
mod poll;
mod recover;
mod result;
mod run;
mod spending;
mod stopped;
mod supervisor;
mod tell;
mod tmux;
mod unstarted;
mod update;
mod waiting;
mod worktree;

pub use agent_version::agent_version;
pub use answer::{AnswerError, Answered, FollowedQuestions, answer_run, open_questions};
pub use background::BackgroundError;
pub use control::{EndedRun, StopError, Stopped, Waiting, stop_run, wait_for_change};
pub use dispatcher::{Dispatcher, LaneId, Submitted};
pub use durations::STOP_GRACE;
pub use interpretation::{Interpretation, interpret};
pub use launcher::Launcher;
pub use leftovers::{processes_left, remove_abandoned_cgroups};
pub use recover::{Recovery, recover};
pub use store::StopForce;
pub use supervisor::{SuperviseError, supervise};
pub use tell::{Fate, TellError, TellUntil, Told, tell_run};
pub use tmux::{TmuxError, TmuxPanes, view_run};
pub use update::{Change, Report, TaskId, Update};
pub use waiting::waiting;
pub use worktree::{release_before_pruning, worktree_layout};

/// The wall clock, in milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
