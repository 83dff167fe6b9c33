//! The arguments of `fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use model::FleetPool;

use super::ServerArguments;

/// Hand thousands of tasks to other machines, and look at what becomes of them
///
/// A batch is queued on a NATS server and carried out by workers; no process here waits for it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents fleet init ~/fleet
  pi-subagents fleet submit tasks.jsonl --name nightly
  pi-subagents fleet watch nightly
  pi-subagents fleet results nightly --output-dir answers
  pi-subagents fleet submit tasks.jsonl --name nightly --failed")]
pub(crate) struct Fleet {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    Init(FleetInit),
    Submit(FleetSubmit),
    /// Show how far batches are
    #[command(after_help = "\
Examples:
  pi-subagents fleet status
  pi-subagents fleet status nightly --json")]
    Status {
        /// The name of a batch [default: all, each on a line]
        batch: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Follow a batch until all of its tasks have ended
    ///
    /// On a terminal one screen shows counts, rate, time left, cost, failures, the slowest tasks and the
    /// workers; elsewhere lines do. `q` and Ctrl-C stop watching; the batch goes on.
    #[command(after_help = "Examples:\n  pi-subagents fleet watch nightly")]
    Watch {
        /// The name of the batch
        batch: String,
        /// Print plain lines without colours, also on a terminal
        #[arg(long)]
        plain: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    Results(FleetResults),
    /// Show what the agent of a task did and said
    #[command(after_help = "\
Examples:
  pi-subagents fleet show nightly src-main.rs
  pi-subagents fleet show nightly src-main.rs --follow")]
    Show {
        /// The name of the batch
        batch: String,
        /// The key of the task
        key: String,
        /// Show more as it comes, until the task has ended
        #[arg(short, long, conflicts_with = "json")]
        follow: bool,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// End all tasks of a batch that have not ended
    #[command(after_help = "Examples:\n  pi-subagents fleet cancel nightly")]
    Cancel(NamedBatch),
    /// Remove a batch that has ended, with its results
    #[command(after_help = "Examples:\n  pi-subagents fleet delete nightly")]
    Delete(NamedBatch),
    /// List the workers that live
    #[command(after_help = "Examples:\n  pi-subagents fleet workers")]
    Workers {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
}

/// Write the configuration of a server for this machine, with new credentials
///
/// The server is one node on loopback. A caller, the workers of each pool and a viewer have a key each, which
/// only you can read. Nothing is overwritten.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents fleet init ~/fleet
  pi-subagents fleet init ~/fleet --pool default --pool gpu --port 4333")]
pub(crate) struct FleetInit {
    /// The directory for the files; it is made if it is missing
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) directory: PathBuf,

    /// The port of loopback at which the server listens
    #[arg(long, default_value_t = 4222)]
    pub(crate) port: u16,

    /// Make a key for the workers of this pool; can be repeated [default: `default`]
    #[arg(long = "pool", value_name = "POOL")]
    pub(crate) pools: Vec<String>,
}

/// Queue tasks, one JSON object on each line
///
/// A task has a `key`, unique in its batch, and a `prompt` and, optionally, `name`, `profile`, `model`, `agent`,
/// `access`, `timeout`, `files` and `schema`. The same command again adds only what is missing, so it can be repeated
/// whenever it was cut off.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents fleet submit tasks.jsonl
  pi-subagents fleet submit tasks.jsonl --name nightly --failed
  jq -c '.[]' issues.json | pi-subagents fleet submit - --name issues --pool gpu")]
pub(crate) struct FleetSubmit {
    /// The file with the tasks; `-` reads them from standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: String,

    /// Name the batch [default: the name of the file, without what is behind its first dot]
    #[arg(long, value_name = "BATCH")]
    pub(crate) name: Option<String>,

    /// Also try those tasks of the file again that have failed or were cancelled
    #[arg(long)]
    pub(crate) failed: bool,

    /// Let each task work on a copy of the files of this directory as they are now, without those that it ignores; what an agent
    /// changes there does not come back [default: an empty directory]
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub(crate) files: Option<PathBuf>,

    /// Let the workers of this pool carry out the tasks
    #[arg(long, value_name = "POOL", default_value = FleetPool::DEFAULT, value_parser = FleetPool::named)]
    pub(crate) pool: FleetPool,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerArguments,
}

/// Print the results of a batch, one JSON object on each line, in the order of submission
///
/// Tasks that have not ended are left out. The exit code is 1 if one has failed or not ended.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents fleet results nightly > results.jsonl
  pi-subagents fleet results nightly --failed | jq -r '.key + \": \" + .error'
  pi-subagents fleet results nightly --output-dir answers
  pi-subagents fleet results nightly --patches patches")]
pub(crate) struct FleetResults {
    /// The name of the batch
    pub(crate) batch: String,

    /// Only of tasks that failed or were cancelled
    #[arg(long)]
    pub(crate) failed: bool,

    /// Write the answer of each completed task to `KEY.md` in this directory, and print nothing of it
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath, conflicts_with = "failed")]
    pub(crate) output_dir: Option<PathBuf>,

    /// Write what the agent of each task has changed to `KEY.patch` in this directory, for `git apply`, and print nothing of the results
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath, conflicts_with_all = ["failed", "output_dir"])]
    pub(crate) patches: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) server: ServerArguments,
}

#[derive(Debug, Args)]
pub(crate) struct NamedBatch {
    /// The name of the batch
    pub(crate) batch: String,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArguments,
}
