//! What changes among the sessions and runs, by this program or by another.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use model::{RunId, SessionId};
use plan::{DefinitionDirectories, Surroundings};
use store::{RunDir, Store, Watch};
use tokio::sync::broadcast;
use tools::Choices;

use crate::resource_uri::ResourceUri;

/// How often to look for changes at most.
const PACE: Duration = Duration::from_millis(500);
/// How often to look where the system does not report changes, and for a directory that does not
/// exist yet.
const LOOKING: Duration = Duration::from_secs(2);

/// Something that a client may subscribe to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A run was added or removed.
    List,
    /// The tools offer other presets than before.
    Tools,
    /// Something has changed at this address.
    Resource(String),
}

pub(crate) struct Changes {
    changes: broadcast::Sender<Change>,
    watch: Watch,
    runs: BTreeSet<RunId>,
    /// The sessions of runs, as far as they were looked up.
    sessions: BTreeMap<RunId, SessionId>,
    subscribed: BTreeMap<String, Subscription>,
    surroundings: Surroundings,
    /// What the tools offered when the client listed them, or was told of a change.
    choices: Choices,
    looked: Instant,
    /// Whether there was a directory of runs to watch.
    has_directory: bool,
    /// Whether something may have changed between looking and watching.
    must_look: bool,
}

/// An address that is subscribed to.
#[derive(Default)]
struct Subscription {
    /// How often it is subscribed to.
    count: usize,
    runs: Vec<RunDir>,
    seen: Vec<Trace>,
}

/// A run, how long its events are, and whether it has ended.
type Trace = (RunId, (u64, bool));

impl Changes {
    pub(crate) fn new(
        store: &Store,
        surroundings: &Surroundings,
        changes: broadcast::Sender<Change>,
    ) -> Changes {
        let mut changes = Changes {
            changes,
            watch: Watch::new(),
            runs: all_runs(store),
            sessions: BTreeMap::new(),
            subscribed: BTreeMap::new(),
            surroundings: surroundings.clone(),
            choices: Choices::here(Vec::new(), surroundings),
            looked: Instant::now(),
            has_directory: false,
            must_look: true,
        };
        changes.watch_anew(store);
        changes
    }

    /// The client was told of these choices, which may have changed since.
    pub(crate) fn listed(&mut self, choices: Choices) {
        self.choices = choices;
        self.must_look = true;
    }

    pub(crate) fn subscribe(&mut self, store: &Store, uri: &str) {
        let runs = self.runs_at(store, uri);
        let subscription = self.subscribed.entry(uri.to_owned()).or_default();
        subscription.count += 1;
        subscription.seen = traces(&runs);
        subscription.runs = runs;
        self.watch_anew(store);
    }

    pub(crate) fn unsubscribe(&mut self, uri: &str) {
        if let Some(subscription) = self.subscribed.get_mut(uri) {
            subscription.count -= 1;
            if subscription.count == 0 {
                self.subscribed.remove(uri);
            }
        }
    }

