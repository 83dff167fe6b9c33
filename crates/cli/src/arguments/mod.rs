//! The command line.

mod agent;
mod background;
mod completions;
mod doctor;
mod man;
mod profile;
mod setup;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::ArgValueCandidates;
use store::Retention;

use crate::candidates;
use crate::notification::NotifyArguments;

pub(crate) use agent::Agent;
pub(crate) use background::{Background, BackgroundCommand, List, Logs, Start, Status, Stop, Wait};
pub(crate) use completions::{Completions, Shell};
pub(crate) use doctor::Doctor;
pub(crate) use man::Man;
pub(crate) use profile::{Preset, PresetCommand, Profile, ProfileCommand, ProfileFields};
pub(crate) use setup::{ClientArguments, Setup, SetupClient, SetupCommand, SetupPi, SetupScope};

/// What this program is called.
pub(crate) const NAME: &str = "pi-subagents";

/// Hand tasks to sub-agents, each its own supervised tree of processes.
#[derive(Debug, Parser)]
#[command(name = NAME, version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    pub(crate) fn is_plain(&self) -> bool {
        match &self.command {
            Command::Run(run) => run.output.plain,
            Command::Delegate(delegate) => delegate.output.plain,
            Command::Background(background) => background.is_plain(),
            Command::Demo(output) => output.plain,
            Command::Watch(watch) => watch.plain,
            Command::Profile(_)
            | Command::Preset(_)
            | Command::Sessions(_)
            | Command::Setup(_)
            | Command::Doctor(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Agent(_)
            | Command::Bridge
            | Command::Mcp
            | Command::Supervise(_)
            | Command::View { .. } => false,
        }
    }
}

const EXIT_CODES: &str = "\
Exit codes:
  0    every task completed
  1    a task failed, the time of `bg wait` was over, `doctor` found a problem, or the answer
       could not be printed
  2    there was no task: the command line, an id or a setting is wrong
  130  interrupted by a signal";

/// The commands. Those that say nothing here say it at their own arguments: a word here would hide
/// the text there.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    Run(Run),
    Delegate(Delegate),
    #[command(name = "bg")]
    Background(Background),
    Watch(Watch),
    Profile(Profile),
    Preset(Preset),
    Sessions(Sessions),
    Setup(Setup),
    Doctor(Doctor),
    Completions(Completions),
    Man(Man),
    Agent(Box<Agent>),
    /// Serve pi's extension on standard input and output (started by the extension)
    Bridge,
    /// Serve a client of the Model Context Protocol on standard input and output
    ///
    /// Clients start it themselves; `pi-subagents setup` tells them how. Standard output carries
    /// nothing but the protocol.
    #[command(after_help = "\
Examples:
  pi-subagents setup claude
  claude mcp add subagents -- pi-subagents mcp
  npx @modelcontextprotocol/inspector --cli pi-subagents mcp --method tools/list")]
    Mcp,
    /// Carry out the run whose directory is given (started by the other commands)
    #[command(hide = true)]
    Supervise(Supervise),
    /// Show what a supervisor says (started in a pane by the other commands)
    #[command(hide = true)]
    View {
        /// The socket on which it says it
        socket: PathBuf,
    },
}

/// Run one task and print the agent's answer
///
/// The answer goes to standard output, everything else to standard error. Ctrl-C stops the agent
/// gracefully and keeps what it has said; a second Ctrl-C stops it at once. On a terminal the agent
/// is shown while it works, and `?` lists the keys.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents run \"Review the last commit\"
  git diff | pi-subagents run --name review --timeout 120 -
  pi-subagents run --preset scout --model anthropic/claude-haiku-4-5 \"Where are errors handled?\"
  pi-subagents run --agent '[\"my-agent\", \"--fast\"]' --json \"Count the tests\"")]
pub(crate) struct Run {
    /// What the agent is told; `-` reads it from standard input
    pub(crate) prompt: String,

