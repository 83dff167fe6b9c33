//! From a request to a plan: everything that is decided before anything is started.
//!
//! The process's environment is read once, into [`Surroundings`], so that every decision can be
//! tested. The one thing written here are profiles and presets.

mod agent;
mod definition;
mod files;
mod frontmatter;
mod plain_file;
mod request;
mod runner_choice;
mod settings;
mod similar;
mod skills;
mod surroundings;
mod trust;

pub use agent::{Agent, AgentChoice, AgentError, AgentReason};
pub use definition::{
    AgentName, ApiKey, Contradiction, Definition, DefinitionDirectories, DefinitionFileError,
    DefinitionKind, Definitions, InvalidDefinitionName, Invocation, InvocationContext,
    InvocationError, Scope, ThinkingLevel, UnknownDefinition, check_definition,
    check_definition_name, create_definition, definition_detail, definition_summary,
    delete_definition, invocation, load_definitions, to_markdown, update_definition,
};
pub use files::{FileSpec, Lines, with_files};
pub use frontmatter::FileWarning;
pub use request::{AppliedDefinition, Request, check_cwd, plan};
pub use runner_choice::{Runner, RunnerChoice, RunnerError, load_runner};
pub use settings::{
    SETTINGS, Settings, SettingsFile, ToolFamilies, inspect_settings, load_settings,
};
pub use similar::{did_you_mean, name_distance, similar_ids, similar_names};
pub use skills::{
    LoadedSkill, ResolvedSkills, Skill, SkillError, SkillPlaces, Skills, discover_skills,
    with_skill_paths,
};
pub use surroundings::{Surroundings, SurroundingsError, is_planted};
pub use trust::{Trust, project_trust};
