//! What the caller's process knows: its directories, and what its environment says.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::paths::{self, StateDir};
use model::variables;
use protocol::KnownAgent;
use rustix::process::{Uid, geteuid};

/// The caller's directories and environment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Surroundings {
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
    /// Where the user's settings, profiles and presets are.
    pub agent_dir: PathBuf,
    /// The agent that the environment names.
    pub agent: Option<String>,
    /// How the pi that calls this program was started. Tasks use the same pi, and not the one on
    /// `PATH`.
    pub pi: Option<Vec<String>>,
    /// The directories of `PATH`, made absolute: a relative one means a directory below the
    /// caller's, and not one below the directory in which a task works.
    pub search_path: Vec<PathBuf>,
    /// Whether the built-in agent would find a key. It is looked for only where it decides which agent
    /// works: see [`crate::needs_builtin_key`].
    pub has_builtin_key: bool,
    /// Where Claude Code keeps the user's settings and definitions.
    pub claude_dir: Option<PathBuf>,
}

/// The caller's surroundings are unknown.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SurroundingsError {
    #[error("the current directory cannot be told: {0}")]
    NoCurrentDirectory(std::io::Error),
    #[error("there is no home directory; set HOME or {}", variables::PI_AGENT_DIR)]
    NoHome,
    #[error("{} is not valid UTF-8", .0.display())]
    NotUnicode(PathBuf),
    #[error("{} is not valid UTF-8", variables::AGENT)]
    AgentNotUnicode,
}

impl Surroundings {
    /// A caller in this directory of whom nothing else is known.
    pub fn new(cwd: PathBuf, agent_dir: PathBuf) -> Surroundings {
        Surroundings {
            cwd,
            home: None,
            agent_dir,
            agent: None,
            pi: None,
            search_path: Vec::new(),
            has_builtin_key: false,
            claude_dir: None,
        }
    }

    /// The surroundings of this process.
    pub fn of_this_process() -> Result<Surroundings, SurroundingsError> {
        let cwd = env::current_dir().map_err(SurroundingsError::NoCurrentDirectory)?;
        let home = env::home_dir().filter(|home| home.is_absolute());
        let agent_dir = paths::agent_dir(|name| env::var_os(name), &cwd, home.as_deref())
            .ok_or(SurroundingsError::NoHome)?;
        for path in [&cwd, &agent_dir] {
            // Paths are written into JSON files, and handed on in arguments and variables.
            if path.to_str().is_none() {
                return Err(SurroundingsError::NotUnicode(path.clone()));
            }
        }
        let agent = match env::var(variables::AGENT) {
            Ok(agent) => Some(agent).filter(|agent| !agent.trim().is_empty()),
            Err(env::VarError::NotPresent) => None,
            Err(env::VarError::NotUnicode(_)) => {
                return Err(SurroundingsError::AgentNotUnicode);
            }
        };
        let path = env::var_os("PATH").unwrap_or_default();
        let search_path = env::split_paths(&path).map(|entry| cwd.join(entry)).collect();
        let claude = KnownAgent::named("claude");
        let claude_dir = claude
            .and_then(|agent| agent.sign_in.state_dir(|name| env::var_os(name), home.as_deref()));
        Ok(Surroundings {
            home,
            agent,
            search_path,
            claude_dir,
            ..Surroundings::new(cwd, agent_dir)
        })
    }

    /// Where the user keeps settings and definitions.
    pub fn user_state(&self) -> StateDir {
        StateDir::of_user(&self.agent_dir)
    }

    /// Where the project keeps settings and definitions.
    pub fn project_state(&self) -> StateDir {
        StateDir::of_project(self.project_root())
    }

    /// The first directory going up that has a `.pi` or a `.git`, else the caller's own. The home
    /// directory does not count: its `.pi` is the user's, not a project's.
    pub fn project_root(&self) -> &Path {
        self.project_root_unless(is_planted)
    }

