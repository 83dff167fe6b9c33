//! The sessions of a project, read from its run directories.

use std::collections::{BTreeMap, BTreeSet};

use model::{Lifetime, Meta, Record, RunResult, SessionId, Status};
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
    #[error("\"{id}\" is the beginning of {count} ids, such as {}", matches.join(", "))]
    Ambiguous { id: String, count: usize, matches: Vec<String> },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// All sessions of a store, by id, and what could not be read. Runs that have lost their supervisor
/// are ended on the way.
pub fn load_sessions(
    store: &Store,
) -> Result<(BTreeMap<SessionId, Session>, Vec<String>), StoreError> {
    let mut sessions = BTreeMap::new();
    let mut warnings = Vec::new();
    for dir in store.runs()? {
        let path = dir.path().to_owned();
        match KnownRun::read(dir) {
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

/// The session with this id, or with a run of this id, or the only one whose ids begin so.
pub fn find_session(store: &Store, id: &str) -> Result<Session, SessionError> {
    let (mut sessions, _) = load_sessions(store)?;
    let exact = SessionId::parse(id).ok().and_then(|id| sessions.remove(&id));
    if let Some(session) = exact {
        return Ok(session);
    }
    if id.is_empty() {
        return Err(SessionError::NotFound(String::new()));
    }
    let matching = |session: &Session| {
        let run_ids = session.runs.iter().map(|run| run.meta.run_id.as_str());
        let mut ids = [session.id.as_str()].into_iter().chain(run_ids);
        ids.find(|known| known.starts_with(id)).map(str::to_owned)
    };
    let mut matches: Vec<(String, Session)> =
        sessions.into_values().filter_map(|session| Some((matching(&session)?, session))).collect();
    match matches.len() {
        0 | 1 => {
            let only = matches.pop().map(|(_, session)| session);
            only.ok_or_else(|| SessionError::NotFound(id.to_owned()))
        }
        count => Err(SessionError::Ambiguous {
            id: id.to_owned(),
            count,
            matches: matches.into_iter().take(5).map(|(id, _)| id).collect(),
        }),
    }
}

/// The fields of `meta.json` that lists of runs show. Reading no more keeps them fast.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct RunLabel {
    pub session_id: SessionId,
    pub name: String,
    pub lifetime: Lifetime,
    pub created_at: u64,
}

/// The ids of sessions that may be meant by a mistyped id, or by the name of a task. Unlike
/// [`find_session`], this ends no run.
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

    /// How it ended, or that it runs.
    pub fn status(&self) -> Status {
        self.result.as_ref().map_or(Status::Running, |result| result.status)
    }

    /// What went wrong.
    pub fn error(&self) -> Option<&str> {
        self.result.as_ref().and_then(|result| result.error.as_deref())
    }

    /// The task, without files and earlier runs.
    pub fn asked(&self) -> Result<String, StoreError> {
        self.meta.task.clone().map_or_else(|| self.dir.prompt(), Ok)
    }

    /// The last text that the agent said so far.
    pub fn output(&self) -> Result<String, StoreError> {
        match &self.result {
            Some(result) => Ok(result.output.clone()),
            None => Ok(Facts::replay(self.dir.events()?).output),
        }
    }
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
    pub fn output(&self) -> Result<String, StoreError> {
        let output = self.runs.last().map(KnownRun::output).transpose()?.unwrap_or_default();
        Ok(answer(&output).to_owned())
    }

    /// The whole conversation, all runs.
    pub fn transcript(&self) -> Result<String, StoreError> {
        let mut runs = Vec::new();
        for run in &self.runs {
            runs.push((run.status(), run.error().map(str::to_owned), run.dir.events()?));
        }
        Ok(session::transcript(runs))
    }

    /// The whole conversation with what was asked, for people.
    pub fn transcript_with_prompts(&self) -> Result<String, StoreError> {
        Ok(session::transcript_with_prompts(self.past_runs()?))
    }

    /// The prompt for an agent that continues the session.
    pub fn resume_prompt(&self, prompt: &str) -> Result<String, StoreError> {
        Ok(continued(&session::resume_transcript(self.past_runs()?), prompt))
    }

    /// Everything, for a document.
    pub fn export(&self) -> Result<ExportedSession, StoreError> {
        let runs = self.runs.iter().map(|run| {
            Ok(ExportedRun {
                meta: run.meta.clone(),
                asked: run.asked()?,
                result: run.result.clone(),
                records: run.dir.events()?.collect(),
            })
        });
        Ok(ExportedSession { id: self.id.clone(), runs: runs.collect::<Result<_, StoreError>>()? })
    }

    fn past_runs(&self) -> Result<Vec<PastRun<impl Iterator<Item = Record>>>, StoreError> {
        let runs = self.runs.iter().map(|run| {
            Ok(PastRun {
                status: run.status(),
                error: run.error().map(str::to_owned),
                prompt: Some(run.asked()?),
                records: run.dir.events()?,
            })
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

/// The prompt for an agent that continues what a transcript says.
pub(crate) fn continued(transcript: &str, prompt: &str) -> String {
    format!("Previously:\n\n{transcript}\n\nInstructions:\n\n{prompt}")
}

#[cfg(test)]
mod tests;
