//! The arguments of `worker` and `relay`, and where tasks are carried out.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use model::{Access, FleetPool};

use super::{access, seconds};

/// Where tasks are carried out.
#[derive(Debug, Default, Args)]
pub(crate) struct OnArguments {
    /// Let workers of the fleet carry out the tasks: `fleet`, or `fleet:POOL`
    /// [default: `on` of the profile or preset, else this machine]
    #[arg(long, value_name = "PLACE", value_parser = FleetPool::parse)]
    pub(crate) on: Option<FleetPool>,

    /// Use this server of the fleet, such as nats://127.0.0.1:4222 [default: PI_SUBAGENTS_FLEET, else
    /// `subagents.fleet.url` in the settings of your agent directory]
    #[arg(long, value_name = "URL")]
    pub(crate) fleet: Option<String>,
}

/// How the server of the fleet is reached.
#[derive(Debug, Args)]
pub(crate) struct ServerArguments {
    /// Use this server of the fleet, such as nats://127.0.0.1:4222 [default: PI_SUBAGENTS_FLEET, else
    /// `subagents.fleet.url` in the settings of your agent directory]
    #[arg(long, value_name = "URL")]
    pub(crate) fleet: Option<String>,

    /// Prove the role with this file [default: PI_SUBAGENTS_FLEET_CREDENTIALS, else `subagents.fleet.credentials`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) credentials: Option<PathBuf>,

    /// Trust servers whose certificates this file signs [default: PI_SUBAGENTS_FLEET_CA, else `subagents.fleet.ca`, else
    /// the system's]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
}

/// Carry out tasks of the fleet on this machine
///
/// The worker takes tasks from the server's queue as its slots allow. Each runs like a task of this machine, with the agents
/// and keys of this machine. SIGTERM or Ctrl-C lets it take no more tasks and end when its tasks have ended; a second signal
/// gives them back to the queue at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents worker --fleet nats://127.0.0.1:4222
  pi-subagents worker --slots 8 --pool gpu --agents pi,builtin --access workspace")]
pub(crate) struct Worker {
    /// Carry out this many tasks at a time [default: twice the number of cores]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) slots: Option<u16>,

    /// Take tasks of this pool
    #[arg(long, value_name = "NAME", default_value = FleetPool::DEFAULT)]
    pub(crate) pool: String,

    /// Keep snapshots and records in this directory, which is the worker's alone [default: `workers/POOL` in the user's
    /// state directory]
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,

    /// Offer only these agents [default: all that are installed]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) agents: Option<Vec<String>>,

    /// Run commands of tasks that prepare or check the work, and pass their `extraArgs` to agents
    #[arg(long)]
    pub(crate) allow_prepare: bool,

    /// Let agents change this much at most: `read`, `workspace` or `full`
    #[arg(long, value_parser = access, default_value = "full")]
    pub(crate) access: Access,

    /// Let tasks go on for this time when the worker was told to end; then give them back
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "30")]
    pub(crate) grace: f64,

    /// Let another worker begin with a task when this one was silent for this time
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "30", hide = true)]
    pub(crate) lease: f64,

    #[command(flatten)]
    pub(crate) server: ServerArguments,
}

/// The arguments of a relay.
#[derive(Debug, Args)]
pub(crate) struct Relay {
    /// The file of the run directory with the task
    pub(crate) task: PathBuf,
    /// The workers that may take it
    #[arg(long)]
    pub(crate) pool: String,
    #[command(flatten)]
    pub(crate) server: ServerArguments,
}
