//! `bg`: runs that outlive the command that starts them.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;

use crate::candidates;
use crate::notification::NotifyArguments;

use super::{
    AgentArguments, BudgetArguments, DemandArguments, OutputArguments, WorkArguments, seconds,
};

/// Run tasks in the background
///
/// Commands take the name of a run, `@last` (the background run that was started last; `@2` is the one
/// before), the id of a run, session or call, or the beginning of an id if no other has it. When a run of
/// the command line has ended, the next `list` or `status` reports it once, on standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  id=$(pi-subagents bg start --preset scout \"Where are errors handled?\")
  pi-subagents bg logs -f @last
  pi-subagents bg wait $id --timeout 10m && pi-subagents bg status $id
  pi-subagents bg stop scout")]
pub(crate) struct Background {
    #[command(subcommand)]
    pub(crate) command: BackgroundCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BackgroundCommand {
    Start(Box<Start>),
    #[command(alias = "ls")]
    List(List),
    Status(Status),
    Wait(Wait),
    Logs(Logs),
    Stop(Stop),
}

/// Start a run and print its id
///
/// The run continues when this command, its terminal or its whole session is gone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  id=$(pi-subagents bg start --preset scout \"Where are errors handled?\")
  git diff | pi-subagents bg start --preset reviewer --name review -")]
pub(crate) struct Start {
    /// The prompt for the agent; `-` reads it from standard input
    #[arg(value_name = "TASK")]
    pub(crate) task: String,

    /// Configure the agent with this preset; the preset or --model must name a model
    #[arg(long, add = ArgValueCandidates::new(candidates::presets))]
    pub(crate) preset: Option<String>,

    /// Configure the agent with this profile
    #[arg(long, conflicts_with = "preset", add = ArgValueCandidates::new(candidates::profiles))]
    pub(crate) profile: Option<String>,

    /// Stop the agent after this time, such as `90s` or `5m`. An agent with a tool at work gets 30 seconds
    /// more, or what `extend_timeout_debounce` in the settings says [default: the preset's timeout or none]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,

    /// Name the run [default: the name of the preset or profile, else `task`]
    #[arg(long)]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) demands: DemandArguments,

    #[command(flatten)]
    pub(crate) budget: BudgetArguments,

    #[command(flatten)]
    pub(crate) work: WorkArguments,

    #[command(flatten)]
    pub(crate) agent: AgentArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// List runs, by default only running ones
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents bg list
  pi-subagents bg list --all --everyone")]
pub(crate) struct List {
    /// Also list finished runs
    #[arg(long)]
    pub(crate) all: bool,
    /// Also list runs that pi sessions and other programs started
    #[arg(long)]
    pub(crate) everyone: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show everything about a run, or count the runs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents bg status
  pi-subagents bg status $id --json")]
pub(crate) struct Status {
    /// The run's name, `@last` or its id [default: all runs of the command line]
    #[arg(add = ArgValueCandidates::new(candidates::background_runs))]
    pub(crate) id: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Wait until runs have ended, and print the answer
///
/// For a single run, the answer goes to standard output; for several runs, one line for each. The
/// exit code is 0 if all runs completed, and 1 if one did not or the wait timed out. Ctrl-C stops
/// waiting; the runs continue.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents bg wait $id --timeout 600
  pi-subagents bg wait $first $second")]
pub(crate) struct Wait {
    /// The names of the runs, `@last` or their ids
    #[arg(
        required = true,
        value_name = "ID",
        add = ArgValueCandidates::new(candidates::background_runs)
    )]
    pub(crate) ids: Vec<String>,
    /// Stop waiting after this time
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) notify: NotifyArguments,
}

/// Print what a run did and said
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents bg logs $id
  pi-subagents bg logs -f $id")]
pub(crate) struct Logs {
    /// The run's name, `@last` or its id
    #[arg(add = ArgValueCandidates::new(candidates::background_runs))]
    pub(crate) id: String,
    /// Keep printing until the run has ended
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print the events, one JSON document per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Stop runs and every process that they started
///
/// Sends SIGTERM, waits for a few seconds, sends SIGKILL, and returns when every process is gone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents bg stop $id
  pi-subagents bg stop --now $first $second")]
pub(crate) struct Stop {
    /// The names of the runs, `@last` or their ids
    #[arg(
        required = true,
        value_name = "ID",
        add = ArgValueCandidates::new(candidates::running_background_runs)
    )]
    pub(crate) ids: Vec<String>,
    /// Send SIGKILL at once
    #[arg(long)]
    pub(crate) now: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
