//! Sessions and runs in JSON, the same for every door.

use model::{Outcome, Status};
use serde::Serialize;

use crate::{KnownRun, Session};

/// A session in JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct SessionReport<'a> {
    pub session_id: &'a str,
    pub name: &'a str,
    pub status: Status,
    pub runs: Vec<RunReport<'a>>,
}

/// A run in JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct RunReport<'a> {
    pub run_id: &'a str,
    pub status: Status,
    pub outcome: Option<Outcome>,
    pub error: Option<&'a str>,
    pub output: String,
    pub profile: Option<&'a str>,
    pub preset: Option<&'a str>,
    pub created_at: u64,
    pub duration_ms: Option<u64>,
    pub run_dir: String,
}

impl<'a> From<&'a Session> for SessionReport<'a> {
    fn from(session: &'a Session) -> SessionReport<'a> {
        SessionReport {
            session_id: session.id.as_str(),
            name: session.runs.last().map_or("", |run| &run.meta.name),
            status: session.status(),
            runs: session.runs.iter().map(RunReport::from).collect(),
        }
    }
}

impl<'a> From<&'a KnownRun> for RunReport<'a> {
    fn from(run: &'a KnownRun) -> RunReport<'a> {
        RunReport {
            run_id: run.meta.run_id.as_str(),
            status: run.status(),
            outcome: run.result.as_ref().map(|result| result.outcome),
            error: run.error(),
            output: run.output().unwrap_or_default(),
            profile: run.meta.profile.as_deref(),
            preset: run.meta.preset.as_deref(),
            created_at: run.meta.created_at,
            duration_ms: run.result.as_ref().map(|result| result.duration_ms),
            run_dir: run.dir.path().display().to_string(),
        }
    }
}
