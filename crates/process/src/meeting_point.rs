//! Where a process that is not our child finds us.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::TempDir;

use crate::peer::Peer;

/// A socket that nobody but our own user can reach. It is removed when this is dropped.
#[derive(Debug)]
pub struct MeetingPoint {
    listener: UnixListener,
    path: PathBuf,
    _directory: TempDir,
}

impl MeetingPoint {
    /// Opens one in the temporary directory, or, because the path of a socket must be short, in
    /// the system's.
    pub fn open() -> io::Result<MeetingPoint> {
        MeetingPoint::open_below(&std::env::temp_dir())
            .or_else(|error| MeetingPoint::open_below(Path::new("/tmp")).map_err(|_| error))
    }

    fn open_below(directory: &Path) -> io::Result<MeetingPoint> {
        let directory = tempfile::Builder::new()
            .prefix("pi-subagents-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(directory)?;
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok(MeetingPoint { listener, path, _directory: directory })
    }

    /// The path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for somebody of our own user to connect, but no longer than `limit`.
    pub fn meet(self, limit: Duration) -> io::Result<(UnixStream, Peer)> {
        let deadline = Instant::now() + limit;
        loop {
            match self.listener.accept() {
                // Strangers cannot get here; if one does, it is not the one we wait for.
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
    fn who_connects_is_known_and_nothing_is_left_behind() {
        let point = MeetingPoint::open().unwrap();
        let directory = point.path().parent().unwrap().to_owned();
        let mode = std::fs::metadata(&directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let path = point.path().to_owned();
        let visitor = std::thread::spawn(move || UnixStream::connect(path).unwrap());
        let (_stream, peer) = point.meet(Duration::from_secs(20)).unwrap();
        let visitor = visitor.join().unwrap();
        assert_eq!(peer.has_ended(), cfg!(not(target_os = "linux")), "it is this very process");
        drop(visitor);
        assert!(!directory.exists());
    }

    #[test]
    fn nobody_comes() {
        let point = MeetingPoint::open().unwrap();
        let directory = point.path().parent().unwrap().to_owned();
        let error = point.meet(Duration::from_millis(10)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(!directory.exists());
    }

    #[test]
    fn a_temporary_directory_with_a_long_name_is_passed_over() {
        let top = tempfile::tempdir().unwrap();
        let long = top.path().join("d".repeat(120));
        std::fs::create_dir(&long).unwrap();
        assert!(MeetingPoint::open_below(&long).is_err());
        assert_eq!(std::fs::read_dir(&long).unwrap().count(), 0);
    }
}
