//! Every environment variable that this program reads or sets. Those of providers are in `provider_variables.rs`.

/// The agent directory; wins over [`PI_CODING_AGENT_DIR`].
pub const PI_AGENT_DIR: &str = "PI_AGENT_DIR";
/// The agent directory in pi's own words; every child gets it.
pub const PI_CODING_AGENT_DIR: &str = "PI_CODING_AGENT_DIR";
/// The child agent: `pi`, `builtin`, or a JSON array of program and arguments.
pub const AGENT: &str = "PI_SUBAGENTS_AGENT";
/// `1` in every child, where no door of ours may start another one.
pub const CHILD: &str = "PI_SUBAGENTS_CHILD";
/// The run's id in every process of its tree: the marker by which leftovers are found.
pub const RUN: &str = "PI_SUBAGENTS_RUN";
/// The run's directory in every process of its tree: a copy of a project has the same run ids.
pub const RUN_DIR: &str = "PI_SUBAGENTS_RUN_DIR";
/// `1` in every process of a check of the agent's work: what tells them from those of the agent.
pub const CHECK: &str = "PI_SUBAGENTS_CHECK";
/// `agent` in children whose model is one of GitHub Copilot's, absent in others.
pub const GITHUB_COPILOT_INITIATOR: &str = "PI_SUBAGENTS_GITHUB_COPILOT_INITIATOR";
/// The key of a profile. No agent gets it from the caller's own environment.
pub const PI_API_KEY: &str = "PI_API_KEY";
/// The provider that the key of a profile belongs to.
pub const KEY_PROVIDER: &str = "PI_SUBAGENTS_KEY_PROVIDER";
/// What the name of a variable starts with that every process of one command of the built-in agent
/// has. An id follows, so that commands within commands keep the marks of both.
pub const COMMAND: &str = "PI_SUBAGENTS_COMMAND";
/// Where the user's state is kept that belongs to no project: worktrees, locks, and what was learned.
pub const STATE_DIR: &str = "PI_SUBAGENTS_STATE_DIR";
/// Where programs keep what lasts as long as the user is logged in: locks and sockets.
pub const XDG_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";
/// Where programs keep the user's state, if it is not in the usual place.
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
/// Names the server of tmux, in everything that runs in one of its panes.
pub const TMUX: &str = "TMUX";
/// The pane of tmux that a program runs in.
pub const TMUX_PANE: &str = "TMUX_PANE";
/// Names the shell that asks what could follow on the command line.
pub const COMPLETE: &str = "PI_SUBAGENTS_COMPLETE";
/// The server of the fleet, as an address.
pub const FLEET: &str = "PI_SUBAGENTS_FLEET";
/// The file with the credentials for that server.
pub const FLEET_CREDENTIALS: &str = "PI_SUBAGENTS_FLEET_CREDENTIALS";
/// The file with the certificates that sign that of the server.
pub const FLEET_CA: &str = "PI_SUBAGENTS_FLEET_CA";
