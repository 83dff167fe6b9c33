//! `completions`: the script for a shell.

use clap::{Args, ValueEnum};

/// Print the completion script for a shell
///
/// The script completes commands, options, and the names of profiles, presets, sessions and
/// background runs. It asks this program for the names, so they are always current.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo 'source <(pi-subagents completions bash)' >> ~/.bashrc
  echo 'source <(pi-subagents completions zsh)' >> ~/.zshrc      (after compinit)
  pi-subagents completions fish > ~/.config/fish/completions/pi-subagents.fish")]
pub(crate) struct Completions {
    /// The shell to print the script for
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}
