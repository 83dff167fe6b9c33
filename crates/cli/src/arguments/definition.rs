//! The command lines of `profile` and `preset`.

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;

use super::agent_names;
use crate::candidates;

/// List, create and edit profiles
///
/// A profile is a file that configures an agent for a task.
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
    /// List the profiles
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
    /// Show everything about a profile, with its key masked
    #[command(after_help = "\
Examples:
  pi-subagents profile show reviewer")]
    Show {
        /// The name of the profile
        #[arg(add = ArgValueCandidates::new(candidates::profiles))]
        name: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Create a profile, step by step or from options
    #[command(
        alias = "new",
        after_help = "\
Examples:
  pi-subagents profile create reviewer
  pi-subagents profile create fast --model anthropic/claude-haiku-4-5 --tools read,grep
  pi-subagents profile create reviewer --project --system-prompt \"$(cat reviewer.md)\"

Without options it asks step by step, which needs a terminal. There is no option for a key, because
other users can see a command line: write `apiKey:` into the file."
    )]
    Create {
        /// The name of the profile: letters, digits, hyphens, underscores
        name: String,
        #[command(flatten)]
        fields: Box<ProfileFields>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Change a profile, step by step, in an editor or from options
    #[command(after_help = "\
Examples:
  pi-subagents profile edit reviewer
  pi-subagents profile edit reviewer --editor
  pi-subagents profile edit reviewer --model anthropic/claude-opus-4-5 --no-tools=false
  pi-subagents profile edit reviewer --model \"\"          # removes the model

Without options it asks step by step, with the current values, which needs a terminal.")]
    Edit {
        /// The name of the profile
        #[arg(add = ArgValueCandidates::new(candidates::own_profiles))]
        name: String,
        /// Open the file in $VISUAL or $EDITOR, instead of changing fields with options
        #[arg(long)]
        editor: bool,
        #[command(flatten)]
        fields: Box<ProfileFields>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Copy a definition of Claude Code, as a profile of your own that you can change
    #[command(after_help = "\
Examples:
  pi-subagents profile import code-reviewer
  pi-subagents profile import code-reviewer --project")]
    Import {
        /// The name of the definition, a file in `.claude/agents`
        #[arg(add = ArgValueCandidates::new(candidates::foreign_profiles))]
        name: String,
        /// Save it with the project, instead of for all projects
        #[arg(long)]
        project: bool,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Delete a profile, both the user's and the project's
    #[command(aliases = ["rm", "remove"], after_help = "\
Examples:
  pi-subagents profile delete reviewer")]
    Delete {
        /// The name of the profile
        #[arg(add = ArgValueCandidates::new(candidates::own_profiles))]
        name: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// The options for the fields of a profile. An empty text removes a field.
#[derive(Debug, Args)]
pub(crate) struct ProfileFields {
    #[command(flatten)]
    pub(crate) shared: DefinitionFields,
    /// Replace the agent's system prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) system_prompt: Option<String>,
}

/// The options for the fields of a preset. An empty text removes a field.
#[derive(Debug, Args)]
pub(crate) struct PresetFields {
    #[command(flatten)]
    pub(crate) shared: DefinitionFields,
    /// Stop the agent after this time, such as `90`, `90s`, `5m` or `1h`
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
}

/// The options for the fields that profiles and presets share.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct DefinitionFields {
    /// Save it for all projects [default, unless it is already the project's]
    #[arg(long, conflicts_with = "project")]
    pub(crate) global: bool,
    /// Save it with the project
    #[arg(long)]
    pub(crate) project: bool,
    /// Say what it is good for
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Use a model of this provider
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Use this model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Continue with these models, separated by commas, when the one before has failed for good
    #[arg(long, value_name = "MODELS")]
    pub(crate) fallback_models: Option<String>,
    /// Set how much the model thinks
    #[arg(long, value_name = "LEVEL")]
    pub(crate) thinking_level: Option<String>,
    /// Add this to the agent's system prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) append_system_prompt: Option<String>,
    /// Allow only these tools, separated by commas
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,
    /// Allow all tools except these, separated by commas
    #[arg(long, value_name = "TOOLS")]
    pub(crate) exclude_tools: Option<String>,
    /// Allow no tools
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_tools: Option<bool>,
    /// Load these extensions, separated by commas
    #[arg(long, value_name = "PATHS")]
    pub(crate) extensions: Option<String>,
    /// Load no extensions except those of --extensions
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_extensions: Option<bool>,
    /// Tell the model about these skills, separated by commas
    #[arg(long, value_name = "SKILLS")]
    pub(crate) suggested_skills: Option<String>,
    /// Add these skills to the system prompt, separated by commas
    #[arg(long, value_name = "SKILLS")]
    pub(crate) load_skills: Option<String>,
    /// Use no skills
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_skills: Option<bool>,
    /// Read no AGENTS.md and the like
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_context_files: Option<bool>,
    /// Let the agent change this much at most: read, workspace or full
    #[arg(long, value_name = "ACCESS")]
    pub(crate) access: Option<String>,
    #[arg(
        long,
        value_name = "AGENT",
        help = format!("Use this agent: {}, or one that the settings name", agent_names())
    )]
    pub(crate) agent: Option<String>,
}

/// List, create and edit presets
///
/// A preset is a file that describes a specialised agent.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents init
  pi-subagents preset list
  pi-subagents preset create scout
  pi-subagents preset show scout")]
pub(crate) struct Preset {
    #[command(subcommand)]
    pub(crate) command: PresetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PresetCommand {
    /// List the presets
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
    /// Show everything about a preset
    #[command(after_help = "\
Examples:
  pi-subagents preset show scout")]
    Show {
        /// The name of the preset
        #[arg(add = ArgValueCandidates::new(candidates::presets))]
        name: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Create a preset, step by step or from options
    #[command(
        alias = "new",
        after_help = "\
Examples:
  pi-subagents preset create scout
  pi-subagents preset create scout --description \"Explores a repository\" --tools read,grep,find,ls
  pi-subagents preset create tester --project --description \"Writes tests\" --timeout 20m

Without options it asks step by step, which needs a terminal. A preset needs a description."
    )]
    Create {
        /// The name of the preset: letters, digits, hyphens, underscores
        name: String,
        #[command(flatten)]
        fields: Box<PresetFields>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Change a preset, step by step, in an editor or from options
    #[command(after_help = "\
Examples:
  pi-subagents preset edit scout
  pi-subagents preset edit scout --editor
  pi-subagents preset edit scout --model anthropic/claude-haiku-4-5 --timeout \"\"

Without options it asks step by step, with the current values, which needs a terminal.")]
    Edit {
        /// The name of the preset
        #[arg(add = ArgValueCandidates::new(candidates::presets))]
        name: String,
        /// Open the file in $VISUAL or $EDITOR, instead of changing fields with options
        #[arg(long)]
        editor: bool,
        #[command(flatten)]
        fields: Box<PresetFields>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Delete a preset, both the user's and the project's
    #[command(aliases = ["rm", "remove"], after_help = "\
Examples:
  pi-subagents preset delete scout")]
    Delete {
        /// The name of the preset
        #[arg(add = ArgValueCandidates::new(candidates::presets))]
        name: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}
