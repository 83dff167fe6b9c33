//! The sessions of a project, read from its run directories.

use std::collections::{BTreeMap, BTreeSet};

use model::{CallId, Event, Lifetime, Meta, Record, RunResult, SessionId, Status};
use serde::Deserialize;
use session::{ExportedRun, ExportedSession, Facts, PastRun};
use store::{RunDir, Store, StoreError};

/// One run of a session.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct KnownRun {
    pub dir: RunDir,
    pub meta: Meta,
    /// Absent while it runs.
    pub result: Option<RunResult>,
}

/// Runs that continue one another.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Session {
    pub id: SessionId,
    /// Oldest first, and at least one.
    pub runs: Vec<KnownRun>,
}

/// There is no such session.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SessionError {
    #[error("Session \"{0}\" not found. The session may have expired or the ID is incorrect.")]
    NotFound(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How much of an answer, or of a task, a list holds of each run. What is longer is cut, so that the
/// memory of a list depends on the number of runs only.
pub(crate) const LISTED_BYTES: usize = 16 * 1024;

/// All sessions of a store, by id, and what could not be read. Runs that have lost their supervisor
/// are ended on the way. This is a list: of every run it has the beginnings of its texts.
/// [`RunNames::sessions`](crate::RunNames::sessions) has them whole.
pub fn load_sessions(
    store: &Store,
) -> Result<(BTreeMap<SessionId, Session>, Vec<String>), StoreError> {
    let mut sessions = BTreeMap::new();
    let mut warnings = Vec::new();
    for dir in store.runs()? {
        let path = dir.path().to_owned();
        match KnownRun::read(dir).map(KnownRun::listed) {
            Ok(run) => {
                let id = run.meta.session_id.clone();
                let session =
                    sessions.entry(id.clone()).or_insert_with(|| Session { id, runs: Vec::new() });
                session.runs.push(run);
            }
            // Another program has pruned it meanwhile.
            Err(_) if !path.exists() => {}
            Err(error) => warnings.push(error.to_string()),
        }
    }
    Ok((sessions, warnings))
}

/// Ends the runs in temporary stores that have lost their supervisor, and stops what is left of them. They
/// are in no project, so that no other command finds them. Returns what could not be done.
pub fn end_abandoned_elsewhere() -> Vec<String> {
    let stores = Store::temporary_stores();
    let runs = stores.iter().flat_map(|store| store.runs().unwrap_or_default());
    let failures =
        runs.filter_map(|dir| runner::recover(&dir).err().filter(|_| dir.path().exists()));
    failures.map(|error| error.to_string()).collect()
}

/// The fields of `meta.json` that lists of runs show. Reading no more keeps them fast.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct RunLabel {
    pub session_id: SessionId,
    /// The call that asked for it. Runs of earlier versions do not say.
    #[serde(default)]
    pub call_id: Option<CallId>,
    #[serde(deserialize_with = "model::short_text")]
    pub name: String,
    pub lifetime: Lifetime,
    pub created_at: u64,
}

/// The ids of sessions that may be meant by a mistyped id, or by the name of a task. This ends no run.
pub fn similar_sessions(store: &Store, id: &str) -> Vec<String> {
    let runs = store.runs().unwrap_or_default();
    let labels = runs.iter().filter_map(|run| run.meta_as::<RunLabel>().ok());
    let labels = labels.map(|label| (label.session_id.to_string(), label.name));
    similar_runs(id, &labels.collect::<Vec<_>>())
}

/// Of ids with their names, oldest first: the latest ones with that name, or else those that are like the
/// id. Each comes once.
pub(crate) fn similar_runs(id: &str, labels: &[(String, String)]) -> Vec<String> {
    let named = labels.iter().rev().filter(|(_, name)| name.eq_ignore_ascii_case(id));
    let mut ids: Vec<&str> = Vec::new();
    for (id, _) in named {
        if !ids.contains(&id.as_str()) && ids.len() < 3 {
            ids.push(id);
        }
    }
    if ids.is_empty() {
        let all: BTreeSet<&str> = labels.iter().map(|(id, _)| id.as_str()).collect();
        return plan::similar_ids(id, all);
    }
    ids.into_iter().map(str::to_owned).collect()
}

impl KnownRun {
    /// Reads a run. It is ended on the way if it has lost its supervisor.
    pub(crate) fn read(dir: RunDir) -> Result<KnownRun, StoreError> {
        let result = runner::recover(&dir)?.result();
        Ok(KnownRun { meta: dir.meta()?, dir, result })
    }

    /// The run as a list shows it, without the rest of long texts.
    fn listed(mut self) -> KnownRun {
        self.meta.task = self.meta.task.take().map(|task| beginning(&task));
        self.meta.tools = Vec::new();
        self.meta.forget_start();
        if let Some(result) = &mut self.result {
            result.output = beginning(&result.output);
            shorten_warnings(&mut result.warnings);
            result.leftovers = None;
            (result.value, result.check) = (None, None);
        }
        self
    }

