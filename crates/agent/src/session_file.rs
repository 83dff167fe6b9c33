//! The file in which a conversation outlives its process, in pi's format.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock;
use crate::history::Entry;
use crate::message::{CompactionSummary, Message};

/// The version of pi's format that is written.
pub(crate) const VERSION: u32 = 3;

/// The largest file that is read.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// A session file that is open for more.
#[derive(Debug)]
pub(crate) struct SessionFile {
    path: PathBuf,
    file: File,
    last_id: Option<String>,
}

/// A session file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the session file {} cannot be used: {reason}", path.display())]
pub struct SessionFileError {
    path: PathBuf,
    reason: String,
}

/// What a session file has told.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: SessionFile,
    pub(crate) session_id: String,
    pub(crate) entries: Vec<Entry>,
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Line {
    Session {
        version: u32,
        id: String,
        timestamp: String,
        cwd: String,
    },
    Message {
        id: String,
        parent_id: Option<String>,
        timestamp: String,
        message: Box<Message>,
    },
    Compaction {
        id: String,
        parent_id: Option<String>,
        timestamp: String,
        summary: String,
        first_kept_entry_id: String,
        tokens_before: u64,
    },
    /// `None` takes the message out of the conversation.
    ContextEdit {
        id: String,
        parent_id: Option<String>,
        timestamp: String,
        target_id: String,
        replacement: Option<serde_json::Value>,
    },
    /// What only pi writes.
    #[serde(other)]
    Other,
}

impl SessionFile {
    /// Opens the file, or makes one, and reads the conversation that is in it.
    pub(crate) fn open(path: &Path, cwd: &Path) -> Result<Opened, SessionFileError> {
        let failed = |reason: String| SessionFileError { path: path.to_owned(), reason };
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
            .open(path)
            .map_err(|error| failed(error.to_string()))?;
        let metadata = file.metadata().map_err(|error| failed(error.to_string()))?;
        if metadata.file_type().is_fifo() || !metadata.is_file() {
            return Err(failed("it is not a plain file".to_owned()));
        }
        if metadata.len() > MAX_BYTES {
            return Err(failed(format!("it has more than {MAX_BYTES} bytes")));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
        let conversation = read(&text).map_err(failed)?;
        let is_torn = !text.is_empty() && !text.ends_with('\n');
        let mut session = SessionFile {
            path: path.to_owned(),
            file,
            last_id: conversation.entries.last().map(|entry| entry.id.clone()),
        };
        if is_torn {
            // Whoever wrote it was killed in the middle of a line; what follows starts a new one.
            session.file.write_all(b"\n").map_err(|error| session.error(&error))?;
        }
        let session_id = match conversation.session_id {
            Some(session_id) => session_id,
            None => {
                let id = Uuid::now_v7().to_string();
                session.write(&Line::Session {
                    version: VERSION,
                    id: id.clone(),
                    timestamp: clock::iso(clock::now()),
                    cwd: cwd.to_string_lossy().into_owned(),
                })?;
                id
            }
        };
        session.last_id = conversation.last_id;
        Ok(Opened { file: session, session_id, entries: conversation.entries })
    }

    pub(crate) fn append(&mut self, entry: &Entry) -> Result<(), SessionFileError> {
        let parent_id = self.last_id.replace(entry.id.clone());
        self.write(&Line::Message {
            id: entry.id.clone(),
            parent_id,
            timestamp: clock::iso(clock::now()),
            message: Box::new(Message::clone(&entry.message)),
        })
    }

    /// Notes that an entry is no longer part of the conversation.
    pub(crate) fn omit(&mut self, target_id: &str) -> Result<(), SessionFileError> {
        let id = new_entry_id();
        let parent_id = self.last_id.replace(id.clone());
        self.write(&Line::ContextEdit {
            id,
            parent_id,
            timestamp: clock::iso(clock::now()),
            target_id: target_id.to_owned(),
            replacement: None,
        })
    }

    /// Notes that everything before an entry has become a summary. If the entry is the summary
    /// itself, nothing else was kept.
    pub(crate) fn compact(
        &mut self,
        id: &str,
        summary: &CompactionSummary,
        first_kept_entry_id: &str,
    ) -> Result<(), SessionFileError> {
        let parent_id = self.last_id.replace(id.to_owned());
        self.write(&Line::Compaction {
            id: id.to_owned(),
            parent_id,
            timestamp: clock::iso(clock::now()),
            summary: summary.summary.clone(),
            first_kept_entry_id: first_kept_entry_id.to_owned(),
            tokens_before: summary.tokens_before,
        })
    }

    fn write(&mut self, line: &Line) -> Result<(), SessionFileError> {
        let mut bytes = serde_json::to_vec(line).map_err(|error| self.error(&error.into()))?;
        bytes.push(b'\n');
        self.file.write_all(&bytes).map_err(|error| self.error(&error))
    }

    fn error(&self, error: &io::Error) -> SessionFileError {
        SessionFileError { path: self.path.clone(), reason: error.to_string() }
    }
}

/// A new name for an entry, as short as pi's.
pub(crate) fn new_entry_id() -> String {
    let mut id = Uuid::new_v4().simple().to_string();
    id.truncate(8);
    id
}

#[derive(Debug, Default)]
struct Conversation {
    session_id: Option<String>,
    /// The last entry of any kind.
    last_id: Option<String>,
    entries: Vec<Entry>,
    /// The time of the last message.
    latest: u64,
}

/// Reads what pi or we have written. The branch that was written last is the conversation.
fn read(text: &str) -> Result<Conversation, String> {
    let mut conversation = Conversation::default();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let line = match serde_json::from_str::<Line>(line) {
            Ok(line) => line,
            // A line that was cut off by the death of its writer, or a message of a kind that
            // only pi knows. The others still are a conversation.
            Err(_) if number > 0 => continue,
            Err(error) => return Err(format!("line 1 is not the header of a session: {error}")),
        };
        conversation.add(line)?;
    }
    Ok(conversation)
}

