//! The directories of definitions.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use model::paths::StateDir;

use super::{DefinitionKind, Scope, claude};
use crate::Surroundings;
use crate::surroundings::is_planted;

/// The directories of the definitions of one kind, the user's and the project's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct DefinitionDirectories {
    pub kind: DefinitionKind,
    pub global: PathBuf,
    pub project: PathBuf,
    /// Those of Claude Code, which are only read. A later one wins.
    pub claude: Vec<(Scope, PathBuf)>,
}

impl DefinitionDirectories {
    /// The caller's profiles. The project's are in its root.
    pub fn of_profiles(surroundings: &Surroundings) -> DefinitionDirectories {
        DefinitionDirectories {
            kind: DefinitionKind::Profile,
            global: surroundings.user_state().profiles(),
            project: surroundings.project_state().profiles(),
            claude: of_claude(surroundings),
        }
    }

    /// The caller's presets. The project's are the nearest that exist, going up from the caller's
    /// directory.
    pub fn of_presets(surroundings: &Surroundings) -> DefinitionDirectories {
        let states = surroundings.cwd.ancestors().map(StateDir::of_project);
        let own = states.filter(|state| !is_planted(state.path()));
        let nearest = own.map(|state| state.presets()).find(|path| may_hold_any(path));
        DefinitionDirectories {
            kind: DefinitionKind::Preset,
            global: surroundings.user_state().presets(),
            project: nearest.unwrap_or_else(|| surroundings.project_state().presets()),
            claude: Vec::new(),
        }
    }

    /// The directory of a scope.
    pub fn of_scope(&self, scope: Scope) -> &Path {
        match scope {
            Scope::Global => &self.global,
            Scope::Project => &self.project,
        }
    }

    /// The directory whose `.pi` holds the project's definitions, and which has to be trusted.
    pub fn project_root(&self) -> &Path {
        self.project.ancestors().nth(2).unwrap_or(&self.project)
    }

    /// The scopes in the order in which they are read. If the agent directory is the project's own
    /// `.pi`, its definitions are the user's.
    pub(super) fn scopes(&self) -> Vec<Scope> {
        let is_one = is_same(&self.global, &self.project);
        if is_one { vec![Scope::Global] } else { vec![Scope::Global, Scope::Project] }
    }
}

/// The directories in which Claude Code keeps definitions, the user's and the project's.
fn of_claude(surroundings: &Surroundings) -> Vec<(Scope, PathBuf)> {
    let of_user = surroundings.claude_dir.clone();
    let of_project = Some(surroundings.project_root().join(".claude"));
    let is_users = |path: &PathBuf| of_user.as_ref().is_some_and(|own| is_same(own, path));
    let of_project = of_project.filter(|path| !is_planted(path) && !is_users(path));
    let directory = |path: PathBuf| path.join(claude::AGENTS);
    let of_project = of_project.map(|path| (Scope::Project, directory(path)));
    of_user.map(|path| (Scope::Global, directory(path))).into_iter().chain(of_project).collect()
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
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

/// Whether this is the directory of the project's presets. A directory without definitions is not:
/// it may only hold runs. A directory that cannot be read is, so that there is a warning about it.
fn may_hold_any(directory: &Path) -> bool {
    match list(directory) {
        Ok(paths) => !paths.is_empty(),
        Err(error) => {
            !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        }
    }
}
