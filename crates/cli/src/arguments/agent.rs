//! The command line of the built-in agent, which is pi's.

use std::path::PathBuf;

use agent::invocation::{Invocation, Mode, ToolChoice};
use clap::{Args, ValueEnum};

/// Run the built-in agent directly, with pi's arguments
///
/// The agent takes pi's arguments and prints pi's output, so programs that start pi can start it
/// instead. It reads models and keys where pi does: from `models.json`, `auth.json` and
/// `settings.json` in the agent directory, and from the providers' environment variables.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents agent -p \"What does this project do?\"
  pi-subagents agent --mode json -p --no-session --model anthropic/claude-sonnet-5 < prompt.md
  pi-subagents agent -p --model script/turns.json \"Count the files\"")]
pub(crate) struct Agent {
    /// The prompts, one after another. Standard input is added to the first, and `@PATH` puts a file
    /// in front of it
    #[arg(value_name = "PROMPT")]
    messages: Vec<String>,

    /// Print the answer (text) or every event (json), or also take commands on standard input (rpc)
    #[arg(long, value_enum, default_value_t = OutputMode::Text)]
    mode: OutputMode,

    /// Answer and exit; this agent always does
    #[arg(short, long)]
    print: bool,

    /// Use a model of this provider
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    provider: Option<String>,

    /// Use this model: `ID`, `PROVIDER/ID`, or either with `:THINKING`; `script/FILE` plays a file
    #[arg(long, allow_hyphen_values = true)]
    model: Option<String>,

    /// Continue with this model when the one before has failed for good; can be repeated
    #[arg(long = "fallback-model", value_name = "MODEL", allow_hyphen_values = true)]
    fallback_models: Vec<String>,

    /// Set how much the model thinks: off, minimal, low, medium, high, xhigh or max
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true)]
    thinking: Option<String>,

    /// Replace the system prompt with this text, or with the content of a file
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    system_prompt: Option<String>,

    /// Add this text, or the content of a file, to the system prompt; can be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    append_system_prompt: Vec<String>,

    /// Allow only these tools, of read, bash, edit, write, grep, find and ls
    /// [default: read,bash,edit,write]
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    tools: Option<Vec<String>>,

    /// Do not allow these tools
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    exclude_tools: Vec<String>,

    /// Allow no tools
    #[arg(long)]
    no_tools: bool,

    /// Add the skill in this file or directory; can be repeated
    #[arg(long = "skill", value_name = "PATH")]
    skills: Vec<PathBuf>,

    /// Do not look for skills
    #[arg(long)]
    no_skills: bool,

    /// Do not look for AGENTS.md and CLAUDE.md
    #[arg(long)]
    no_context_files: bool,

    /// Refused: extensions are programs for pi
    #[arg(short, long = "extension", value_name = "PATH", hide = true)]
    extensions: Vec<String>,

    /// Load no extensions; this agent never does
    #[arg(long)]
    no_extensions: bool,

    /// Save the conversation in this file, and continue the one in it
    #[arg(long, value_name = "PATH", conflicts_with = "no_session")]
    session: Option<PathBuf>,

    /// Do not save the conversation; this is the default
    #[arg(long)]
    no_session: bool,

    /// Trust the project this once: use its skills and prompts
    #[arg(short, long, overrides_with = "no_approve")]
    approve: bool,

    /// Do not trust the project; this is the default
    #[arg(long, overrides_with = "approve")]
    no_approve: bool,

    #[command(flatten)]
    ignored: Ignored,
}

/// Options of pi that have no effect on an agent without extensions, terminal and update checks. They
/// are accepted so that a caller of pi can start this agent with the same arguments.
#[derive(Debug, Args)]
struct Ignored {
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
    Rpc,
}

impl Agent {
    /// The first extension that the caller asks for.
    pub(crate) fn extension(&self) -> Option<&str> {
        self.extensions.first().map(String::as_str)
    }

    /// Whether standard input has commands, and no prompt.
    pub(crate) fn has_commands(&self) -> bool {
        self.mode == OutputMode::Rpc
    }

    pub(crate) fn invocation(self, piped: Option<String>) -> Invocation {
        Invocation {
            mode: match self.mode {
                OutputMode::Text => Mode::Text,
                OutputMode::Json => Mode::Json,
                OutputMode::Rpc => Mode::Rpc,
            },
            messages: self.messages,
            piped,
            provider: self.provider,
            model: self.model,
            fallback_models: self.fallback_models,
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
