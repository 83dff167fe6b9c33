//! The command line.

mod agent;
mod answer;
mod background;
mod changes;
mod completions;
mod definition;
mod doctor;
mod fleet;
mod init;
mod man;
mod models;
mod sessions;
mod setup;
mod status;
mod tell;
mod worker;

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};
use clap_complete::ArgValueCandidates;
use model::{Access, Budget};

use crate::candidates;
use crate::notification::NotifyArguments;

pub(crate) use agent::Agent;
pub(crate) use answer::Answer;
pub(crate) use background::{Background, BackgroundCommand, List, Logs, Start, Status, Stop, Wait};
pub(crate) use changes::{Changes, ChangesCommand, NamedChanges};
pub(crate) use completions::{Completions, Shell};
pub(crate) use definition::{
    DefinitionFields, Preset, PresetCommand, PresetFields, Profile, ProfileCommand, ProfileFields,
};
pub(crate) use doctor::Doctor;
pub(crate) use fleet::{Fleet, FleetCommand, FleetInit, FleetResults, FleetSubmit, NamedBatch};
pub(crate) use init::Init;
pub(crate) use man::Man;
pub(crate) use models::Models;
pub(crate) use sessions::{Export, ExportFormat, SessionArguments, Sessions, SessionsCommand};
pub(crate) use setup::{Setup, SetupClient, SetupCommand, SetupPi, SetupScope};
pub(crate) use status::MachineStatus;
pub(crate) use tell::Tell;
pub(crate) use worker::{OnArguments, Relay, ServerArguments, Worker};

pub(crate) const NAME: &str = "pi-subagents";

/// Hand tasks to sub-agents, each under its own supervisor
#[derive(Debug, Parser)]
#[command(name = NAME, version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Those of this process.
    pub(crate) fn read() -> Result<Arguments, clap::Error> {
        Arguments::try_parse().or_else(|error| {
            if error.kind() == ErrorKind::DisplayVersion {
                return Err(error);
            }
            // Help and mistakes are told with what is known of every command.
            let mut command = Arguments::command();
            command.build();
            Arguments::from_arg_matches(&command.try_get_matches()?)
        })
    }

    pub(crate) fn is_plain(&self) -> bool {
        match &self.command {
            Command::Run(run) => run.output.plain,
            Command::Delegate(delegate) => delegate.output.plain,
            Command::Background(Background { command: BackgroundCommand::Start(start) }) => {
                start.output.plain
            }
            Command::Demo(output) => output.plain,
            Command::Watch(watch) => watch.plain,
            Command::Fleet(Fleet { command: FleetCommand::Watch { plain, .. } })
            | Command::Sessions(Sessions { command: SessionsCommand::Show { plain, .. } }) => {
                *plain
            }
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
                | Command::Fleet(Fleet { command: FleetCommand::Submit(_) })
                | Command::Doctor(Doctor { ping: true, .. })
                | Command::Bridge
                | Command::Supervise(_)
                | Command::Worker(_)
        )
    }
}

const EXIT_CODES: &str = "\
Exit codes:
  0    every task completed
  1    a task failed, also one whose output `sessions output` prints, `bg wait` timed out, `tell` or
       `answer` was refused, `doctor` found a problem, `models` found no model, or the answer could
       not be printed
  2    no task was started: the command line, a profile, preset or model, a name, an id or a setting
       is wrong
  130  interrupted by a signal";

/// Most commands have their help text at the struct of their arguments. A doc comment here would
/// replace it.
///
/// The arguments of a command are declared when it is called: those of all commands take half a megabyte and half a
/// millisecond, which every supervisor would pay for.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Demo(Demo),
    Run(Run),
    Delegate(Delegate),
    #[command(name = "bg")]
    Background(Background),
    Watch(Watch),
    #[command(name = "status")]
    MachineStatus(MachineStatus),
    Tell(Tell),
    Answer(Answer),
    Changes(Changes),
    Fleet(Fleet),
    Profile(Profile),
    Preset(Preset),
    Sessions(Sessions),
    Init(Init),
    Models(Models),
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
    Worker(Worker),
    /// Run the agent of a run directory (started by the other commands)
    #[command(hide = true)]
    Supervise(Supervise),
    /// Stand for an agent on another machine (started by supervisors)
    #[command(hide = true)]
    Relay(Relay),
    /// Compare an answer with its schema (started by supervisors)
    #[command(hide = true)]
    Fits,
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
  git diff | pi-subagents run --name review --timeout 2m -
  pi-subagents run --resume review \"Now fix what you found\"
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

    /// Continue this session, with its name: a task's name, `@last`, or the id of a session or run, or
    /// its beginning
    #[arg(long, value_name = "SESSION", add = ArgValueCandidates::new(candidates::sessions))]
    pub(crate) resume: Option<String>,

    /// Stop the agent after this time, such as `90`, `90s`, `5m` or `1h`. An agent with a tool at work
    /// gets 30 seconds more, or what `extend_timeout_debounce` in the settings says [default: 10m; with a
    /// preset, the preset's timeout or none]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,

    /// Name the task [default: the name of the resumed task or of the preset, else `task`]
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

    #[command(flatten)]
    pub(crate) notify: NotifyArguments,
}

