//! Requests of other programs to a run: files that appear in its directory.
//!
//! They are files and not signals, because a process id means nothing in another container, and
//! because a file that is created twice is still one request.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::run_dir::EVENTS;
use crate::write_once::create_private;
use crate::{RunDir, StoreError};

const STOP: &str = "stop-request";
const KILL: &str = "kill-request";
const NOTIFIED: &str = "notified";

/// How hard to stop a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopForce {
    /// SIGTERM, grace, SIGKILL.
    Gracefully,
    /// SIGKILL.
    AtOnce,
}

impl RunDir {
    /// Asks the supervisor to stop the run.
    pub fn request_stop(&self, force: StopForce) -> Result<(), StoreError> {
        self.check_writable()?;
        let name = match force {
            StopForce::Gracefully => STOP,
            StopForce::AtOnce => KILL,
        };
        self.create_once(name).map(|_| ())
    }

    /// What was requested; of two requests, the stronger.
    pub fn stop_requested(&self) -> Option<StopForce> {
        if is_plain_file(&self.file(KILL)) {
            Some(StopForce::AtOnce)
        } else if is_plain_file(&self.file(STOP)) {
            Some(StopForce::Gracefully)
        } else {
            None
        }
    }

    /// Whether the directory was deleted. One that was moved is found by a supervisor inside it.
    pub fn is_removed(&self) -> bool {
        fs::symlink_metadata(self.path()).map_or_else(
            |error| error.kind() == io::ErrorKind::NotFound,
            |metadata| metadata.nlink() == 0,
        )
    }

    /// Whether files of the run were deleted, as happens before its directory is.
    pub fn is_being_removed(&self) -> bool {
        !is_plain_file(&self.file(EVENTS))
    }

    /// Notes that the end of the run is being reported to its owner. Returns true to exactly one
    /// caller, which must report it.
    pub fn mark_notified(&self) -> Result<bool, StoreError> {
        self.check_writable()?;
        self.create_once(NOTIFIED)
    }

    /// Whether a caller of [`RunDir::mark_notified`] has reported the end.
    pub fn is_notified(&self) -> bool {
        is_plain_file(&self.file(NOTIFIED))
    }

    fn create_once(&self, name: &str) -> Result<bool, StoreError> {
        let path = self.file(name);
        match create_private(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(StoreError::io("written", path)(error)),
        }
    }
}

fn is_plain_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}
