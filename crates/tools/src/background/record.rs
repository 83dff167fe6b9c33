//! What is told about a background run, in answers and in the log of a door.

use std::path::{Path, PathBuf};

use model::{Lifetime, Meta, Outcome, Owner, RunId, RunResult, SessionId, StopReason};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use store::{EVENTS, Log, RunDir};

use super::BackgroundStatus;

/// Everything about a run: a row of `background_agent_status`, and the entry that a door writes
/// when it has started one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundRecord {
    /// The run.
    pub run_id: RunId,
    /// The session that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// What it is called, where that is not its preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The preset that the agent is configured by.
    pub preset: String,
    /// What it was asked.
    pub task: String,
    /// Where it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The model as it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_model: Option<String>,
    /// The model as the list of models spells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_model: Option<String>,
    /// Where it stands.
    #[serde(default)]
    pub status: BackgroundStatus,
    /// When it was asked for, in milliseconds since 1970.
    #[serde(default)]
    pub start_time: u64,
    /// How it ended, if it has.
    #[serde(flatten)]
    pub ending: BackgroundEnding,
    /// Where it is recorded.
    #[serde(default)]
    pub paths: ArtifactPaths,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BackgroundEnding {
    /// When, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<u64>,
    /// In the words of `result.json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The last text that the agent said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_text: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The exit code of the agent, if it exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Why the model stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The entry that a door writes when a run has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundUpdate {
    /// The run.
    pub run_id: RunId,
    /// Where it stands now.
    pub status: BackgroundStatus,
    /// How it ended.
    #[serde(flatten)]
    pub ending: BackgroundEnding,
}

/// The files of a run directory, which have their names and nothing else in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArtifactPaths {
    /// The directory.
    pub run_dir: PathBuf,
}

impl BackgroundRecord {
    /// A run that was just started.
    pub fn started(dir: &RunDir, meta: &Meta) -> BackgroundRecord {
        BackgroundRecord::new(dir, SomeMeta::from(meta.clone()))
    }

    pub(super) fn new(dir: &RunDir, meta: SomeMeta) -> BackgroundRecord {
        let preset = meta.preset.unwrap_or_else(|| meta.name.clone());
        BackgroundRecord {
            run_id: dir.run_id().clone(),
            session_id: Some(meta.session_id),
            name: (meta.name != preset).then_some(meta.name),
            preset,
            // That it cannot be read says nothing about how the run stands.
            task: meta.task.unwrap_or_else(|| dir.prompt().unwrap_or_default()),
            cwd: Some(meta.cwd),
            requested_model: meta.requested_model.or_else(|| meta.model.clone()),
            resolved_model: meta.model,
            status: BackgroundStatus::Running,
            start_time: meta.created_at,
            ending: BackgroundEnding::default(),
            paths: ArtifactPaths { run_dir: dir.path().to_owned() },
        }
    }

    /// It has ended like this.
    pub fn end(&mut self, result: RunResult) {
        self.end_with(SomeResult::from(result));
    }

    pub(super) fn end_with(&mut self, result: SomeResult) {
        self.status = BackgroundStatus::of(result.outcome);
        self.ending = BackgroundEnding {
            end_time: Some(result.ended_at),
            outcome: Some(result.outcome.word().to_owned()),
            final_text: Some(result.output),
            error: result.error,
            exit_code: result.exit_code,
            stop_reason: result.stop_reason,
            model: result.model,
        };
    }

    /// What people call it.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.preset)
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        self.status == BackgroundStatus::Running
    }

    /// What is written down when it has ended.
    pub fn update(&self) -> BackgroundUpdate {
        BackgroundUpdate {
            run_id: self.run_id.clone(),
            status: self.status,
            ending: self.ending.clone(),
        }
    }
}

/// What is needed of `meta.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SomeMeta {
    session_id: SessionId,
    pub(super) name: String,
    pub(super) owner: Owner,
    pub(super) lifetime: Lifetime,
    cwd: PathBuf,
    model: Option<String>,
    requested_model: Option<String>,
    preset: Option<String>,
    task: Option<String>,
    created_at: u64,
}

impl From<Meta> for SomeMeta {
    fn from(meta: Meta) -> SomeMeta {
        SomeMeta {
            session_id: meta.session_id,
            name: meta.name,
            owner: meta.owner,
            lifetime: meta.lifetime,
            cwd: meta.cwd,
            model: meta.model,
            requested_model: meta.requested_model,
            preset: meta.preset,
            task: meta.task,
            created_at: meta.created_at,
        }
    }
}

/// What is needed of `result.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SomeResult {
    outcome: Outcome,
    error: Option<String>,
    output: String,
    exit_code: Option<i32>,
    model: Option<String>,
    stop_reason: Option<StopReason>,
    ended_at: u64,
}

impl From<RunResult> for SomeResult {
    fn from(result: RunResult) -> SomeResult {
        SomeResult {
            outcome: result.outcome,
            error: result.error,
            output: result.output,
            exit_code: result.exit_code,
            model: result.model,
            stop_reason: result.stop_reason,
            ended_at: result.ended_at,
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
