//! Supervisors that another program has stopped, with SIGSTOP or as a debugger does.
//!
//! While its supervisor stands still, a run has no timeout. Most likely its own agent did that. The
//! parent of a run, and every program that waits for it or lists it, wakes its supervisor; one that
//! is stopped again and again is killed by the program that waits, and the run is over.

use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use process::StoppedProcess;
use store::RunDir;

use crate::durations::{STOPS_TOLERATED, SUPERVISOR_LOOK};

/// What became of a run whose supervisor was killed because it could not be woken.
pub(crate) const SUPERVISOR_STOPPED: &str =
    "Interrupted: another program kept stopping the supervisor of this run, so it was killed";

/// How often in a row a supervisor was found stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StopCount(u32);

/// What to do about a supervisor that is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    Wake,
    Kill,
}

impl StopCount {
    /// Takes in one look. A single stop is no attack: a user or a batch system can stop all processes
    /// of a job, and continue them one after another.
    pub(crate) fn see(&mut self, is_stopped: bool) -> Option<Remedy> {
        self.0 = if is_stopped { self.0 + 1 } else { 0 };
        match self.0 {
            0 => None,
            count if count <= STOPS_TOLERATED => Some(Remedy::Wake),
            _ => Some(Remedy::Kill),
        }
    }
}

/// Wakes the supervisor of a run, if it is stopped. However many runs a program looks at, it looks at
/// all processes once in a while only.
pub(crate) fn wake_if_stopped(run: &RunDir) {
    static SEEN: Mutex<Option<(Instant, Vec<StoppedProcess>)>> = Mutex::new(None);
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    let (_, stopped) = match seen.take() {
        Some(recent) if now < recent.0 + SUPERVISOR_LOOK => seen.insert(recent),
        _ => seen.insert((now, stopped_supervisors())),
    };
    if let Some(supervisor) = supervisor_of(run, stopped) {
        supervisor.wake();
    }
}

/// Every stopped supervisor of this machine.
pub(crate) fn stopped_supervisors() -> Vec<StoppedProcess> {
    let mut stopped = process::stopped_processes();
    let called = SUPERVISE.map(str::as_bytes);
    stopped.retain(|process| process.arguments.iter().take(called.len()).eq(called));
    stopped
}

/// The first words of the command line of a supervisor.
pub(crate) const SUPERVISE: [&str; 2] = [process::OWN_NAME, "supervise"];

/// The supervisor of this run, if it is among these.
pub(crate) fn supervisor_of<'a>(
    run: &RunDir,
    stopped: &'a [StoppedProcess],
) -> Option<&'a StoppedProcess> {
    // This is what nearly always happens, and then nothing is asked of the run.
    if stopped.is_empty() {
        return None;
    }
    // By the path that it was started with: the run may have been found through a link.
    let path = std::fs::canonicalize(run.path()).ok()?;
    let path = path.as_os_str().as_bytes();
    stopped.iter().find(|process| process.arguments.iter().skip(2).any(|word| word == path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_woken_a_few_times_in_a_row_before_it_is_killed() {
        let mut count = StopCount::default();
        assert_eq!(count.see(false), None);
        for _ in 0..3 {
            for _ in 0..STOPS_TOLERATED {
                assert_eq!(count.see(true), Some(Remedy::Wake));
            }
            assert_eq!(count.see(false), None, "waking has helped");
        }
        for _ in 0..STOPS_TOLERATED {
            count.see(true);
        }
        assert_eq!(count.see(true), Some(Remedy::Kill));
    }
}
