//! Where a client's file is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Scope;
use super::table::{Base, Client, NAME, Place};
use crate::SetupError;

/// The values of environment variables.
pub type Environment = Box<dyn Fn(&str) -> Option<OsString>>;

/// Where the user stands.
pub struct Places {
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The working directory, from which relative paths in variables are meant.
    pub cwd: PathBuf,
    /// The root of the project.
    pub project: PathBuf,
    /// The environment.
    pub variable: Environment,
    /// Whether files are where macOS has them.
    pub is_macos: bool,
}

/// A file of a client's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) path: PathBuf,
    /// The directories above it that nobody misses when they are empty, the innermost first: those
    /// below the home directory, the project, or what a variable names.
    pub(super) directories: Vec<PathBuf>,
}

/// The file that the client reads. Of several that it may read, `says_something` tells which is
/// the one to be changed; else it is the first that is there.
pub(super) fn locate(
    client: &Client,
    scope: Scope,
    places: &Places,
    says_something: impl Fn(&Path) -> bool,
) -> Result<Location, SetupError> {
    let place = match scope {
        Scope::User => &client.user,
        Scope::Project => &client.project,
    };
    let (top, below) = base(place, places)?;
    let base = top.join(below);
    let mut paths = place.names.iter().map(|name| base.join(name));
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
    let is_it = |path: &PathBuf| place.names.len() > 1 && says_something(path);
    let path = paths
        .clone()
        .find(is_it)
        .or_else(|| paths.clone().find(is_there))
        .or_else(|| paths.next_back())
        .unwrap_or_else(|| base.join(NAME));
    let above = path.ancestors().skip(1).take_while(|directory| *directory != top);
    let directories = above.map(Path::to_owned).collect();
    Ok(Location { path, directories })
}

/// A directory that stays whatever happens, and the path from there to the base.
fn base(place: &Place, places: &Places) -> Result<(PathBuf, &'static str), SetupError> {
    let Base::User { variable, otherwise, on_macos } = &place.base else {
        // There the files of the project would be those of the user.
        if places.home.as_ref() == Some(&places.project) {
            return Err(SetupError::NoProject(places.project.clone()));
        }
        return Ok((places.project.clone(), ""));
    };
    let on_macos = on_macos.filter(|_| places.is_macos);
    let variable = variable.filter(|_| on_macos.is_none());
    let named = variable.and_then(&places.variable).filter(|value| !value.is_empty());
    if let Some(directory) = named {
        return Ok((places.cwd.join(directory), ""));
    }
    let home = places.home.as_ref().ok_or(SetupError::NoHome)?;
    Ok((home.clone(), on_macos.unwrap_or(otherwise)))
}
