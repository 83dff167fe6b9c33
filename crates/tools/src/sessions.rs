//! `get_subagent_output` and `get_subagent_session`: what was run in a project.

use std::collections::{BTreeMap, BTreeSet};

use model::{Meta, Record, RunResult, SessionId, Status};
use serde::Deserialize;
use session::{ExportedRun, ExportedSession, Facts, PastRun};
use store::{RunDir, Store, StoreError};

/// One run of a session, as it stands.
#[derive(Debug)]
pub struct KnownRun {
    /// Where it is recorded.
    pub dir: RunDir,
    /// What was asked for.
    pub meta: Meta,
    /// How it ended, if it has.
    pub result: Option<RunResult>,
}

/// The runs that continue one another, oldest first; never none.
#[derive(Debug)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its runs.
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
        let known = runner::recover(&dir).and_then(|recovery| Ok((dir.meta()?, recovery.result())));
        match known {
            Ok((meta, result)) => {
                let id = meta.session_id.clone();
                let session =
                    sessions.entry(id.clone()).or_insert_with(|| Session { id, runs: Vec::new() });
                session.runs.push(KnownRun { dir, meta, result });
            }
            // Another program may have pruned it meanwhile.
            Err(_) if !dir.path().exists() => {}
            Err(error) => warnings.push(error.to_string()),
        }
    }
    Ok((sessions, warnings))
}

/// Ends the runs in temporary stores that have lost their supervisor, and stops what is left of them: they
/// are in no project, so that no other command would find them. Returns what could not be done.
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

/// The ids of sessions that could have been meant by one that there is not, or by the name of a task.
/// Only looks: nothing is ended on the way.
pub fn similar_sessions(store: &Store, id: &str) -> Vec<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Known {
        session_id: SessionId,
        name: String,
    }
    let runs = store.runs().unwrap_or_default();
    let known: Vec<Known> = runs.iter().filter_map(|run| run.meta_as().ok()).collect();
    let named = known.iter().rev().filter(|known| known.name.eq_ignore_ascii_case(id));
    let mut ids: Vec<String> = named.map(|known| known.session_id.to_string()).collect();
    if ids.is_empty() {
        let all: BTreeSet<&str> = known.iter().map(|known| known.session_id.as_str()).collect();
        ids = plan::similar_ids(id, all);
    }
    let mut seen = BTreeSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    ids.truncate(3);
    ids
}

impl KnownRun {
    /// Where it stands.
    pub fn status(&self) -> Status {
        self.result.as_ref().map_or(Status::Running, |result| result.status)
    }

    /// What went wrong.
    pub fn error(&self) -> Option<&str> {
        self.result.as_ref().and_then(|result| result.error.as_deref())
    }

    /// What it was asked, without files and earlier runs.
    pub fn asked(&self) -> Result<String, StoreError> {
        self.meta.task.clone().map_or_else(|| self.dir.prompt(), Ok)
    }

    /// The last text that the agent said, also if the run has not ended.
    pub fn output(&self) -> Result<String, StoreError> {
        match &self.result {
            Some(result) => Ok(result.output.clone()),
            None => Ok(Facts::replay(self.dir.events()?).output),
        }
    }
}

impl Session {
    /// Where its latest run stands.
    pub fn status(&self) -> Status {
        self.runs.last().map_or(Status::Running, KnownRun::status)
    }

    /// Whether one of its runs is still alive.
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

    /// What an agent that continues the session is told.
    pub fn resume_prompt(&self, prompt: &str) -> Result<String, StoreError> {
        Ok(continued(&session::resume_transcript(self.past_runs()?), prompt))
    }

    /// Everything, to be read elsewhere.
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

/// What is answered for an agent that said nothing.
pub(crate) const NO_OUTPUT: &str = "(no text output from sub-agent)";

/// What is answered for the last text of an agent, if it said any.
pub(crate) fn answer(output: &str) -> &str {
    if output.trim().is_empty() { NO_OUTPUT } else { output }
}

/// What an agent is told that takes up what is told in a transcript.
pub(crate) fn continued(transcript: &str, prompt: &str) -> String {
    format!("Previously:\n\n{transcript}\n\nInstructions:\n\n{prompt}")
}

#[cfg(test)]
mod tests;
