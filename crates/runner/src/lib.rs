//! Runs, from a planned task to a result that can be trusted.
//!
//! In the parent: a [`Dispatcher`] gives planned tasks their slots, a [`Launcher`] starts a
//! supervisor for each, and a lifeline brings events and the result back. In the supervisor:
//! [`supervise`] owns the child, turns its stream into events with a dialect, applies the rules,
//! writes the run directory, and takes the whole tree down. Whoever finds a run without its
//! supervisor calls [`recover`].

mod background;
mod control;
mod dialect;
mod dispatcher;
mod launcher;
mod lifeline;
mod recover;
mod result;
mod retell;
mod run;
mod supervisor;
mod tmux;

pub use background::{Background, BackgroundError, start_background};
pub use control::{EndedRun, StopError, Stopped, Waiting, stop_run, wait_for_change};
pub use dispatcher::{Dispatcher, LaneId, Report, Submitted, TaskId, Update};
pub use launcher::{Launched, Launcher, ProcessLauncher, Supervisor};
pub use recover::{Recovery, recover};
pub use retell::{Retold, retell};
pub use run::StopForce;
pub use supervisor::{SuperviseError, supervise};
pub use tmux::{TmuxError, TmuxLauncher, view_run};

/// How long a tree may take between SIGTERM and SIGKILL.
pub(crate) const STOP_GRACE: std::time::Duration = std::time::Duration::from_secs(5);

/// The wall clock, in milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
