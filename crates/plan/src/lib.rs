//! From a request to a plan: everything that is decided before anything is started.
//!
//! The process's environment is read once, into [`Surroundings`], so that every decision can be
//! tested. Profiles and presets are the only files that this crate writes.

mod access;
mod agent;
mod agent_choice;
mod call;
mod default_provider;
mod definition;
mod files;
mod frontmatter;
mod launcher_choice;
mod models;
mod new_id;
mod plain_file;
mod refusal;
mod settings;
mod similar;
mod skills;
mod surroundings;
mod trust;
mod workspace;

pub use access::writable_paths;
pub use agent::{Agent, NamedAgent, UnknownAgent, agent_names};
pub use agent_choice::{AgentChoice, AgentError, AgentReason, needs_builtin_key};
pub use call::{
    ContinuedSession, PlanOptions, PlannedTask, PlannedTasks, Task, check_tasks, named_server,
    plan_tasks,
};
pub use definition::{
    Contradiction, Definition, DefinitionDirectories, DefinitionFileError, DefinitionKind,
    DefinitionOrigin, Definitions, InvalidDefinitionName, Scope, UnknownDefinition,
    check_definition, check_definition_name, create_definition, definition_detail,
    definition_of_text, definition_summary, delete_definition, import_definition, load_definitions,
    to_markdown, update_definition,
};
pub use files::{FileProblem, FileSpec, Lines, check_file, with_files};
pub use frontmatter::FileWarning;
pub use launcher_choice::{
    LauncherChoice, LauncherChoiceError, LauncherKind, load_launcher_choice,
};
pub use models::{UnknownModel, resolve_model};
pub use new_id::new_id;
pub use protocol::{
    ApiKey, Configuration, KnownAgent, Protocol, SignIn, ThinkingLevel, Version, VersionQuestion,
    known_agents,
};
pub use refusal::Refusal;
pub use settings::{
    FleetSettings, SETTINGS, Settings, SettingsFile, ToolFamilies, inspect_settings, load_settings,
};
pub use similar::{did_you_mean, name_distance, similar_ids, similar_names};
pub use skills::{Skill, SkillError, Skills, discover_skills, with_skill_paths};
pub use surroundings::{Surroundings, SurroundingsError, is_planted};
pub use trust::{Trust, project_trust};
pub use workspace::Workspace;
