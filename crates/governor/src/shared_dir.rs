//! The directory on which the programs of a user agree, and everything that is written into it.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::process::geteuid;

/// A directory that only this user can enter.
#[derive(Clone, Debug)]
pub(crate) struct SharedDir {
    path: PathBuf,
}

/// A lock that this program holds, as long as this is there.
#[derive(Debug)]
pub(crate) struct Locked {
    file: File,
}

/// More than any of our files needs. A larger one was not written here.
const LARGEST: u64 = 64 * 1024;

/// How often a lock is asked for that another program holds. It is held for less than a millisecond, unless its holder
/// was stopped.
pub(crate) const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_micros(250);

impl SharedDir {
    /// The first of the directories that is this user's alone, or can be made so. A directory that another user has put
    /// there is passed over by all programs alike.
    pub(crate) fn open(candidates: &[PathBuf]) -> Option<SharedDir> {
        SharedDir::open_for(geteuid().as_raw(), candidates)
    }

    fn open_for(user: u32, candidates: &[PathBuf]) -> Option<SharedDir> {
        let last = candidates.len().saturating_sub(1);
        let mut candidates = candidates.iter().enumerate();
        let found = candidates.find(|(index, path)| make_private(user, path, *index == last));
        let shared = SharedDir { path: found?.1.clone() };
        ["running", "queue", "waiting"]
            .into_iter()
            .all(|name| make_private(user, &shared.path.join(name), true))
            .then_some(shared)
    }

    pub(crate) fn running(&self) -> PathBuf {
        self.path.join("running")
    }

    pub(crate) fn queue(&self) -> PathBuf {
        self.path.join("queue")
    }

    pub(crate) fn bell(&self) -> PathBuf {
        self.path.join("bell")
    }

    pub(crate) fn waiting(&self) -> PathBuf {
        self.path.join("waiting")
    }

    /// When a lock was last used for what it is for.
    pub(crate) fn last_use(&self, name: &str) -> Option<SystemTime> {
        fs::metadata(self.path.join(name)).ok()?.modified().ok()
    }

    /// Keeps all other programs from deciding. `None` if another program does so for long.
    pub(crate) fn lock(&self) -> Option<Locked> {
        self.lock_named("lock", ATTEMPTS)
    }

    /// Takes a lock, or does not.
    pub(crate) fn lock_named(&self, name: &str, attempts: u32) -> Option<Locked> {
        lock(&self.path.join(name), attempts)
    }
}

/// Takes the lock that a file is, or does not: to wait for a program that was stopped would stop this one, too. So there are
/// attempts, with pauses between them, which are short beside the time for which a lock is held.
pub(crate) fn lock(path: &Path, attempts: u32) -> Option<Locked> {
    let file = open_file(path, Access::Make).ok()?;
    for attempt in 0..attempts {
        if attempt > 0 {
            sleep(PAUSE);
        }
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Some(Locked { file });
        }
    }
    None
}

impl Locked {
    /// Puts a text into the file, in place of what is in it.
    pub(crate) fn write(&self, text: &[u8]) {
        let _ = rewrite(&self.file, text);
    }

    /// Notes the time.
    pub(crate) fn touch(&self) {
        let _ = self.file.set_modified(SystemTime::now());
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Not by closing alone: a process that another thread is starting can still have the file open.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// To be made if it is not there.
    Make,
}

/// Opens a file, and no link.
pub(crate) fn open_file(path: &Path, access: Access) -> io::Result<File> {
    let flags = match access {
        Access::Read => OFlags::RDONLY,
        Access::Write => OFlags::RDWR,
        Access::Make => OFlags::RDWR | OFlags::CREATE,
    };
    // A pipe in place of a file must not hold this program up.
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(File::from(open(path, flags, Mode::RUSR | Mode::WUSR)?))
}

/// Puts a text into a file, in place of what is in it.
pub(crate) fn rewrite(file: &File, text: &[u8]) -> io::Result<()> {
    file.write_all_at(text, 0)?;
    file.set_len(text.len() as u64)
}

/// What a file holds, if it is one of ours.
pub(crate) fn read_file(path: &Path) -> Option<Vec<u8>> {
    let file = open_file(path, Access::Read).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(metadata.len()).ok()?];
    let read = file.read_at(&mut bytes, 0).ok()?;
    bytes.truncate(read);
    Some(bytes)
}

/// Writes a file that lasts, whole or not at all.
pub(crate) fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let _ = fs::remove_file(&beside);
    let written = open_file(&beside, Access::Make).and_then(|file| rewrite(&file, text));
    written.and_then(|()| fs::rename(&beside, path)).inspect_err(|_| remove(&beside))
}

/// Makes a directory that lasts.
pub(crate) fn make_directory(path: &Path) -> bool {
    make_private(geteuid().as_raw(), path, true)
}

