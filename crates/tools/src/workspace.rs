//! What a call finds where the caller stands.

use plan::{ProfileDirectories, Profiles, Settings, Skills, Surroundings, Trust};
use store::Store;

/// Everything that is read before tasks are planned.
#[derive(Debug)]
pub struct Workspace {
    /// Where the caller stands.
    pub surroundings: Surroundings,
    /// The settings, the user's and the project's.
    pub settings: Settings,
    /// The profiles, the user's and the project's.
    pub profiles: Profiles,
    /// Whether the project's own files may run code.
    pub trust: Trust,
    /// The runs of the project.
    pub store: Store,
    /// What is wrong with the files that were read.
    pub warnings: Vec<String>,
}

impl Workspace {
    /// Reads it all. With `approval` the caller says whether the project is trusted; without,
    /// pi's own record of that counts.
    pub fn load(surroundings: Surroundings, approval: Option<bool>) -> Workspace {
        let (settings, mut warnings) = plan::load_settings(&surroundings);
        let profiles = plan::load_profiles(&ProfileDirectories::of(&surroundings));
        let root = surroundings.project_root();
        let (trust, trust_warnings) = plan::project_trust(approval, &surroundings.agent_dir, root);
        let file_warnings = profiles.warnings.iter().chain(&trust_warnings);
        warnings.extend(file_warnings.map(ToString::to_string));
        let store = Store::in_project(root);
        Workspace { surroundings, settings, profiles, trust, store, warnings }
    }

    /// The skills that agents can be given.
    pub(crate) fn skills(&self) -> Skills {
        plan::discover_skills(&plan::SkillPlaces::of(&self.surroundings), self.trust)
    }
}
