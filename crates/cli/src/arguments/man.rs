//! `man`: the manual pages.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Print or write the manual pages
///
/// Each command has its own page, named after it with hyphens: `pi-subagents-bg-wait`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents man run | man -l -
  pi-subagents man --dir ~/.local/share/man/man1
  man pi-subagents-bg-wait")]
pub(crate) struct Man {
    /// The command, such as `bg wait` [default: the program itself]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,

    /// Write all pages into this directory, and create it if necessary
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "command", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}
