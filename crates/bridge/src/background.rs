//! The background runs of a conversation: watched, counted, and told about when they end.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use model::Owner;
use serde_json::json;
use store::{RunDir, Store, Watch};
use tools::{
    BackgroundBook, BackgroundCounts, BackgroundEnding, BackgroundRecord, BackgroundStatus,
    COMPLETE_MESSAGE, RUN_ENTRY, UPDATE_ENTRY, Whose,
};

use crate::client::Client;

pub(crate) struct BackgroundWatch {
    book: BackgroundBook,
    watch: Watch,
    watched: Vec<RunDir>,
    looked: Instant,
    footer: Option<String>,
}

impl BackgroundWatch {
    pub(crate) fn new() -> BackgroundWatch {
        BackgroundWatch {
            book: BackgroundBook::default(),
            watch: Watch::new(),
            watched: Vec::new(),
            looked: Instant::now(),
            footer: None,
        }
    }

    /// Takes up what was written down, and what the conversation has started without getting to
    /// write it down.
    pub(crate) fn restore(
        &mut self,
        book: BackgroundBook,
        store: &Store,
        owner: &Owner,
        client: &Client,
    ) {
        self.book = book;
        match tools::load_background(store, Whose::Of(owner)) {
            Ok(loaded) => {
                for mut run in loaded.runs {
                    if self.book.runs().iter().any(|known| known.run_id == run.record.run_id) {
                        continue;
                    }
                    if !run.dir.is_notified() {
                        // That it has ended is found out below, and told then.
                        run.record.status = BackgroundStatus::Running;
                        run.record.ending = BackgroundEnding::default();
                    }
                    self.book.start(run.record);
                }
            }
            Err(error) => client.notify(&error.to_string(), "warning"),
        }
        self.look(store, client);
    }

    /// A run was started.
    pub(crate) fn start(&mut self, run: &BackgroundRecord, dir: RunDir, client: &Client) {
        self.book.start(run.clone());
        client.tell("session/append", &json!({"customType": RUN_ENTRY, "data": run}));
        self.watch.add(dir.path());
        self.watched.push(dir);
        self.show_footer(client);
    }

    pub(crate) fn counts(&self) -> BackgroundCounts {
        self.book.counts()
    }

    pub(crate) fn records(&self) -> Vec<BackgroundRecord> {
        self.book.runs().to_vec()
    }

    /// What can be read when something has changed.
    pub(crate) fn waker(&self) -> Option<BorrowedFd<'_>> {
        self.watch.waker().filter(|_| !self.watched.is_empty())
    }

    /// How long until somebody must look; never if there is nothing to look at.
    pub(crate) fn next_look(&self) -> Option<Duration> {
        let next = self.looked + self.watch.interval();
        (!self.watched.is_empty()).then(|| next.saturating_duration_since(Instant::now()))
    }

    /// Finds out which runs have ended, and tells of each of them once.
    pub(crate) fn look(&mut self, store: &Store, client: &Client) {
        self.watch.drain();
        self.looked = Instant::now();
        let reloaded = tools::reload(&mut self.book, store);
        for update in &reloaded.updates {
            client.tell("session/append", &json!({"customType": UPDATE_ENTRY, "data": update}));
        }
        if reloaded.watch != self.watched {
            self.watch = Watch::new();
            for dir in &reloaded.watch {
                self.watch.add(dir.path());
            }
            self.watched = reloaded.watch;
        }
        self.show_footer(client);
        for told in &reloaded.notifications {
            client.notify(&told.text, told.level());
            let details = json!({"runId": told.run_id, "status": told.status});
            client.say_in_conversation(COMPLETE_MESSAGE, &told.message, &details);
        }
    }

    fn show_footer(&mut self, client: &Client) {
        let footer = self.book.footer();
        if footer != self.footer {
            client.tell("ui/status", &json!({"text": footer}));
            self.footer = footer;
        }
    }
}
