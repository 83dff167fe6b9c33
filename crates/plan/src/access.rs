//! What an agent may change: who decides it, and which paths it comes to.

use std::env;
use std::path::{Path, PathBuf};

use model::{Access, AccessPaths, RunId, paths};
use protocol::AgentState;

use crate::{Settings, Surroundings};

/// The caches of build tools that `workspace` may change unless the settings name others. Locks that
/// a tool keeps beside its caches are files of their own.
const CACHES: [&str; 21] = [
    "~/.cargo/registry",
    "~/.cargo/git",
    "~/.cargo/.package-cache",
    "~/.cargo/.package-cache-mutate",
    "~/.cargo/.global-cache",
    "~/.npm/_cacache",
    "~/.npm/_logs",
    "~/.local/share/pnpm/store",
    "~/.bun/install/cache",
    "~/.yarn/berry/cache",
    "~/.cache/yarn",
    "~/.cache/pip",
    "~/.cache/uv",
    "~/.cache/go-build",
    "~/go/pkg/mod",
    "~/.gradle/caches",
    "~/.m2/repository",
    "~/.cache/bazel",
    "~/.cache/ccache",
    "~/.cache/sccache",
    "~/.cache/node-gyp",
];

/// Everything that has a say in what an agent may change.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AccessWishes {
    /// Of a flag. It is the user's own word and replaces the limits that stand below.
    pub(crate) flag: Option<Access>,
    /// Of the settings, of the user's own profile or preset, or what is usual for the agent.
    pub(crate) limit: Access,
    /// Of the session that is continued.
    pub(crate) session: Option<Access>,
    /// Of the profile or preset.
    pub(crate) definition: Option<Access>,
    /// Of the task.
    pub(crate) task: Option<Access>,
}

impl AccessWishes {
    /// The least of all: each can lower what the others allow, and none can raise it.
    pub(crate) fn decide(self) -> Access {
        let most = self.flag.unwrap_or_else(|| match self.session {
            Some(session) => session.min(self.limit),
            None => self.limit,
        });
        [self.definition, self.task].into_iter().flatten().fold(most, Access::min)
    }
}

/// The paths of a run with this access; none if it may change everything.
pub(crate) fn access_paths(
    access: Access,
    run: &RunId,
    state: AgentState,
    settings: &Settings,
    surroundings: &Surroundings,
) -> Option<Box<AccessPaths>> {
    let mut writable = state.paths;
    match access {
        Access::Full => return None,
        Access::Read => {}
        Access::Workspace => writable.extend(writable_paths(settings, surroundings)),
    }
    Some(Box::new(AccessPaths {
        temporary: paths::temporary_dir(&env::temp_dir(), run),
        run_files: state.run_files,
        writable,
        mirror: state.mirror,
        private: state.private,
        kept: [surroundings.agent_dir.clone()].into_iter().chain(state.settings).collect(),
    }))
}

/// What `workspace` may change besides the task's directory.
pub fn writable_paths(settings: &Settings, surroundings: &Surroundings) -> Vec<PathBuf> {
    let home = surroundings.home.as_deref();
    match &settings.writable_paths {
        Some(paths) => paths.iter().filter_map(|path| expand(path, home)).collect(),
        None => CACHES.iter().filter_map(|path| expand(path, home)).collect(),
    }
}

/// A path that may begin with the home directory.
fn expand(path: &str, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix('~') {
        Some("") => home.map(Path::to_owned),
        Some(rest) => Some(home?.join(rest.strip_prefix('/')?)),
        None => Some(PathBuf::from(path)),
    }
}

/// Whether a path of the settings means the same for every task.
pub(crate) fn is_writable_path(path: &str) -> bool {
    path.starts_with('/') || path == "~" || path.starts_with("~/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_counts_and_only_a_flag_raises() {
        use Access::{Full, Read, Workspace};
        let nothing = AccessWishes::default();
        for (wishes, decided) in [
            (nothing, Full),
            (AccessWishes { task: Some(Read), ..nothing }, Read),
            (AccessWishes { definition: Some(Workspace), ..nothing }, Workspace),
            // A task, a definition and a session raise nothing.
            (AccessWishes { limit: Workspace, task: Some(Full), ..nothing }, Workspace),
            (AccessWishes { limit: Read, definition: Some(Full), ..nothing }, Read),
            (AccessWishes { definition: Some(Read), task: Some(Full), ..nothing }, Read),
            (AccessWishes { session: Some(Read), task: Some(Full), ..nothing }, Read),
            (AccessWishes { limit: Read, session: Some(Full), ..nothing }, Read),
            // A flag takes the place of the settings and of the session, and is a limit itself.
            (AccessWishes { flag: Some(Full), limit: Read, ..nothing }, Full),
            (AccessWishes { flag: Some(Workspace), session: Some(Read), ..nothing }, Workspace),
            (AccessWishes { flag: Some(Full), definition: Some(Read), ..nothing }, Read),
            (AccessWishes { flag: Some(Workspace), task: Some(Full), ..nothing }, Workspace),
        ] {
            assert_eq!(wishes.decide(), decided, "{wishes:?}");
        }
    }

    #[test]
    fn the_home_directory_is_expanded() {
        let home = Some(Path::new("/home/me"));
        for (path, expected) in [
            ("~", Some("/home/me")),
            ("~/.cache/x", Some("/home/me/.cache/x")),
            ("/opt/x", Some("/opt/x")),
            ("~other/x", None),
        ] {
            assert_eq!(expand(path, home), expected.map(PathBuf::from), "{path}");
            assert_eq!(is_writable_path(path), expected.is_some(), "{path}");
        }
        assert_eq!(expand("~/x", None), None);
        assert!(!is_writable_path("x") && !is_writable_path(""));
    }
}
