//! `setup`: what other programs get of this one.

use clap::{Args, Subcommand, ValueEnum};

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
    /// Give Claude Code the sub-agents, as an MCP server
    ///
    /// In `~/.claude.json` ($CLAUDE_CONFIG_DIR), or `.mcp.json` of the project.
    #[command(after_help = "\
Examples:
  pi-subagents setup claude --dry-run
  pi-subagents setup claude
  pi-subagents setup claude --remove")]
    Claude(SetupClient),
    /// Give Codex the sub-agents, as an MCP server
    ///
    /// In `~/.codex/config.toml` ($CODEX_HOME), or `.codex/config.toml` of the project, which Codex reads
    /// if you trust it.
    #[command(after_help = "\
Examples:
  pi-subagents setup codex --dry-run
  pi-subagents setup codex
  pi-subagents setup codex --remove")]
    Codex(SetupClient),
    /// Give Cursor the sub-agents, as an MCP server
    ///
    /// In `~/.cursor/mcp.json`, or `.cursor/mcp.json` of the project.
    #[command(after_help = "\
Examples:
  pi-subagents setup cursor --dry-run
  pi-subagents setup cursor
  pi-subagents setup cursor --remove")]
    Cursor(SetupClient),
    /// Give VS Code the sub-agents, as an MCP server
    ///
    /// In `mcp.json` of your default profile, or `.vscode/mcp.json` of the project.
    #[command(after_help = "\
Examples:
  pi-subagents setup vscode --dry-run
  pi-subagents setup vscode
  pi-subagents setup vscode --remove")]
    Vscode(SetupClient),
    /// Give Gemini CLI the sub-agents, as an MCP server
    ///
    /// In `~/.gemini/settings.json` ($GEMINI_CLI_HOME), or `.gemini/settings.json` of the project.
    #[command(after_help = "\
Examples:
  pi-subagents setup gemini --dry-run
  pi-subagents setup gemini
  pi-subagents setup gemini --remove")]
    Gemini(SetupClient),
    /// Give opencode the sub-agents, as an MCP server
    ///
    /// In `~/.config/opencode/opencode.json` or `.jsonc` ($XDG_CONFIG_HOME), or the same of the project.
    #[command(after_help = "\
Examples:
  pi-subagents setup opencode --dry-run
  pi-subagents setup opencode
  pi-subagents setup opencode --remove")]
    Opencode(SetupClient),
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

#[derive(Debug, Args)]
pub(crate) struct SetupClient {
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
