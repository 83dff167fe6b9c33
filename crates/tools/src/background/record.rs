//! What is told about a background run, in answers and in the log of a door.

use std::path::{Path, PathBuf};

use model::{RunId, RunResult, SessionId};
use serde::{Deserialize, Serialize};
use store::{EVENTS, Log};

use super::BackgroundStatus;
use crate::KnownRun;

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
    pub stop_reason: Option<String>,
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

/// The files of a run directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ArtifactPaths {
    pub run_dir: PathBuf,
    pub meta_path: PathBuf,
    pub events_path: PathBuf,
    pub result_path: PathBuf,
    pub stdout_path: PathBuf,
    pub stderr_path: PathBuf,
    pub transcript_path: PathBuf,
    pub session_path: PathBuf,
}

impl BackgroundRecord {
    /// A run as it stands.
    pub fn of(run: &KnownRun) -> BackgroundRecord {
        let meta = &run.meta;
        let preset = meta.preset.clone().unwrap_or_else(|| meta.name.clone());
        BackgroundRecord {
            run_id: meta.run_id.clone(),
            session_id: Some(meta.session_id.clone()),
            name: (meta.name != preset).then(|| meta.name.clone()),
            preset,
            // That it cannot be read says nothing about how the run stands.
            task: run.asked().unwrap_or_default(),
            cwd: Some(meta.cwd.clone()),
            requested_model: meta.requested_model.clone().or_else(|| meta.model.clone()),
            resolved_model: meta.model.clone(),
            status: BackgroundStatus::of(run.result.as_ref()),
            start_time: meta.created_at,
            ending: run.result.as_ref().map(BackgroundEnding::of).unwrap_or_default(),
            paths: ArtifactPaths::of(run.dir.path()),
        }
    }

    /// What people call it.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.preset)
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

impl BackgroundEnding {
    fn of(result: &RunResult) -> BackgroundEnding {
        BackgroundEnding {
            end_time: Some(result.ended_at),
            outcome: Some(result.outcome.word().to_owned()),
            final_text: Some(result.output.clone()),
            error: result.error.clone(),
            exit_code: result.exit_code,
            stop_reason: result.stop_reason.clone(),
            model: result.model.clone(),
        }
    }
}

impl ArtifactPaths {
    /// The files of the run directory at `run_dir`.
    pub fn of(run_dir: &Path) -> ArtifactPaths {
        let path = |name: &str| run_dir.join(name);
        ArtifactPaths {
            run_dir: run_dir.to_owned(),
            meta_path: path("meta.json"),
            events_path: path(EVENTS),
            result_path: path("result.json"),
            stdout_path: path(Log::Stdout.file_name()),
            stderr_path: path(Log::Stderr.file_name()),
            transcript_path: path(Log::Transcript.file_name()),
            session_path: path("child-session.jsonl"),
        }
    }
}
