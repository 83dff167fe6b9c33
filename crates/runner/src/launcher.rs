//! Who starts a supervisor, and where.

use std::fmt::Debug;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use model::{Lifetime, variables};
use process::{DetachFrom, Detached, DetachedSpec, Exit, Pid};
use store::RunDir;

/// Starts supervisors. Runs with and without a pane that shows them differ only in this.
pub trait Launcher: Debug {
    /// Starts `pi-subagents supervise RUN_DIR` with a lifeline.
    fn launch(&self, dir: &RunDir, lifetime: Lifetime) -> Result<Launched, io::Error>;
}

/// A supervisor that was started.
#[derive(Debug)]
pub struct Launched {
    /// Our end of its lifeline.
    pub lifeline: UnixStream,
    /// The supervisor itself.
    pub supervisor: Box<dyn Supervisor>,
}

/// A running supervisor, as seen by who started it.
pub trait Supervisor: Debug + Send {
    /// Its process id, if it is a child of this process.
    fn child_pid(&self) -> Option<Pid>;
    /// How it ended, if it has; never blocks.
    fn try_wait(&mut self) -> Option<Exit>;
    /// Wakes it, should somebody have stopped it.
    fn wake(&mut self);
    /// Kills it, for when it does not answer. Whoever calls this must clean up behind it.
    fn kill(&mut self);
}

/// Starts supervisors as processes of this machine.
#[derive(Clone, Debug)]
pub struct ProcessLauncher {
    program: PathBuf,
}

impl ProcessLauncher {
    /// Starts this very program again.
    pub fn own() -> io::Result<ProcessLauncher> {
        process::own_executable().map(ProcessLauncher::new)
    }

    /// Starts the `pi-subagents` at this path.
    pub fn new(program: PathBuf) -> ProcessLauncher {
        ProcessLauncher { program }
    }
}

impl Launcher for ProcessLauncher {
    fn launch(&self, dir: &RunDir, lifetime: Lifetime) -> Result<Launched, io::Error> {
        self.launch_with(dir, lifetime, None)
    }
}

impl ProcessLauncher {
    /// The same, with a screen for the supervisor.
    pub(crate) fn launch_with(
        &self,
        dir: &RunDir,
        lifetime: Lifetime,
        screen: Option<UnixStream>,
    ) -> io::Result<Launched> {
        let (lifeline, theirs) = UnixStream::pair()?;
        let path = dir.path().to_str().ok_or_else(|| {
            io::Error::other(format!("{} is not valid UTF-8", dir.path().display()))
        })?;
        let mut args = vec!["supervise", "--lifeline", path];
        if screen.is_some() {
            args.push("--screen");
        }
        let supervisor = process::spawn_detached(DetachedSpec {
            program: &self.program,
            args: &args,
            environment: &[(variables::SUPERVISES, path)],
            stdin: theirs.into(),
            stdout: screen.map(OwnedFd::from),
            from: match lifetime {
                Lifetime::Foreground => DetachFrom::Group,
                Lifetime::Background => DetachFrom::Session,
            },
        })
        .map_err(io::Error::other)?;
        Ok(Launched { lifeline, supervisor: Box::new(supervisor) })
    }
}

impl Supervisor for Detached {
    fn child_pid(&self) -> Option<Pid> {
        Some(self.pid())
    }

    fn try_wait(&mut self) -> Option<Exit> {
        Detached::try_wait(self)
    }

    fn wake(&mut self) {
        Detached::wake(self);
    }

    fn kill(&mut self) {
        Detached::kill(self);
    }
}
