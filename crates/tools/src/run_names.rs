//! Finds the runs that a user names on the command line: by an id, by the name of a task, by `@last`, or
//! by the beginning of an id. What a word means is decided in [`resolve`], without reading anything.

mod resolve;

use model::{Lifetime, RunId, SessionId};
use store::{RunDir, Store, StoreError};

pub use self::resolve::{Candidate, NameError};
use self::resolve::{ListedRun, Meaning, Wanted};
use crate::{KnownRun, RunLabel, Session};

/// The runs of a project that can be named.
#[derive(Debug)]
pub struct RunNames {
    store: Store,
    /// Oldest first.
    runs: Vec<ListedRun>,
    /// Runs that exist, but are none for the command that asks.
    others: Vec<ListedRun>,
}

/// A session that was named, whole.
#[derive(Debug)]
pub struct NamedSession {
    /// Everything about it.
    pub session: Session,
    /// The index of the run that was named; the latest run if it was the session.
    pub run: usize,
}

impl NamedSession {
    /// The run that was named.
    pub fn named_run(&self) -> &KnownRun {
        &self.session.runs[self.run]
    }
}

impl RunNames {
    /// All runs of a project. Nothing is ended or changed. A run that cannot be read hides no other.
    pub fn load(store: &Store) -> Result<RunNames, StoreError> {
        let listed = store.runs()?.into_iter().filter_map(|dir| {
            let label: RunLabel = dir.meta_as().ok()?;
            Some(ListedRun { dir, label })
        });
        Ok(RunNames { store: store.clone(), runs: listed.collect(), others: Vec::new() })
    }

    /// The background runs of a project.
    pub fn load_background(store: &Store) -> Result<RunNames, StoreError> {
        let mut names = RunNames::load(store)?;
        let is_other = |run: &mut ListedRun| run.label.lifetime != Lifetime::Background;
        names.others = names.runs.extract_if(.., is_other).collect();
        Ok(names)
    }

    /// The one session that a word means, with the name of its latest run.
    pub fn session(&self, word: &str) -> Result<(SessionId, &str), NameError> {
        let named = self.resolve(word, Wanted::Session)?;
        let session = named.only_session(word)?;
        let runs = self.runs.iter().rev();
        let latest = runs.map(|run| &run.label).find(|label| label.session_id == session);
        Ok((session, latest.map_or("", |label| &label.name)))
    }

    /// The sessions that a word means, in the order of their runs. Runs that have lost their supervisor
    /// are ended on the way.
    pub fn sessions(&self, word: &str) -> Result<Vec<NamedSession>, NameError> {
        let named = self.resolve(word, Wanted::Sessions)?;
        let sessions = named.sessions();
        sessions.into_iter().map(|(id, run)| Ok(self.load_session(id, run)?)).collect()
    }

    /// The one run that a word means: of a session, its latest.
    pub fn run(&self, word: &str) -> Result<RunDir, NameError> {
        self.resolve(word, Wanted::Run)?.only_run(word)
    }

    /// The runs that a word means: of a session, its latest; of a call, all.
    pub fn runs(&self, word: &str) -> Result<Vec<RunDir>, NameError> {
        Ok(self.resolve(word, Wanted::Runs)?.runs())
    }

    fn resolve(&self, word: &str, wanted: Wanted) -> Result<Meaning<'_>, NameError> {
        let resolved = resolve::resolve(&self.runs, word, wanted);
        let Err(NameError::NotFound { .. }) = &resolved else { return resolved };
        if resolve::resolve(&self.others, word, wanted).is_ok() {
            return Err(NameError::NotInBackground(word.to_owned()));
        }
        // A run that cannot be read is not in the list, and its user should know why.
        if let Some(dir) = RunId::parse(word).ok().and_then(|id| self.store.run(&id)) {
            dir.meta_as::<RunLabel>()?;
        }
        resolved
    }

    fn load_session(
        &self,
        id: SessionId,
        named: Option<&RunId>,
    ) -> Result<NamedSession, StoreError> {
        let of_session = self.runs.iter().filter(|run| run.label.session_id == id);
        let (mut runs, mut problem) = (Vec::new(), None);
        for run in of_session {
            match KnownRun::read(run.dir.clone()) {
                Ok(run) => runs.push(run),
                Err(error) => problem = Some(error),
            }
        }
        if let Some(error) = problem.filter(|_| runs.is_empty()) {
            return Err(error);
        }
        let position = runs.iter().position(|run| Some(run.dir.run_id()) == named);
        let run = position.unwrap_or(runs.len().saturating_sub(1));
        Ok(NamedSession { session: Session { id, runs }, run })
    }
}
