//! Starting programs as a login shell does, however the tests themselves were started.
//!
//! `nohup`, a background job and `cron` start a test with signals ignored, and a developer may have any
//! umask. All of that is inherited, and would change what the program under test does.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Once;

use rustix::fs::Mode;

/// The signals that have numbers of their own; the others are for real-time programs.
const SIGNALS: std::ops::Range<i32> = 1..32;

/// A command that ignores and blocks no signal.
///
/// Only the command: this process goes on ignoring what it was started to ignore, so that tests under
/// `nohup` survive the end of their terminal.
#[expect(clippy::disallowed_methods, reason = "tests start the programs under test")]
pub fn clean_command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let heed_signals = || {
        for signal in SIGNALS {
            // SAFETY: no function of ours becomes a handler. For the two signals that cannot be
            // changed this fails and does nothing. The standard library unblocks all signals itself.
            #[expect(unsafe_code, reason = "there is no safe way to change what a signal does")]
            unsafe {
                libc::signal(signal, libc::SIG_DFL)
            };
        }
        Ok(())
    };
    // SAFETY: between `fork` and `exec`, this makes system calls and nothing else.
    #[expect(unsafe_code, reason = "the standard library starts programs with what was inherited")]
    unsafe {
        command.pre_exec(heed_signals)
    };
    command
}

/// Gives this process, and with it everything that it starts, the umask that most users have. The files
/// that a test prepares are then as private as those of most users, and no less.
pub(crate) fn set_usual_umask() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        rustix::process::umask(Mode::WGRP | Mode::WOTH);
    });
}
