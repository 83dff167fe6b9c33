//! All runs of a project.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use model::{Meta, Plan};
use rustix::process::{Uid, geteuid};

use crate::run_dir::{EVENTS, META, PROMPT};
use crate::write_once::create_private;
use crate::{Hold, RunDir, StoreError};

/// The directory that holds the run directories of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    runs: PathBuf,
}

/// What the names of temporary stores begin with.
pub(crate) const TEMPORARY_PREFIX: &str = "pi-subagents-";

/// A run directory that was just made. As long as this lives, the run counts as alive.
#[derive(Debug)]
pub struct NewRun {
    /// The directory.
    pub dir: RunDir,
    /// What is written in it.
    pub meta: Meta,
    /// Keep it until the supervisor has its own.
    pub hold: Hold,
}

impl Store {
    /// The store of a project. Nothing is created before the first run is.
    pub fn in_project(root: &Path) -> Store {
        Store { runs: root.join(".pi").join("subagents").join("runs") }
    }

    /// The store whose run directories are in this one.
    pub(crate) fn at(runs: PathBuf) -> Store {
        Store { runs }
    }

    /// A store of its own in the system's temporary directory, for when the project's cannot be
    /// written.
    pub fn temporary() -> Result<Store, StoreError> {
        let directory = tempfile::Builder::new()
            .prefix(TEMPORARY_PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .map_err(StoreError::io("created", std::env::temp_dir()))?;
        Ok(Store { runs: directory.keep() })
    }

    /// Removes a temporary store in which nothing could be kept.
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
        // Without links, so that the same directory always has the same name.
        let runs = fs::canonicalize(&self.runs).map_err(StoreError::io("found", &self.runs))?;
        let hidden = runs.join(format!(".new-{}", plan.meta.run_id));
        let path = runs.join(plan.meta.run_id.as_str());
        let meta = plan.meta_in(&path);
        let built = build(&hidden, &meta, plan)
            .and_then(|hold| fs::rename(&hidden, &path).map(|()| hold))
            .map_err(StoreError::io("created", &path));
        match built {
            Ok(hold) => Ok(NewRun { dir: RunDir::open(&path)?, meta, hold }),
            Err(error) => {
                // Whatever was written before the failure must not stay behind.
                let _ = fs::remove_dir_all(&hidden);
                Err(error)
            }
        }
    }

    /// All runs, oldest first.
    pub fn runs(&self) -> Result<Vec<RunDir>, StoreError> {
        let entries = match fs::read_dir(&self.runs) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::io("read", &self.runs)(error)),
        };
        let mut runs: Vec<RunDir> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                // A link could lead anywhere, and none of ours is one.
                let is_directory = entry.file_type().ok()?.is_dir();
                RunDir::open(&entry.path()).ok().filter(|_| is_directory)
            })
            .collect();
        runs.sort_by(|one, other| one.run_id().cmp(other.run_id()));
        Ok(runs)
    }

    /// Refuses a store that is a link: a project that was cloned could make us write and delete
    /// somewhere else. Refuses one of another user, too, such as a `.pi` in the directory for
    /// everybody's temporary files: its owner could exchange what is in it at any moment, also what
    /// a supervisor is about to start.
    pub(crate) fn check_place(&self) -> Result<(), StoreError> {
        self.check_place_for(geteuid())
    }

    fn check_place_for(&self, user: Uid) -> Result<(), StoreError> {
        let mut places = vec![self.runs.as_path()];
        if self.runs.ends_with(".pi/subagents/runs") {
            places.extend(self.runs.ancestors().skip(1).take(2));
        }
        for place in places {
            let Ok(metadata) = fs::symlink_metadata(place) else { continue };
            let problem = if metadata.is_symlink() {
                "it is a symbolic link, which is not followed"
            } else if !is_trusted(Uid::from_raw(metadata.uid()), user) {
                "it belongs to another user"
            } else {
                continue;
            };
            return Err(StoreError::io("used", place)(io::Error::other(problem)));
        }
        Ok(())
    }

    /// Refuses to make a project of the root of the file system, where somebody merely stands.
    pub(crate) fn check_project(&self) -> Result<(), StoreError> {
        let is_marked = [".pi", ".git"].iter().any(|mark| Path::new("/").join(mark).exists());
        if self.runs == Path::new("/.pi/subagents/runs") && !is_marked {
            let nowhere = io::Error::other("the root of the file system is not a project");
            return Err(StoreError::io("created", Path::new("/.pi"))(nowhere));
        }
        Ok(())
    }

    fn prepare(&self) -> Result<(), StoreError> {
        self.check_place()?;
        self.check_project()?;
        // Runs hold prompts and answers, which must not end up in a commit by accident.
        let ignore = self.runs.join(".gitignore");
        if ignore.exists() {
            return Ok(());
        }
        if let Some(parent) = self.runs.parent() {
            // Presets are in it, for everybody to read but nobody else to write.
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

/// Whether the owner of a directory does nothing to this user. The system's administrator could do
/// everything anyway, and in a container everything may belong to somebody outside of it.
pub(crate) fn is_trusted(owner: Uid, user: Uid) -> bool {
    owner == user || owner.is_root() || user.is_root()
}

fn build(directory: &Path, meta: &Meta, plan: &Plan) -> io::Result<Hold> {
    DirBuilder::new().mode(0o700).create(directory)?;
    let hold = Hold::shared(create_private(&directory.join(EVENTS))?)?;
    create_private(&directory.join(PROMPT))?.write_all(plan.prompt.as_bytes())?;
    for (name, contents) in &plan.files {
        create_private(&directory.join(name))?.write_all(contents.as_bytes())?;
    }
    let mut json = serde_json::to_vec_pretty(meta)?;
    json.push(b'\n');
    create_private(&directory.join(META))?.write_all(&json)?;
    Ok(hold)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    #[test]
    fn a_store_of_another_user_is_not_used() {
        for place in [".pi", ".pi/subagents", ".pi/subagents/runs"] {
            let top = tempfile::tempdir().unwrap();
            let store = Store::in_project(top.path());
            fs::create_dir_all(store.path()).unwrap();
            // What belongs to the administrator is trusted, who alone can give something away.
            if geteuid().is_root() {
                chown(top.path().join(place), Some(4242), None).unwrap();
            }
            let owner = fs::metadata(top.path().join(place)).unwrap().uid();
            let check = |user: u32| store.check_place_for(Uid::from_raw(user));
            let error = check(owner + 1).unwrap_err().to_string();
            assert!(error.contains(place) && error.ends_with("belongs to another user"), "{error}");
            assert!(check(owner).is_ok() && check(0).is_ok());
        }
    }
}
