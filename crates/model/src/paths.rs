//! Where state lives: the user's, a project's, and that of the machine's session. Every path is
//! computed from directories that the caller knows; nothing is looked up here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{RunId, variables};

/// What stands for this very program in a command: the supervisor starts the program that it is.
pub const OWN_PROGRAM: &str = "pi-subagents";

/// What the names of temporary files and directories begin with.
pub const TEMPORARY_PREFIX: &str = "pi-subagents-";

/// What the names of temporary directories begin with that hold runs. Longer than
/// [`TEMPORARY_PREFIX`], because other programs name theirs so, too: the npm package
/// `@tintinweb/pi-subagents` makes `/tmp/pi-subagents-UID`.
pub const TEMPORARY_STORE_PREFIX: &str = "pi-subagents-runs-";

/// The directory in a run directory that a restricted agent may change. It has no part in the record
/// of the run.
pub const OUTPUTS: &str = "outputs";

/// The file of a run directory with the system prompt of a profile, or what a preset adds to it.
pub const SYSTEM_PROMPT: &str = "system-prompt.md";

/// The user's agent directory, by the environment and the home directory.
pub fn agent_dir(
    variable: impl Fn(&str) -> Option<OsString>,
    cwd: &Path,
    home: Option<&Path>,
) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let named = set(variables::PI_AGENT_DIR).or_else(|| set(variables::PI_CODING_AGENT_DIR));
    let named = named.map(|directory| cwd.join(directory));
    named.or_else(|| Some(StateDir::of_project(home?).0.join("agent")))
}

/// The directory of all worktrees in which agents of this user work.
pub fn worktrees(
    variable: impl Fn(&str) -> Option<OsString>,
    home: Option<&Path>,
) -> Option<PathBuf> {
    // A relative path would mean another directory in each program.
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let own = absolute(variables::STATE_DIR).or_else(|| {
        let state = absolute(variables::XDG_STATE_HOME);
        Some(state.or_else(|| Some(home?.join(".local/state")))?.join("pi-subagents"))
    });
    Some(own?.join("worktrees"))
}

/// The directories that can hold the locks of all programs of this user, the best first.
pub fn locks(
    variable: impl Fn(&str) -> Option<OsString>,
    temporary: &Path,
    user: u32,
    agent_dir: &Path,
) -> Vec<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(own) = absolute(variables::STATE_DIR) {
        return vec![own.join(GOVERNOR).join("locks")];
    }
    let runtime = absolute(variables::XDG_RUNTIME_DIR).map(|path| path.join("pi-subagents"));
    let temporary = temporary.join(format!("{TEMPORARY_PREFIX}locks-{user}"));
    runtime.into_iter().chain([temporary, agent_dir.join(GOVERNOR).join("locks")]).collect()
}

/// The directory of what was learned about agents and providers.
pub fn learned(variable: impl Fn(&str) -> Option<OsString>, agent_dir: &Path) -> PathBuf {
    let own = variable(variables::STATE_DIR).map(PathBuf::from).filter(|path| path.is_absolute());
    own.unwrap_or_else(|| agent_dir.to_owned()).join(GOVERNOR)
}

const GOVERNOR: &str = "governor";

/// The directory that holds the run directories of the project with this root.
pub fn runs(project_root: &Path) -> PathBuf {
    StateDir::of_project(project_root).presets().join("runs")
}

/// The temporary directory of a run that may change nothing else, below the system's own. Its name
/// is not that of a temporary store: what an agent puts there must not be taken for runs.
pub fn temporary_dir(system: &Path, run: &RunId) -> PathBuf {
    system.join(format!("{TEMPORARY_DIR_PREFIX}{run}"))
}

/// Whether a temporary directory of this name belongs to a run.
pub fn is_temporary_dir(name: &str) -> bool {
    name.strip_prefix(TEMPORARY_DIR_PREFIX).is_some_and(|run| RunId::parse(run).is_ok())
}

const TEMPORARY_DIR_PREFIX: &str = "subagent-";

/// A directory for settings and definitions: the user's, which also has logins, or a project's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir(PathBuf);

