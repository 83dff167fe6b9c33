//! Sessions and runs in JSON, the same for every door.

use model::{Access, Changes, OpenQuestion, Outcome, Status};
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
    pub access: Access,
    pub created_at: u64,
    pub duration_ms: Option<u64>,
    pub run_dir: String,
    pub warnings: &'a [String],
    /// What it asks, while it waits for the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<OpenQuestion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<&'a Changes>,
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
            output: run.output(),
            profile: run.meta.profile.as_deref(),
            preset: run.meta.preset.as_deref(),
            access: run.meta.access,
            created_at: run.meta.created_at,
            duration_ms: run.result.as_ref().map(|result| result.duration_ms),
            run_dir: run.dir.path().display().to_string(),
            warnings: run.warnings(),
            questions: if run.meta.ask && run.result.is_none() {
                // What cannot be read does not keep the run from being listed.
                runner::open_questions(&run.dir).unwrap_or_default()
            } else {
                Vec::new()
            },
            changes: run.result.as_ref().and_then(|result| result.changes.as_deref()),
        }
    }
}
