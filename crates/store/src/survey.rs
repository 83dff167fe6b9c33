//! Looks at a store without changing it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use model::{RunId, paths};
use rustix::fs::Access;

use crate::retention::{ABANDONED_AFTER, size_of};
use crate::{RunDir, Store, StoreError};

/// A directory that was half made, or half removed, when its program died.
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
    /// because a project could not be written.
    pub fn temporary_stores() -> Vec<Store> {
        let user = rustix::process::geteuid().as_raw();
        let is_store = |path: &Path| {
            let is_own = fs::symlink_metadata(path).is_ok_and(|metadata| {
                use std::os::unix::fs::MetadataExt;
                metadata.is_dir() && metadata.uid() == user
            });
            let name = path.file_name().and_then(|name| name.to_str());
            is_own && name.is_some_and(|name| name.starts_with(paths::TEMPORARY_PREFIX))
        };
        let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path()).filter(|path| is_store(path));
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
        rustix::fs::access(nearest, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|error| StoreError::io("written", nearest)(error.into()))
    }

    /// What programs left behind that died while they made or removed a run.
    pub fn debris(&self, now: SystemTime) -> Vec<Debris> {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten();
        let mut found = Vec::new();
        for entry in entries {
            let name = entry.file_name();
            let is_ours = name.to_str().is_some_and(|name| {
                let id = name.strip_prefix(".new-").or_else(|| name.strip_prefix(".old-"));
                id.is_some_and(|id| RunId::parse(id).is_ok())
            });
            if !is_ours {
                continue;
            }
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|modified| now.duration_since(modified).ok());
            let is_removable = age.is_some_and(|age| age > ABANDONED_AFTER);
            found.push(Debris { path: entry.path(), is_removable });
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        found
    }
}
