//! Looks at a store without changing it.

use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use model::{RunId, paths};
use rustix::fs::Access;
use rustix::process::geteuid;

use crate::retention::{ABANDONED_AFTER, size_of};
use crate::{RunDir, Store, StoreError, TemporaryDir};

/// A directory that a program has left because it died.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Debris {
    pub path: PathBuf,
    /// Whether it is so old that no program can be working on it; then pruning removes it.
    pub is_removable: bool,
}

impl RunDir {
    /// The size of all its files.
    pub fn bytes(&self) -> u64 {
        size_of(self.path())
    }
}

impl Store {
    /// The stores of this user in the system's temporary directory that hold runs. They were made
    /// because a project could not be written. Other programs of the user keep files there as well: a
    /// store of ours has our name, belongs to the user, and admits nobody else.
    pub fn temporary_stores() -> Vec<Store> {
        let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path()).filter(|path| is_temporary_store(path));
        let mut stores: Vec<Store> = paths.map(Store::at).collect();
        stores.retain(|store| store.runs().is_ok_and(|runs| !runs.is_empty()));
        stores.sort_by(|one, other| one.path().cmp(other.path()));
        stores
    }

    /// Whether runs could be made here, as far as that can be known without making one.
    pub fn check_writable(&self) -> Result<(), StoreError> {
        self.check_is_own()?;
        self.check_project()?;
        // Missing directories are made in the nearest one that exists.
        let nearest = self.path().ancestors().find(|directory| directory.exists());
        let nearest = nearest.unwrap_or(Path::new("/"));
        if !nearest.is_dir() {
            let problem = io::Error::other("it is not a directory");
            return Err(StoreError::io("used", nearest)(problem));
        }
        rustix::fs::access(nearest, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|error| StoreError::io("written", nearest)(error.into()))
    }

    /// What programs left behind that died while they made or removed a run, and the temporary
    /// directories of runs that no supervisor uses any more.
    pub fn debris(&self, now: SystemTime) -> Vec<Debris> {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten();
        let halves = entries.filter(is_half_a_run).map(|entry| entry.path());
        let temporary = TemporaryDir::all_abandoned().map(|directory| directory.path().to_owned());
        let mut found: Vec<Debris> = halves
            .chain(temporary)
            .map(|path| {
                let modified = fs::symlink_metadata(&path).and_then(|metadata| metadata.modified());
                let age = modified.ok().and_then(|modified| now.duration_since(modified).ok());
                Debris { path, is_removable: age.is_some_and(|age| age > ABANDONED_AFTER) }
            })
            .collect();
        found.sort_by(|one, other| one.path.cmp(&other.path));
        found
    }
}

/// Whether a program was making or removing this run directory.
fn is_half_a_run(entry: &DirEntry) -> bool {
    entry.file_name().to_str().is_some_and(|name| {
        let id = name.strip_prefix(".new-").or_else(|| name.strip_prefix(".old-"));
        id.is_some_and(|id| RunId::parse(id).is_ok())
    })
}

fn is_temporary_store(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let has_name = name.is_some_and(|name| name.starts_with(paths::TEMPORARY_STORE_PREFIX));
    has_name
        && fs::symlink_metadata(path).is_ok_and(|metadata| {
            let is_private = metadata.mode() & 0o077 == 0;
            metadata.is_dir() && is_private && metadata.uid() == geteuid().as_raw()
        })
}
