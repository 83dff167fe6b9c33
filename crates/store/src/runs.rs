//! All runs of a project.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use model::paths::{self, StateDir};
use model::{Meta, Plan, RunId};
use rustix::process::{Uid, geteuid};

use crate::bounds::{LARGEST_META, LARGEST_PROMPT};
use crate::run_dir::{EVENTS, META, PROMPT};
use crate::write_once::create_private;
use crate::{Hold, RunDir, StoreError};

/// The directory that holds the run directories of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    runs: PathBuf,
}

/// A run directory that was just made.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct NewRun {
    /// Complete but for the events.
    pub dir: RunDir,
    pub meta: Meta,
    /// Keeps the run alive until the supervisor has its own lock.
    pub hold: Hold,
}

impl Store {
    /// The store of a project. Nothing is created before the first run is.
    pub fn in_project(root: &Path) -> Store {
        Store { runs: paths::runs(root) }
    }

    pub(crate) fn at(runs: PathBuf) -> Store {
        Store { runs }
    }

    /// A new store in the system's temporary directory, for a project that cannot be written.
    pub fn temporary() -> Result<Store, StoreError> {
        let directory = tempfile::Builder::new()
            .prefix(paths::TEMPORARY_STORE_PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .map_err(StoreError::io("created", std::env::temp_dir()))?;
        Ok(Store { runs: directory.keep() })
    }

    /// Removes a temporary store in which no run could be made.
    pub fn discard(self) {
        let _ = fs::remove_dir_all(&self.runs);
    }

    /// Where the run directories are.
    pub fn path(&self) -> &Path {
        &self.runs
    }

    /// Makes the directory of a run that has not started.
    pub fn create(&self, plan: &Plan) -> Result<NewRun, StoreError> {
        self.prepare()?;
        // Without links, so that the same directory always has the same path.
        let runs = fs::canonicalize(&self.runs).map_err(StoreError::io("found", &self.runs))?;
        let hidden = runs.join(format!(".new-{}", plan.meta.run_id));
        let path = runs.join(plan.meta.run_id.as_str());
        let meta = plan.meta_in(&path);
        let json = meta_json(&meta).map_err(StoreError::io("created", &path))?;
        check_task(PROMPT, plan.prompt.len(), LARGEST_PROMPT)?;
        check_task(META, json.len(), LARGEST_META)?;
        let built = build(&hidden, &json, plan)
            .and_then(|hold| fs::rename(&hidden, &path).map(|()| hold))
            .map_err(StoreError::io("created", &path));
        match built {
            Ok(hold) => Ok(NewRun { dir: RunDir::open(&path)?, meta, hold }),
            Err(error) => {
                let _ = fs::remove_dir_all(&hidden);
                Err(error)
            }
        }
    }

    /// All runs, oldest first.
    pub fn runs(&self) -> Result<Vec<RunDir>, StoreError> {
        let entries = match fs::read_dir(&self.runs) {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::io("read", &self.runs)(error)),
        };
        let mut runs: Vec<RunDir> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                // A link could lead anywhere, and we make none.
                let is_directory = entry.file_type().ok()?.is_dir();
                RunDir::open(&entry.path()).ok().filter(|_| is_directory)
            })
            .collect();
        runs.sort_by(|one, other| one.run_id().cmp(other.run_id()));
        Ok(runs)
    }

    /// The run with this id, if it has a directory.
    pub fn run(&self, id: &RunId) -> Option<RunDir> {
        let path = self.runs.join(id.as_str());
        let is_directory = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        RunDir::open(&path).ok().filter(|_| is_directory)
    }

    /// Refuses a store that is a link: a cloned project could make us write and delete elsewhere.
    /// Refuses a store of another user, too, such as `/tmp/.pi`: its owner could replace its
    /// contents at any moment, also the command that a supervisor is about to start.
    pub(crate) fn check_is_own(&self) -> Result<(), StoreError> {
        self.check_belongs_to(geteuid())
    }

    fn check_belongs_to(&self, user: Uid) -> Result<(), StoreError> {
        let mut directories = vec![self.runs.as_path()];
        if self.runs.ends_with(paths::runs(Path::new(""))) {
            directories.extend(self.runs.ancestors().skip(1).take(2));
        }
        for directory in directories {
            let Ok(metadata) = fs::symlink_metadata(directory) else { continue };
            let problem = if metadata.is_symlink() {
                "it is a symbolic link, which is not followed"
            } else if !is_trusted(Uid::from_raw(metadata.uid()), user) {
                "it belongs to another user"
            } else {
                continue;
            };
            return Err(StoreError::io("used", directory)(io::Error::other(problem)));
        }
        Ok(())
    }

    /// Refuses to make the root of the file system a project, unless it is one already.
    pub(crate) fn check_project(&self) -> Result<(), StoreError> {
        let root = Path::new("/");
        let state = StateDir::of_project(root);
        let is_marked = state.path().exists() || root.join(".git").exists();
        if self.runs == paths::runs(root) && !is_marked {
            let problem = io::Error::other("the root of the file system is not a project");
            return Err(StoreError::io("created", state.path())(problem));
        }
        Ok(())
    }

    fn prepare(&self) -> Result<(), StoreError> {
        self.check_is_own()?;
        self.check_project()?;
        // Runs hold prompts and answers, which must not end up in a commit by accident.
        let ignore = self.runs.join(".gitignore");
        if ignore.exists() {
            return Ok(());
        }
        if let Some(parent) = self.runs.parent() {
            // Presets are in it, which other users may read but not write.
            let created = DirBuilder::new().recursive(true).mode(0o755).create(parent);
            created.map_err(StoreError::io("created", parent))?;
        }
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&self.runs);
        created.map_err(StoreError::io("created", &self.runs))?;
        match create_private(&ignore).and_then(|mut file| file.write_all(b"*\n")) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(StoreError::io("written", &ignore)(error))
            }
            _ => Ok(()),
        }
    }
}

