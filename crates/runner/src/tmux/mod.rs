//! A pane of tmux for every foreground run.
//!
//! The supervisor is the same as ever, a child of this process, with its environment, its lifeline
//! and its containment. The pane holds no more than a *viewer*: a process that copies to its
//! terminal what the supervisor says on a socket. When the supervisor ends, however it ends, the
//! viewer sees the end of the socket, and the pane closes. When the pane ends, the supervisor sees
//! the other end of the same socket, and stops the run. Nothing that tmux knows, its command line
//! and its environment, ever holds more than the path of that socket.

mod command;
mod position;
mod viewer;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use model::variables;
use process::{OutputError, Peer, PrivateSocket};

use crate::durations::PANE_ANSWER;
use command::tmux;
use position::{Pane, Position, position};
pub use viewer::view_run;

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

/// Opens panes in the tmux that this program runs in.
#[derive(Debug)]
pub struct TmuxPanes {
    /// The pane that this program runs in.
    caller: String,
    session: String,
    /// The panes that were opened, perhaps with some that are closed again.
    opened: Mutex<Vec<String>>,
}

impl TmuxPanes {
    /// Opens panes beside the one that this process runs in. Asks tmux whether there is such a
    /// pane, so that whatever is wrong is known before anything is started.
    pub fn beside_this_pane() -> Result<TmuxPanes, TmuxError> {
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
        Ok(TmuxPanes { caller, session, opened: Mutex::default() })
    }

    /// Opens a pane, and returns the way to its viewer.
    pub(crate) fn open(&self) -> Result<(UnixStream, Peer), TmuxError> {
        let refused = |error: io::Error| TmuxError::Refused(error.to_string());
        let socket = PrivateSocket::open(model::paths::TEMPORARY_PREFIX).map_err(refused)?;
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
            let made = match position(&ours) {
                Position::Beside => {
                    self.make(&["split-window", "-h", "-l", "40%", "-t", &self.caller], command)
                }
                Position::Below(pane) => {
                    let made = self.make(&["split-window", "-v", "-t", pane], command);
                    if made.is_err() {
                        // Most likely its run has just ended. The next position is looked for
                        // without it, down to the one beside the caller.
                        opened.retain(|name| name != pane);
                        continue;
                    }
                    made
                }
                Position::NewWindow => self.make_window(command),
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
