//! Where supervisors are started.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use model::Lifetime;
use process::{DetachFrom, Detached, DetachedSpec, Exit, Peer, Pid, SpawnError};
use store::RunDir;

use crate::stopped::SUPERVISE;
use crate::tmux::TmuxPanes;

/// Starts supervisors as processes of this machine, with or without a pane that shows each run.
#[derive(Debug)]
pub struct Launcher {
    program: PathBuf,
    panes: Option<TmuxPanes>,
}

#[derive(Debug)]
pub(crate) struct Launched {
    /// The parent's end of the lifeline.
    pub(crate) lifeline: UnixStream,
    pub(crate) supervisor: SupervisorHandle,
}

/// A running supervisor, as the process that started it sees it.
#[derive(Debug)]
pub(crate) struct SupervisorHandle {
    process: Detached,
    /// The process in the pane that shows the run.
    viewer: Option<Peer>,
}

impl Launcher {
    /// Starts this very program again.
    pub fn own() -> io::Result<Launcher> {
        process::own_executable().map(Launcher::new)
    }

    /// Starts the `pi-subagents` at this path.
    pub fn new(program: PathBuf) -> Launcher {
        Launcher { program, panes: None }
    }

    /// Also opens a pane for every foreground run.
    #[must_use]
    pub fn with_panes(self, panes: TmuxPanes) -> Launcher {
        Launcher { panes: Some(panes), ..self }
    }

    /// Starts `pi-subagents supervise RUN_DIR` with a lifeline.
    pub(crate) fn launch(&self, dir: &RunDir, lifetime: Lifetime) -> io::Result<Launched> {
        // A run that outlives this program outlives the terminal, too.
        let panes = self.panes.as_ref().filter(|_| lifetime == Lifetime::Foreground);
        let pane = panes.map(TmuxPanes::open).transpose();
        let pane = pane.map_err(|error| io::Error::other(format!("no pane for it: {error}")))?;
        let (screen, viewer) = pane.unzip();
        let (lifeline, theirs) = UnixStream::pair()?;
        let path = dir.path().to_str().ok_or_else(|| {
            io::Error::other(format!("{} is not valid UTF-8", dir.path().display()))
        })?;
        let mut args = vec![SUPERVISE[1], "--lifeline", path];
        if screen.is_some() {
            args.push("--screen");
        }
        // The supervisor goes back to it, so that we need not fork for it.
        let open_files = process::original_open_files().map(|limit| limit.to_string());
        if let Some(limit) = &open_files {
            args.extend(["--open-files", limit]);
        }
        let process = process::spawn_detached(DetachedSpec {
            program: &self.program,
            args: &args,
            stdin: theirs.into(),
            stdout: screen.map(OwnedFd::from),
            from: match lifetime {
                Lifetime::Foreground => DetachFrom::Group,
                Lifetime::Background => DetachFrom::Session,
            },
        })
        .map_err(|error| match error {
            SpawnError::Other { source, .. } => source,
            error => io::Error::other(error),
        })?;
        Ok(Launched { lifeline, supervisor: SupervisorHandle { process, viewer } })
    }
}

impl SupervisorHandle {
    pub(crate) fn pid(&self) -> Pid {
        self.process.pid()
    }

    /// How it ended, if it and its pane have; never blocks.
    pub(crate) fn try_wait(&mut self) -> Option<Exit> {
        let exit = self.process.try_wait()?;
        self.viewer.as_ref().is_none_or(Peer::has_ended).then_some(exit)
    }

    /// Whether another program has stopped it.
    pub(crate) fn is_stopped(&self) -> bool {
        self.process.is_stopped()
    }

    /// Wakes it, should another program have stopped it.
    pub(crate) fn wake(&mut self) {
        self.process.wake();
    }

    /// Kills it, for when it does not answer. The caller must clean up what it leaves.
    pub(crate) fn kill(&mut self) {
        self.process.kill();
        // The viewer ends by itself, unless another program has stopped it.
        if let Some(viewer) = &self.viewer {
            viewer.kill();
        }
    }
}
