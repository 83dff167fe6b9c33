//! Paths inside a writable directory that a child may not change after all (Linux).
//!
//! Landlock cannot take back inside a directory what it allows for that directory. A mount can: the
//! child gets a mount namespace of its own, in which these paths are mounted read-only on
//! themselves. Together with [`WritablePaths`] this holds, because a restricted process cannot
//! mount or unmount.
//!
//! Without privileges, a mount namespace needs a user namespace. In that the child keeps its user
//! and group, but all others look like `nobody`, which a few programs refuse; `ssh` does where the
//! system's configuration includes files that belong to root.
//!
//! [`WritablePaths`]: crate::WritablePaths

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::spawn::new_command;

/// Why a path cannot be protected.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be made read-only for a program: {source}", path.display())]
#[expect(missing_docs, reason = "the names say it")]
pub struct ReadOnlyPathError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// Files, and directories with everything beneath them, that a child may not change.
#[derive(Clone, Debug, Default)]
pub struct ReadOnlyPaths {
    /// What is mounted on itself. In this order, what contains comes before what is contained.
    mounts: BTreeMap<PathBuf, Kind>,
    /// What is mounted in another place, by that place.
    elsewhere: BTreeMap<PathBuf, PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Can be changed, but neither renamed nor removed.
    Held,
    ReadOnly,
}

impl ReadOnlyPaths {
    /// Whether processes of this user can have mounts of their own here. Starts one to see it.
    pub fn probe() -> io::Result<()> {
        let mut command = new_command("true");
        // A system may permit a namespace, but no mounts in it.
        let own = std::env::current_exe().map(|own| (own, Kind::ReadOnly)).into_iter();
        let paths = ReadOnlyPaths { mounts: own.collect(), ..ReadOnlyPaths::default() };
        paths.protect(&mut command, Path::new("/"))?;
        // The last thing that is done fails on purpose, so that no program is needed.
        let done = rustix::io::Errno::CANCELED;
        // SAFETY: nothing is done at all.
        #[expect(unsafe_code, reason = "there is no safe way to act between fork and exec")]
        unsafe {
            command.pre_exec(move || Err(done.into()));
        }
        match command.spawn() {
            Err(error) if error.raw_os_error() == Some(done.raw_os_error()) => Ok(()),
            Err(error) => Err(error),
            Ok(mut child) => child.wait().map(|_| ()),
        }
    }

    /// Adds an existing file or directory inside the given writable directory. What is between the
    /// two can be changed, but neither renamed nor removed, so that the path cannot be replaced.
    ///
    /// A symbolic link cannot be protected, and the path must not lead through any.
    pub fn add(&mut self, path: &Path, writable: &Path) -> Result<(), ReadOnlyPathError> {
        let failed = |source| ReadOnlyPathError { path: path.to_owned(), source };
        if path.canonicalize().map_err(failed)? != path {
            return Err(failed(io::Error::other("a symbolic link leads there")));
        }
        let between = path.ancestors().skip(1).take_while(|ancestor| *ancestor != writable);
        for directory in between {
            if !directory.starts_with(writable) {
                return Err(failed(io::Error::other("it is not inside the writable directory")));
            }
            self.mounts.entry(directory.to_owned()).or_insert(Kind::Held);
        }
        self.mounts.insert(path.to_owned(), Kind::ReadOnly);
        Ok(())
    }

    /// Leaves an existing file or directory inside a read-only directory as it is. The path must not
    /// lead through links.
    pub fn except(&mut self, path: &Path) {
        self.mounts.insert(path.to_owned(), Kind::Held);
    }

    /// Shows an existing file, read-only, in the place of another one as well. Neither path must lead through links.
    pub fn show(&mut self, file: &Path, place: &Path) {
        self.elsewhere.insert(place.to_owned(), file.to_owned());
    }

    /// Whether nothing has been added.
    pub fn is_empty(&self) -> bool {
        self.mounts.is_empty() && self.elsewhere.is_empty()
    }

