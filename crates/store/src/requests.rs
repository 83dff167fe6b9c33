//! What other programs ask of a run: files that appear in its directory.
//!
//! A file and not a signal, because a process id says nothing in another container, and because a
//! supervisor that is told twice is told the same.

use std::fs;
use std::io;
use std::path::Path;

use crate::write_once::create_private;
use crate::{RunDir, StoreError};

const STOP: &str = "stop-request";
const KILL: &str = "kill-request";
const NOTIFIED: &str = "notified";

/// What somebody wants from a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopRequest {
    /// SIGTERM, grace, SIGKILL.
    Gracefully,
    /// SIGKILL.
    AtOnce,
}

impl RunDir {
    /// Asks whoever supervises the run to stop it.
    pub fn request_stop(&self, request: StopRequest) -> Result<(), StoreError> {
        self.check_writable()?;
        let name = match request {
            StopRequest::Gracefully => STOP,
            StopRequest::AtOnce => KILL,
        };
        self.create_once(name).map(|_| ())
    }

    /// What was asked for, the stronger wish if there are two.
    pub fn stop_requested(&self) -> Option<StopRequest> {
        if is_plain_file(&self.file(KILL)) {
            Some(StopRequest::AtOnce)
        } else if is_plain_file(&self.file(STOP)) {
            Some(StopRequest::Gracefully)
        } else {
            None
        }
    }

    /// Notes that the owner has been told how the run ended. True for exactly one caller, ever.
    pub fn mark_notified(&self) -> Result<bool, StoreError> {
        self.check_writable()?;
        self.create_once(NOTIFIED)
    }

    /// Whether the owner has been told.
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
