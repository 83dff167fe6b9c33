//! The command line of the built-in agent, which is pi's.

use std::path::PathBuf;

use agent::invocation::{Invocation, Mode, ToolChoice};
use clap::{Args, ValueEnum};

/// Run the built-in agent itself, started like pi
///
/// It takes pi's arguments and prints what pi prints, so that whatever starts pi can start it.
/// Models and keys are looked for where pi looks for them: `models.json`, `auth.json` and
/// `settings.json` in the agent directory, and the variables of the providers.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents agent -p \"What does this project do?\"
  pi-subagents agent --mode json -p --no-session --model anthropic/claude-sonnet-5 < prompt.md
  pi-subagents agent -p --model script/turns.json \"Count the files\"")]
pub(crate) struct Agent {
    /// The prompts, one after the other; what comes on standard input belongs to the first. A file
    /// is put in front of it with `@PATH`
    #[arg(value_name = "PROMPT")]
    messages: Vec<String>,

    /// What is printed: the answer, or everything that happens
    #[arg(long, value_enum, default_value_t = OutputMode::Text)]
    mode: OutputMode,

    /// Answer and exit, which this agent always does
    #[arg(short, long)]
    print: bool,

    /// The provider of the model
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    provider: Option<String>,

    /// The model: `ID`, `PROVIDER/ID`, or either with `:THINKING`; `script/FILE` plays a file
    #[arg(long, allow_hyphen_values = true)]
    model: Option<String>,

    /// How much the model thinks: off, minimal, low, medium, high, xhigh or max
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true)]
    thinking: Option<String>,

    /// What replaces the system prompt: a text, or a file with it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    system_prompt: Option<String>,

    /// What is added to the system prompt: a text, or a file with it; can be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    append_system_prompt: Vec<String>,

    /// Only these tools, of read, bash, edit, write, grep, find and ls
    /// [default: read,bash,edit,write]
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    tools: Option<Vec<String>>,

    /// Not these tools
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    exclude_tools: Vec<String>,

    /// No tools at all
    #[arg(long)]
    no_tools: bool,

    /// A skill's file or directory; can be repeated
    #[arg(long = "skill", value_name = "PATH")]
    skills: Vec<PathBuf>,

    /// Do not look for skills
    #[arg(long)]
    no_skills: bool,

    /// Do not look for AGENTS.md and CLAUDE.md
    #[arg(long)]
    no_context_files: bool,

    /// Not available: extensions are programs for pi
    #[arg(short, long = "extension", value_name = "PATH", hide = true)]
    extensions: Vec<String>,

    /// Load no extensions, which this agent never does
    #[arg(long)]
    no_extensions: bool,

    /// Keep the conversation in this file, and go on with the one that is in it
    #[arg(long, value_name = "PATH", conflicts_with = "no_session")]
    session: Option<PathBuf>,

    /// Keep the conversation nowhere, which is what happens without --session
    #[arg(long)]
    no_session: bool,

    /// Trust the project's own skills and prompts, this once
    #[arg(short, long, overrides_with = "no_approve")]
    approve: bool,

    /// Do not trust them, which is what happens without --approve
    #[arg(long, overrides_with = "approve")]
    no_approve: bool,

    /// Options of pi that change nothing here
    #[command(flatten)]
    idle: Idle,
}

/// What pi understands, and what makes no difference to an agent that has no extensions, no
/// terminal, and asks nobody but the provider. Refused, it would keep a caller from using us.
#[derive(Debug, Args)]
struct Idle {
    #[arg(long, hide = true)]
    no_prompt_templates: bool,
    #[arg(long, hide = true)]
    no_themes: bool,
    #[arg(long, hide = true)]
    offline: bool,
    #[arg(long, hide = true)]
    verbose: bool,
    #[arg(short, long, hide = true, allow_hyphen_values = true)]
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OutputMode {
    Text,
    Json,
}

impl Agent {
    /// Whether pi would be asked to load an extension.
    pub(crate) fn extension(&self) -> Option<&str> {
        self.extensions.first().map(String::as_str)
    }

    /// The same in the agent's words.
    pub(crate) fn invocation(self, piped: Option<String>) -> Invocation {
        Invocation {
            mode: match self.mode {
                OutputMode::Text => Mode::Text,
                OutputMode::Json => Mode::Json,
            },
            messages: self.messages,
            piped,
            provider: self.provider,
            model: self.model,
            thinking: self.thinking,
            system_prompt: self.system_prompt,
            append_system_prompt: self.append_system_prompt,
            tools: ToolChoice {
                only: self.tools,
                excluded: self.exclude_tools,
                none: self.no_tools,
            },
            skills: self.skills,
            no_skills: self.no_skills,
            no_context_files: self.no_context_files,
            approve: self.approve,
            session: self.session,
        }
    }
}
