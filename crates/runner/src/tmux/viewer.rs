//! What runs in a pane.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use process::{Notice, SignalPipe};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Shows on a terminal what a supervisor says on the socket at this path, until it ends or the
/// terminal does. Ctrl-C asks the supervisor to stop.
pub fn view_run(socket: &Path, terminal: &OwnedFd) -> io::Result<()> {
    process::name_process();
    let mut signals = SignalPipe::for_quitting()?;
    let supervisor = UnixStream::connect(socket)?;
    supervisor.set_nonblocking(true)?;
    // A terminal that the user has stopped with Ctrl-S must not block this process. It has the
    // terminal to itself.
    rustix::io::ioctl_fionbio(terminal, true)?;
    let mut pending = Vec::new();
    loop {
        // Read no more than can be shown: what is too much is for the supervisor to decide.
        let (listen, show) = if pending.is_empty() {
            (PollFlags::IN, PollFlags::empty())
        } else {
            (PollFlags::empty(), PollFlags::OUT)
        };
        let mut fds = [
            PollFd::new(&supervisor, listen),
            PollFd::new(terminal, show),
            PollFd::new(&signals, PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [from_supervisor, from_terminal, from_signals] = fds.map(|fd| fd.revents());
        let is_gone = PollFlags::HUP | PollFlags::ERR;
        // With the run or the terminal gone, the pane is over: the rest would not be seen.
        if from_supervisor.intersects(is_gone) || from_terminal.intersects(is_gone) {
            return Ok(());
        }
        if !from_signals.is_empty() {
            for notice in signals.drain() {
                if notice == Notice::Hangup {
                    return Ok(());
                }
                // The supervisor reads these at once, and a few fit in any case.
                let _ = rustix::io::write(&supervisor, b".");
            }
        }
        if from_supervisor.contains(PollFlags::IN) && !receive(&supervisor, &mut pending)? {
            return Ok(());
        }
        if from_terminal.contains(PollFlags::OUT) {
            write(terminal, &mut pending)?;
        }
    }
}

/// Reads what is there. False at the end.
fn receive(supervisor: &UnixStream, pending: &mut Vec<u8>) -> io::Result<bool> {
    let mut bytes = [0; 16 * 1024];
    match rustix::io::read(supervisor, &mut bytes) {
        Ok(0) => Ok(false),
        Ok(count) => {
            pending.extend_from_slice(&bytes[..count]);
            Ok(true)
        }
        Err(Errno::INTR | Errno::AGAIN) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn write(terminal: &OwnedFd, pending: &mut Vec<u8>) -> io::Result<()> {
    match rustix::io::write(terminal, pending) {
        Ok(count) => drop(pending.drain(..count)),
        Err(Errno::INTR | Errno::AGAIN) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}