/// Run many tasks, a few at a time
///
/// The input is a JSON list of tasks, or an object with a list of `tasks` and, optionally, a `profile`
/// for all of them. A task has a `name` and a `prompt` and, optionally, `cwd`, `profile`, `model`,
/// `agent`, `access`, `isolation`, `timeout`, `resume`, `files` and `schema`, a JSON Schema or the path of a file with one;
/// what it does not say, the options say. `resume` names a session as `run --resume` does. One line for each task goes to standard output, and then what each
/// agent said. On a terminal you see the agents work; press `?` for the keys.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents delegate tasks.json
  pi-subagents delegate tasks.json --preset scout --timeout 5m --output-dir answers
  echo '[{\"name\": \"a\", \"prompt\": \"Count the tests\"}]' | pi-subagents delegate -")]
pub(crate) struct Delegate {
    /// The file with the tasks; `-` reads them from standard input
    #[arg(default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: String,

    /// Configure those tasks with this profile that name none
    #[arg(long, add = ArgValueCandidates::new(candidates::profiles))]
    pub(crate) profile: Option<String>,

    /// Configure those tasks with this preset that name no profile
    #[arg(long, conflicts_with = "profile", add = ArgValueCandidates::new(candidates::presets))]
    pub(crate) preset: Option<String>,

    /// Use this model for those tasks that name none
    #[arg(long)]
    pub(crate) model: Option<String>,

    /// Continue with this model when the provider of the one before refuses; can be repeated
    /// [default: `fallbackModels` of the profile or preset]
    #[arg(long = "fallback-model", value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) fallback_models: Vec<String>,

    /// Stop those tasks after this time, such as `90s` or `5m`, that say none. An agent
    /// with a tool at work gets 30 seconds more, or what `extend_timeout_debounce` in the settings says
    /// [default: 10m; with a preset, the preset's timeout or none]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,

    /// Run this many tasks at a time [default: `subagents.maxConcurrency` in the settings, else 4]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) concurrency: Option<u16>,

    /// Print only the line for each task, and no answers
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,

    /// Also write the answer of each task to a file of its name, `NAME.md`, in this directory
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub(crate) output_dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) demands: DemandArguments,

    #[command(flatten)]
    pub(crate) budget: BudgetArguments,

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
  pi-subagents watch @last
  pi-subagents watch $(pi-subagents bg start --preset scout \"Where are errors handled?\")")]
pub(crate) struct Watch {
    /// Names of tasks, `@last` (the last call), or ids of runs, sessions or calls, or their beginnings
    /// [default: everything that runs in this project, also runs that start later]
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::sessions))]
    pub(crate) ids: Vec<String>,

    /// Wait for new runs when nothing runs
    #[arg(short, long, conflicts_with = "ids")]
    pub(crate) follow: bool,

    /// Show what runs in all of your projects on this machine
    #[arg(long, conflicts_with = "ids")]
    pub(crate) everywhere: bool,

    /// Print plain lines without colours, also on a terminal
    #[arg(long)]
    pub(crate) plain: bool,

    #[command(flatten)]
    pub(crate) notify: NotifyArguments,
}

#[derive(Debug, Args)]
pub(crate) struct WorkArguments {
    /// Let the agent work in this directory [default: the current directory]
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<String>,

    /// Use this model, by a name that the agent understands, such as `provider/id`
    #[arg(long)]
    pub(crate) model: Option<String>,

    /// Continue with this model when the provider of the one before refuses; can be repeated
    /// [default: `fallbackModels` of the profile or preset]
    #[arg(long = "fallback-model", value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) fallback_models: Vec<String>,
}

/// What is asked of an answer and of the work behind it.
#[derive(Debug, Args)]
pub(crate) struct DemandArguments {
    /// Check the work with this command for `sh` when the agent has finished. If it fails, the agent is
    /// told once, where it can be spoken to, and the check runs again [default: the check of the profile
    /// or preset]
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub(crate) check: Option<String>,

