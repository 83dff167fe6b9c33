//! What a child may change, enforced by the kernel for the child and everything that it starts.
//!
//! Landlock (Linux) lets a process give up rights for itself and all its descendants, for good.
//! The rights given up here are those that change files: creating, writing, truncating, renaming,
//! linking and removing. Reading, running programs and the network stay as they are.
//!
//! Three things follow from how Landlock works:
//!
//! - A rule for a directory holds for everything beneath it, and no rule takes anything back: a
//!   directory cannot be writable while something inside it is not.
//! - The mode, owner, times and extended attributes of a file are not covered: a restricted child
//!   may change them wherever its user may. Neither is what another program does at the child's
//!   request, such as a container service or `systemd-run`.
//! - A restricted process cannot mount, trace a process outside, or gain privileges from a setuid
//!   program.
//!
//! Root could change the system without changing a file: by a kernel module, or by typing into a
//! terminal. A restricted process has none of the capabilities that this takes.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::spawn::keep_only_standard_streams;

/// The version of Landlock in this kernel, provided that it can refuse every change of a file.
pub fn landlock_version() -> Result<u32, NoLandlock> {
    usable_version(system_calls::version())
}

/// Why Landlock cannot be used here.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum NoLandlock {
    #[error("this kernel has no Landlock, which Linux has since version 5.13")]
    NotBuilt,
    #[error("Landlock is disabled in this kernel; add it to the boot parameter `lsm=`")]
    NotEnabled,
    #[error(
        "this kernel has version {version} of Landlock, which cannot refuse truncating a file; \
         version {MINIMUM_VERSION} (Linux 6.2) can"
    )]
    TooOld { version: u32 },
    #[error("this system refuses the use of Landlock: {0}")]
    Refused(io::Error),
}

/// Why a path could not be made writable.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be made writable for a restricted program: {source}", path.display())]
#[expect(missing_docs, reason = "the names say it")]
pub struct WritablePathError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// The paths that a restricted child may change: these files, and everything beneath these
/// directories.
#[derive(Debug)]
pub struct WritablePaths {
    ruleset: OwnedFd,
}

impl WritablePaths {
    /// Only the devices that ordinary programs write to: `/dev/null` and its like, terminals, and
    /// shared memory.
    pub fn new() -> Result<WritablePaths, NoLandlock> {
        landlock_version()?;
        let ruleset = system_calls::create_ruleset(CHANGES).map_err(NoLandlock::Refused)?;
        let mut paths = WritablePaths { ruleset };
        for (device, rights) in DEVICES {
            match paths.add_rule(Path::new(device), *rights) {
                // Containers lack some of them.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => result.map_err(NoLandlock::Refused)?,
            }
        }
        Ok(paths)
    }

    /// Adds a file, or a directory with everything beneath it. A symbolic link stands for what it
    /// points to now; changing the link later changes nothing.
    pub fn add(&mut self, path: &Path) -> Result<(), WritablePathError> {
        self.add_rule(path, BENEATH_DIRECTORY)
            .map_err(|source| WritablePathError { path: path.to_owned(), source })
    }

