//! Commands for which the kernel lacks a system call, as on an older or hardened system.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the kernel's types")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A system call that can be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemCall {
    /// Without it there is no Landlock.
    CreateRuleset,
    /// Without it there are no namespaces, and so no mounts of one's own.
    Unshare,
}

/// Lets this system call fail in the command and everything that it starts.
pub fn forbid(command: &mut Command, call: SystemCall) {
    let (number, error) = match call {
        SystemCall::CreateRuleset => (libc::SYS_landlock_create_ruleset, libc::ENOSYS),
        SystemCall::Unshare => (libc::SYS_unshare, libc::EPERM),
    };
    let statement = |code: u32, value: u32, if_not: u8| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: if_not,
        k: value,
    };
    let filter = [
        // The number of the call is the first field of what the filter looks at.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number as u32, 1),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | error as u32, 0),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0),
    ];
    // SAFETY: between fork and exec two system calls are made with a program that lives.
    #[expect(unsafe_code, reason = "there is no safe way to act between fork and exec")]
    unsafe {
        command.pre_exec(move || {
            let program =
                libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
            let is_set = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
                    == 0;
            if is_set { Ok(()) } else { Err(io::Error::last_os_error()) }
        });
    }
}
