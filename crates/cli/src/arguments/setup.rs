//! `setup`: what other programs get of this one.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand, ValueEnum};
use setup::clients::{CLIENTS, Client};

/// Give other programs the sub-agents: pi its extension, MCP clients a server
///
/// Clients get an entry that starts `pi-subagents mcp` in their own configuration. What else is in
/// that file stays as it is written, and a copy of it is kept beside it.
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

/// Give pi the sub-agents: its extension, in the agent directory
///
/// It becomes `extensions/pi-subagents` there, with a link to this program beside it, so that both are
/// of one version. Can be repeated, for instance after an update; what is not part of the extension
/// stays as it is.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents setup pi
  pi-subagents setup pi --remove")]
pub(crate) struct SetupPi {
    /// Take the extension away again
    #[arg(long)]
    pub(crate) remove: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// A client of the Model Context Protocol, which gets an entry in its configuration. There is a
/// command for each that the table of clients has.
#[derive(Debug)]
pub(crate) struct SetupClient {
    pub(crate) client: &'static Client,
    pub(crate) arguments: ClientArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ClientArguments {
    /// Whose configuration: yours, for every project, or that of this project, for everybody in it
    #[arg(long, value_enum, default_value_t = SetupScope::User)]
    pub(crate) scope: SetupScope,
    /// Take the entry out again
    #[arg(long)]
    pub(crate) remove: bool,
    /// Show what would be changed, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whose configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetupScope {
    /// Yours, for every project
    User,
    /// That of this project, for everybody in it
    Project,
}

impl Subcommand for SetupClient {
    fn augment_subcommands(command: Command) -> Command {
        CLIENTS.iter().fold(command, |command, client| {
            let Client { name, title, .. } = client;
            let about = format!("Give {title} the sub-agents, as an MCP server");
            let files = client.files_in_words();
            let inner = ClientArguments::augment_args(Command::default().name(*name))
                .long_about(format!("{about}\n\nThe entry is put into {files}."))
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
