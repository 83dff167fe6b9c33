//! The path of a client's configuration file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Scope;
use super::table::{Client, NAME, UserFile};
use crate::SetupError;

/// Returns the value of an environment variable.
pub type Variable = Box<dyn Fn(&str) -> Option<OsString>>;

/// What the paths of configuration files depend on.
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Environment {
    pub home: Option<PathBuf>,
    /// Relative paths in variables are resolved against it.
    pub cwd: PathBuf,
    pub project: PathBuf,
    pub variable: Variable,
    pub is_macos: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    /// The directories above it that may be removed once they are empty, the innermost first: those
    /// below the home directory, the project, or the directory that a variable names.
    pub(super) directories: Vec<PathBuf>,
}

/// The file that the client reads. Of several, it is the one that `has_entry`, else the first that
/// exists.
pub(super) fn locate(
    client: &Client,
    scope: Scope,
    environment: &Environment,
    has_entry: impl Fn(&Path) -> bool,
) -> Result<ConfigFile, SetupError> {
    let (top, below, names) = match scope {
        // In the home directory, the files of a project would be those of the user.
        Scope::Project if environment.home.as_ref() == Some(&environment.project) => {
            return Err(SetupError::NoProject(environment.project.clone()));
        }
        Scope::Project => (environment.project.clone(), "", client.project),
        Scope::User => {
            let (top, below) = base(&client.user, environment)?;
            (top, below, client.user.names)
        }
    };
    let base = top.join(below);
    let mut paths = names.iter().map(|name| base.join(name));
    let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
    let path = paths
        .clone()
        .find(|path| names.len() > 1 && has_entry(path))
        .or_else(|| paths.clone().find(exists))
        .or_else(|| paths.next_back())
        .unwrap_or_else(|| base.join(NAME));
    let above = path.ancestors().skip(1).take_while(|directory| *directory != top);
    let directories = above.map(Path::to_owned).collect();
    Ok(ConfigFile { path, directories })
}

/// A directory that is never removed, and the path from there to the base.
fn base(file: &UserFile, environment: &Environment) -> Result<(PathBuf, &'static str), SetupError> {
    let on_macos = file.on_macos.filter(|_| environment.is_macos);
    let variable = file.variable.filter(|_| on_macos.is_none());
    let named = variable.and_then(&environment.variable).filter(|value| !value.is_empty());
    if let Some(directory) = named {
        return Ok((environment.cwd.join(directory), ""));
    }
    let home = environment.home.as_ref().ok_or(SetupError::NoHome)?;
    Ok((home.clone(), on_macos.unwrap_or(file.otherwise)))
}
