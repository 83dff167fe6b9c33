//! `setup`: connecting other programs to this one.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand, ValueEnum};
use setup::clients::{CLIENTS, Client};

/// Connect pi, Claude Code, Codex, Cursor and other clients
///
/// pi gets an extension. An MCP client gets an entry in its configuration that starts
/// `pi-subagents mcp`; the rest of that file stays as it is, and a backup is kept beside it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents setup pi
  pi-subagents setup claude --dry-run
  pi-subagents setup cursor --scope project")]
pub(crate) struct Setup {
    #[command(subcommand)]
    pub(crate) command: SetupCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SetupCommand {
    Pi(SetupPi),
    #[command(flatten)]
    Client(SetupClient),
}

/// Install the extension for pi
///
/// Writes the extension to `extensions/pi-subagents` in the agent directory, with a link to this
/// program, so that both have the same version. Repeat it after an update. Files that are not part of
/// the extension stay as they are.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents setup pi --dry-run
  pi-subagents setup pi
  pi-subagents setup pi --remove")]
pub(crate) struct SetupPi {
    /// Remove the extension
    #[arg(long)]
    pub(crate) remove: bool,
    /// Show what would change without changing it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// One command for each MCP client in the table of clients.
#[derive(Debug)]
pub(crate) struct SetupClient {
    pub(crate) client: &'static Client,
    pub(crate) arguments: ClientArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ClientArguments {
    /// Change your own configuration or the project's
    #[arg(long, value_enum, default_value_t = SetupScope::User)]
    pub(crate) scope: SetupScope,
    /// Remove the entry
    #[arg(long)]
    pub(crate) remove: bool,
    /// Show the change without making it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetupScope {
    /// Your own, for all your projects
    User,
    /// The project's, for everyone who works on it
    Project,
}

impl Subcommand for SetupClient {
    fn augment_subcommands(command: Command) -> Command {
        CLIENTS.iter().fold(command, |command, client| {
            let Client { name, title, .. } = client;
            let about = format!("Connect {title} through MCP");
            let files = client.files_in_words();
            let inner = ClientArguments::augment_args(Command::default().name(*name))
                .long_about(format!("{about}\n\nThe entry goes into {files}."))
                .about(about)
                .after_help(format!(
                    "Examples:\n  pi-subagents setup {name} --dry-run\n  pi-subagents setup {name}\n  \
                     pi-subagents setup {name} --scope project\n  pi-subagents setup {name} --remove"
                ));
            command.subcommand(inner)
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        SetupClient::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Client::named(name).is_some()
    }
}

impl FromArgMatches for SetupClient {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SetupClient, Error> {
        let found = matches.subcommand();
        let found = found.and_then(|(name, matches)| Some((Client::named(name)?, matches)));
        let (client, matches) = found.ok_or_else(|| Error::new(ErrorKind::InvalidSubcommand))?;
        Ok(SetupClient { client, arguments: ClientArguments::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = SetupClient::from_arg_matches(matches)?;
        Ok(())
    }
}