    /// Becomes readable when something has changed, if it is time to look.
    pub(crate) fn waker(&self) -> Option<BorrowedFd<'_>> {
        self.watch.waker().filter(|_| self.looked.elapsed() >= PACE)
    }

    /// How long until the next look, even if nothing is reported.
    pub(crate) fn next_look(&self, now: Instant) -> Option<Duration> {
        let until = |time: Instant| time.saturating_duration_since(now);
        let is_paced = self.must_look || self.looked.elapsed() < PACE;
        let paced = is_paced.then(|| until(self.looked + PACE));
        let looking = (!self.watch.is_complete()).then(|| until(self.looked + LOOKING));
        paced.into_iter().chain(looking).min()
    }

    /// Finds out what has changed, and publishes it.
    pub(crate) fn look(&mut self, store: &Store) {
        let is_due = !self.watch.is_complete() && self.looked.elapsed() >= LOOKING;
        let is_reported = self.looked.elapsed() >= PACE && (self.must_look || self.watch.is_told());
        if !is_due && !is_reported {
            return;
        }
        self.watch.drain();
        self.looked = Instant::now();
        self.must_look = false;
        let runs = all_runs(store);
        if runs != self.runs {
            self.sessions.retain(|run, _| runs.contains(run));
            self.runs = runs;
            self.publish(Change::List);
            let mut subscribed = std::mem::take(&mut self.subscribed);
            for (uri, subscription) in &mut subscribed {
                subscription.runs = self.runs_at(store, uri);
            }
            self.subscribed = subscribed;
            self.watch_anew(store);
        } else if !self.has_directory && store.path().is_dir() {
            self.watch_anew(store);
        }
        let choices = Choices::here(Vec::new(), &self.surroundings);
        if choices != self.choices {
            self.choices = choices;
            self.publish(Change::Tools);
            // The directory of the presets may be new.
            self.watch_anew(store);
        }
        let mut changed = Vec::new();
        for (uri, subscription) in &mut self.subscribed {
            let traces = traces(&subscription.runs);
            if traces != subscription.seen {
                subscription.seen = traces;
                changed.push(Change::Resource(uri.clone()));
            }
        }
        changed.into_iter().for_each(|change| self.publish(change));
    }

    /// The runs that make up what is at an address. The session of each run is read once.
    fn runs_at(&mut self, store: &Store, uri: &str) -> Vec<RunDir> {
        let mut runs = match ResourceUri::parse(uri) {
            Some(ResourceUri::Session(_) | ResourceUri::Run(_)) => store.runs().unwrap_or_default(),
            Some(ResourceUri::Profile(_)) | None => Vec::new(),
        };
        runs.retain(|run| match ResourceUri::parse(uri) {
            Some(ResourceUri::Session(session)) => {
                if !self.sessions.contains_key(run.run_id())
                    && let Some(session) = tools::session_of(run)
                {
                    self.sessions.insert(run.run_id().clone(), session);
                }
                self.sessions.get(run.run_id()) == Some(&session)
            }
            uri => uri == Some(ResourceUri::Run(run.run_id().clone())),
        });
        runs
    }

    fn publish(&self, change: Change) {
        // There may be no receiver.
        let _ = self.changes.send(change);
    }

    fn watch_anew(&mut self, store: &Store) {
        self.must_look = true;
        self.has_directory = store.path().is_dir();
        self.watch = Watch::new();
        self.watch.add(store.path());
        let presets = DefinitionDirectories::of_presets(&self.surroundings);
        for directory in [&presets.global, &presets.project] {
            // Where there are no presets, their directory can appear in this one.
            let watched = directory.ancestors().take(2).find(|directory| directory.is_dir());
            watched.into_iter().for_each(|directory| self.watch.add_with_writes(directory));
        }
        for subscription in self.subscribed.values() {
            // A run that has ended does not change any more.
            for run in subscription.runs.iter().filter(|run| !run.trace().1) {
                self.watch.add_with_writes(run.path());
            }
        }
    }
}

fn all_runs(store: &Store) -> BTreeSet<RunId> {
    // A directory that does not exist, or cannot be read, has none.
    store.runs().unwrap_or_default().iter().map(|run| run.run_id().clone()).collect()
}

fn traces(runs: &[RunDir]) -> Vec<Trace> {
    runs.iter().map(|run| (run.run_id().clone(), run.trace())).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_preset_that_appears_before_the_first_look_is_told_of() {
        let top = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::new(top.path().to_owned(), top.path().join("agent"));
        let listed = Choices::here(Vec::new(), &surroundings);
        let preset = top.path().join("agent/subagents/scout.md");
        fs::create_dir_all(preset.parent().unwrap()).unwrap();
        fs::write(preset, "---\nname: scout\ndescription: Looks.\n---\n").unwrap();
        let (sender, mut receiver) = broadcast::channel(4);
        let store = Store::in_project(top.path());
        let mut changes = Changes::new(&store, &surroundings, sender);
        changes.listed(listed);
        let deadline = Instant::now() + 20 * PACE;
        let told = loop {
            changes.look(&store);
            match receiver.try_recv() {
                Err(_) if Instant::now() < deadline => {
                    std::thread::sleep(changes.next_look(Instant::now()).unwrap_or(PACE));
                }
                told => break told,
            }
        };
        assert_eq!(told.ok(), Some(Change::Tools));
    }
}