#[expect(missing_docs, reason = "the names say it")]
impl StateDir {
    /// The user's is the agent directory.
    pub fn of_user(agent_dir: &Path) -> StateDir {
        StateDir(agent_dir.to_owned())
    }

    /// A project's is in its root.
    pub fn of_project(root: &Path) -> StateDir {
        StateDir(root.join(".pi"))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn settings(&self) -> PathBuf {
        self.0.join("settings.json")
    }

    /// How foreground runs are started.
    pub fn runner(&self) -> PathBuf {
        self.0.join("subagents.json")
    }

    pub fn profiles(&self) -> PathBuf {
        self.0.join("agent-profiles")
    }

    pub fn presets(&self) -> PathBuf {
        self.0.join("subagents")
    }

    pub fn skills(&self) -> PathBuf {
        self.0.join("skills")
    }

    /// A file with a part of the system prompt, such as `SYSTEM.md`.
    pub fn prompt(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Which projects the user trusts.
    pub fn trust(&self) -> PathBuf {
        self.0.join("trust.json")
    }

    /// The providers and models that the user adds and changes.
    pub fn models(&self) -> PathBuf {
        self.0.join("models.json")
    }

    pub fn logins(&self) -> PathBuf {
        self.0.join("auth.json")
    }

    /// The conversations that pi keeps.
    pub fn sessions(&self) -> PathBuf {
        self.0.join("sessions")
    }

    /// What agents have said their versions are.
    pub fn agent_versions(&self) -> PathBuf {
        self.0.join("agent-versions.json")
    }

    /// The extensions that pi loads by itself.
    pub fn extensions(&self) -> PathBuf {
        self.0.join("extensions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_directory_is_named_by_the_environment_or_in_the_home_directory() {
        let found = |variables: &[(&str, &str)], home: Option<&str>| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            agent_dir(variable, Path::new("/work"), home.map(Path::new))
        };
        let (first, second) = ("PI_AGENT_DIR", "PI_CODING_AGENT_DIR");
        for (variables, home, expected) in [
            (&[(first, "/a"), (second, "/b")][..], Some("/home"), Some("/a")),
            (&[(first, ""), (second, "b")], Some("/home"), Some("/work/b")),
            (&[], Some("/home"), Some("/home/.pi/agent")),
            (&[], None, None),
        ] {
            assert_eq!(found(variables, home), expected.map(PathBuf::from), "{variables:?}");
        }
    }

    #[test]
    fn locks_are_where_programs_of_the_user_meet_and_one_variable_moves_all() {
        let (temporary, agent_dir) = (Path::new("/tmp"), Path::new("/home/.pi/agent"));
        let variable = |set: &'static [(&str, &str)]| {
            move |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            }
        };
        let kept = ["/tmp/pi-subagents-locks-7", "/home/.pi/agent/governor/locks"];
        for (set, first) in [
            (&[][..], None),
            (&[("XDG_RUNTIME_DIR", "relative")], None),
            (&[("XDG_RUNTIME_DIR", "/run/7")], Some("/run/7/pi-subagents")),
        ] {
            let expected: Vec<PathBuf> = first.into_iter().chain(kept).map(PathBuf::from).collect();
            assert_eq!(locks(variable(set), temporary, 7, agent_dir), expected, "{set:?}");
            assert_eq!(learned(variable(set), agent_dir), agent_dir.join("governor"));
        }
        let moved = &[("XDG_RUNTIME_DIR", "/run/7"), ("PI_SUBAGENTS_STATE_DIR", "/s")];
        assert_eq!(
            locks(variable(moved), temporary, 7, agent_dir),
            [PathBuf::from("/s/governor/locks")]
        );
        assert_eq!(learned(variable(moved), agent_dir), Path::new("/s/governor"));
    }

    #[test]
    fn runs_are_beside_the_presets_of_their_project() {
        assert_eq!(runs(Path::new("/work")), Path::new("/work/.pi/subagents/runs"));
        assert_eq!(runs(Path::new("")), Path::new(".pi/subagents/runs"));
    }
}