    /// How it ended, or that it runs.
    pub fn status(&self) -> Status {
        self.result.as_ref().map_or(Status::Running, |result| result.status)
    }

    /// What went wrong.
    pub fn error(&self) -> Option<&str> {
        self.result.as_ref().and_then(|result| result.error.as_deref())
    }

    /// What people should know although it did not decide the outcome.
    pub fn warnings(&self) -> &[String] {
        self.result.as_ref().map_or(&[], |result| &result.warnings)
    }

    /// The task, without files and earlier runs.
    fn asked(&self) -> Result<String, StoreError> {
        self.meta.task.clone().map_or_else(|| self.dir.prompt(), Ok)
    }

    /// The last text that the agent said so far.
    pub fn output(&self) -> String {
        match &self.result {
            Some(result) => result.output.clone(),
            None => Facts::replay(self.records()).output,
        }
    }

    /// The same for people and models: an agent that said nothing has an answer, too.
    pub fn answer(&self) -> String {
        answer(&self.output()).to_owned()
    }

    /// The task. If it cannot be read, the reason takes its place, for the same reason.
    fn shown_task(&self) -> String {
        self.asked().unwrap_or_else(|error| format!("({error})"))
    }

    /// What went wrong, also with its record: a transcript shows no warnings.
    fn shown_error(&self) -> Option<String> {
        let unreadable = self.dir.events().err().map(|error| error.to_string());
        let errors = self.error().map(str::to_owned).into_iter().chain(unreadable);
        errors.reduce(|error, unreadable| format!("{error}; {unreadable}"))
    }

    /// Its events. If they cannot be read, a warning takes their place: the other runs of the session
    /// are still shown.
    fn records(&self) -> impl Iterator<Item = Record> {
        let (events, problem) = match self.dir.events() {
            Ok(events) => (Some(events), None),
            Err(error) => {
                let event = Event::Warning { message: error.to_string() };
                (None, Some(Record { seq: 0, at: self.meta.created_at, event }))
            }
        };
        events.into_iter().flatten().chain(problem)
    }
}

/// Cuts warnings to as many, and as much of them, as a run records.
pub(crate) fn shorten_warnings(warnings: &mut Vec<String>) {
    warnings.truncate(Facts::WARNINGS);
    for warning in warnings {
        warning.truncate(session::cut_bytes(warning, Event::LINE_BYTES).len());
        warning.shrink_to_fit();
    }
}

fn beginning(text: &str) -> String {
    session::cut_bytes(text, LISTED_BYTES).to_owned()
}

impl Session {
    /// The status of its latest run.
    pub fn status(&self) -> Status {
        self.runs.last().map_or(Status::Running, KnownRun::status)
    }

    /// Whether one of its runs has not ended.
    pub fn is_running(&self) -> bool {
        self.runs.iter().any(|run| run.result.is_none())
    }

    /// The answer of the latest run.
    pub fn output(&self) -> String {
        self.runs.last().map(KnownRun::answer).unwrap_or_default()
    }

    /// The whole conversation, all runs.
    pub fn transcript(&self) -> String {
        let runs = self.runs.iter().map(|run| (run.status(), run.shown_error(), run.records()));
        session::transcript(runs.collect())
    }

    /// The whole conversation with what was asked, for people.
    pub fn transcript_with_prompts(&self) -> String {
        session::transcript_with_prompts(self.past_runs())
    }

    /// The prompt for an agent that continues the session. Unlike a reader, an agent must not go on
    /// from a part of it.
    pub fn resume_prompt(&self, prompt: &str) -> Result<String, StoreError> {
        for run in &self.runs {
            run.asked()?;
            drop(run.dir.events()?);
        }
        Ok(session::continued(&session::resume_transcript(self.past_runs()), prompt))
    }

    /// Everything, for a document.
    pub fn export(&self) -> ExportedSession {
        let runs = self.runs.iter().map(|run| ExportedRun {
            meta: run.meta.clone(),
            asked: run.shown_task(),
            result: run.result.clone(),
            records: run.records().collect(),
            diff: None,
        });
        ExportedSession { id: self.id.clone(), runs: runs.collect() }
    }

    fn past_runs(&self) -> Vec<PastRun<impl Iterator<Item = Record>>> {
        let runs = self.runs.iter().map(|run| PastRun {
            status: run.status(),
            error: run.shown_error(),
            prompt: Some(run.shown_task()),
            records: run.records(),
        });
        runs.collect()
    }
}

/// The answer of an agent that said nothing.
pub(crate) const NO_OUTPUT: &str = "(no text output from sub-agent)";

/// The answer of an agent whose last text is this.
pub(crate) fn answer(output: &str) -> &str {
    if output.trim().is_empty() { NO_OUTPUT } else { output }
}

#[cfg(test)]
mod tests;
