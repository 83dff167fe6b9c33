//! Opens files without blocking, and changes them one call at a time and in one step.
//!
//! An existing file is replaced by a new one under its name, so that neither a full disk nor a kill
//! leaves half of it. If the new file would lose something of the old one (other names, another
//! owner, extended attributes), or cannot be created in the directory, the old file is overwritten
//! instead.

use std::collections::HashSet;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::ToolError;
use super::system_error;

#[derive(Debug)]
pub(super) struct FileLock(PathBuf);

/// No system has longer paths.
const LONGEST_PATH: usize = 4096;

static LOCKED: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
static UNLOCKED: Condvar = Condvar::new();

/// Waits until no other call of this process changes the file.
pub(super) fn lock(path: &Path) -> FileLock {
    let file = real_path(path);
    let mut locked = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
    while !locked.get_or_insert_default().insert(file.clone()) {
        locked = UNLOCKED.wait(locked).unwrap_or_else(PoisonError::into_inner);
    }
    FileLock(file)
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let mut locked = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
        locked.get_or_insert_default().remove(&self.0);
        UNLOCKED.notify_all();
    }
}

#[derive(Debug)]
pub(super) enum Unreadable {
    Directory,
    /// A pipe or a device, which may have no end.
    NotRegular,
    Refused(io::Error),
}

impl Unreadable {
    /// The error for the model; `call` is the system call that was refused.
    pub(super) fn on(self, call: &str, path: &Path) -> ToolError {
        match self {
            Unreadable::Directory => system_error::of_call(&Errno::ISDIR.into(), "read"),
            Unreadable::NotRegular => not_regular(path),
            Unreadable::Refused(error) => system_error::on_path(&error, call, path),
        }
    }
}

pub(super) fn open(path: &Path) -> Result<File, Unreadable> {
    // Without `NONBLOCK`, opening a pipe would block.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Devices are not even opened, because that alone can have an effect.
    check_regular(&fs::metadata(path).map_err(Unreadable::Refused)?)?;
    let file = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|error| Unreadable::Refused(error.into()))?;
    let file = File::from(file);
    // It may have been replaced before it was opened.
    check_regular(&file.metadata().map_err(Unreadable::Refused)?)?;
    Ok(file)
}

fn check_regular(metadata: &Metadata) -> Result<(), Unreadable> {
    if metadata.is_dir() {
        Err(Unreadable::Directory)
    } else if metadata.is_file() {
        Ok(())
    } else {
        Err(Unreadable::NotRegular)
    }
}

pub(super) fn create_parents(path: &Path) -> Result<(), ToolError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent).map_err(|error| system_error::on_path(&error, "mkdir", parent))
}

pub(super) fn write(path: &Path, content: &[u8]) -> Result<(), ToolError> {
    let failed = |error: io::Error| system_error::on_path(&error, "open", path);
    // The target of a link is changed, not the link.
    let Ok(target) = fs::canonicalize(path) else {
        return overwrite(path, content).map_err(failed);
    };
    let metadata = fs::metadata(&target).map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(Errno::ISDIR.into()));
    }
    if !metadata.is_file() {
        return Err(not_regular(path));
    }
    // A file that must not be written could often still be replaced.
    rustix::fs::access(&target, rustix::fs::Access::WRITE_OK)
        .map_err(|error| failed(error.into()))?;
    if is_replaceable(&target, &metadata)
        && let Some(new) = new_file_beside(&target, &metadata)
    {
        return replace(&target, new, content)
            .map_err(|error| system_error::on_path(&error, "write", path));
    }
    overwrite(&target, content).map_err(failed)
}

/// The error for pipes, devices and the like.
pub(super) fn not_regular(path: &Path) -> ToolError {
    ToolError(format!("Not a regular file: {}", path.display()))
}

