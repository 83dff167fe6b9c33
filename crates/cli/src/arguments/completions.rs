//! `completions`: the script that teaches a shell our commands and names.

use clap::{Args, ValueEnum};

/// Print what makes a shell complete commands and names
///
/// Names are those that there are when the key is pressed: profiles, presets, sessions and
/// background runs. The script asks this program for them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo 'source <(pi-subagents completions bash)' >> ~/.bashrc
  echo 'source <(pi-subagents completions zsh)' >> ~/.zshrc      (behind compinit)
  pi-subagents completions fish > ~/.config/fish/completions/pi-subagents.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}