    /// Adds a path if it exists, and returns whether it does. A path that is created later is not
    /// writable because of this.
    pub fn add_if_present(&mut self, path: &Path) -> Result<bool, WritablePathError> {
        match self.add(path) {
            Ok(()) => Ok(true),
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes `command` start its process restricted to these paths, and without descriptors that it
    /// would inherit besides its standard streams: what is open can be written. A process that cannot
    /// be restricted is not started.
    pub fn restrict(&self, command: &mut Command) -> io::Result<()> {
        let ruleset = self.ruleset.try_clone()?;
        // SAFETY: between fork and exec only system calls are made, no memory is allocated, no lock
        // is taken.
        #[expect(unsafe_code, reason = "there is no safe way to act between fork and exec")]
        unsafe {
            command.pre_exec(move || {
                keep_only_standard_streams();
                system_calls::drop_capabilities();
                system_calls::restrict_self(&ruleset)
            });
        }
        Ok(())
    }

    fn add_rule(&mut self, path: &Path, rights: u64) -> io::Result<()> {
        let (target, is_directory) = system_calls::open(path)?;
        // The kernel refuses a rule that gives a file the rights of a directory.
        let rights = if is_directory { rights } else { rights & OF_FILE };
        system_calls::add_rule(&self.ruleset, &target, rights)
    }
}

// The rights, as the kernel's `linux/landlock.h` numbers them.
const WRITE_FILE: u64 = 1 << 1;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
const MAKE_SOCK: u64 = 1 << 9;
const MAKE_FIFO: u64 = 1 << 10;
const MAKE_BLOCK: u64 = 1 << 11;
const MAKE_SYM: u64 = 1 << 12;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;

const OF_FILE: u64 = WRITE_FILE | TRUNCATE;

const BENEATH_DIRECTORY: u64 = OF_FILE
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_DIR
    | MAKE_REG
    | MAKE_SOCK
    | MAKE_FIFO
    | MAKE_SYM
    | REFER;

/// Everything that is refused where no rule allows it. No rule ever allows making a device: root
/// could make one that is the whole disk, in a directory where it may write.
const CHANGES: u64 = BENEATH_DIRECTORY | MAKE_CHAR | MAKE_BLOCK;

/// The first version that knows all of [`CHANGES`].
const MINIMUM_VERSION: u32 = 3;

const DEVICES: &[(&str, u64)] = &[
    ("/dev/null", OF_FILE),
    ("/dev/zero", OF_FILE),
    ("/dev/full", OF_FILE),
    ("/dev/tty", OF_FILE),
    ("/dev/ptmx", OF_FILE),
    ("/dev/pts", OF_FILE),
    ("/dev/shm", BENEATH_DIRECTORY),
];

fn usable_version(version: io::Result<u32>) -> Result<u32, NoLandlock> {
    match version {
        Ok(version) if version >= MINIMUM_VERSION => Ok(version),
        Ok(version) => Err(NoLandlock::TooOld { version }),
        Err(error) => Err(match error.raw_os_error() {
            Some(libc::ENOSYS) => NoLandlock::NotBuilt,
            Some(libc::EOPNOTSUPP) => NoLandlock::NotEnabled,
            _ => NoLandlock::Refused(error),
        }),
    }
}

/// The system calls, for which neither the standard library nor rustix has functions.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "these system calls take pointers and bare descriptors")]
mod system_calls {
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
    use std::path::Path;
    use std::ptr;

    use rustix::fs::{FileType, Mode, OFlags};
    use rustix::thread::{
        CapabilitySet, capabilities, remove_capability_from_bounding_set, set_capabilities,
    };

    const CREATE_RULESET_VERSION: libc::c_uint = 1;
    const RULE_PATH_BENEATH: libc::c_int = 1;

    /// The kernel takes a shorter structure, as the first version had it, for one without the later
    /// fields.
    #[repr(C)]
    struct RulesetAttributes {
        handled_access_fs: u64,
    }

    #[repr(C, packed)]
    struct PathBeneath {
        allowed_access: u64,
        parent_fd: libc::c_int,
    }

    pub(super) fn version() -> io::Result<u32> {
        // SAFETY: with this flag the kernel takes no pointer.
        let version = unsafe {
            let nothing = ptr::null::<RulesetAttributes>();
            let call = libc::SYS_landlock_create_ruleset;
            libc::syscall(call, nothing, 0_usize, CREATE_RULESET_VERSION)
        };
        u32::try_from(version).map_err(|_| io::Error::last_os_error())
    }

    pub(super) fn create_ruleset(handled_access_fs: u64) -> io::Result<OwnedFd> {
        let attributes = RulesetAttributes { handled_access_fs };
        let no_flags: libc::c_uint = 0;
        // SAFETY: the structure lives during the call and has the size that is told.
        let ruleset = unsafe {
            libc::syscall(
                libc::SYS_landlock_create_ruleset,
                &raw const attributes,
                size_of::<RulesetAttributes>(),
                no_flags,
            )
        };
        let ruleset = RawFd::try_from(ruleset).map_err(io::Error::other)?;
        if ruleset < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor, closed on exec, for us alone.
        Ok(unsafe { OwnedFd::from_raw_fd(ruleset) })
    }

    /// Opens what a rule is to be about, and tells whether it is a directory.
    pub(super) fn open(path: &Path) -> io::Result<(OwnedFd, bool)> {
        let target = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let mode = rustix::fs::fstat(&target)?.st_mode;
        Ok((target, FileType::from_raw_mode(mode) == FileType::Directory))
    }

    pub(super) fn add_rule(ruleset: &OwnedFd, target: &OwnedFd, rights: u64) -> io::Result<()> {
        let rule = PathBeneath { allowed_access: rights, parent_fd: target.as_raw_fd() };
        let no_flags: libc::c_uint = 0;
        // SAFETY: the structure lives during the call and is the one that this kind of rule takes.
        succeeded(unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                ruleset.as_raw_fd(),
                RULE_PATH_BENEATH,
                &raw const rule,
                no_flags,
            )
        })
    }

