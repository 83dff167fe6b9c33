//! Asking tmux for something.

use process::{Exit, OutputError, SpawnError};

use super::TmuxError;
use crate::durations::TMUX_ANSWER;

/// No answer that we ask for is longer.
const LARGEST: usize = 1024 * 1024;

/// Runs a command of tmux, and returns what it prints. The server is the one that the environment
/// names.
pub(super) fn tmux(args: &[&str]) -> Result<String, TmuxError> {
    let output = match process::command_output("tmux", args, TMUX_ANSWER, LARGEST) {
        Ok(output) => output,
        Err(error @ OutputError::NotStarted(SpawnError::NotOnPath(_))) => {
            return Err(TmuxError::Missing(error));
        }
        Err(error) => return Err(TmuxError::Refused(format!("`{}`: {error}", said(args)))),
    };
    let complaint = String::from_utf8_lossy(&output.stderr);
    match output.exit {
        Exit::Code(0) => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        _ if complaint.trim().is_empty() => {
            Err(TmuxError::Refused(format!("`{}` failed, and tmux does not say why", said(args))))
        }
        _ => Err(TmuxError::Refused(format!("`{}`: {}", said(args), complaint.trim()))),
    }
}

/// The name of the command is enough: the rest is of no use to people.
fn said(args: &[&str]) -> String {
    format!("tmux {}", args.first().unwrap_or(&""))
}
