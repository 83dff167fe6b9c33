//! The command lines of `profile` and `preset`.

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;

use crate::candidates;

/// Look at the profiles that agents can be configured by, make and change them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents profile list
  pi-subagents profile create reviewer
  pi-subagents profile show reviewer")]
pub(crate) struct Profile {
    #[command(subcommand)]
    pub(crate) command: ProfileCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List the profiles, a line each
    #[command(
        alias = "ls",
        after_help = "\
Examples:
  pi-subagents profile list
  pi-subagents profile list --json | jq -r '.profiles[].name'"
    )]
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Print everything about a profile, with its key masked
    #[command(after_help = "\
Examples:
  pi-subagents profile show reviewer")]
    Show {
        /// Its name
        #[arg(add = ArgValueCandidates::new(candidates::profiles))]
        name: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Make a profile: step by step, or with what the options say
    #[command(
        alias = "new",
        after_help = "\
Examples:
  pi-subagents profile create reviewer
  pi-subagents profile create fast --model anthropic/claude-haiku-4-5 --tools read,grep
  pi-subagents profile create reviewer --project --system-prompt \"$(cat reviewer.md)\"

Without options it asks step by step, which needs a terminal. Keys are not given on a command line,
where others see them: write `apiKey:` into the file."
    )]
    Create {
        /// Its name: letters, digits, hyphens, underscores
        name: String,
        #[command(flatten)]
        fields: ProfileFields,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Change a profile: step by step, in an editor, or with what the options say
    #[command(after_help = "\
Examples:
  pi-subagents profile edit reviewer
  pi-subagents profile edit reviewer --editor
  pi-subagents profile edit reviewer --model anthropic/claude-opus-4-5 --no-tools=false
  pi-subagents profile edit reviewer --model \"\"          # leave the model to the agent again

Without options it asks step by step, with what is there now, which needs a terminal.")]
    Edit {
        /// Its name
        #[arg(add = ArgValueCandidates::new(candidates::profiles))]
        name: String,
        /// Open its file in $VISUAL or $EDITOR
        #[arg(long, conflicts_with_all = ProfileFields::NAMES)]
        editor: bool,
        #[command(flatten)]
        fields: ProfileFields,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Delete a profile, the user's and the project's
    #[command(aliases = ["rm", "remove"], after_help = "\
Examples:
  pi-subagents profile delete reviewer")]
    Delete {
        /// Its name
        #[arg(add = ArgValueCandidates::new(candidates::profiles))]
        name: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// What a profile says. An empty text takes away what is there.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct ProfileFields {
    /// Keep it with the user's profiles (what happens unless it is the project's)
    #[arg(long, conflicts_with = "project")]
    pub(crate) global: bool,
    /// Keep it with the project's profiles
    #[arg(long)]
    pub(crate) project: bool,
    /// The model's provider
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How much the model thinks
    #[arg(long, value_name = "LEVEL")]
    pub(crate) thinking_level: Option<String>,
    /// Replaces the agent's own system prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) system_prompt: Option<String>,
    /// Is added to the agent's system prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) append_system_prompt: Option<String>,
    /// The only tools that there are, separated by commas
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,
    /// The tools that there are not, separated by commas
    #[arg(long, value_name = "TOOLS")]
    pub(crate) exclude_tools: Option<String>,
    /// No tools at all
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_tools: Option<bool>,
    /// Extensions to load, separated by commas
    #[arg(long, value_name = "PATHS")]
    pub(crate) extensions: Option<String>,
    /// No extensions but those that are named
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_extensions: Option<bool>,
    /// Skills that the model is told about, separated by commas
    #[arg(long, value_name = "SKILLS")]
    pub(crate) suggested_skills: Option<String>,
    /// Skills that become part of the system prompt, separated by commas
    #[arg(long, value_name = "SKILLS")]
    pub(crate) load_skills: Option<String>,
    /// No skills
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_skills: Option<bool>,
    /// No AGENTS.md and the like
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_context_files: Option<bool>,
    /// The child agent: pi or builtin
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
}

impl ProfileFields {
    /// The names by which clap knows them.
    const NAMES: [&'static str; 17] = [
        "global",
        "project",
        "provider",
        "model",
        "thinking_level",
        "system_prompt",
        "append_system_prompt",
        "tools",
        "exclude_tools",
        "no_tools",
        "extensions",
        "no_extensions",
        "suggested_skills",
        "load_skills",
        "no_skills",
        "no_context_files",
        "agent",
    ];

    /// Whether nothing is said, so that everything has to be asked.
    pub(crate) fn are_absent(&self) -> bool {
        *self == ProfileFields::default()
    }
}

/// Look at the presets that agents can be configured by
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents preset list
  pi-subagents preset show scout")]
pub(crate) struct Preset {
    #[command(subcommand)]
    pub(crate) command: PresetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PresetCommand {
    /// List the presets, a line each
    #[command(
        alias = "ls",
        after_help = "\
Examples:
  pi-subagents preset list
  pi-subagents preset list --json | jq -r '.presets[].name'"
    )]
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Print everything about a preset
    #[command(after_help = "\
Examples:
  pi-subagents preset show scout")]
    Show {
        /// Its name
        #[arg(add = ArgValueCandidates::new(candidates::presets))]
        name: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}
