//! The conversation of an agent.

use std::sync::Arc;

use crate::message::{CompactionSummary, Message};
use crate::session_file::{SessionFile, SessionFileError, new_entry_id};

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) id: String,
    /// Shared with the thread that sends it to the provider.
    pub(crate) message: Arc<Message>,
}

impl Entry {
    pub(crate) fn new(id: String, message: Message) -> Entry {
        Entry { id, message: Arc::new(message) }
    }
}

/// The conversation, and the file that it is written to, if there is one.
#[derive(Debug, Default)]
pub(crate) struct History {
    entries: Vec<Entry>,
    file: Option<SessionFile>,
    /// The first reason why the file is not complete.
    pub(crate) failure: Option<SessionFileError>,
}

impl History {
    pub(crate) fn new(entries: Vec<Entry>, file: Option<SessionFile>) -> History {
        History { entries, file, failure: None }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn push(&mut self, message: Message) -> Arc<Message> {
        let entry = Entry::new(new_entry_id(), message);
        let message = Arc::clone(&entry.message);
        self.keep(|file| file.append(&entry));
        self.entries.push(entry);
        message
    }

    /// Removes the last message from the conversation; the file still has it.
    pub(crate) fn omit_last(&mut self) {
        if let Some(entry) = self.entries.pop() {
            self.keep(|file| file.omit(&entry.id));
        }
    }

    /// Replaces everything before the entry with this index by a summary.
    pub(crate) fn compact(&mut self, summary: CompactionSummary, first_kept: usize) {
        let id = new_entry_id();
        let first_kept_id = self.entries.get(first_kept).map_or(&id, |entry| &entry.id).clone();
        self.keep(|file| file.compact(&id, &summary, &first_kept_id));
        let summary = Entry::new(id, Message::CompactionSummary(summary));
        self.entries.splice(..first_kept.min(self.entries.len()), [summary]);
    }

    /// After a failure nothing more is written: a gap in the middle is worse than a missing end.
    fn keep(&mut self, write: impl FnOnce(&mut SessionFile) -> Result<(), SessionFileError>) {
        if let Some(file) = &mut self.file
            && let Err(error) = write(file)
        {
            self.failure = Some(error);
            self.file = None;
        }
    }
}
