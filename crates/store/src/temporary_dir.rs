//! The temporary directory of a run: of an agent that may change little else, or of a relay whose files are on their way.

use std::fs::{self, DirBuilder, DirEntry, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use model::{AccessPaths, Meta, Mirror, paths};
use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;

use crate::{StoreError, remove_tree};

/// A directory that only the user can enter. It lasts as long as its run.
#[derive(Debug)]
pub struct TemporaryDir {
    path: PathBuf,
    /// Held by the supervisor of the run: without it, a directory whose record is gone would never be
    /// known to be of no use. None where the file system has no locks.
    _lock: Option<File>,
}

impl TemporaryDir {
    /// Makes it. Its name has the run's id, which no other user knows.
    pub fn create(path: &Path) -> Result<TemporaryDir, StoreError> {
        DirBuilder::new().mode(0o700).create(path).map_err(StoreError::io("created", path))?;
        Ok(TemporaryDir { path: path.to_owned(), _lock: lock(path) })
    }

    /// All that no supervisor uses, in the system's temporary directory.
    pub(crate) fn all_abandoned() -> impl Iterator<Item = TemporaryDir> {
        let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
        entries.filter(is_own).filter_map(|entry| {
            let lock = lock(&entry.path())?;
            Some(TemporaryDir { path: entry.path(), _lock: Some(lock) })
        })
    }

    /// That of a run whose processes are gone, if it is still there.
    pub fn left_by(meta: &Meta) -> Option<TemporaryDir> {
        let path = match meta.access_paths.as_deref() {
            Some(AccessPaths { temporary, .. }) => temporary.clone(),
            None => paths::temporary_dir(&std::env::temp_dir(), &meta.run_id),
        };
        // The record could have been changed: nothing else than such a directory is removed.
        let is_own = path == paths::temporary_dir(path.parent()?, &meta.run_id);
        let is_there = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        (is_own && is_there).then_some(TemporaryDir { path, _lock: None })
    }

    #[expect(missing_docs, reason = "the name says it")]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes an empty directory in it.
    pub fn directory(&self, name: &str) -> Result<PathBuf, StoreError> {
        let directory = self.path.join(name);
        fs::create_dir(&directory).map_err(StoreError::io("created", &directory))?;
        Ok(directory)
    }

    /// Makes links in it to the entries of another directory, and returns the value of the variable that leads there.
    pub fn mirror(&self, mirror: &Mirror) -> Result<PathBuf, StoreError> {
        let Mirror { directory, beneath, entries, .. } = mirror;
        let top = self.path.join("agent");
        let mirror = beneath.as_ref().map_or_else(|| top.clone(), |name| top.join(name));
        fs::create_dir_all(&mirror).map_err(StoreError::io("created", &mirror))?;
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if entries
                .as_ref()
                .is_some_and(|entries| !entries.iter().any(|entry| name == entry.as_str()))
            {
                continue;
            }
            let link = mirror.join(name);
            symlink(entry.path(), &link).map_err(StoreError::io("created", &link))?;
        }
        Ok(top)
    }

    /// Puts an empty file in the place of a link of the mirror, on which the file itself can be mounted.
    pub fn make_mount_point(&self, link: &Path) -> Result<(), StoreError> {
        let failed = || StoreError::io("made a file", link);
        fs::remove_file(link).map_err(failed())?;
        let mut private = OpenOptions::new();
        private.write(true).create_new(true).mode(0o600);
        private.open(link).map(drop).map_err(failed())
    }

    /// Puts a link there again.
    pub fn make_link(&self, file: &Path, link: &Path) -> Result<(), StoreError> {
        let failed = || StoreError::io("made a link", link);
        fs::remove_file(link).map_err(failed())?;
        symlink(file, link).map_err(failed())
    }

    /// Removes it with everything in it.
    pub fn remove(self) -> Result<(), StoreError> {
        remove_tree(&self.path).map_err(StoreError::io("removed", &self.path))
    }
}

/// Whether this is such a directory, and this user's.
fn is_own(entry: &DirEntry) -> bool {
    entry.file_name().to_str().is_some_and(paths::is_temporary_dir)
        && entry.metadata().is_ok_and(|metadata| {
            metadata.is_dir()
                && metadata.mode() & 0o077 == 0
                && metadata.uid() == geteuid().as_raw()
        })
}

/// Locks a directory, unless another process has.
fn lock(path: &Path) -> Option<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    let directory = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    directory.try_lock().ok()?;
    Some(directory)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_mirror_has_links_to_some_entries_where_the_agent_looks_for_them() {
        let top = tempfile::tempdir().unwrap();
        let directory = top.path().join("real");
        fs::create_dir(&directory).unwrap();
        for name in ["settings", "history"] {
            fs::write(directory.join(name), name).unwrap();
        }
        let own = TemporaryDir::create(&top.path().join("own")).unwrap();
        let mirror = Mirror {
            directory,
            variable: "HOME_OF_AGENT".to_owned(),
            beneath: Some(".agent".to_owned()),
            entries: Some(vec!["settings".to_owned()]),
            mounted: Vec::new(),
        };
        let place = own.mirror(&mirror).unwrap().join(".agent");
        let settings = place.join("settings");
        assert_eq!(fs::read_to_string(&settings).unwrap(), "settings");
        own.make_mount_point(&settings).unwrap();
        let found = settings.symlink_metadata().unwrap();
        assert!(found.is_file() && found.len() == 0 && found.mode() & 0o777 == 0o600, "{found:?}");
        own.make_link(&mirror.directory.join("settings"), &settings).unwrap();
        assert_eq!(fs::read_to_string(&settings).unwrap(), "settings");
        assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
        assert_eq!(fs::read_dir(own.directory("CACHE").unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn it_is_private_and_goes_away_with_all_that_is_in_it() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("own");
        let own = TemporaryDir::create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        TemporaryDir::create(&path).unwrap_err();
        let kept = top.path().join("kept");
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "").unwrap();
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::write(path.join("a/b/file"), "").unwrap();
        symlink(&kept, path.join("a/link")).unwrap();
        for directory in ["a/b", "a"] {
            fs::set_permissions(path.join(directory), Permissions::from_mode(0o500)).unwrap();
        }
        own.remove().unwrap();
        assert!(!path.exists() && kept.join("file").exists());
    }
}
