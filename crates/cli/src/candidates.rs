//! The names and ids that a shell offers as completions.
//!
//! Completing only reads: it must not end runs or wait, and it reports no problems, because its
//! output goes into the user's command line.

use std::cmp::Reverse;

use clap_complete::engine::CompletionCandidate;
use model::{Lifetime, SessionId, Status};
use plan::{DefinitionDirectories, Surroundings, load_definitions};
use serde::Deserialize;
use session::{clean, cut_chars};
use store::{RunDir, Store};
use tools::RunLabel;

use crate::commands::age;

/// Only the newest runs are read: a user who completes an id means a recent one.
const MAX_RUNS: usize = 200;
const MAX_HELP_CHARS: usize = 60;

pub(crate) fn profiles() -> Vec<CompletionCandidate> {
    definitions(DefinitionDirectories::of_profiles)
}

pub(crate) fn presets() -> Vec<CompletionCandidate> {
    definitions(DefinitionDirectories::of_presets)
}

pub(crate) fn agents() -> Vec<CompletionCandidate> {
    let agents = [("pi", "the pi on PATH"), ("builtin", "the built-in agent")];
    agents.map(|(name, help)| candidate(name, help)).into()
}

pub(crate) fn sessions() -> Vec<CompletionCandidate> {
    let mut known: Vec<SessionId> = Vec::new();
    let mut found = Vec::new();
    for run in newest_runs() {
        if known.contains(&run.meta.session_id) {
            continue;
        }
        found.push(candidate(run.meta.session_id.as_str(), &run.help()));
        known.push(run.meta.session_id);
    }
    found
}

pub(crate) fn background_runs() -> Vec<CompletionCandidate> {
    background(|_| true)
}

pub(crate) fn running_background_runs() -> Vec<CompletionCandidate> {
    background(|run| run.status == Status::Running)
}

fn background(is_wanted: fn(&Run) -> bool) -> Vec<CompletionCandidate> {
    newest_runs()
        .filter(|run| run.meta.lifetime == Lifetime::Background && is_wanted(run))
        .map(|run| candidate(run.dir.run_id().as_str(), &run.help()))
        .collect()
}

fn definitions(
    directories: fn(&Surroundings) -> DefinitionDirectories,
) -> Vec<CompletionCandidate> {
    let Ok(surroundings) = Surroundings::of_this_process() else { return Vec::new() };
    let definitions = load_definitions(&directories(&surroundings));
    definitions
        .iter()
        .map(|definition| {
            let description =
                definition.description.as_ref().or(definition.configuration.model.as_ref());
            candidate(&definition.name, description.map_or("", String::as_str))
        })
        .collect()
}

struct Run {
    dir: RunDir,
    meta: RunLabel,
    status: Status,
}

#[derive(Deserialize)]
struct BriefResult {
    status: Status,
}

impl Run {
    fn read(dir: RunDir) -> Option<Run> {
        let meta = dir.meta_as().ok()?;
        let result: Option<BriefResult> = dir.result_as().ok()?;
        let status = result.map_or(Status::Running, |result| result.status);
        Some(Run { dir, meta, status })
    }

    fn help(&self) -> String {
        format!("{}, {}, {}", self.meta.name, self.status.word(), age(self.meta.created_at))
    }
}

fn newest_runs() -> impl Iterator<Item = Run> {
    let surroundings = Surroundings::of_this_process().ok();
    let store = surroundings.map(|surroundings| Store::in_project(surroundings.project_root()));
    let mut runs = store.and_then(|store| store.runs().ok()).unwrap_or_default();
    runs.sort_by_key(|run| Reverse(run.run_id().clone()));
    runs.into_iter().take(MAX_RUNS).filter_map(Run::read)
}

fn candidate(value: &str, help: &str) -> CompletionCandidate {
    // A line break would start another candidate.
    let help = clean(help).replace(['\n', '\t'], " ");
    let help = cut_chars(help.trim(), MAX_HELP_CHARS).to_owned();
    CompletionCandidate::new(value).help((!help.is_empty()).then(|| help.into()))
}
