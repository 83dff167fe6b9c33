//! Requests of other programs to a run: files that appear in its directory.
//!
//! They are files and not signals, because a process id means nothing in another container, and
//! because a file that is created twice is still one request.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use model::{ChangesState, LeftAnswer, Message};
use serde::de::DeserializeOwned;

use crate::bounds::{LARGEST_MESSAGE, read_bounded};
use crate::run_dir::EVENTS;
use crate::write_once::{create_private, write_first_free};
use crate::{RunDir, StoreError};

const STOP: &str = "stop-request";
const KILL: &str = "kill-request";
const NOTIFIED: &str = "notified";
const CHANGES_WARNED: &str = "changes-warned";

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

    /// Leaves a message for the running agent, and returns its number, in the order of all messages to
    /// the run. `None` if there are [`Message::MOST`] already. The supervisor accepts or refuses it.
    pub fn leave_message(&self, message: &Message) -> Result<Option<u64>, StoreError> {
        self.check_writable()?;
        // Plain data with string keys always serialises.
        let json = serde_json::to_vec(message).unwrap_or_default();
        write_first_free(self.path(), 1..=Message::MOST, message_name, &json)
    }

    /// The message with this number, if it has come. One that cannot be read is an error.
    pub fn message(&self, number: u64) -> Result<Option<Message>, StoreError> {
        self.request(&message_name(number))
    }

    fn request<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let path = self.file(name);
        match read_bounded(&path, LARGEST_MESSAGE) {
            Ok(json) => serde_json::from_slice(&json)
                .map(Some)
                .map_err(|source| StoreError::Damaged { path, source }),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Leaves an answer to a question of the agent. False if another program has left one before: the
    /// first counts.
    pub fn leave_answer(&self, question: u64, answer: &LeftAnswer) -> Result<bool, StoreError> {
        self.check_writable()?;
        // Plain data with string keys always serialises.
        let json = serde_json::to_vec(answer).unwrap_or_default();
        let only = question..=question;
        write_first_free(self.path(), only, answer_name, &json).map(|number| number.is_some())
    }

    /// The answer to this question, if one has come. One that cannot be read is an error.
    pub fn answer(&self, question: u64) -> Result<Option<LeftAnswer>, StoreError> {
        self.request(&answer_name(question))
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

    /// Notes what the user did with the changes of the run.
    pub fn mark_changes(&self, state: ChangesState) -> Result<(), StoreError> {
        self.check_writable()?;
        self.create_once(changes_name(state)).map(drop)
    }

    /// What the user did with the changes of the run. Of several things, the one that says most.
    pub fn changes_state(&self) -> Option<ChangesState> {
        use ChangesState::{Applied, Discarded, Merged};
        let is_marked = |state: &ChangesState| is_plain_file(&self.file(changes_name(*state)));
        [Merged, Applied, Discarded].into_iter().find(is_marked)
    }

    /// Notes that the user was warned that the changes of the run are about to go. Returns since when.
    pub fn warn_of_changes(&self) -> Result<SystemTime, StoreError> {
        self.check_writable()?;
        self.create_once(CHANGES_WARNED)?;
        let path = self.file(CHANGES_WARNED);
        let modified = fs::symlink_metadata(&path).and_then(|metadata| metadata.modified());
        modified.map_err(StoreError::io("read", path))
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

fn changes_name(state: ChangesState) -> &'static str {
    match state {
        ChangesState::Applied => "changes-applied",
        ChangesState::Merged => "changes-merged",
        ChangesState::Discarded => "changes-discarded",
    }
}

fn message_name(number: u64) -> String {
    format!("message-{number}.json")
}

fn answer_name(question: u64) -> String {
    format!("answer-{question}.json")
}

fn is_plain_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}
