//! Where the caller stands.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::variables;
use rustix::process::{Uid, geteuid};

/// What the caller's process knows about its place in the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// The caller's working directory.
    pub cwd: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Where the user's settings, profiles and presets are.
    pub agent_dir: PathBuf,
    /// The child agent that the environment asks for.
    pub agent: Option<String>,
    /// How pi is started, where the caller knows that better than `PATH` does: whoever is called
    /// by a pi means that very one.
    pub pi: Option<Vec<String>>,
    /// Where programs are looked for, without anything relative: what is meant from where the
    /// caller stands must not be found where a task works.
    pub search_path: Vec<PathBuf>,
}

/// The surroundings cannot be told.
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
    /// Those of this process.
    pub fn of_this_process() -> Result<Surroundings, SurroundingsError> {
        let cwd = env::current_dir().map_err(SurroundingsError::NoCurrentDirectory)?;
        let home = env::home_dir().filter(|home| home.is_absolute());
        let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
        let agent_dir = variable(variables::PI_AGENT_DIR)
            .or_else(|| variable(variables::PI_CODING_AGENT_DIR))
            .map(|directory| cwd.join(directory))
            .or_else(|| home.as_ref().map(|home| home.join(".pi").join("agent")))
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
        Ok(Surroundings { cwd, home, agent_dir, agent, pi: None, search_path })
    }

    /// The first directory going up that has a `.pi` or a `.git`, else the caller's own. The home
    /// directory does not count: its `.pi` is the user's, not a project's.
    pub fn project_root(&self) -> &Path {
        self.project_root_for(geteuid())
    }

    fn project_root_for(&self, user: Uid) -> &Path {
        let is_project = |directory: &&Path| {
            let mut marks = [".pi", ".git"].iter().map(|mark| directory.join(mark));
            marks.any(|mark| mark.exists() && !is_planted_for(user, &mark))
        };
        self.cwd
            .ancestors()
            .filter(|directory| self.home.as_deref() != Some(directory))
            .find(is_project)
            .unwrap_or(&self.cwd)
    }
}

/// Whether somebody else has put something where everybody can put anything, as in `/tmp`. Those who
/// work further down must not take it for a part of their project.
pub fn is_planted(path: &Path) -> bool {
    is_planted_for(geteuid(), path)
}

fn is_planted_for(user: Uid, path: &Path) -> bool {
    let is_public = path
        .parent()
        .and_then(|directory| fs::metadata(directory).ok())
        .is_some_and(|directory| directory.mode() & 0o002 != 0);
    let is_foreign = fs::symlink_metadata(path)
        .is_ok_and(|found| ![Uid::ROOT, user].contains(&Uid::from_raw(found.uid())));
    is_public && is_foreign
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    use super::*;

    fn standing_in(cwd: &Path, home: &Path) -> Surroundings {
        Surroundings {
            cwd: cwd.to_owned(),
            home: Some(home.to_owned()),
            agent_dir: home.join(".pi/agent"),
            agent: None,
            pi: None,
            search_path: Vec::new(),
        }
    }

    #[test]
    fn what_others_put_where_everybody_can_is_planted() {
        let top = tempfile::tempdir().unwrap();
        let (directory, link) = (top.path().join(".pi"), top.path().join("link"));
        let below = top.path().join("below");
        fs::create_dir(&directory).unwrap();
        fs::create_dir(&below).unwrap();
        symlink("/usr", &link).unwrap();
        let owner = if geteuid().is_root() {
            // Everybody trusts root.
            for path in [&directory, &link] {
                lchown(path, Some(12_345), None).unwrap();
            }
            Uid::from_raw(12_345)
        } else {
            geteuid()
        };
        let somebody = Uid::from_raw(owner.as_raw() + 1);
        for (mode, is_public) in [(0o755, false), (0o775, false), (0o1777, true), (0o777, true)] {
            fs::set_permissions(top.path(), Permissions::from_mode(mode)).unwrap();
            for path in [&directory, &link] {
                assert_eq!(is_planted_for(somebody, path), is_public, "{mode:o}");
                assert!(!is_planted_for(owner, path), "{mode:o}");
            }
            assert!(!is_planted_for(somebody, &top.path().join("nothing")), "{mode:o}");
            let below = standing_in(&below, Path::new("/home"));
            let root = if is_public { below.cwd.as_path() } else { top.path() };
            assert_eq!(below.project_root_for(somebody), root, "{mode:o}");
            assert_eq!(below.project_root_for(owner), top.path(), "{mode:o}");
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
