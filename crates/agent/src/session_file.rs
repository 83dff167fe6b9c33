//! The file that keeps a conversation, in pi's format.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::Redactor;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock;
use crate::history::Entry;
use crate::message::{CompactionSummary, Message};

pub(crate) const VERSION: u32 = 3;

const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Adds a message to a session file, which is created if it is missing, and returns the conversation
/// before it. The fuzzer uses it, which has files but no agent.
pub fn continue_session(
    path: &Path,
    cwd: &Path,
    message: Message,
) -> Result<Vec<Arc<Message>>, SessionFileError> {
    let mut opened = SessionFile::open(path, cwd)?;
    opened.file.append(&Entry::new(new_entry_id(), message))?;
    Ok(opened.entries.into_iter().map(|entry| entry.message).collect())
}

#[derive(Debug)]
pub(crate) struct SessionFile {
    path: PathBuf,
    file: File,
    last_id: Option<String>,
    redactor: Redactor,
    /// The first line, if there was no room for it. It is written before any other.
    unwritten: Option<Line>,
}

/// A session file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the session file {} cannot be used: {reason}", path.display())]
pub struct SessionFileError {
    path: PathBuf,
    reason: String,
}

#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: SessionFile,
    pub(crate) session_id: String,
    pub(crate) entries: Vec<Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Line {
    /// The first line.
    Session { version: u32, id: String, timestamp: String, cwd: String },
    /// An entry of the conversation.
    Message { id: String, parent_id: Option<String>, timestamp: String, message: Box<Message> },
    /// The summary replaces everything before the first entry that is kept.
    Compaction {
        id: String,
        parent_id: Option<String>,
        timestamp: String,
        summary: String,
        first_kept_entry_id: String,
        tokens_before: u64,
    },
    /// Without a replacement, the message is removed from the conversation.
    ContextEdit {
        id: String,
        parent_id: Option<String>,
        timestamp: String,
        target_id: String,
        replacement: Option<serde_json::Value>,
    },
    /// Lines that only pi writes.
    #[serde(other)]
    Other,
}

impl SessionFile {
    fn new(path: PathBuf, file: File, last_id: Option<String>) -> SessionFile {
        let redactor = Redactor::default();
        SessionFile { path, file, last_id, redactor, unwritten: None }
    }

    /// The same file, into which no secrets are written.
    pub(crate) fn hiding(self, redactor: Redactor) -> SessionFile {
        SessionFile { redactor, ..self }
    }

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
        let mut session = SessionFile::new(path.to_owned(), file, conversation.last_id);
        if is_torn {
            // Its writer was killed in the middle of a line.
            session.file.write_all(b"\n").map_err(|error| session.error(&error))?;
        }
        let session_id = match conversation.session_id {
            Some(session_id) => session_id,
            None => {
                let id = plan::new_id().to_string();
                let line = Line::Session {
                    version: VERSION,
                    id: id.clone(),
                    timestamp: clock::now_as_text(),
                    cwd: cwd.to_string_lossy().into_owned(),
                };
                // A full disk costs the record, and not the work.
                if session.write_line(&line).is_err() {
                    session.unwritten = Some(line);
                }
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

    /// Removes an entry from the conversation.
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

    /// Replaces everything before an entry by a summary. If `first_kept_entry_id` is that of the
    /// summary itself, nothing else is kept.
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
        if let Some(first) = self.unwritten.take()
            && let Err(error) = self.write_line(&first)
        {
            self.unwritten = Some(first);
            return Err(error);
        }
        self.write_line(line)
    }

    fn write_line(&mut self, line: &Line) -> Result<(), SessionFileError> {
        let bytes = if self.redactor.is_empty() {
            serde_json::to_vec(line)
        } else {
            serde_json::to_value(line).and_then(|mut line| {
                self.redactor.value(&mut line);
                serde_json::to_vec(&line)
            })
        };
        let mut bytes = bytes.map_err(|error| self.error(&error.into()))?;
        bytes.push(b'\n');
        self.file.write_all(&bytes).map_err(|error| self.error(&error))
    }

    fn error(&self, error: &io::Error) -> SessionFileError {
        SessionFileError { path: self.path.clone(), reason: error.to_string() }
    }
}

/// A new id of an entry, as short as pi's.
pub(crate) fn new_entry_id() -> String {
    let mut id = Uuid::new_v4().simple().to_string();
    id.truncate(8);
    id
}

#[derive(Debug, Default)]
struct Conversation {
    session_id: Option<String>,
    /// The id that the next entry names as its parent.
    last_id: Option<String>,
    entries: Vec<Entry>,
    /// The time of the last message.
    latest: u64,
}

/// Reads what pi or we have written. pi's sessions are trees, and two writers make a tree of any
/// session: an entry can continue another one than the last. The branch of the last entry is the
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
    let mut indices: HashMap<String, usize> = HashMap::new();
    for (_, text) in lines {
        // A torn line, or one that only pi understands, has no content for us; the lines after it
        // still belong to the conversation.
        let line = serde_json::from_str(text).unwrap_or(Line::Other);
        let links: Links = serde_json::from_str(text).unwrap_or_default();
        let before = nodes.len().checked_sub(1);
        let parent = links.parent_id.and_then(|parent| indices.get(&parent).copied()).or(before);
        if let Some(id) = &links.id {
            indices.insert(id.clone(), nodes.len());
        }
        nodes.push(Node { id: links.id, line, parent });
    }
    conversation.last_id = id_of_last(&nodes, &indices);
    let mut branch = Vec::new();
    let mut next = nodes.len().checked_sub(1);
    while let Some(index) = next {
        let node = &mut nodes[index];
        branch.push(std::mem::replace(&mut node.line, Line::Other));
        // A parent comes before its child, so that this ends.
        next = node.parent.filter(|parent| *parent < index);
    }
    for line in branch.into_iter().rev() {
        conversation.add(line)?;
    }
    Ok(conversation)
}

/// The id by which the next entry names the last one as its parent. `None` if two lines have that id
/// and it leads to the other one: an entry without a parent continues the line before it. Lines
/// without content for us are skipped.
fn id_of_last(nodes: &[Node], indices: &HashMap<String, usize>) -> Option<String> {
    let mut next = nodes.len().checked_sub(1);
    while let Some(index) = next {
        let node = &nodes[index];
        let id = node.id.as_ref().filter(|id| indices.get(*id) == Some(&index));
        if id.is_some() || !matches!(node.line, Line::Other) {
            return id.cloned();
        }
        next = node.parent.filter(|parent| *parent < index);
    }
    None
}

/// A line, and the index of its parent.
struct Node {
    id: Option<String>,
    line: Line,
    parent: Option<usize>,
}

/// The fields that make the lines a tree.
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
                // Newer than the messages before it, and not newer than those after it.
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
