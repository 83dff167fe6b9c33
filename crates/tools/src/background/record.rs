//! A background run, as answers and logs describe it.

use std::path::{Path, PathBuf};

use model::{
    CheckResult, Lifetime, Meta, OpenQuestion, Outcome, Owner, RunId, RunResult, SessionId,
    StopReason, Usage, Waiting, short_error, short_optional_text, short_path, short_text,
};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use store::{EVENTS, Log, RunDir};

use super::BackgroundStatus;
use crate::sessions::{LISTED_BYTES, shorten_warnings};

/// A row of `background_agent_status`, and the log entry for a run that was started. Times are in
/// milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct BackgroundRecord {
    pub run_id: RunId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Absent if it is the preset's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Absent if the run has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    pub task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_model: Option<String>,
    /// The model as the list of models spells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_model: Option<String>,
    #[serde(default)]
    pub status: BackgroundStatus,
    /// Why it has not started yet, and since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// What it asks, while it waits for the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<OpenQuestion>,
    #[serde(default)]
    pub start_time: u64,
    #[serde(flatten)]
    pub ending: BackgroundEnding,
    /// What it has used, if it has ended. It is for the screen, and in no answer and no log.
    #[serde(skip)]
    pub usage: Usage,
    #[serde(default)]
    pub paths: ArtifactPaths,
}

/// How a run ended; empty while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct BackgroundEnding {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<u64>,
    /// The word that `result.json` has for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_text: Option<String>,
    /// The value in that text, if a schema was given and the value fits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<CheckResult>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What people should know although it did not decide the outcome.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl BackgroundEnding {
    /// Whether the run completed, but its answer could not be written.
    pub fn is_answer_lost(&self) -> bool {
        self.warnings.iter().any(|warning| warning == RunResult::ANSWER_LOST)
    }
}

/// The log entry for a run that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct BackgroundUpdate {
    pub run_id: RunId,
    pub status: BackgroundStatus,
    #[serde(flatten)]
    pub ending: BackgroundEnding,
}

/// The paths of all files in a run directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the name says it")]
pub struct ArtifactPaths {
    pub run_dir: PathBuf,
}

impl BackgroundRecord {
    /// A run that was just started.
    pub fn started(dir: &RunDir, meta: &Meta) -> BackgroundRecord {
        BackgroundRecord::new(dir, BackgroundMeta::from(meta.clone()))
    }

    pub(super) fn new(dir: &RunDir, meta: BackgroundMeta) -> BackgroundRecord {
        BackgroundRecord {
            run_id: dir.run_id().clone(),
            session_id: Some(meta.session_id),
            name: Some(meta.name).filter(|name| Some(name) != meta.preset.as_ref()),
            preset: meta.preset,
            // A prompt that cannot be read does not keep the run from being listed.
            task: meta
                .task
                .unwrap_or_else(|| dir.prompt_beginning(LISTED_BYTES).unwrap_or_default()),
            cwd: Some(meta.cwd),
            requested_model: meta.requested_model.or_else(|| meta.model.clone()),
            resolved_model: meta.model,
            status: BackgroundStatus::Running,
            waiting: None,
            questions: Vec::new(),
            start_time: meta.created_at,
            ending: BackgroundEnding::default(),
            usage: Usage::default(),
            paths: ArtifactPaths { run_dir: dir.path().to_owned() },
        }
    }

    /// Cuts its texts to what a list holds of them.
    pub(super) fn shorten(&mut self) {
        for text in [Some(&mut self.task), self.ending.final_text.as_mut()].into_iter().flatten() {
            text.truncate(session::cut_bytes(text, LISTED_BYTES).len());
            text.shrink_to_fit();
        }
        // A value cannot be cut.
        self.ending.value.take_if(|value| value.to_string().len() > LISTED_BYTES);
        if let Some(check) = &mut self.ending.check {
            let from = check.output.len().saturating_sub(LISTED_BYTES);
            check.output.drain(..check.output.ceil_char_boundary(from));
        }
        shorten_warnings(&mut self.ending.warnings);
    }

    /// Adds how the run ended.
    pub fn end(&mut self, result: RunResult) {
        self.end_with(BackgroundResult::from(result));
    }