    /// The profile that configures the agent
    #[arg(long, add = ArgValueCandidates::new(candidates::profiles))]
    pub(crate) profile: Option<String>,

    /// The preset that configures the agent; it must name a model, unless --model does
    #[arg(long, conflicts_with = "profile", add = ArgValueCandidates::new(candidates::presets))]
    pub(crate) preset: Option<String>,

    /// A file to put in front of the prompt: `PATH`, `PATH:START-END`, `PATH:START-` or
    /// `PATH:-END`; can be repeated
    #[arg(long = "file", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<String>,

    /// The id of a session to continue, or the beginning of one
    #[arg(long, value_name = "SESSION", add = ArgValueCandidates::new(candidates::sessions))]
    pub(crate) resume: Option<String>,

    /// Stop the agent after this time, unless a tool was active shortly before [default: 600; with
    /// a preset what it says, else never]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,

    /// What the task is called [default: `task`, or the name of the preset]
    #[arg(long)]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) work: WorkArguments,

    #[command(flatten)]
    pub(crate) agent: AgentArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) notify: NotifyArguments,
}

/// Run many tasks, a few at a time
///
/// The tasks are those of the tool `delegate_to_subagents`: a JSON object with `tasks`, a list of
/// objects with `name` and `prompt`, and perhaps `cwd`, `profile`, `timeout`, `resume` and `files`;
/// and perhaps a default `profile`. A line about each task goes to standard output;
/// `sessions output ID` prints an answer. On a terminal the agents are shown while they work, and
/// `?` lists the keys.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents delegate tasks.json
  echo '{\"tasks\": [{\"name\": \"a\", \"prompt\": \"Count the tests\"}]}' | pi-subagents delegate -")]
pub(crate) struct Delegate {
    /// A file with the tasks as JSON; `-` reads them from standard input
    #[arg(default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: String,

    /// How many tasks run at a time [default: `subagents.maxConcurrency` in the settings, else 4]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) concurrency: Option<u16>,

    #[command(flatten)]
    pub(crate) agent: AgentArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) notify: NotifyArguments,
}

/// Watch what runs, whoever has started it
///
/// Shows the runs that were started in the background, by pi, or in another shell. On a terminal
/// there is a window for each, and `?` lists the keys; elsewhere a line for each thing that happens.
/// A line about each run that ends goes to standard output. `q` and Ctrl-C end the watching, not the
/// runs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents watch
  pi-subagents watch --follow
  pi-subagents watch $(pi-subagents bg start --preset scout \"Where are errors handled?\")")]
pub(crate) struct Watch {
    /// Runs or sessions, or the beginnings of their ids [default: everything that runs in this
    /// project, also what is started later]
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::sessions))]
    pub(crate) ids: Vec<String>,

    /// Stay when nothing runs any more, for what is started later
    #[arg(short, long, conflicts_with = "ids")]
    pub(crate) follow: bool,

    /// Plain lines without colours, also on a terminal
    #[arg(long)]
    pub(crate) plain: bool,
}

/// Where one task is worked on, and with which model.
#[derive(Debug, Args)]
pub(crate) struct WorkArguments {
    /// Where the agent works: an absolute path without `..` [default: the current directory]
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<String>,

    /// The model, in the agent's own words, such as `provider/id`
    #[arg(long)]
    pub(crate) model: Option<String>,
}

/// Which agent runs.
#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// The child agent: `pi`, `builtin`, or a JSON array of a program and its arguments
    /// [default: what the profile or preset says, else $PI_SUBAGENTS_AGENT, else `subagents.agent` in the
    /// settings, else `pi` where it is installed, else `builtin`]
    #[arg(long, add = ArgValueCandidates::new(candidates::agents))]
    pub(crate) agent: Option<String>,

    /// Let the project's own profiles and presets load extensions and pass arguments, this once
    #[arg(long)]
    pub(crate) approve: bool,
}

