//! `man`: the manual pages.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Print or write the manual pages
///
/// There is one page for each command, called as the command with hyphens between its words.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents man run | man -l -
  pi-subagents man --dir ~/.local/share/man/man1
  man pi-subagents-bg-wait")]
pub(crate) struct Man {
    /// The words of the command, such as `bg wait`; the program itself if absent
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,

    /// Write the pages of all commands into this directory, which is made if it is not there
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "command", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}