    /// Stop the check after this time, such as `90s` or `5m`; it has failed then [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) check_timeout: Option<f64>,

    /// Demand an answer that is JSON and fits the JSON Schema in this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) schema: Option<PathBuf>,
}

/// What may be spent: by the run, or by all tasks of a call together.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct BudgetArguments {
    /// Stop when this many US dollars are spent, such as `0.50`; `delegate` counts all tasks together
    /// [default: `budget` of the profile or preset]
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    max_cost: Option<f64>,

    /// Stop when this many tokens are spent, also those from the provider's cache
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,

    /// Stop after this many messages of the model
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    max_turns: Option<u64>,
}

impl BudgetArguments {
    pub(crate) fn budget(self) -> Budget {
        let BudgetArguments { max_cost, max_tokens, max_turns } = self;
        Budget { tokens: max_tokens, cost_usd: max_cost, turns: max_turns }
    }
}

#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    #[arg(long, help = agent_help(), add = ArgValueCandidates::new(candidates::agents))]
    pub(crate) agent: Option<String>,

    /// Let the agent change this much at most: `read` (nothing but its own records), `workspace` (its
    /// directory and build caches) or `full` [default: the least that the profile or preset, the
    /// task, the resumed session and `subagents.access` in the settings allow; without them `full` for
    /// pi and the built-in agent, else `workspace`]
    #[arg(long, value_parser = access, add = ArgValueCandidates::new(candidates::access))]
    pub(crate) access: Option<Access>,

    /// Ask me what the agent asks by its own rules and what its access does not answer, such as whether it
    /// may run a command [default: `subagents.ask` in the settings, else nothing is asked]
    #[arg(long)]
    pub(crate) ask: bool,
    /// Let each agent work in a git worktree of its own; `changes` shows, applies and merges what it changed
    #[arg(long)]
    pub(crate) worktree: bool,

    /// Trust the project this once: its profiles and presets may load extensions and pass arguments
    #[arg(long)]
    pub(crate) approve: bool,

    #[command(flatten)]
    pub(crate) on: OnArguments,
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

fn access(text: &str) -> Result<Access, String> {
    Access::parse(text).ok_or_else(|| "must be `read`, `workspace` or `full`".to_owned())
}

/// An amount of money as people type it.
fn dollars(text: &str) -> Result<f64, String> {
    match text.strip_prefix('$').unwrap_or(text).parse::<f64>() {
        Ok(dollars) if dollars > 0.0 && dollars.is_finite() => Ok(dollars),
        _ => Err("must be an amount above zero, such as 0.50".to_owned()),
    }
}

/// A time as people type it: a number of seconds, or a number with a unit.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    const UNITS: [(&str, f64); 4] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3_600.0)];
    let unit = UNITS.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)));
    let (number, unit) = unit.unwrap_or((text, 1.0));
    match number.parse::<f64>().map(|number| number * unit) {
        Ok(seconds) if seconds >= 0.001 && seconds.is_finite() => Ok(seconds),
        _ => Err("must be a time such as 90, 90s, 5m or 1h".to_owned()),
    }
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
    /// The limit of open files that the parent was started with
    #[arg(long)]
    pub(crate) open_files: Option<u64>,
}

/// The names of the agents that need no setting.
pub(crate) fn agent_names() -> String {
    plan::agent_names(&plan::Settings::default()).join(", ")
}

fn agent_help() -> String {
    format!(
        "Use this agent: {}, a name in `subagents.agents` of the settings, or a JSON array of a program and its \
         arguments [default: the agent of the profile or preset, else $PI_SUBAGENTS_AGENT, else `subagents.agent` in the \
         settings, else `pi` if it is installed, else `builtin` if it has a key, else `claude` or `codex` if it is \
         installed]",
        agent_names()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, expected) in [
            ("90", Some(90.0)),
            ("0.5", Some(0.5)),
            ("90s", Some(90.0)),
            ("5m", Some(300.0)),
            ("1.5h", Some(5_400.0)),
            ("250ms", Some(0.25)),
            ("", None),
            ("m", None),
            ("-5m", None),
            ("0", None),
            ("5 m", None),
            ("5d", None),
            ("inf", None),
            ("NaNs", None),
        ] {
            assert_eq!(seconds(text).ok(), expected, "{text}");
        }
    }

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
        let mut program = Arguments::command().disable_help_subcommand(true);
        program.build();
        check(&program, NAME);
        Arguments::command().debug_assert();
    }
}
