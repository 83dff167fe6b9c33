//! Starting a process inside a cgroup.
//!
//! Moving a process, by writing its number to the list of members, makes the kernel wait for every
//! processor: some 10 ms on a machine that is otherwise idle, which is more than a short run takes.
//! A process that is made inside (`clone3`, Linux 5.7) costs nothing. The standard library cannot do
//! that, but does everything else once there is a process.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::Pid;

use super::directory;

/// What has failed.
pub(super) enum StartError {
    /// No process could be made in the cgroup.
    Cgroup(io::Error),
    /// The process could not become the program.
    Program(io::Error),
}

/// Starts the process of `command` inside the cgroup with this directory.
pub(super) fn spawn(directory: &OwnedFd, mut command: Command) -> Result<Pid, StartError> {
    #[cfg(target_os = "linux")]
    if clone::is_possible()
        && let Some(started) = clone::spawn(directory, &mut command)
    {
        return started;
    }
    enter_before_exec(directory, &mut command).map_err(StartError::Cgroup)?;
    let child = command.spawn().map_err(StartError::Program)?;
    Ok(Pid::from_child(&child))
}

/// Makes `command` start its process outside and move it inside before it becomes the program.
fn enter_before_exec(directory: &OwnedFd, command: &mut Command) -> io::Result<()> {
    let members = directory::open_for_writing(directory, directory::MEMBERS)?;
    // SAFETY: between fork and exec one system call is made, no memory is allocated, no lock is
    // taken.
    #[expect(unsafe_code, reason = "there is no safe way to act between fork and exec")]
    unsafe {
        command.pre_exec(move || {
            // Zero is the process that writes it.
            rustix::io::write(&members, b"0")?;
            Ok(())
        });
    }
    Ok(())
}

#[cfg(target_os = "linux")]
mod clone {
    use std::fs;
    use std::io::{self, Read, Write};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use rustix::process::{Pid, WaitOptions, waitpid};

    use super::StartError;

    /// Whether this process has one thread. Of several, one could hold a lock, which the new process
    /// would then wait for without end.
    pub(super) fn is_possible() -> bool {
        // The directory has a link for each thread, beside its own two.
        fs::metadata("/proc/self/task").is_ok_and(|threads| threads.nlink() == 3)
    }

    /// Returns when the process has become the program, or could not. Nothing if the kernel cannot do
    /// it this way.
    pub(super) fn spawn(
        directory: &OwnedFd,
        command: &mut Command,
    ) -> Option<Result<Pid, StartError>> {
        // The kernel closes the writing end with exec, so that nothing is read then.
        let (mut failure, mut failed) = io::pipe().ok()?;
        let pid = match fork_into(directory) {
            Ok(Some(pid)) => pid,
            Ok(None) => {
                let error = command.exec();
                let code = error.raw_os_error().unwrap_or(libc::EINVAL);
                let _ = failed.write_all(&code.to_ne_bytes());
                // SAFETY: it ends this process, which is a copy, without cleaning up what belongs
                // to the original.
                #[expect(unsafe_code, reason = "a copy of a process must not clean up")]
                unsafe {
                    libc::_exit(127)
                }
            }
            Err(error) => {
                return match error.raw_os_error() {
                    // The kernel does not know the call or this use of it, or a filter refuses it.
                    Some(libc::ENOSYS | libc::EINVAL | libc::E2BIG | libc::EPERM) => None,
                    _ => Some(Err(StartError::Cgroup(error))),
                };
            }
        };
        drop(failed);
        let mut code = [0; 4];
        if failure.read_exact(&mut code).is_err() {
            return Some(Ok(pid));
        }
        let _ = waitpid(Some(pid), WaitOptions::empty());
        let error = io::Error::from_raw_os_error(i32::from_ne_bytes(code));
        Some(Err(StartError::Program(error)))
    }

    /// `clone_args` of `linux/sched.h`.
    #[repr(C)]
    #[derive(Default)]
    struct CloneArguments {
        flags: u64,
        pidfd: u64,
        child_tid: u64,
        parent_tid: u64,
        exit_signal: u64,
        stack: u64,
        stack_size: u64,
        tls: u64,
        set_tid: u64,
        set_tid_size: u64,
        cgroup: u64,
    }

    const CLONE_INTO_CGROUP: u64 = 1 << 33;

    /// Returns twice, as fork does: in the new process, which is inside the cgroup, nothing.
    fn fork_into(directory: &OwnedFd) -> io::Result<Option<Pid>> {
        let failed = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let arguments = CloneArguments {
            flags: CLONE_INTO_CGROUP,
            exit_signal: u64::try_from(libc::SIGCHLD).map_err(failed)?,
            cgroup: u64::try_from(directory.as_raw_fd()).map_err(failed)?,
            ..CloneArguments::default()
        };
        // SAFETY: nothing is shared with the new process, which goes on with a copy of everything,
        // and this process has one thread, so that nothing in the copy is half done.
        #[expect(unsafe_code, reason = "there is no safe way to fork")]
        let pid = unsafe {
            libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<CloneArguments>())
        };
        match i32::try_from(pid) {
            Ok(pid) if pid >= 0 => Ok(Pid::from_raw(pid)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
