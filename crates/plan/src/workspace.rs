//! Everything that is read before tasks are planned.

use crate::{
    DefinitionDirectories, DefinitionKind, Definitions, Settings, Surroundings, Trust,
    load_definitions, load_settings, project_trust,
};

/// The settings and definitions of the user and of the project in which the caller works.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Workspace {
    pub surroundings: Surroundings,
    pub settings: Settings,
    pub profiles: Definitions,
    pub presets: Definitions,
    /// Whether the project's own files may run code.
    pub trust: Trust,
    /// Whether the project's presets may run code: they can be in a directory above the project.
    preset_trust: Trust,
    /// What is wrong with the files that were read.
    pub warnings: Vec<String>,
}

impl Workspace {
    /// Reads everything. `approval` says whether the project is trusted; without it, pi's own record
    /// of that counts.
    pub fn load(surroundings: Surroundings, approval: Option<bool>) -> Workspace {
        let (settings, mut warnings) = load_settings(&surroundings);
        let profiles = load_definitions(&DefinitionDirectories::of_profiles(&surroundings));
        let preset_directories = DefinitionDirectories::of_presets(&surroundings);
        let presets = load_definitions(&preset_directories);
        let trust_in = |root| project_trust(approval, &surroundings.agent_dir, root);
        let (trust, trust_warnings) = trust_in(surroundings.project_root());
        // One warning about the file is enough.
        let (preset_trust, _) = trust_in(preset_directories.project_root());
        let file_warnings =
            profiles.warnings.iter().chain(&presets.warnings).chain(&trust_warnings);
        warnings.extend(file_warnings.map(ToString::to_string));
        Workspace { surroundings, settings, profiles, presets, trust, preset_trust, warnings }
    }

    /// All definitions of a kind.
    pub(crate) fn definitions(&self, kind: DefinitionKind) -> &Definitions {
        match kind {
            DefinitionKind::Profile => &self.profiles,
            DefinitionKind::Preset => &self.presets,
        }
    }

    /// Whether the project's definitions of a kind may run code.
    pub(crate) fn trust_in(&self, kind: DefinitionKind) -> Trust {
        match kind {
            DefinitionKind::Profile => self.trust,
            DefinitionKind::Preset => self.preset_trust,
        }
    }
}
