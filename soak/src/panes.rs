//! A server of tmux that is the soak's own, whose first pane is where the commands of a project are said to run.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
use test_support::World;

/// The server, at a socket of the testbed, so that it is never the user's.
#[derive(Debug)]
pub(crate) struct Panes {
    socket: PathBuf,
    /// Absent while it is killed.
    server: Mutex<Option<Pid>>,
}

/// The pane that every new server begins with.
const CALLER: &str = "%0";

impl Panes {
    /// Starts the server. Fails if tmux is not installed.
    pub(crate) fn new(world: &World) -> io::Result<Panes> {
        let panes = Panes { socket: world.path("tmux"), server: Mutex::default() };
        panes.start(world)?;
        Ok(panes)
    }

    /// Starts a server where there is none.
    pub(crate) fn start(&self, world: &World) -> io::Result<()> {
        let mut command = self.tmux(world);
        command.args(["-f", "/dev/null", "new-session", "-d", "-x", "200", "-y", "60"]);
        // What it does must be known from what an agent starts.
        command.args(["-P", "-F", "#{pid}", "tail", "-f", "/dev/null"]);
        let output = command.output()?;
        let pid = String::from_utf8_lossy(&output.stdout).trim().parse().ok();
        let pid = pid.and_then(Pid::from_raw).ok_or_else(|| {
            io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())
        })?;
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(pid);
        Ok(())
    }

    /// Kills the server, and with it what is in its panes. False if there is none.
    pub(crate) fn kill(&self) -> bool {
        let pid = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
    }

    /// Lets a command run in the first pane, as far as it can tell.
    pub(crate) fn offer(&self, command: &mut Command) {
        let pid = *self.server.lock().unwrap_or_else(PoisonError::into_inner);
        let pid = pid.map_or(0, |pid| pid.as_raw_nonzero().get());
        command.env("TMUX", format!("{},{pid},0", self.socket.display()));
        command.env("TMUX_PANE", CALLER);
    }

    /// What its panes are called, but for the first.
    pub(crate) fn opened(&self, world: &World) -> io::Result<Vec<String>> {
        let output = self.tmux(world).args(["list-panes", "-a", "-F", "#{pane_id}"]).output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let names = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(names.lines().filter(|name| *name != CALLER).map(str::to_owned).collect())
    }

    fn tmux(&self, world: &World) -> Command {
        let mut command = world.command_of("tmux");
        command.current_dir(world.home()).env("LC_ALL", "C.UTF-8").arg("-u");
        command.arg("-S").arg(&self.socket);
        command
    }
}