/// Removes a file that says nothing any more. If it cannot be, it is passed over.
pub(crate) fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// The names in a directory.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Whether the directory is there afterwards, and only this user can enter it.
fn make_private(user: u32, path: &Path, makes_parents: bool) -> bool {
    let is_private = || {
        fs::symlink_metadata(path)
            .is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0)
    };
    // So it is almost always.
    if makes_parents && is_private() {
        return true;
    }
    let is_safe = |parent: &Path| {
        // `sudo` passes the runtime directory of another user on. In a directory like `/tmp` no other user can replace
        // what is ours.
        fs::metadata(parent).is_ok_and(|found| found.uid() == user || found.mode() & 0o1000 != 0)
    };
    if makes_parents {
        let _ = DirBuilder::new().mode(0o700).recursive(true).create(path);
    } else if path.parent().is_some_and(is_safe) {
        let _ = DirBuilder::new().mode(0o700).create(path);
    } else {
        return false;
    }
    is_private()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn a_directory_that_others_can_enter_or_that_is_a_link_is_passed_over() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        fs::create_dir(path("open")).unwrap();
        fs::set_permissions(path("open"), Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(path("real")).unwrap();
        fs::set_permissions(path("real"), Permissions::from_mode(0o700)).unwrap();
        symlink(path("real"), path("link")).unwrap();
        fs::write(path("file"), "").unwrap();
        let candidates = ["open", "link", "file", "missing/below", "new/below"].map(path);
        let shared = SharedDir::open(&candidates).unwrap();
        assert_eq!(shared.path, path("new/below"), "only the last one's parents are made");
        assert!(shared.running().is_dir());
        let mode = fs::metadata(&shared.path).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(SharedDir::open(&["open", "file"].map(path)).is_none());
    }

    #[test]
    fn what_another_user_has_planted_is_passed_over() {
        let top = tempfile::tempdir().unwrap();
        let [planted, parent, own] = ["planted", "parent", "own"].map(|name| top.path().join(name));
        for path in [&planted, &parent] {
            DirBuilder::new().mode(0o700).create(path).unwrap();
        }
        let below = parent.join("new");
        let user = geteuid();
        // The same directories are used while they are the user's own, so that nothing else keeps them from being used.
        let found = SharedDir::open(&[planted.clone(), own.clone()]).unwrap();
        assert_eq!(found.path, planted);
        assert!(make_private(user.as_raw(), &below, false));
        fs::remove_dir(&below).unwrap();
        // Only root can give a directory away; for others, another user asks.
        let other = user.as_raw() + 4242;
        let asking = if user.is_root() {
            for path in [planted.clone(), planted.join("running"), parent.clone()] {
                chown(path, Some(other), None).unwrap();
            }
            assert_eq!(SharedDir::open(&[planted.clone(), own.clone()]).unwrap().path, own);
            user.as_raw()
        } else {
            other
        };
        for path in [&planted, &below] {
            assert!(!make_private(asking, path, false), "{}", path.display());
        }
        assert!(SharedDir::open_for(asking, std::slice::from_ref(&planted)).is_none());
        let owner = fs::metadata(&planted).unwrap().uid();
        assert!(make_private(owner, &planted, true), "its owner may use it");
    }

    #[test]
    fn a_pipe_and_a_huge_file_are_nothing() {
        let top = tempfile::tempdir().unwrap();
        let (pipe, huge) = (top.path().join("pipe"), top.path().join("huge"));
        process::make_named_pipe(&pipe).unwrap();
        File::create(&huge).unwrap().set_len(LARGEST + 1).unwrap();
        assert_eq!((read_file(&pipe), read_file(&huge)), (None, None));
        fs::write(&huge, "small").unwrap();
        assert_eq!(read_file(&huge).unwrap(), b"small");
    }

    #[test]
    fn one_program_decides_at_a_time() {
        let top = tempfile::tempdir().unwrap();
        let shared = SharedDir::open(&[top.path().join("locks")]).unwrap();
        let locked = shared.lock().unwrap();
        assert!(shared.lock().is_none());
        drop(locked);
        assert!(shared.lock().is_some());
    }

    #[test]
    fn what_is_rewritten_is_read_and_links_are_not_followed() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("file");
        let file = open_file(&path, Access::Make).unwrap();
        rewrite(&file, b"a long text").unwrap();
        rewrite(&file, b"short").unwrap();
        assert_eq!(read_file(&path).unwrap(), b"short");
        let link = top.path().join("link");
        symlink(&path, &link).unwrap();
        assert_eq!(read_file(&link), None);
        replace(&path, b"new").unwrap();
        assert_eq!(read_file(&path).unwrap(), b"new");
        assert_eq!(names(top.path()).len(), 2);
    }
}