    fn project_root_unless(&self, is_planted: impl Fn(&Path) -> bool) -> &Path {
        let is_project = |directory: &&Path| {
            let state = StateDir::of_project(directory);
            let (pi, git) = (state.path(), directory.join(".git"));
            let is_mark = |mark: &Path| mark.exists() && !is_planted(mark);
            // The `.pi` of a project's root is the project's own.
            is_mark(pi) || (is_mark(&git) && !is_planted(pi))
        };
        self.cwd
            .ancestors()
            .filter(|directory| self.home.as_deref() != Some(directory))
            .find(is_project)
            .unwrap_or(&self.cwd)
    }
}

/// Whether the file was put by another user into a directory that all users can write, such as
/// `/tmp`. Below such a directory it must not be taken for a part of a project. A file that belongs
/// to the owner of its directory is not planted: the owner can change the directory anyway.
pub fn is_planted(path: &Path) -> bool {
    is_planted_for(geteuid(), path)
}

fn is_planted_for(user: Uid, path: &Path) -> bool {
    let directory = path.parent().and_then(|directory| fs::metadata(directory).ok());
    let Some((directory, found)) = directory.zip(fs::symlink_metadata(path).ok()) else {
        return false;
    };
    let is_public = directory.mode() & 0o002 != 0;
    is_public && ![0, user.as_raw(), directory.uid()].contains(&found.uid())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    use super::*;

    fn standing_in(cwd: &Path, home: &Path) -> Surroundings {
        Surroundings {
            home: Some(home.to_owned()),
            ..Surroundings::new(cwd.to_owned(), home.join(".pi/agent"))
        }
    }

    #[test]
    fn a_file_of_another_user_in_a_shared_directory_is_planted() {
        let public = Path::new("/tmp");
        assert_eq!(fs::metadata(public).unwrap().mode() & 0o1777, 0o1777, "all users can write it");
        let top = tempfile::tempdir_in(public).unwrap();
        let link = tempfile::Builder::new().make_in(public, |path| symlink("/usr", path)).unwrap();
        let owner = if geteuid().is_root() {
            // Files of root are trusted.
            for path in [top.path(), link.path()] {
                lchown(path, Some(12_345), None).unwrap();
            }
            Uid::from_raw(12_345)
        } else {
            geteuid()
        };
        let other = Uid::from_raw(owner.as_raw() + 1);
        for path in [top.path(), link.path()] {
            assert!(is_planted_for(other, path));
            assert!(!is_planted_for(owner, path));
        }
        assert!(!is_planted_for(other, Path::new("/tmp/there/is/nothing")));
        // In a user's own directory, files of other users are allowed, whatever its mode.
        let own = top.path().join("own");
        fs::create_dir(&own).unwrap();
        lchown(&own, Some(owner.as_raw()), None).unwrap();
        for mode in [0o755, 0o777] {
            fs::set_permissions(top.path(), Permissions::from_mode(mode)).unwrap();
            assert!(!is_planted_for(other, &own), "{mode:o}");
        }
    }

    #[test]
    fn a_planted_mark_does_not_make_a_project() {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        for directory in ["shared/.pi", "shared/.git", "shared/below"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        let below = standing_in(&at("shared/below"), Path::new("/home"));
        for (planted, root) in [
            (&[][..], "shared"),
            (&["shared/.git"], "shared"),
            // Our own `.git` beside it does not make it ours.
            (&["shared/.pi"], "shared/below"),
            (&["shared/.pi", "shared/.git"], "shared/below"),
        ] {
            let is_planted = |path: &Path| planted.iter().any(|mark| at(mark) == path);
            assert_eq!(below.project_root_unless(is_planted), at(root), "{planted:?}");
        }
    }

    #[test]
    fn the_project_root_is_the_nearest_with_a_mark_and_never_home() {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        for directory in [
            "home/.pi",
            "home/work/a/b",
            "home/repo/.git",
            "home/repo/sub/.pi",
            "home/repo/sub/deep",
        ] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        for (cwd, root) in [
            ("home/work/a/b", "home/work/a/b"),
            ("home", "home"),
            ("home/repo", "home/repo"),
            ("home/repo/sub/deep", "home/repo/sub"),
        ] {
            let surroundings = standing_in(&at(cwd), &at("home"));
            assert_eq!(surroundings.project_root(), at(root), "{cwd}");
        }
    }
}