    /// Makes `command` start its process where these paths are read-only, in the given directory.
    /// This must come before [`WritablePaths::restrict`].
    ///
    /// [`WritablePaths::restrict`]: crate::WritablePaths::restrict
    pub fn protect(&self, command: &mut Command, directory: &Path) -> io::Result<()> {
        let path = |path: &Path| CString::new(path.as_os_str().as_bytes());
        let mut mounts = Vec::new();
        for (mounted, kind) in &self.mounts {
            mounts.push((path(mounted)?, path(mounted)?, *kind));
        }
        for (place, file) in &self.elsewhere {
            mounts.push((path(file)?, path(place)?, Kind::ReadOnly));
        }
        let directory = path(directory)?;
        let identity = system_calls::Identity::own();
        let mut trees = Vec::with_capacity(mounts.len());
        // SAFETY: between fork and exec only system calls are made, no memory is allocated, no lock
        // is taken.
        #[expect(unsafe_code, reason = "there is no safe way to act between fork and exec")]
        unsafe {
            command.pre_exec(move || {
                system_calls::leave_mounts(&identity)?;
                // All are taken before any is in its place: what is inside a read-only one would be
                // read-only, too.
                for (source, _, kind) in &mounts {
                    trees.push(system_calls::take(source, *kind == Kind::ReadOnly)?);
                }
                for ((_, place, _), tree) in mounts.iter().zip(&trees) {
                    if let Some(tree) = tree {
                        system_calls::mount(tree, place)?;
                    }
                }
                trees.clear();
                // The present directory is still the one below the mounts.
                Ok(rustix::process::chdir(directory.as_c_str())?)
            });
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
mod system_calls {
    use std::ffi::CStr;
    use std::io;
    use std::os::fd::{AsRawFd, OwnedFd};

    use rustix::fs::{CWD, Mode, OFlags};
    use rustix::io::Errno;
    use rustix::mount::{
        MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount_change, move_mount, open_tree,
    };
    use rustix::thread::{UnshareFlags, unshare_unsafe};

    /// The user and the group of this process, as a user namespace maps them to themselves.
    pub(super) struct Identity {
        users: String,
        groups: String,
    }

    impl Identity {
        pub(super) fn own() -> Identity {
            let user = rustix::process::geteuid();
            let group = rustix::process::getegid();
            Identity { users: format!("{user} {user} 1"), groups: format!("{group} {group} 1") }
        }
    }

    /// Gives this process mounts of its own. Changes made outside still come in; none goes out.
    pub(super) fn leave_mounts(identity: &Identity) -> io::Result<()> {
        match unshare(UnshareFlags::NEWNS) {
            Err(Errno::PERM) => {
                unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
                write(c"/proc/self/setgroups", b"deny")?;
                write(c"/proc/self/uid_map", identity.users.as_bytes())?;
                write(c"/proc/self/gid_map", identity.groups.as_bytes())?;
            }
            unshared => unshared?,
        }
        let propagation = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
        Ok(mount_change(c"/", propagation)?)
    }

    /// What is at the path, to be mounted elsewhere. None if it is gone, like a lock of a program that was at work when the path
    /// was added.
    pub(super) fn take(path: &CStr, is_read_only: bool) -> io::Result<Option<OwnedFd>> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        let tree = match open_tree(CWD, path, flags) {
            Err(Errno::NOENT) => return Ok(None),
            tree => tree?,
        };
        if is_read_only {
            make_read_only(&tree)?;
        }
        Ok(Some(tree))
    }

    pub(super) fn mount(tree: &OwnedFd, path: &CStr) -> io::Result<()> {
        match move_mount(tree, c"", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH) {
            // It has gone since it was taken.
            Err(Errno::NOENT) => Ok(()),
            mounted => Ok(mounted?),
        }
    }

    fn make_read_only(tree: &OwnedFd) -> io::Result<()> {
        let attributes = libc::mount_attr {
            attr_set: libc::MOUNT_ATTR_RDONLY,
            attr_clr: 0,
            propagation: 0,
            userns_fd: 0,
        };
        // SAFETY: the structure lives during the call and has the size that is told.
        #[expect(unsafe_code, reason = "rustix has no function for this")]
        let result = unsafe {
            libc::syscall(
                libc::SYS_mount_setattr,
                tree.as_raw_fd(),
                c"".as_ptr(),
                libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
                &raw const attributes,
                size_of::<libc::mount_attr>(),
            )
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
        // SAFETY: these flags leave the table of descriptors alone.
        #[expect(unsafe_code, reason = "other flags would be unsafe")]
        unsafe {
            unshare_unsafe(flags)
        }
    }

    fn write(path: &CStr, bytes: &[u8]) -> rustix::io::Result<()> {
        let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(file, bytes)?;
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
mod system_calls {
    use std::ffi::CStr;
    use std::io;
    use std::os::fd::OwnedFd;

    pub(super) struct Identity;

    impl Identity {
        pub(super) fn own() -> Identity {
            Identity
        }
    }

    pub(super) fn leave_mounts(_: &Identity) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }

    pub(super) fn take(_: &CStr, _: bool) -> io::Result<Option<OwnedFd>> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }

    pub(super) fn mount(_: &OwnedFd, _: &CStr) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_is_held_in_its_place_and_comes_first() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::write(root.join(".git/config"), "").unwrap();
        let mut paths = ReadOnlyPaths::default();
        paths.add(&root.join(".git/hooks"), &root).unwrap();
        paths.add(&root.join(".git/config"), &root).unwrap();
        let mounts: Vec<_> = paths.mounts.into_iter().collect();
        assert_eq!(
            mounts,
            [
                (root.join(".git"), Kind::Held),
                (root.join(".git/config"), Kind::ReadOnly),
                (root.join(".git/hooks"), Kind::ReadOnly)
            ]
        );
    }

    #[test]
    fn a_path_that_can_be_replaced_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("directory")).unwrap();
        std::fs::create_dir(root.join("directory/inside")).unwrap();
        std::os::unix::fs::symlink("directory", root.join("link")).unwrap();
        let mut paths = ReadOnlyPaths::default();
        for path in ["link", "link/inside", "missing", "directory/../directory"] {
            paths.add(&root.join(path), &root).unwrap_err();
        }
        paths.add(&root.join("directory"), Path::new("/elsewhere")).unwrap_err();
        paths.add(&root.join("directory/inside"), &root.join("other")).unwrap_err();
    }
}
