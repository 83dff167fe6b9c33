//! A pane of tmux for every foreground run.
//!
//! The supervisor is the same as ever, a child of this process, with its environment, its lifeline
//! and its containment. The pane holds no more than a *viewer*: a process that copies to its
//! terminal what the supervisor says on a socket. When the supervisor ends, however it ends, the
//! viewer sees the end of the socket, and the pane closes. When the pane ends, the supervisor sees
//! the other end of the same socket, and stops the run. Nothing that tmux knows, its command line
//! and its environment, ever holds more than the path of that socket.

mod place;
mod tmux_command;
mod viewer;

use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use model::{Lifetime, variables};
use process::{Exit, OutputError, Peer, Pid, PrivateSocket};
use store::RunDir;

use crate::launcher::{Launched, Launcher, ProcessLauncher, Supervisor};
use place::{Pane, Place, place};
use tmux_command::tmux;
pub use viewer::view_run;

/// How long a new pane may take to say that it is there.
const PANE_ANSWER: Duration = Duration::from_secs(10);

/// Why tmux cannot show runs.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum TmuxError {
    #[error(
        "this program does not run inside tmux ({} or {} is not set)",
        variables::TMUX,
        variables::TMUX_PANE
    )]
    Outside,
    #[error("tmux is not installed: {0}")]
    Missing(OutputError),
    #[error("{0}")]
    Refused(String),
}

/// Starts supervisors as processes of this machine, and shows each foreground run in a pane of the
/// tmux that this program runs in.
pub struct TmuxLauncher {
    supervisors: ProcessLauncher,
    /// The pane that this program runs in.
    caller: String,
    session: String,
    /// The panes that were opened, perhaps with some that are closed again.
    opened: Mutex<Vec<String>>,
}

impl fmt::Debug for TmuxLauncher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TmuxLauncher").field("caller", &self.caller).finish_non_exhaustive()
    }
}

impl TmuxLauncher {
    /// Opens panes beside the one that this process runs in. Asks tmux whether there is such a
    /// pane, so that whatever is wrong is known before anything is started.
    pub fn beside_this_pane(supervisors: ProcessLauncher) -> Result<TmuxLauncher, TmuxError> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (Some(_), Some(caller)) = (variable(variables::TMUX), variable(variables::TMUX_PANE))
        else {
            return Err(TmuxError::Outside);
        };
        let session = tmux(&["display-message", "-p", "-t", &caller, "#{session_id}"])?;
        if session.is_empty() {
            return Err(TmuxError::Refused(format!(
                "tmux knows no pane {caller}, which {} names",
                variables::TMUX_PANE
            )));
        }
        let opened = Mutex::default();
        Ok(TmuxLauncher { supervisors, caller, session, opened })
    }

    /// Opens a pane, and returns the way to its viewer.
    fn open_pane(&self) -> Result<(UnixStream, Peer), TmuxError> {
        let refused = |error: io::Error| TmuxError::Refused(error.to_string());
        let socket = PrivateSocket::open().map_err(refused)?;
        let program = process::own_executable_for_others().map_err(refused)?;
        let pane = self.split([text(&program)?, "view", text(socket.path())?])?;
        // Whatever the user has set for panes, one of ours closes at the end.
        let visitor =
            tmux(&["set-option", "-p", "-t", &pane, "remain-on-exit", "off"]).and_then(|_| {
                socket.accept(PANE_ANSWER).map_err(|error| match error.kind() {
                    io::ErrorKind::TimedOut => TmuxError::Refused(format!(
                        "the new pane did not answer within {} seconds; does the server of tmux \
                     belong to another user?",
                        PANE_ANSWER.as_secs()
                    )),
                    _ => refused(error),
                })
            });
        if visitor.is_err() {
            let _ = tmux(&["kill-pane", "-t", &pane]);
        }
        visitor
    }

    /// Makes a pane with this command in it, where there is room, and returns its name.
    fn split(&self, command: [&str; 3]) -> Result<String, TmuxError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let pane = loop {
            let panes = if opened.is_empty() { Vec::new() } else { self.panes()? };
            opened.retain(|name| panes.iter().any(|pane| pane.name == *name));
            let ours: Vec<&Pane> =
                panes.iter().filter(|pane| opened.contains(&pane.name)).collect();
            let made = match place(&ours) {
                Place::Beside => {
                    self.make(&["split-window", "-h", "-l", "40%", "-t", &self.caller], command)
                }
                Place::Below(pane) => {
                    let made = self.make(&["split-window", "-v", "-t", pane], command);
                    if made.is_err() {
                        // Most likely its run has just ended. The next place is looked for without
                        // it, down to the one beside the caller.
                        opened.retain(|name| name != pane);
                        continue;
                    }
                    made
                }
                Place::NewWindow => self.make_window(command),
            };
            break match made {
                Err(TmuxError::Refused(reason)) if reason.contains("no space for new pane") => {
                    self.make_window(command)?
                }
                made => made?,
            };
        };
        opened.push(pane.clone());
        Ok(pane)
    }

    fn make_window(&self, command: [&str; 3]) -> Result<String, TmuxError> {
        let session = format!("{}:", self.session);
        self.make(&["new-window", "-n", "pi-subagents", "-t", &session], command)
    }

    fn make(&self, how: &[&str], command: [&str; 3]) -> Result<String, TmuxError> {
        // Never in front of what the user is looking at.
        let name = ["-d", "-P", "-F", "#{pane_id}", "--"];
        tmux(&[how, &name, &command].concat())
    }

    /// All panes of the session.
    fn panes(&self) -> Result<Vec<Pane>, TmuxError> {
        let format = "#{pane_id} #{pane_height}";
        let listed = tmux(&["list-panes", "-s", "-t", &self.caller, "-F", format])?;
        Ok(listed.lines().filter_map(Pane::parse).collect())
    }
}

fn text(path: &Path) -> Result<&str, TmuxError> {
    path.to_str()
        .ok_or_else(|| TmuxError::Refused(format!("{} is not valid UTF-8", path.display())))
}

impl Launcher for TmuxLauncher {
    fn launch(&self, dir: &RunDir, lifetime: Lifetime) -> Result<Launched, io::Error> {
        // A run that outlives this program outlives the terminal, too.
        if lifetime == Lifetime::Background {
            return self.supervisors.launch(dir, lifetime);
        }
        let pane = self.open_pane();
        let (screen, viewer) =
            pane.map_err(|error| io::Error::other(format!("no pane for it: {error}")))?;
        let launched = self.supervisors.launch_with(dir, lifetime, Some(screen))?;
        let supervisor = Box::new(Shown { supervisor: launched.supervisor, viewer });
        Ok(Launched { supervisor, ..launched })
    }
}

/// A supervisor whose run is shown in a pane.
#[derive(Debug)]
struct Shown {
    supervisor: Box<dyn Supervisor>,
    viewer: Peer,
}

impl Supervisor for Shown {
    fn child_pid(&self) -> Option<Pid> {
        self.supervisor.child_pid()
    }

    /// It has ended when its pane has, too.
    fn try_wait(&mut self) -> Option<Exit> {
        let exit = self.supervisor.try_wait()?;
        self.viewer.has_ended().then_some(exit)
    }

    fn wake(&mut self) {
        self.supervisor.wake();
    }

    fn kill(&mut self) {
        self.supervisor.kill();
        // It ends by itself, unless somebody has stopped it.
        self.viewer.kill();
    }
}
