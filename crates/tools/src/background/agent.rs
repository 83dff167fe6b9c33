//! `background_agent`: one task that outlives the program that starts it.

use std::io;

use model::Lifetime;
use runner::{BackgroundError, Dispatcher, Launcher};
use serde_json::json;
use store::RunDir;

use super::{BackgroundCounts, BackgroundRecord};
use crate::{
    BackgroundArguments, CallError, CallOptions, DelegateArguments, PlannedCall, Retrieved,
    Workspace, plan_delegation,
};

/// Plans the one task of a call. What is wrong with it becomes its refusal.
pub fn plan_background(
    workspace: &Workspace,
    arguments: BackgroundArguments,
    options: &CallOptions<'_>,
) -> Result<PlannedCall, CallError> {
    let call = DelegateArguments::of(vec![arguments.task]);
    let mut options = options.clone();
    options.planning.lifetime = Lifetime::Background;
    plan_delegation(workspace, call, &options)
}

/// Starts the one task of a call. It outlives this process.
pub fn start_background(
    dispatcher: &mut Dispatcher,
    planned: PlannedCall,
) -> Result<(RunDir, BackgroundRecord), StartError> {
    let task = planned.tasks.into_iter().next().ok_or(StartError::NothingPlanned)?;
    let launcher = Launcher::own().map_err(StartError::NotFound)?;
    let (dir, meta) = dispatcher.start_background(&launcher, *task.plan)?;
    let record = BackgroundRecord::started(&dir, &meta);
    Ok((dir, record))
}

/// A background run could not be started.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum StartError {
    #[error("nothing was planned")]
    NothingPlanned,
    #[error("this program cannot find itself: {0}")]
    NotFound(io::Error),
    #[error(transparent)]
    Background(#[from] BackgroundError),
}

/// The answer to a call that has started a run.
pub fn background_answer(run: &BackgroundRecord, counts: BackgroundCounts) -> Retrieved {
    let model = run.resolved_model.as_deref().unwrap_or("the agent's own");
    let text = format!(
        "Started background agent {} (runId: {}, model: {model}).\nArtifacts: {}\nCounts: {}\n\
         It goes on by itself; background_agent_status tells how it stands.",
        run.title(),
        run.run_id,
        run.paths.run_dir.display(),
        counts.words()
    );
    // Plain data with string keys always serialises.
    let mut details = serde_json::to_value(run).unwrap_or_default();
    details["counts"] = json!(counts);
    Retrieved { text, details }
}
