//! A socket by which a process that is not our child connects to us.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::TempDir;

use crate::peer::Peer;

/// A socket that only our own user can reach. It is removed when this is dropped.
#[derive(Debug)]
pub struct PrivateSocket {
    listener: UnixListener,
    path: PathBuf,
    _directory: TempDir,
}

impl PrivateSocket {
    /// Opens a socket in a directory whose name begins with `prefix`, in the temporary directory, or,
    /// if that has a path too long for a socket, in `/tmp`.
    pub fn open(prefix: &str) -> io::Result<PrivateSocket> {
        PrivateSocket::open_below(&std::env::temp_dir(), prefix).or_else(|error| {
            PrivateSocket::open_below(Path::new("/tmp"), prefix).map_err(|_| error)
        })
    }

    fn open_below(directory: &Path, prefix: &str) -> io::Result<PrivateSocket> {
        let directory = tempfile::Builder::new()
            .prefix(prefix)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(directory)?;
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok(PrivateSocket { listener, path, _directory: directory })
    }

    /// Where to connect.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for a process of our own user to connect, but no longer than `limit`.
    pub fn accept(self, limit: Duration) -> io::Result<(UnixStream, Peer)> {
        let deadline = Instant::now() + limit;
        loop {
            match self.listener.accept() {
                // Other users cannot reach the socket; if one does, we go on waiting.
                Ok((stream, _)) => {
                    if let Ok(peer) = Peer::of(&stream) {
                        stream.set_nonblocking(false)?;
                        return Ok((stream, peer));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    let timeout = Timespec::try_from(left).ok();
                    let mut fds = [PollFd::new(&self.listener, PollFlags::IN)];
                    let _ = poll(&mut fds, timeout.as_ref());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_is_known_and_nothing_is_left_behind() {
        let socket = PrivateSocket::open("socket-").unwrap();
        let directory = socket.path().parent().unwrap().to_owned();
        let mode = std::fs::metadata(&directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let path = socket.path().to_owned();
        let visitor = std::thread::spawn(move || UnixStream::connect(path).unwrap());
        let (_stream, peer) = socket.accept(Duration::from_secs(20)).unwrap();
        let visitor = visitor.join().unwrap();
        assert_eq!(peer.has_ended(), cfg!(not(target_os = "linux")), "it is this very process");
        drop(visitor);
        assert!(!directory.exists());
    }

    #[test]
    fn waiting_ends_without_a_peer() {
        let socket = PrivateSocket::open("socket-").unwrap();
        let directory = socket.path().parent().unwrap().to_owned();
        let error = socket.accept(Duration::from_millis(10)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(!directory.exists());
    }

    #[test]
    fn a_temporary_directory_with_a_long_name_is_passed_over() {
        let top = tempfile::tempdir().unwrap();
        let long = top.path().join("d".repeat(120));
        std::fs::create_dir(&long).unwrap();
        assert!(PrivateSocket::open_below(&long, "socket-").is_err());
        assert_eq!(std::fs::read_dir(&long).unwrap().count(), 0);
    }
}
