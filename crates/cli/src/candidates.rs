//! What a shell offers behind an option: names and ids that there are.
//!
//! Only looks. A key that is pressed in a shell must neither end runs nor wait for anything, and
//! what is wrong is nobody's business there.

use std::cmp::Reverse;

use clap_complete::engine::CompletionCandidate;
use model::{Lifetime, SessionId, Status};
use plan::{DefinitionDirectories, Surroundings, load_definitions};
use serde::Deserialize;
use session::{clean, cut_chars};
use store::{RunDir, Store};

use crate::commands::age;
use crate::some_meta::SomeMeta;

/// How many runs are looked at, the newest first: a person who completes an id means a recent one.
const MOST_RUNS: usize = 200;
/// How much is told about each.
const HELP_CHARS: usize = 60;

pub(crate) fn profiles() -> Vec<CompletionCandidate> {
    definitions(DefinitionDirectories::of_profiles)
}

pub(crate) fn presets() -> Vec<CompletionCandidate> {
    definitions(DefinitionDirectories::of_presets)
}

pub(crate) fn agents() -> Vec<CompletionCandidate> {
    let agents = [("pi", "the pi that is on PATH"), ("builtin", "the agent that is built in")];
    agents.map(|(name, help)| candidate(name, help)).into()
}

/// Sessions, the newest first.
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

/// Background runs, the newest first.
pub(crate) fn background_runs() -> Vec<CompletionCandidate> {
    background(|_| true)
}

/// Background runs that have not ended.
pub(crate) fn running_background_runs() -> Vec<CompletionCandidate> {
    background(|run| run.status == Status::Running)
}

fn background(is_wanted: fn(&SomeRun) -> bool) -> Vec<CompletionCandidate> {
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

/// A run, as far as it is told here.
struct SomeRun {
    dir: RunDir,
    meta: SomeMeta,
    status: Status,
}

#[derive(Deserialize)]
struct SomeResult {
    status: Status,
}

impl SomeRun {
    fn read(dir: RunDir) -> Option<SomeRun> {
        let meta = dir.meta_as().ok()?;
        let result: Option<SomeResult> = dir.result_as().ok()?;
        let status = result.map_or(Status::Running, |result| result.status);
        Some(SomeRun { dir, meta, status })
    }

    fn help(&self) -> String {
        format!("{}, {}, {}", self.meta.name, self.status.word(), age(self.meta.created_at))
    }
}

fn newest_runs() -> impl Iterator<Item = SomeRun> {
    let surroundings = Surroundings::of_this_process().ok();
    let store = surroundings.map(|surroundings| Store::in_project(surroundings.project_root()));
    let mut runs = store.and_then(|store| store.runs().ok()).unwrap_or_default();
    runs.sort_by_key(|run| Reverse(run.run_id().clone()));
    runs.into_iter().take(MOST_RUNS).filter_map(SomeRun::read)
}

fn candidate(value: &str, help: &str) -> CompletionCandidate {
    // Shells read a candidate from each line.
    let help = clean(help).replace(['\n', '\t'], " ");
    let help = cut_chars(help.trim(), HELP_CHARS).to_owned();
    CompletionCandidate::new(value).help((!help.is_empty()).then(|| help.into()))
}
