//! The arguments of `sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use clap_complete::ArgValueCandidates;
use store::Retention;

use crate::candidates;

/// List, read, export and prune the sessions of this project
///
/// A session is a run and the runs that resumed it. A session is named by the name of its task, by
/// `@last` (what was started last; `@2` is the one before), by the id of the session, of a run or of a
/// call, or by the beginning of an id if no other has it. A call, and so `@last`, can be several sessions.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents sessions list
  pi-subagents sessions output @last
  pi-subagents sessions show review
  pi-subagents sessions export review --format html --output session.html")]
pub(crate) struct Sessions {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions of this project, newest last
    #[command(after_help = "\
Examples:
  pi-subagents sessions list
  pi-subagents sessions list --json | jq -r '.sessions[].sessionId'")]
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show what the agents of a session did and said
    ///
    /// On a terminal a long session can be scrolled, unfolded and searched; press `?` for the keys.
    #[command(after_help = "\
Examples:
  pi-subagents sessions show review
  pi-subagents sessions show @last | less")]
    Show {
        #[command(flatten)]
        session: SessionArguments,
        /// Print plain lines, also on a terminal
        #[arg(long)]
        plain: bool,
    },
    /// Print the answer of a run, or the last answer of a session
    ///
    /// The exit code is 1 if that run failed: what is printed is then only what the agent had said
    /// before.
    #[command(after_help = "\
Examples:
  pi-subagents sessions output review > review.md
  pi-subagents sessions output @2")]
    Output(SessionArguments),
    Export(Export),
    /// Remove old runs
    ///
    /// Running ones always stay.
    #[command(after_help = "\
Examples:
  pi-subagents sessions prune
  pi-subagents sessions prune --keep 100 --days 7")]
    Prune {
        /// Keep at most this many finished runs
        #[arg(long, value_name = "RUNS", default_value_t = Retention::DEFAULT.runs)]
        keep: usize,
        /// Keep only runs that ended less than this many days ago
        #[arg(long, value_name = "DAYS", default_value_t = Retention::DEFAULT.age.as_secs() / 86_400)]
        days: u64,
        /// Keep at most this many mebibytes
        #[arg(long, value_name = "MEBIBYTES", default_value_t = Retention::DEFAULT.bytes / 1_048_576)]
        mebibytes: u64,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// Print sessions as one document
///
/// The document has all runs with their prompts, messages, tool calls and results, usage and
/// outcome. HTML is a report: a single page with a timeline of all agents, their cost over time and their
/// conversations. It loads nothing. JSON has the recorded events.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents sessions export review > session.md
  pi-subagents sessions export review scout --open
  pi-subagents sessions export @last --format html --output session.html
  pi-subagents sessions export review --format json | jq '.runs[].prompt'")]
pub(crate) struct Export {
    /// Names of tasks, `@last`, or ids of sessions, runs or calls, or their beginnings
    #[arg(
        required = true,
        value_name = "ID",
        add = ArgValueCandidates::new(candidates::sessions)
    )]
    pub(crate) ids: Vec<String>,
    /// Choose the format of the document [default: md, or html with --open]
    #[arg(long, value_enum)]
    pub(crate) format: Option<ExportFormat>,
    /// Write to this file, readable only by you, instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Show the page in your browser, from a private temporary file unless --output names one
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Markdown
    Md,
    /// One HTML file: a report
    Html,
    /// One JSON document
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct SessionArguments {
    /// A task's name, `@last`, or the id of a session, run or call, or its beginning
    #[arg(add = ArgValueCandidates::new(candidates::sessions))]
    pub(crate) id: String,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
