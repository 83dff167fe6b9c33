//! What a word means, among the runs of a list.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use model::{CallId, RunId, SessionId};
use store::{RunDir, StoreError};

use crate::RunLabel;

/// A run in a list.
#[derive(Debug)]
pub(super) struct ListedRun {
    pub(super) dir: RunDir,
    pub(super) label: RunLabel,
}

/// What a command works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// One session.
    Session,
    /// Any number of sessions.
    Sessions,
    /// One run.
    Run,
    /// Any number of runs.
    Runs,
}

/// What a word means.
#[derive(Debug)]
pub(super) enum Meaning<'a> {
    /// One run.
    Run(&'a ListedRun),
    /// All runs of a session, oldest first.
    Session(Vec<&'a ListedRun>),
    /// All runs of a call, oldest first.
    Call(Vec<&'a ListedRun>),
}

/// A word does not name what a command needs.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum NameError {
    #[error("no run, session or task of this project is called \"{word}\"")]
    NotFound {
        word: String,
        /// Names and ids that may have been meant.
        similar: Vec<String>,
    },
    #[error("\"{0}\" is not a background run")]
    NotInBackground(String),
    #[error("\"{word}\" is the beginning of {}", listed(candidates, "ids"))]
    Ambiguous { word: String, candidates: Vec<Candidate> },
    #[error("\"{word}\" is a call with {}", listed(runs, "runs"))]
    SeveralRuns { word: String, runs: Vec<Candidate> },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An id that could have been meant, and what it is the id of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Candidate {
    pub id: String,
    pub what: String,
}

impl fmt::Display for Candidate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.id, self.what)
    }
}

/// How many candidates a message names.
const MOST_CANDIDATES: usize = 16;

fn listed(candidates: &[Candidate], what: &str) -> String {
    let named: Vec<String> =
        candidates.iter().take(MOST_CANDIDATES).map(ToString::to_string).collect();
    let (named, count) = (named.join(", "), candidates.len());
    let before = if count > MOST_CANDIDATES { ", such as" } else { ":" };
    format!("{count} {what}{before} {named}")
}

/// Finds what a word means among runs, which are sorted by their age. In this order, it is
/// 1. the whole id of a run, a session or a call;
/// 2. the name of a task, which means its latest run;
/// 3. `@last` or `@2`: the run that was started last, or the one before; for a command that works on
///    several, the call;
/// 4. the beginning of an id, if no other begins so.
pub(super) fn resolve<'a>(
    runs: &'a [ListedRun],
    word: &str,
    wanted: Wanted,
) -> Result<Meaning<'a>, NameError> {
    let named = || runs.iter().rev().find(|run| run.label.name == word).map(Meaning::Run);
    let meant = whole_id(runs, word).or_else(named).or_else(|| recent(runs, word, wanted));
    if let Some(meant) = meant {
        return Ok(meant);
    }
    // What leads to the same means the same. Of those, the last counts, which says most.
    let candidates = beginning_with(runs, word).into_iter();
    let mut candidates: BTreeMap<BTreeSet<&str>, Meaning<'_>> =
        candidates.map(|meaning| (meaning.what_is_wanted(wanted), meaning)).collect();
    match (candidates.len(), candidates.pop_last()) {
        (1, Some((_, only))) => Ok(only),
        (_, None) => {
            let similar = similar(runs, word, wanted);
            Err(NameError::NotFound { word: word.to_owned(), similar })
        }
        (_, Some((_, last))) => {
            // A user means a recent one.
            let candidates = candidates.into_values().chain([last]).rev();
            let candidates = candidates.map(|meaning| meaning.candidate()).collect();
            Err(NameError::Ambiguous { word: word.to_owned(), candidates })
        }
    }
}

fn whole_id<'a>(runs: &'a [ListedRun], word: &str) -> Option<Meaning<'a>> {
    let run = runs.iter().find(|run| run.run_id().as_str() == word).map(Meaning::Run);
    let session = || SessionId::parse(word).ok().and_then(|id| session_of(runs, &id));
    run.or_else(session).or_else(|| CallId::parse(word).ok().and_then(|id| call_of(runs, &id)))
}

fn session_of<'a>(runs: &'a [ListedRun], id: &SessionId) -> Option<Meaning<'a>> {
    let runs: Vec<_> = runs.iter().filter(|run| run.label.session_id == *id).collect();
    (!runs.is_empty()).then_some(Meaning::Session(runs))
}

fn call_of<'a>(runs: &'a [ListedRun], id: &CallId) -> Option<Meaning<'a>> {
    let runs: Vec<_> = runs.iter().filter(|run| run.label.call_id.as_ref() == Some(id)).collect();
    (!runs.is_empty()).then_some(Meaning::Call(runs))
}

/// `@last`, which is `@1`, and `@2` and so on.
fn recent<'a>(runs: &'a [ListedRun], word: &str, wanted: Wanted) -> Option<Meaning<'a>> {
    let number = word.strip_prefix('@')?;
    let number: usize = if number == "last" { 1 } else { number.parse().ok()? };
    let index = number.checked_sub(1)?;
    if matches!(wanted, Wanted::Session | Wanted::Run) {
        return runs.iter().rev().nth(index).map(Meaning::Run);
    }
    let mut calls: Vec<&CallId> = Vec::new();
    // A run of an earlier version has no call, and counts as one of its own.
    let mut newest_of_calls = runs.iter().rev().filter(|run| match &run.label.call_id {
        Some(call) if calls.contains(&call) => false,
        Some(call) => {
            calls.push(call);
            true
        }
        None => true,
    });
    let newest = newest_of_calls.nth(index)?;
    let call = newest.label.call_id.as_ref().and_then(|id| call_of(runs, id));
    Some(call.unwrap_or(Meaning::Run(newest)))
}