impl Conversation {
    fn add(&mut self, line: Line) -> Result<(), String> {
        match line {
            Line::Session { version, id, .. } => {
                if version > VERSION {
                    return Err(format!(
                        "its format is {version}, and this version reads up to {VERSION}"
                    ));
                }
                self.session_id = Some(id);
            }
            Line::Message { id, parent_id, message, .. } => {
                self.go_back_to(parent_id.as_deref());
                self.last_id = Some(id.clone());
                self.latest = self.latest.max(message.timestamp() + 1);
                self.entries.push(Entry::new(id, *message));
            }
            Line::Compaction { id, first_kept_entry_id, summary, tokens_before, .. } => {
                let kept = self.entries.iter().position(|entry| entry.id == first_kept_entry_id);
                let kept = kept.unwrap_or(self.entries.len());
                self.entries.drain(..kept);
                // Newer than everything before it, and not newer than what follows.
                let timestamp = self.latest;
                let summary = CompactionSummary { summary, tokens_before, timestamp };
                let entry = Entry::new(id.clone(), Message::CompactionSummary(summary));
                self.entries.insert(0, entry);
                self.last_id = Some(id);
            }
            Line::ContextEdit { id, target_id, replacement, .. } => {
                if replacement.is_none() {
                    self.entries.retain(|entry| entry.id != target_id);
                }
                self.last_id = Some(id);
            }
            Line::Other => {}
        }
        Ok(())
    }

    /// pi's sessions are trees: an entry can continue one that is not the last.
    fn go_back_to(&mut self, parent_id: Option<&str>) {
        let place =
            parent_id.and_then(|parent| self.entries.iter().position(|entry| entry.id == parent));
        if let Some(place) = place
            && self.last_id.as_deref() != parent_id
        {
            self.entries.truncate(place + 1);
        }
    }
}

#[cfg(test)]
#[path = "session_file_tests.rs"]
mod tests;