/// The path without links, also of a file that does not exist yet.
fn real_path(path: &Path) -> PathBuf {
    // No file has such a path, and looking at each of its parts would take for ever.
    if path.as_os_str().len() > LONGEST_PATH {
        return path.to_owned();
    }
    for ancestor in path.ancestors() {
        if let Ok(real) = fs::canonicalize(ancestor) {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            // Joining an empty path would add a slash.
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

fn is_replaceable(path: &Path, metadata: &Metadata) -> bool {
    let has_our_owner = metadata.uid() == rustix::process::geteuid().as_raw()
        && metadata.gid() == rustix::process::getegid().as_raw();
    metadata.nlink() == 1 && has_our_owner && !has_attributes(path)
}

/// Whether the file has extended attributes, such as access lists, that a new one would lack. The
/// system itself gives those of its security to every new file.
fn has_attributes(path: &Path) -> bool {
    let mut names = vec![0; 64 * 1024];
    let Ok(length) = rustix::fs::listxattr(path, names.as_mut_slice()) else { return false };
    names
        .get(..length)
        .unwrap_or_default()
        .split(|byte| *byte == 0)
        .any(|name| !name.is_empty() && !name.starts_with(b"security."))
}

/// A new empty file with the mode of the old one, if it can be created in the directory. Before it has
/// that mode, only its owner can read it.
fn new_file_beside(path: &Path, metadata: &Metadata) -> Option<tempfile::NamedTempFile> {
    let new = tempfile::Builder::new().prefix(".pi-").tempfile_in(path.parent()?).ok()?;
    new.as_file().set_permissions(metadata.permissions()).ok()?;
    Some(new)
}

fn replace(path: &Path, mut new: tempfile::NamedTempFile, content: &[u8]) -> io::Result<()> {
    new.write_all(content)?;
    new.persist(path)?;
    Ok(())
}

fn overwrite(path: &Path, content: &[u8]) -> io::Result<()> {
    // Writing to a pipe or a terminal must not block.
    let not_blocking = OFlags::NONBLOCK.bits();
    let mut file: File = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(not_blocking.cast_signed())
        .open(path)?;
    file.write_all(content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::tools::testing::TestDirectory;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn inode(path: &Path) -> u64 {
        fs::metadata(path).unwrap().ino()
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_keeps_its_mode() {
        let directory = TestDirectory::new();
        let file = directory.file("a", "a long content");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o751)).unwrap();
        let reader = fs::File::open(&file).unwrap();
        write(&file, b"new").unwrap();
        assert_eq!(directory.content("a"), b"new");
        assert_eq!(mode(&file), 0o751);
        // A program that has the old file open still reads the old content.
        assert_eq!(io::read_to_string(reader).unwrap(), "a long content");
        assert_eq!(names(directory.cwd()), ["a"]);
    }

    #[test]
    fn a_link_still_leads_to_the_file() {
        let directory = TestDirectory::new();
        directory.file("d/real", "old");
        symlink("d/real", directory.path("link")).unwrap();
        write(&directory.path("link"), b"new").unwrap();
        assert!(fs::symlink_metadata(directory.path("link")).unwrap().is_symlink());
        assert_eq!(directory.content("d/real"), b"new");
        symlink("d/missing", directory.path("dangling")).unwrap();
        write(&directory.path("dangling"), b"made").unwrap();
        assert_eq!(directory.content("d/missing"), b"made");
    }

    #[test]
    fn a_file_with_two_names_stays_one_file() {
        let directory = TestDirectory::new();
        let file = directory.file("a", "old and long");
        fs::hard_link(&file, directory.path("b")).unwrap();
        let before = inode(&file);
        write(&file, b"new").unwrap();
        assert_eq!((inode(&file), directory.content("b")), (before, b"new".to_vec()));
    }

    #[test]
    fn a_file_with_notes_keeps_them() {
        let directory = TestDirectory::new();
        let file = directory.file("a", "old and long");
        let flags = rustix::fs::XattrFlags::empty();
        if rustix::fs::setxattr(&file, "user.note", b"x", flags).is_err() {
            // This file system has none.
            return;
        }
        write(&file, b"new").unwrap();
        let mut note = [0];
        assert_eq!(rustix::fs::getxattr(&file, "user.note", &mut note[..]), Ok(1));
        assert_eq!(directory.content("a"), b"new");
    }

    #[test]
    fn what_cannot_be_written_is_told_and_left_as_it_is() {
        let directory = TestDirectory::new();
        fs::create_dir(directory.path("d")).unwrap();
        process::make_named_pipe(&directory.path("pipe")).unwrap();
        let at = |name: &str| directory.path(name).display().to_string();
        assert_eq!(
            write(&directory.path("d"), b"x").unwrap_err().0,
            format!("EISDIR: illegal operation on a directory, open '{}'", at("d"))
        );
        assert_eq!(
            write(&directory.path("pipe"), b"x").unwrap_err().0,
            format!("Not a regular file: {}", at("pipe"))
        );
        directory.file("file", "old");
        assert_eq!(
            create_parents(&directory.path("file/below/x")).unwrap_err().0,
            format!("ENOTDIR: not a directory, mkdir '{}'", at("file/below"))
        );
        assert_eq!(directory.content("file"), b"old");
    }

    #[test]
    fn a_file_has_one_turn_whatever_its_path() {
        let directory = TestDirectory::new();
        directory.file("d/a", "");
        symlink("d", directory.path("link")).unwrap();
        let real = fs::canonicalize(directory.path("d")).unwrap();
        assert_eq!(real_path(&directory.path("link/a")), real.join("a"));
        assert_eq!(real_path(&directory.path("link/new/b")), real.join("new/b"));
        // Turns at other files are no hindrance.
        let first = lock(&directory.path("d/a"));
        drop(lock(&directory.path("d/b")));
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let turn = lock(&directory.path("link/a"));
                sender.send("second").unwrap();
                drop(turn);
            });
            assert!(receiver.try_recv().is_err());
            drop(first);
            assert_eq!(receiver.recv(), Ok("second"));
        });
    }
}
