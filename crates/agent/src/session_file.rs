//! The file in which a conversation outlives its process, in pi's format.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock;
use crate::history::Entry;
use crate::message::{CompactionSummary, Message};

/// The version of pi's format that is written.
pub(crate) const VERSION: u32 = 3;

/// The largest file that is read.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Adds a message to the session in a file, which is made if there is none, and returns the
/// conversation before it. For checks that have a file and no agent.
pub fn continue_session(
    path: &Path,
    cwd: &Path,
    message: Message,
) -> Result<Vec<Arc<Message>>, SessionFileError> {
    let mut opened = SessionFile::open(path, cwd)?;
    opened.file.append(&Entry::new(new_entry_id(), message))?;
    Ok(opened.entries.into_iter().map(|entry| entry.message).collect())
}

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
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| failed(error.to_string()))?;
        // A writer can be killed in the middle of a character.
        let conversation = read(&String::from_utf8_lossy(&bytes)).map_err(failed)?;
        let is_torn = bytes.last().is_some_and(|last| *last != b'\n');
        let mut session =
            SessionFile { path: path.to_owned(), file, last_id: conversation.last_id };
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
                    timestamp: clock::now_as_text(),
                    cwd: cwd.to_string_lossy().into_owned(),
                })?;
                id
            }
        };
        Ok(Opened { file: session, session_id, entries: conversation.entries })
    }

    pub(crate) fn append(&mut self, entry: &Entry) -> Result<(), SessionFileError> {
        let parent_id = self.last_id.replace(entry.id.clone());
        self.write(&Line::Message {
            id: entry.id.clone(),
            parent_id,
            timestamp: clock::now_as_text(),
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
            timestamp: clock::now_as_text(),
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
            timestamp: clock::now_as_text(),
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
    /// What the next entry continues, if that has a name of its own.
    last_id: Option<String>,
    entries: Vec<Entry>,
    /// The time of the last message.
    latest: u64,
}

/// Reads what pi or we have written. pi's sessions are trees, and two writers make one of any
/// session: an entry can continue one that is not the last. The branch that was written last is the
/// conversation.
fn read(text: &str) -> Result<Conversation, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut conversation = Conversation::default();
    let Some((number, header)) = lines.next() else { return Ok(conversation) };
    let is_no_header =
        |reason: &str| format!("line {} is not the header of a session: {reason}", number + 1);
    match serde_json::from_str(header) {
        Ok(line @ Line::Session { .. }) => conversation.add(line)?,
        Ok(_) => return Err(is_no_header("it is of another type")),
        Err(error) => return Err(is_no_header(&error.to_string())),
    }
    let mut nodes: Vec<Node> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (_, text) in lines {
        // A line that was cut off by the death of its writer, and one of a kind that only pi knows,
        // tell nothing; what follows them still belongs to the conversation.
        let line = serde_json::from_str(text).unwrap_or(Line::Other);
        let links: Links = serde_json::from_str(text).unwrap_or_default();
        let before = nodes.len().checked_sub(1);
        let parent = links.parent_id.and_then(|parent| places.get(&parent).copied()).or(before);
        if let Some(id) = &links.id {
            places.insert(id.clone(), nodes.len());
        }
        nodes.push(Node { id: links.id, line, parent });
    }
    conversation.last_id = name_of_last(&nodes, &places);
    let mut branch = Vec::new();
    let mut next = nodes.len().checked_sub(1);
    while let Some(place) = next {
        let node = &mut nodes[place];
        branch.push(std::mem::replace(&mut node.line, Line::Other));
        // Nothing continues what comes after it, so this comes to an end.
        next = node.parent.filter(|parent| *parent < place);
    }
    for line in branch.into_iter().rev() {
        conversation.add(line)?;
    }
    Ok(conversation)
}

/// By what the next entry says that it continues the last one. Nothing where that has a name that leads
/// elsewhere, because two are called so: what says nothing continues the line before it. What tells
/// nothing need not be continued.
fn name_of_last(nodes: &[Node], places: &HashMap<String, usize>) -> Option<String> {
    let mut next = nodes.len().checked_sub(1);
    while let Some(place) = next {
        let node = &nodes[place];
        let name = node.id.as_ref().filter(|id| places.get(*id) == Some(&place));
        if name.is_some() || !matches!(node.line, Line::Other) {
            return name.cloned();
        }
        next = node.parent.filter(|parent| *parent < place);
    }
    None
}

/// A line, and the place of the one that it continues.
struct Node {
    id: Option<String>,
    line: Line,
    parent: Option<usize>,
}

/// What every line says about its place in the tree.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Links {
    id: Option<String>,
    parent_id: Option<String>,
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
            Line::Message { id, message, .. } => {
                self.latest = self.latest.max(message.timestamp().saturating_add(1));
                self.entries.push(Entry::new(id, *message));
            }
            Line::Compaction { id, first_kept_entry_id, summary, tokens_before, .. } => {
                let kept = self.entries.iter().position(|entry| entry.id == first_kept_entry_id);
                let kept = kept.unwrap_or(self.entries.len());
                self.entries.drain(..kept);
                // Newer than everything before it, and not newer than what follows.
                let timestamp = self.latest;
                let summary = CompactionSummary { summary, tokens_before, timestamp };
                let entry = Entry::new(id, Message::CompactionSummary(summary));
                self.entries.insert(0, entry);
            }
            Line::ContextEdit { target_id, replacement, .. } => {
                if replacement.is_none() {
                    self.entries.retain(|entry| entry.id != target_id);
                }
            }
            Line::Other => {}
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "session_file_tests.rs"]
mod tests;