/// See six agents work on this directory, without a key, a network or an installation
///
/// They read, search and count the files of the current directory; their models play scripts. One
/// of them repeats itself and is stopped, one hangs, runs out of time and is resumed, and one works
/// in the background. Nothing is changed but that the runs are recorded.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents demo
  pi-subagents demo --plain")]
pub(crate) struct Demo {
    /// Plain lines without colours, also on a terminal
    #[arg(long)]
    pub(crate) plain: bool,
}

/// How results are shown.
#[derive(Debug, Args)]
pub(crate) struct OutputArguments {
    /// Print one JSON document with the results
    #[arg(long)]
    pub(crate) json: bool,

    /// Plain lines without colours, also on a terminal
    #[arg(long)]
    pub(crate) plain: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds >= 0.001 && seconds.is_finite() => Ok(seconds),
        _ => Err("must be a number of seconds, at least 0.001".to_owned()),
    }
}

/// Look at what was run in this project
///
/// A session is the runs that continue one another. The beginning of an id is enough where no other
/// session has it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents sessions list
  pi-subagents sessions show 0123456789abcdef
  pi-subagents sessions output 0123
  pi-subagents sessions export 0123 --format html --output session.html")]
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
    /// Print what the agent of a session did and said
    #[command(after_help = "\
Examples:
  pi-subagents sessions show 0123456789abcdef
  pi-subagents sessions show 0123 | less")]
    Show(SessionArguments),
    /// Print the last answer of a session
    #[command(after_help = "\
Examples:
  pi-subagents sessions output 0123456789abcdef > review.md")]
    Output(SessionArguments),
    Export(Export),
    /// Remove old runs
    ///
    /// Runs that are still alive always stay.
    #[command(after_help = "\
Examples:
  pi-subagents sessions prune
  pi-subagents sessions prune --keep 100 --days 7")]
    Prune {
        /// Keep at most this many finished runs
        #[arg(long, value_name = "RUNS", default_value_t = Retention::DEFAULT.runs)]
        keep: usize,
        /// Keep runs that ended less than this many days ago
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

/// Print a session as one document
///
/// All runs with their prompts, messages, tool calls and results, usage and outcome. An HTML page needs
/// no other file and runs nothing; JSON has the events as they are recorded.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents sessions export 0123456789abcdef > session.md
  pi-subagents sessions export 0123 --format html --output session.html
  pi-subagents sessions export 0123 --format json | jq '.runs[].prompt'")]
pub(crate) struct Export {
    /// A session id or a run id, or the beginning of one
    #[arg(add = ArgValueCandidates::new(candidates::sessions))]
    pub(crate) id: String,
    /// The form of the document
    #[arg(long, value_enum, default_value_t = ExportFormat::Md)]
    pub(crate) format: ExportFormat,
    /// Write it to this file, which only you can read, instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// The form of an exported session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Markdown
    Md,
    /// One HTML file
    Html,
    /// One JSON document
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct SessionArguments {
    /// A session id or a run id, or the beginning of one
    #[arg(add = ArgValueCandidates::new(candidates::sessions))]
    pub(crate) id: String,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Supervise {
    /// The run's directory
    pub(crate) run_dir: PathBuf,
    /// Standard input is a socket to the parent
    #[arg(long)]
    pub(crate) lifeline: bool,
    /// Standard output is a socket to a viewer
    #[arg(long)]
    pub(crate) screen: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_that_people_type_says_what_it_does_and_gives_an_example() {
        fn check(command: &clap::Command, path: &str) {
            assert!(command.get_about().is_some(), "{path} says nothing");
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            // The bridge is started by the extension only.
            if path != NAME && path != "pi-subagents bridge" {
                assert!(help.starts_with("Examples:\n  "), "{path} has no example: {help}");
            }
            for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
                check(inner, &format!("{path} {}", inner.get_name()));
            }
        }
        check(&Arguments::command(), NAME);
        Arguments::command().debug_assert();
    }
}
