//! The background runs of a caller that keeps a log: watched, counted, and reported when they end.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use model::{OpenQuestion, Owner};
use serde::Serialize;
use store::{RunDir, Store, Watch};

use super::{CallEvent, open_call};
use crate::{
    BackgroundBook, BackgroundEnding, BackgroundRecord, BackgroundRun, BackgroundStatus, RUN_ENTRY,
    UPDATE_ENTRY, load_background, reload,
};

#[derive(Debug)]
pub(super) struct BackgroundLog {
    book: BackgroundBook,
    watch: Watch,
    watched: Vec<RunDir>,
    /// Those that ask something.
    asking: Vec<BackgroundRun>,
    looked: Instant,
    footer: Option<String>,
}

impl BackgroundLog {
    pub(super) fn new() -> BackgroundLog {
        BackgroundLog {
            book: BackgroundBook::default(),
            watch: Watch::new(),
            watched: Vec::new(),
            asking: Vec::new(),
            looked: Instant::now(),
            footer: None,
        }
    }

    pub(super) fn book(&self) -> &BackgroundBook {
        &self.book
    }

    /// What the runs asked when they were looked at last: the name, the directory, the question.
    pub(super) fn questions(&self) -> impl Iterator<Item = (&str, &RunDir, &OpenQuestion)> {
        self.asking.iter().flat_map(|BackgroundRun { dir, record, .. }| {
            record.questions.iter().map(move |open| (record.title(), dir, open))
        })
    }

    /// Begins anew with what the log says, and with what the owner has started without living to
    /// write it down.
    pub(super) fn restore(
        &mut self,
        book: BackgroundBook,
        store: &Store,
        owner: &Owner,
        events: &mut Vec<CallEvent>,
    ) {
        self.book = book;
        match load_background(store, Some(owner)) {
            Ok(loaded) => {
                for mut run in loaded.runs {
                    if self.book.runs().iter().any(|known| known.run_id == run.record.run_id) {
                        continue;
                    }
                    if !run.dir.is_notified() {
                        // `look` finds that it has ended, and reports it.
                        run.record.status = BackgroundStatus::Running;
                        run.record.ending = BackgroundEnding::default();
                    }
                    self.book.start(run.record);
                }
            }
            Err(error) => events.push(CallEvent::Warning(error.to_string())),
        }
        self.look(store, events);
    }

    pub(super) fn start(
        &mut self,
        run: &BackgroundRecord,
        dir: RunDir,
        events: &mut Vec<CallEvent>,
    ) {
        self.book.start(run.clone());
        events.push(log_entry(RUN_ENTRY, run));
        self.watch.add(dir.path());
        self.watched.push(dir);
        self.show_footer(events);
    }

    /// Becomes readable when a run may have ended.
    pub(super) fn waker(&self) -> Option<BorrowedFd<'_>> {
        self.watch.waker().filter(|_| !self.watched.is_empty())
    }

    /// When to look even if the watch reports nothing.
    pub(super) fn next_look(&self) -> Option<Instant> {
        (!self.watched.is_empty()).then(|| self.looked + self.watch.interval())
    }

    pub(super) fn look_if_due(&mut self, store: &Store, events: &mut Vec<CallEvent>) {
        let is_due = self.next_look().is_some_and(|due| Instant::now() >= due);
        if is_due || !self.watched.is_empty() && self.watch.is_told() {
            self.look(store, events);
        }
    }

    /// Finds out which runs ask something, and which have ended, and reports each of these once.
    pub(super) fn look(&mut self, store: &Store, events: &mut Vec<CallEvent>) {
        self.watch.drain();
        self.looked = Instant::now();
        let reloaded = reload(&mut self.book, store);
        events.extend(reloaded.updates.iter().map(|update| log_entry(UPDATE_ENTRY, update)));
        if reloaded.watch != self.watched {
            self.watch = open_call::watch(&reloaded.watch);
            self.watched = reloaded.watch;
        }
        self.asking = reloaded.asking;
        self.show_footer(events);
        events.extend(reloaded.notifications.into_iter().map(CallEvent::BackgroundEnded));
    }

    fn show_footer(&mut self, events: &mut Vec<CallEvent>) {
        let footer = self.book.counts().footer();
        if footer != self.footer {
            events.push(CallEvent::Footer(footer.clone()));
            self.footer = footer;
        }
    }
}

fn log_entry(kind: &'static str, data: &impl Serialize) -> CallEvent {
    // Plain data with string keys always serialises.
    CallEvent::LogEntry { kind, data: serde_json::to_value(data).unwrap_or_default() }
}
