//! Where definitions are kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use model::paths::StateDir;

use super::{DefinitionKind, Scope};
use crate::Surroundings;
use crate::surroundings::is_planted;

/// Where the definitions of a kind are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionDirectories {
    /// Which kind.
    pub kind: DefinitionKind,
    /// The user's.
    pub global: PathBuf,
    /// The project's.
    pub project: PathBuf,
}

impl DefinitionDirectories {
    /// Those of the caller's profiles: the project's are those of its root.
    pub fn of_profiles(surroundings: &Surroundings) -> DefinitionDirectories {
        DefinitionDirectories {
            kind: DefinitionKind::Profile,
            global: surroundings.user_state().profiles(),
            project: surroundings.project_state().profiles(),
        }
    }

    /// Those of the caller's presets: the project's are the nearest that there are, going up from
    /// where the caller stands.
    pub fn of_presets(surroundings: &Surroundings) -> DefinitionDirectories {
        let states = surroundings.cwd.ancestors().map(StateDir::of_project);
        let own = states.filter(|state| !is_planted(state.path()));
        let nearest = own.map(|state| state.presets()).find(|path| may_hold_any(path));
        DefinitionDirectories {
            kind: DefinitionKind::Preset,
            global: surroundings.user_state().presets(),
            project: nearest.unwrap_or_else(|| surroundings.project_state().presets()),
        }
    }

    /// The one of a scope.
    pub fn of_scope(&self, scope: Scope) -> &Path {
        match scope {
            Scope::Global => &self.global,
            Scope::Project => &self.project,
        }
    }

    /// The directory whose `.pi` holds the project's definitions: whom one has to trust.
    pub fn project_root(&self) -> &Path {
        self.project.ancestors().nth(2).unwrap_or(&self.project)
    }

    /// Those that there are, in the order in which they are read. An agent directory can be the
    /// project's own `.pi`; its definitions are the user's then.
    pub(super) fn scopes(&self) -> Vec<Scope> {
        let same = match (fs::canonicalize(&self.global), fs::canonicalize(&self.project)) {
            (Ok(global), Ok(project)) => global == project,
            _ => self.global == self.project,
        };
        if same { vec![Scope::Global] } else { vec![Scope::Global, Scope::Project] }
    }
}

/// The files of a directory that should hold definitions, by name.
pub(super) fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<io::Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    Ok(paths)
}

/// Whether to look no further. The directory of the presets also holds runs, and need not hold
/// anything else. One that cannot be read counts, so that somebody is told about it.
fn may_hold_any(directory: &Path) -> bool {
    match list(directory) {
        Ok(paths) => !paths.is_empty(),
        Err(error) => {
            !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        }
    }
}
