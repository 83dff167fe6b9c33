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
pub(crate) use setup::{Setup, SetupClient, SetupCommand, SetupPi, SetupScope};

pub(crate) const NAME: &str = "pi-subagents";

/// Hand tasks to sub-agents, each under its own supervisor
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
            Command::Background(Background { command: BackgroundCommand::Start(start) }) => {
                start.output.plain
            }
            Command::Demo(output) => output.plain,
            Command::Watch(watch) => watch.plain,
            _ => false,
        }
    }
}

impl Command {
    /// Whether a sub-agent must not run this command.
    pub(crate) fn starts_agents(&self) -> bool {
        matches!(
            self,
            Command::Demo(_)
                | Command::Run(_)
                | Command::Delegate(_)
                | Command::Background(_)
                | Command::Bridge
                | Command::Supervise(_)
        )
    }
}

const EXIT_CODES: &str = "\
Exit codes:
  0    every task completed
  1    a task failed, `bg wait` timed out, `doctor` found a problem, or the answer could not be
       printed
  2    no task was started: the command line, an id or a setting is wrong
  130  interrupted by a signal";

/// Most commands have their help text at the struct of their arguments. A doc comment here would
/// replace it.
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
    /// Serve the extension in pi (started by the extension)
    Bridge,
    /// Serve an MCP client on standard input and output (started by the client)
    ///
    /// `pi-subagents setup` writes the client's configuration. Standard output carries only the
    /// Model Context Protocol.
    #[command(after_help = "\
Examples:
  pi-subagents setup claude
  claude mcp add subagents -- pi-subagents mcp
  npx @modelcontextprotocol/inspector --cli pi-subagents mcp --method tools/list")]
    Mcp,
    /// Run the agent of a run directory (started by the other commands)
    #[command(hide = true)]
    Supervise(Supervise),
    /// Show a run in a tmux pane (started by the other commands)
    #[command(hide = true)]
    View {
        /// The socket to connect to
        socket: PathBuf,
    },
}

/// Run one task and print the agent's answer
///
/// The answer goes to standard output, everything else to standard error. On a terminal you see the
/// agent work; press `?` for the keys. Ctrl-C stops the agent and keeps what it has said; a second
/// Ctrl-C stops it at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents run \"Review the last commit\"
  git diff | pi-subagents run --name review --timeout 120 -
  pi-subagents run --preset scout --model anthropic/claude-haiku-4-5 \"Where are errors handled?\"
  pi-subagents run --agent '[\"my-agent\", \"--fast\"]' --json \"Count the tests\"")]
pub(crate) struct Run {
    /// The prompt for the agent; `-` reads it from standard input
    pub(crate) prompt: String,

    /// Configure the agent with this profile
    #[arg(long, add = ArgValueCandidates::new(candidates::profiles))]
    pub(crate) profile: Option<String>,

    /// Configure the agent with this preset; the preset or --model must name a model
    #[arg(long, conflicts_with = "profile", add = ArgValueCandidates::new(candidates::presets))]
    pub(crate) preset: Option<String>,

    /// Put a file, or some of its lines, in front of the prompt: `PATH`, `PATH:START-END`,
    /// `PATH:START-` or `PATH:-END`; can be repeated
    #[arg(long = "file", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<String>,

    /// Continue this session, given by its id or the beginning of it
    #[arg(long, value_name = "SESSION", add = ArgValueCandidates::new(candidates::sessions))]
    pub(crate) resume: Option<String>,

    /// Stop the agent after this time, or later while its tools are active [default: 600; with a
    /// preset, the preset's timeout or none]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,

    /// Name the task [default: the name of the preset, else `task`]
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
/// The input is a JSON object with a list of `tasks` and, optionally, a `profile` for all of them.
/// A task has a `name` and a `prompt` and, optionally, `cwd`, `profile`, `timeout`, `resume` and
/// `files`. One line for each task goes to standard output; `--json` and `sessions output ID` print
/// the answers. On a terminal you see the agents work; press `?` for the keys.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents delegate tasks.json
  echo '{\"tasks\": [{\"name\": \"a\", \"prompt\": \"Count the tests\"}]}' | pi-subagents delegate -")]
pub(crate) struct Delegate {
    /// The file with the tasks; `-` reads them from standard input
    #[arg(default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: String,