    /// Restricts the calling thread, which must be the only one of its process.
    pub(super) fn restrict_self(ruleset: &OwnedFd) -> io::Result<()> {
        // The kernel demands it from all but root: a setuid program must not be surprised by files
        // that it cannot write.
        rustix::thread::set_no_new_privs(true)?;
        let no_flags: libc::c_uint = 0;
        // SAFETY: the kernel takes no pointer.
        succeeded(unsafe {
            libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), no_flags)
        })?;
        crate::mount_calls::forbid()
    }

    /// What root may do to the system beside changing files.
    const SYSTEM: CapabilitySet = CapabilitySet::LINUX_IMMUTABLE
        // With it, `open_by_handle_at` opens any file of a file system, past every mount and path.
        .union(CapabilitySet::DAC_READ_SEARCH)
        .union(CapabilitySet::SYS_MODULE)
        .union(CapabilitySet::SYS_RAWIO)
        .union(CapabilitySet::SYS_PTRACE)
        .union(CapabilitySet::SYS_ADMIN)
        .union(CapabilitySet::SYS_BOOT)
        .union(CapabilitySet::SYS_TIME)
        .union(CapabilitySet::SYS_TTY_CONFIG)
        .union(CapabilitySet::MKNOD)
        .union(CapabilitySet::MAC_OVERRIDE)
        .union(CapabilitySet::MAC_ADMIN)
        .union(CapabilitySet::SYSLOG)
        .union(CapabilitySet::PERFMON)
        .union(CapabilitySet::BPF)
        .union(CapabilitySet::CHECKPOINT_RESTORE);

    /// Gives up what a process without privileges does not have, and where it would get it again when
    /// it starts a program.
    pub(super) fn drop_capabilities() {
        for capability in SYSTEM.iter() {
            // Refused to a process without privileges, and unknown to an older kernel.
            let _ = remove_capability_from_bounding_set(capability);
        }
        if let Ok(mut sets) = capabilities(None) {
            sets.effective.remove(SYSTEM);
            sets.permitted.remove(SYSTEM);
            sets.inheritable.remove(SYSTEM);
            let _ = set_capabilities(None, sets);
        }
    }

    fn succeeded(result: libc::c_long) -> io::Result<()> {
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(not(target_os = "linux"))]
mod system_calls {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    pub(super) fn version() -> io::Result<u32> {
        missing()
    }

    pub(super) fn create_ruleset(_: u64) -> io::Result<OwnedFd> {
        missing()
    }

    pub(super) fn open(_: &Path) -> io::Result<(OwnedFd, bool)> {
        missing()
    }

    pub(super) fn add_rule(_: &OwnedFd, _: &OwnedFd, _: u64) -> io::Result<()> {
        missing()
    }

    pub(super) fn drop_capabilities() {}

    pub(super) fn restrict_self(_: &OwnedFd) -> io::Result<()> {
        missing()
    }

    fn missing<T>() -> io::Result<T> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_version_that_can_refuse_every_change_is_used() {
        let failed = |code| Err(io::Error::from_raw_os_error(code));
        assert_eq!(usable_version(Ok(3)).unwrap(), 3);
        assert_eq!(usable_version(Ok(99)).unwrap(), 99);
        assert!(matches!(usable_version(Ok(2)), Err(NoLandlock::TooOld { version: 2 })));
        assert!(matches!(usable_version(failed(libc::ENOSYS)), Err(NoLandlock::NotBuilt)));
        assert!(matches!(usable_version(failed(libc::EOPNOTSUPP)), Err(NoLandlock::NotEnabled)));
        assert!(matches!(usable_version(failed(libc::EPERM)), Err(NoLandlock::Refused(_))));
    }
}
