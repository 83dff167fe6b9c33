//! Everything that is read before tasks are planned.

use std::env;
use std::num::NonZero;
use std::thread;

use model::{Admission, Ledger, paths};
use rustix::process::geteuid;

use crate::default_provider::default_provider;
use crate::{
    DefinitionDirectories, DefinitionKind, Definitions, FileWarning, Settings, Surroundings, Trust,
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
    /// The provider that pi uses where no model is asked for, if its settings say.
    pub(crate) default_provider: Option<String>,
    /// What is wrong with files that every task depends on. Definitions have their own warnings.
    pub warnings: Vec<String>,
}

impl Workspace {
    /// What decides when the agents of the user may start.
    pub fn admission(&self) -> Admission {
        let agent_dir = &self.surroundings.agent_dir;
        let variable = |name: &str| env::var_os(name);
        let user = geteuid().as_raw();
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        Admission {
            directories: paths::locks(variable, &env::temp_dir(), user, agent_dir),
            machine_concurrency: self.settings.machine_concurrency.unwrap_or((4 * cores).max(16)),
            memory_reserve: self.settings.memory_reserve,
        }
    }

    /// Where what the agents of the user spend is written down, and what is learned about them.
    pub fn ledger(&self) -> Ledger {
        let directory = paths::learned(|name| env::var_os(name), &self.surroundings.agent_dir);
        Ledger { directory, daily_cost_usd: self.settings.daily_cost_usd }
    }

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
        warnings.extend(trust_warnings.iter().map(ToString::to_string));
        let default_provider = default_provider(&surroundings, trust);
        Workspace {
            surroundings,
            settings,
            profiles,
            presets,
            trust,
            preset_trust,
            default_provider,
            warnings,
        }
    }

    /// What is wrong with the files of profiles and presets.
    pub fn definition_warnings(&self) -> impl Iterator<Item = &FileWarning> {
        self.profiles.all_warnings().chain(self.presets.all_warnings())
    }

    /// What is wrong with any file that was read.
    pub fn all_warnings(&self) -> Vec<String> {
        let of_definitions = self.definition_warnings().map(ToString::to_string);
        self.warnings.iter().cloned().chain(of_definitions).collect()
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
