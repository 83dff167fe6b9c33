//! A command that shares this process with other commands, each on a thread of its own.
//!
//! A contained child (see [`spawn_contained`]) needs a parent process for itself, because reaping
//! waits for every child. Of a job, only its own id is ever waited for, and what it started is found
//! by the marker that its processes inherit.
//!
//! [`spawn_contained`]: crate::spawn_contained

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::marker::{KILL_PATIENCE, Marker};
use crate::spawn::{ChildSpec, SpawnError, explain, session_command, widen};
use crate::tree::{Exit, KillTarget, Signal, try_wait};

/// A running command. Dropping it before it has ended kills it with everything that it started.
#[derive(Debug)]
pub struct Job {
    child: Pid,
    marker: Marker,
    output: OwnedFd,
    ended: Option<OwnedFd>,
    exit: Option<Exit>,
}

/// Starts a command in a session of its own. Its standard input is empty, and its standard output
/// and standard error share one pipe, so that their order is kept.
///
/// `mark` is the name of a variable that no other command has; every process that the command
/// starts inherits it. The kernel kills the command when the calling thread ends (Linux), so that
/// thread should also wait for the command.
pub fn spawn_job(spec: ChildSpec<'_>, mark: &str) -> Result<Job, SpawnError> {
    let failed = |source: io::Error| explain(spec.program, source);
    let mut environment: BTreeMap<String, Option<String>> = spec.environment.clone();
    environment.insert(mark.to_owned(), Some("1".to_owned()));
    let mut command = session_command(ChildSpec { environment: &environment, ..spec })?;
    let (output, input) = io::pipe().map_err(failed)?;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::from(input.try_clone().map_err(failed)?))
        .stderr(Stdio::from(input));
    let child = command.spawn().map_err(failed)?;
    // The command holds copies of the pipe's other end: while it exists, the end is never reported.
    drop(command);
    let output = OwnedFd::from(output);
    // Cannot fail on a pipe that was made a moment ago.
    let _ = rustix::io::ioctl_fionbio(&output, true);
    widen(&output);
    let child = Pid::from_child(&child);
    let marker = Marker::new(&[(mark, "1")]);
    Ok(Job { child, marker, output, ended: ended(child), exit: None })
}

impl Job {
    /// The reading end of its output, which never blocks.
    pub fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// Becomes readable when the command itself has ended. Where the system lacks that, poll
    /// [`Job::try_wait`].
    pub fn ended(&self) -> Option<BorrowedFd<'_>> {
        self.ended.as_ref().map(AsFd::as_fd)
    }

    /// How the command itself ended, if it has; never blocks. What it started may still run.
    pub fn try_wait(&mut self) -> Option<Exit> {
        try_wait(self.child, &mut self.exit)
    }

    /// Whether [`Job::try_wait`] has seen the end of the command.
    pub fn is_reaped(&self) -> bool {
        self.exit.is_some()
    }

    /// Kills the command and everything that it started, in whichever session or group, and returns
    /// when nothing of it is left.
    ///
    /// Returns the number of processes that could not be killed, which is zero unless the kernel
    /// holds one in an uninterruptible state.
    pub fn kill(&mut self) -> usize {
        let started = Instant::now();
        loop {
            let remaining = self.kill_once();
            if remaining == 0 || started.elapsed() > KILL_PATIENCE {
                return remaining;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Sends one round of signals and returns how many processes are still to end.
    fn kill_once(&mut self) -> usize {
        if self.exit.is_none() {
            // These find processes that have emptied their environment, and processes on systems
            // without `/proc`. They must not be used once the command was reaped: its id could
            // belong to another process.
            #[cfg(target_os = "linux")]
            crate::proc_table::kill_from(self.child, KILL_PATIENCE);
            KillTarget::Group(self.child).signal(Signal::Kill);
        } else if cfg!(not(target_os = "linux")) {
            KillTarget::Group(self.child).signal(Signal::Kill);
        }
        // The caller repeats this, because a member may have started another one in the meantime.
        let marked = KillTarget::Marked(self.marker.clone()).signal(Signal::Kill);
        usize::from(self.try_wait().is_none()).max(marked)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if self.try_wait().is_none() {
            self.kill();
        }
    }
}

#[cfg(target_os = "linux")]
fn ended(child: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(child, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn ended(_: Pid) -> Option<OwnedFd> {
    None
}