/// Whether there is no such directory. A plain file `.pi` holds none.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether this user trusts the owner of a directory. The administrator could do everything anyway,
/// and for the administrator of a container, files may belong to a user outside of it.
pub(crate) fn is_trusted(owner: Uid, user: Uid) -> bool {
    owner == user || owner.is_root() || user.is_root()
}

fn meta_json(meta: &Meta) -> io::Result<Vec<u8>> {
    let mut json = serde_json::to_vec_pretty(meta)?;
    json.push(b'\n');
    Ok(json)
}

/// What is written must be read again.
fn check_task(name: &'static str, bytes: usize, limit: u64) -> Result<(), StoreError> {
    match bytes as u64 {
        bytes if bytes > limit => Err(StoreError::TaskTooLong { name, bytes, limit }),
        _ => Ok(()),
    }
}

fn build(directory: &Path, meta: &[u8], plan: &Plan) -> io::Result<Hold> {
    DirBuilder::new().mode(0o700).create(directory)?;
    let hold = Hold::shared(create_private(&directory.join(EVENTS))?)?;
    create_private(&directory.join(PROMPT))?.write_all(plan.prompt.as_bytes())?;
    for (name, contents) in &plan.files {
        create_private(&directory.join(name))?.write_all(contents.as_bytes())?;
    }
    create_private(&directory.join(META))?.write_all(meta)?;
    Ok(hold)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    #[test]
    fn a_store_of_another_user_is_not_used() {
        for directory in [".pi", ".pi/subagents", ".pi/subagents/runs"] {
            let top = tempfile::tempdir().unwrap();
            let store = Store::in_project(top.path());
            fs::create_dir_all(store.path()).unwrap();
            // Only the administrator can change an owner, and is trusted as one.
            if geteuid().is_root() {
                chown(top.path().join(directory), Some(4242), None).unwrap();
            }
            let owner = fs::metadata(top.path().join(directory)).unwrap().uid();
            let check = |user: u32| store.check_belongs_to(Uid::from_raw(user));
            let error = check(owner + 1).unwrap_err().to_string();
            assert!(error.contains(directory) && error.ends_with("another user"), "{error}");
            assert!(check(owner).is_ok() && check(0).is_ok());
        }
    }
}
