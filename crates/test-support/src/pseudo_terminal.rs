//! A terminal without a person in front of it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Opens a terminal of this size: our end of it, and the one that a program gets.
pub fn open(columns: u16, rows: u16) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    // At once where that is possible: a program that another test starts meanwhile must not inherit it.
    #[cfg(target_os = "linux")]
    let flags = flags | OpenptFlags::CLOEXEC;
    let terminal = openpt(flags)?;
    fcntl_setfd(&terminal, FdFlags::CLOEXEC)?;
    grantpt(&terminal)?;
    unlockpt(&terminal)?;
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size)?;
    let name = ptsname(&terminal, Vec::new())?;
    let path = name.to_str().map_err(io::Error::other)?;
    let inside = File::options().read(true).write(true).open(path)?;
    Ok((terminal, inside.into()))
}
