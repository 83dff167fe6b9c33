//! The limit of open files.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The soft limit that this process was started with, where it was raised since.
static ORIGINAL: OnceLock<u64> = OnceLock::new();

/// Raises the soft limit of open files to the hard one: a program with many runs needs a descriptor for
/// each. What this process starts gets the original limit back, because a program that uses `select`
/// relies on it. A [`Detached`](crate::Detached) process has to do that itself; see
/// [`original_open_files`].
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else { return };
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if limit.current != limit.maximum && setrlimit(Resource::Nofile, raised).is_ok() {
        let _ = ORIGINAL.set(current);
    }
}

/// The soft limit before [`raise_open_files`], if that has changed it.
pub fn original_open_files() -> Option<u64> {
    ORIGINAL.get().copied()
}

/// Sets the soft limit of open files, as far as the hard one permits.
pub fn limit_open_files(soft: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(soft), maximum });
}

/// Gives a command the limit that this process was started with.
pub(crate) fn restore_open_files(command: &mut Command) {
    let Some(soft) = original_open_files() else { return };
    // SAFETY: between fork and exec only system calls are made.
    #[expect(unsafe_code, reason = "there is no safe way to act between fork and exec")]
    unsafe {
        command.pre_exec(move || {
            limit_open_files(soft);
            Ok(())
        });
    }
}

/// Whether so many more descriptors can be opened.
pub fn has_free_descriptors(count: usize) -> bool {
    // The runtime has opened all standard streams.
    let copy = || rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3);
    let copies: Result<Vec<OwnedFd>, _> = (0..count).map(|_| copy()).collect();
    copies.is_ok()
}

/// Whether an error says that too many processes, threads or files exist, or too little memory: it may
/// be gone when other work of this program has ended.
pub fn is_shortage(error: &io::Error) -> bool {
    let shortages = [libc::EAGAIN, libc::EMFILE, libc::ENFILE, libc::ENOMEM];
    error.raw_os_error().is_some_and(|code| shortages.contains(&code))
}