    pub(super) fn end_with(&mut self, result: BackgroundResult) {
        self.status = BackgroundStatus::of(result.outcome);
        self.usage = result.usage;
        self.waiting = None;
        self.questions.clear();
        self.ending = BackgroundEnding {
            end_time: Some(result.ended_at),
            outcome: Some(result.outcome.word().to_owned()),
            final_text: Some(result.output),
            value: result.value,
            check: result.check,
            error: result.error,
            exit_code: result.exit_code,
            stop_reason: result.stop_reason,
            model: result.model,
            warnings: result.warnings,
        };
    }

    /// The name that people see.
    pub fn title(&self) -> &str {
        self.name.as_deref().or(self.preset.as_deref()).unwrap_or_default()
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        self.status == BackgroundStatus::Running
    }

    /// The log entry for its end.
    pub fn update(&self) -> BackgroundUpdate {
        BackgroundUpdate {
            run_id: self.run_id.clone(),
            status: self.status,
            ending: self.ending.clone(),
        }
    }
}

/// The fields of `meta.json` that a record needs. Reading no more keeps lists of many runs fast.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BackgroundMeta {
    session_id: SessionId,
    #[serde(deserialize_with = "short_text")]
    pub(super) name: String,
    pub(super) owner: Owner,
    pub(super) lifetime: Lifetime,
    #[serde(deserialize_with = "short_path")]
    cwd: PathBuf,
    #[serde(
        default,
        rename = "resolvedModel",
        alias = "model",
        deserialize_with = "short_optional_text"
    )]
    model: Option<String>,
    #[serde(default, deserialize_with = "short_optional_text")]
    requested_model: Option<String>,
    #[serde(default, deserialize_with = "short_optional_text")]
    preset: Option<String>,
    task: Option<String>,
    #[serde(default)]
    pub(super) ask: bool,
    created_at: u64,
}

impl From<Meta> for BackgroundMeta {
    fn from(meta: Meta) -> BackgroundMeta {
        BackgroundMeta {
            session_id: meta.session_id,
            name: meta.name,
            owner: meta.owner,
            lifetime: meta.lifetime,
            cwd: meta.cwd,
            model: meta.model,
            requested_model: meta.requested_model,
            preset: meta.preset,
            task: meta.task,
            ask: meta.ask,
            created_at: meta.created_at,
        }
    }
}

/// The fields of `result.json` that a record needs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BackgroundResult {
    outcome: Outcome,
    #[serde(default, deserialize_with = "short_error")]
    error: Option<String>,
    output: String,
    #[serde(default)]
    value: Option<Value>,
    #[serde(default)]
    check: Option<Box<CheckResult>>,
    exit_code: Option<i32>,
    #[serde(default, deserialize_with = "short_optional_text")]
    model: Option<String>,
    stop_reason: Option<StopReason>,
    #[serde(default)]
    usage: Usage,
    ended_at: u64,
    #[serde(default)]
    warnings: Vec<String>,
}

impl From<RunResult> for BackgroundResult {
    fn from(result: RunResult) -> BackgroundResult {
        BackgroundResult {
            outcome: result.outcome,
            error: result.error,
            output: result.output,
            value: result.value,
            check: result.check,
            exit_code: result.exit_code,
            model: result.model,
            stop_reason: result.stop_reason,
            usage: result.usage,
            ended_at: result.ended_at,
            warnings: result.warnings,
        }
    }
}

impl Serialize for ArtifactPaths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let files = [
            ("metaPath", "meta.json"),
            ("eventsPath", EVENTS),
            ("resultPath", "result.json"),
            ("stdoutPath", Log::Stdout.file_name()),
            ("stderrPath", Log::Stderr.file_name()),
            ("transcriptPath", Log::Transcript.file_name()),
            ("sessionPath", "child-session.jsonl"),
        ];
        let mut map = serializer.serialize_map(Some(files.len() + 1))?;
        let run_dir = self.run_dir.to_string_lossy();
        map.serialize_entry("runDir", &run_dir)?;
        for (key, name) in files {
            map.serialize_entry(key, &format_args!("{run_dir}/{name}"))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ArtifactPaths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ArtifactPaths, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Stored {
            run_dir: Option<PathBuf>,
            result_path: Option<PathBuf>,
        }
        let stored = Stored::deserialize(deserializer)?;
        let run_dir = stored.run_dir.or_else(|| stored.result_path?.parent().map(Path::to_owned));
        Ok(ArtifactPaths { run_dir: run_dir.unwrap_or_default() })
    }
}