    /// Run this many tasks at a time [default: `subagents.maxConcurrency` in the settings, else 4]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) concurrency: Option<u16>,

    #[command(flatten)]
    pub(crate) agent: AgentArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) notify: NotifyArguments,
}

/// Show everything that runs in this project
///
/// Shows runs in the background, and runs that pi or another shell started. On a terminal each run
/// has a window; press `?` for the keys. Elsewhere each event prints one line. When a run ends, its
/// summary goes to standard output. `q` and Ctrl-C stop watching; the runs continue.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents watch
  pi-subagents watch --follow
  pi-subagents watch $(pi-subagents bg start --preset scout \"Where are errors handled?\")")]
pub(crate) struct Watch {
    /// Ids of runs or sessions, or their beginnings [default: everything that runs in this project,
    /// also runs that start later]
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::sessions))]
    pub(crate) ids: Vec<String>,

    /// Wait for new runs when nothing runs
    #[arg(short, long, conflicts_with = "ids")]
    pub(crate) follow: bool,

    /// Print plain lines without colours, also on a terminal
    #[arg(long)]
    pub(crate) plain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkArguments {
    /// Let the agent work in this directory, an absolute path without `..` [default: the current
    /// directory]
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<String>,

    /// Use this model, by a name that the agent understands, such as `provider/id`
    #[arg(long)]
    pub(crate) model: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// Use this agent: `pi`, `builtin`, or a JSON array of a program and its arguments [default: the
    /// agent of the profile or preset, else $PI_SUBAGENTS_AGENT, else `subagents.agent` in the
    /// settings, else `pi` if it is installed, else `builtin`]
    #[arg(long, add = ArgValueCandidates::new(candidates::agents))]
    pub(crate) agent: Option<String>,

    /// Trust the project this once: its profiles and presets may load extensions and pass arguments
    #[arg(long)]
    pub(crate) approve: bool,
}

/// Watch six agents work on this directory, without a key or a network
///
/// The agents read, search and count the files of the current directory; their models play scripts.
/// One repeats itself and is stopped, one hangs, times out and is resumed, and one works in the
/// background. The demo changes nothing, but it records its runs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents demo
  pi-subagents demo --plain")]
pub(crate) struct Demo {
    /// Print plain lines without colours, also on a terminal
    #[arg(long)]
    pub(crate) plain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OutputArguments {
    /// Print one JSON document with the results
    #[arg(long)]
    pub(crate) json: bool,

    /// Print plain lines without colours, also on a terminal
    #[arg(long)]
    pub(crate) plain: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds >= 0.001 && seconds.is_finite() => Ok(seconds),
        _ => Err("must be a number of seconds, at least 0.001".to_owned()),
    }
}

/// List, read, export and prune the sessions of this project
///
/// A session is a run and the runs that resumed it. The beginning of an id is enough if no other
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
    /// Print what the agents of a session did and said
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

/// Print a session as one document
///
/// The document has all runs with their prompts, messages, tool calls and results, usage and
/// outcome. HTML is a single page that loads nothing and runs nothing. JSON has the recorded events.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents sessions export 0123456789abcdef > session.md
  pi-subagents sessions export 0123 --format html --output session.html
  pi-subagents sessions export 0123 --format json | jq '.runs[].prompt'")]
pub(crate) struct Export {
    /// The id of a session or run, or the beginning of one
    #[arg(add = ArgValueCandidates::new(candidates::sessions))]
    pub(crate) id: String,
    /// Choose the format of the document
    #[arg(long, value_enum, default_value_t = ExportFormat::Md)]
    pub(crate) format: ExportFormat,
    /// Write to this file, readable only by you, instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

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
    /// The id of a session or run, or the beginning of one
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