/// Everything with an id that begins so: calls, then sessions, then runs, each by age.
fn beginning_with<'a>(runs: &'a [ListedRun], word: &str) -> Vec<Meaning<'a>> {
    if word.is_empty() {
        return Vec::new();
    }
    let (mut calls, mut sessions) = (BTreeSet::new(), BTreeSet::new());
    for label in runs.iter().map(|run| &run.label) {
        calls.extend(label.call_id.as_ref().filter(|id| id.as_str().starts_with(word)));
        sessions.extend(Some(&label.session_id).filter(|id| id.as_str().starts_with(word)));
    }
    let calls = calls.into_iter().filter_map(|id| call_of(runs, id));
    let sessions = sessions.into_iter().filter_map(|id| session_of(runs, id));
    let runs = runs.iter().filter(|run| run.run_id().as_str().starts_with(word));
    calls.chain(sessions).chain(runs.map(Meaning::Run)).collect()
}

/// Names that are like the word, or else ids.
fn similar(runs: &[ListedRun], word: &str, wanted: Wanted) -> Vec<String> {
    let names: BTreeSet<&str> = runs.iter().map(|run| run.label.name.as_str()).collect();
    let similar = plan::similar_names(word, names);
    if !similar.is_empty() {
        return similar;
    }
    let ids: BTreeSet<&str> = runs.iter().map(|run| run.wanted_id(wanted)).collect();
    plan::similar_ids(word, ids)
}

impl ListedRun {
    fn run_id(&self) -> &RunId {
        self.dir.run_id()
    }

    fn wanted_id(&self, wanted: Wanted) -> &str {
        match wanted {
            Wanted::Session | Wanted::Sessions => self.label.session_id.as_str(),
            Wanted::Run | Wanted::Runs => self.run_id().as_str(),
        }
    }

    fn candidate(&self) -> Candidate {
        let what = format!("run of {}", session::clean(&self.label.name));
        Candidate { id: self.run_id().to_string(), what }
    }
}

impl<'a> Meaning<'a> {
    /// The latest run; of a call, all.
    pub(super) fn runs(self) -> Vec<RunDir> {
        let runs = match self {
            Meaning::Run(run) => vec![run],
            Meaning::Session(runs) => runs.into_iter().next_back().into_iter().collect(),
            Meaning::Call(runs) => runs,
        };
        runs.into_iter().map(|run| run.dir.clone()).collect()
    }

    pub(super) fn only_run(self, word: &str) -> Result<RunDir, NameError> {
        let several = self.several_runs(word);
        match self.runs().as_slice() {
            [run] => Ok(run.clone()),
            _ => Err(several),
        }
    }

    /// The sessions of its runs, each with the run that was meant, if it was a run.
    pub(super) fn sessions(&self) -> Vec<(SessionId, Option<&'a RunId>)> {
        let mut sessions: Vec<(SessionId, Option<&RunId>)> = Vec::new();
        for run in self.all() {
            let id = &run.label.session_id;
            let meant = Some(run.run_id()).filter(|_| !matches!(self, Meaning::Session(_)));
            match sessions.iter_mut().find(|(known, _)| known == id) {
                Some(known) => known.1 = meant,
                None => sessions.push((id.clone(), meant)),
            }
        }
        sessions
    }

    pub(super) fn only_session(self, word: &str) -> Result<SessionId, NameError> {
        let several = self.several_runs(word);
        let mut sessions = self.sessions();
        match (sessions.len(), sessions.pop()) {
            (1, Some((session, _))) => Ok(session),
            _ => Err(several),
        }
    }

    fn all(&self) -> &[&'a ListedRun] {
        match self {
            Meaning::Run(run) => std::slice::from_ref(run),
            Meaning::Session(runs) | Meaning::Call(runs) => runs,
        }
    }

    fn several_runs(&self, word: &str) -> NameError {
        let runs = self.all().iter().map(|run| run.candidate()).collect();
        NameError::SeveralRuns { word: word.to_owned(), runs }
    }

    /// The ids of what a command would work on: if two words lead to the same, they mean the same.
    fn what_is_wanted(&self, wanted: Wanted) -> BTreeSet<&'a str> {
        self.all().iter().map(|run| run.wanted_id(wanted)).collect()
    }

    fn candidate(&self) -> Candidate {
        match self {
            Meaning::Run(run) => run.candidate(),
            Meaning::Session(runs) => {
                let run = runs[runs.len() - 1];
                let what = format!("session of {}", session::clean(&run.label.name));
                Candidate { id: run.label.session_id.to_string(), what }
            }
            Meaning::Call(runs) => {
                let run = runs[runs.len() - 1];
                let what = match runs.len() {
                    1 => format!("call of {}", session::clean(&run.label.name)),
                    count => format!("call of {count} tasks"),
                };
                let id = run.label.call_id.as_ref().map(ToString::to_string);
                Candidate { id: id.unwrap_or_default(), what }
            }
        }
    }
}

#[cfg(test)]
mod tests;
