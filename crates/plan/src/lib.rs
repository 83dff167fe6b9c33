//! From a request to a plan: everything that is decided before anything is started.
//!
//! The process's environment is read once, into [`Surroundings`], so that every decision can be
//! tested. The one thing written here are profiles.

mod agent;
mod files;
mod frontmatter;
mod profile;
mod request;
mod settings;
mod skills;
mod surroundings;
mod trust;

pub use agent::{Agent, AgentError};
pub use files::{FileSpec, Lines, with_files};
pub use frontmatter::FileWarning;
pub use profile::{
    AgentName, ApiKey, Contradiction, InvalidProfileName, Invocation, InvocationContext,
    InvocationError, Profile, ProfileDirectories, ProfileFileError, Profiles, Scope, ThinkingLevel,
    UnknownProfile, check_profile, check_profile_name, create_profile, delete_profile, invocation,
    load_profiles, profile_detail, profile_summary, to_markdown, update_profile,
};
pub use request::{AppliedProfile, Request, check_cwd, plan};
pub use settings::{Settings, load_settings};
pub use skills::{
    LoadedSkill, ResolvedSkills, Skill, SkillError, SkillPlaces, Skills, discover_skills,
    with_skill_paths,
};
pub use surroundings::{Surroundings, SurroundingsError};
pub use trust::{Trust, project_trust};
