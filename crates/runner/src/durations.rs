//! How long everything waits for everything else. What depends on another duration is derived from it.

use std::time::Duration;

use process::KILL_PATIENCE;
use store::StopForce;

/// How long a tree may take between SIGTERM and SIGKILL.
pub const STOP_GRACE: Duration = Duration::from_secs(5);
/// SIGKILL is repeated, because a member may have started another process in the meantime.
pub(crate) const KILL_INTERVAL: Duration = Duration::from_millis(20);

/// What a supervisor on a busy machine may need besides.
const MARGIN: Duration = Duration::from_secs(3);
/// A supervisor that was told to kill has done so after this time, or it is killed itself.
const KILL_ANSWER: Duration = MARGIN;
/// A supervisor that was told to stop has done so after this time, or it is killed itself.
const STOP_ANSWER: Duration = STOP_GRACE.saturating_add(KILL_PATIENCE).saturating_add(MARGIN);

/// How long a supervisor may take to stop its run.
pub(crate) fn answer_time(force: StopForce) -> Duration {
    match force {
        StopForce::Gracefully => STOP_ANSWER,
        StopForce::AtOnce => KILL_ANSWER,
    }
}

/// How long the end of a run may take whose supervisor was killed: recovering stops what is left.
pub(crate) const RECOVERY_ANSWER: Duration = STOP_GRACE.saturating_add(STOP_ANSWER);
/// A supervisor that has handed over its result exits within this time.
pub(crate) const EXIT_ANSWER: Duration = Duration::from_secs(2);
/// A background supervisor that is not ready after this time never will be.
pub(crate) const READY_ANSWER: Duration = Duration::from_secs(20);

/// How often the parent of a run, or a program that waits for one, looks whether its supervisor was
/// stopped.
pub(crate) const SUPERVISOR_LOOK: Duration = Duration::from_secs(2);
/// How many looks in a row may find it stopped. It is woken each time, and is killed at the next.
pub(crate) const STOPS_TOLERATED: u32 = 2;

/// What the child has left behind may take this long to end by itself before it is stopped.
pub(crate) const LEFTOVER_PATIENCE: Duration = Duration::from_millis(100);
/// A child that has said its last word and still runs after this time is stopped.
pub(crate) const SETTLED_PATIENCE: Duration = Duration::from_millis(250);
/// A child that seems to have finished, and is silent for this time, is stopped.
pub(crate) const SILENCE_PATIENCE: Duration = Duration::from_secs(5);

/// An answer that was not compared with its schema by then never will be: a schema can ask for more work than there is
/// time.
pub(crate) const COMPARISON_ANSWER: Duration = Duration::from_secs(30);

/// A supervisor takes a message, or an answer to its agent, within milliseconds, unless it is held up.
pub(crate) const REQUEST_ANSWER: Duration = Duration::from_secs(30);
/// How often a supervisor looks for requests where the system does not tell of them.
pub(crate) const REQUEST_INTERVAL: Duration = Duration::from_secs(1);

/// A tmux server that has not answered by then hangs.
pub(crate) const TMUX_ANSWER: Duration = Duration::from_secs(10);
/// How long a new pane may take to connect.
pub(crate) const PANE_ANSWER: Duration = Duration::from_secs(10);
