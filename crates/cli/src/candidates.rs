//! The names and ids that a shell offers as completions.
//!
//! Completing only reads: it must not end runs or wait, and it reports no problems, because its
//! output goes into the user's command line.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use clap_complete::engine::CompletionCandidate;
use model::{Lifetime, Status};
use plan::{Definition, DefinitionDirectories, Surroundings, load_definitions, load_settings};
use serde::Deserialize;
use session::{clean, cut_chars};
use store::{RunDir, Store};
use tools::RunLabel;

use crate::commands::age;
use crate::commands::init::STARTERS;

/// Only the newest runs are read: a user who completes a name or an id means a recent one.
const MAX_RUNS: usize = 200;
const MAX_NAMES: usize = 20;
/// Ids are long and say nothing, so that few are enough.
const MAX_IDS: usize = 5;
const MAX_HELP_CHARS: usize = 60;

pub(crate) fn profiles() -> Vec<CompletionCandidate> {
    definitions(DefinitionDirectories::of_profiles, |_| true)
}

pub(crate) fn own_profiles() -> Vec<CompletionCandidate> {
    definitions(DefinitionDirectories::of_profiles, Definition::is_own)
}

pub(crate) fn foreign_profiles() -> Vec<CompletionCandidate> {
    definitions(DefinitionDirectories::of_profiles, |profile| !profile.is_own())
}

pub(crate) fn presets() -> Vec<CompletionCandidate> {
    definitions(DefinitionDirectories::of_presets, |_| true)
}

pub(crate) fn starters() -> Vec<CompletionCandidate> {
    STARTERS.iter().map(|starter| candidate(starter.name, starter.description)).collect()
}

pub(crate) fn agents() -> Vec<CompletionCandidate> {
    let ours = [("pi", "the pi on PATH"), ("builtin", "the built-in agent")];
    let others = plan::known_agents().iter().map(|agent| (agent.name, agent.title));
    let agents = ours.into_iter().chain(others).map(|(name, help)| candidate(name, help));
    let own = Surroundings::of_this_process().map(|surroundings| load_settings(&surroundings).0);
    let own = own.into_iter().flat_map(|settings| settings.agents.into_keys());
    agents.chain(own.map(|name| candidate(&name, "of the settings"))).collect()
}

pub(crate) fn access() -> Vec<CompletionCandidate> {
    let words = [
        ("read", "change nothing"),
        ("workspace", "change the working directory and build caches"),
        ("full", "change everything that you can"),
    ];
    words.map(|(word, help)| candidate(word, help)).into()
}

pub(crate) fn sessions() -> Vec<CompletionCandidate> {
    runs(newest_runs(), |run| run.meta.session_id.as_str())
}

pub(crate) fn background_runs() -> Vec<CompletionCandidate> {
    let is_background = |run: &Run| run.meta.lifetime == Lifetime::Background;
    runs(newest_runs().filter(is_background), |run| run.dir.run_id().as_str())
}

pub(crate) fn running_background_runs() -> Vec<CompletionCandidate> {
    let is_wanted =
        |run: &Run| run.meta.lifetime == Lifetime::Background && run.status == Status::Running;
    runs(newest_runs().filter(is_wanted), |run| run.dir.run_id().as_str())
}

/// The names of runs, newest first, and then a few of their ids.
fn runs(runs: impl Iterator<Item = Run>, id: fn(&Run) -> &str) -> Vec<CompletionCandidate> {
    let (mut names, mut ids) = (BTreeMap::new(), BTreeMap::new());
    for (order, run) in runs.enumerate() {
        if names.len() < MAX_NAMES && is_typed(&run.meta.name) {
            let candidate = || candidate(&run.meta.name, &run.state()).display_order(Some(order));
            names.entry(run.meta.name.clone()).or_insert_with(candidate);
        }
        if ids.len() < MAX_IDS {
            let help = format!("{}, {}", run.meta.name, run.state());
            let order = Some(MAX_RUNS + order);
            let candidate = || candidate(id(&run), &help).display_order(order);
            ids.entry(id(&run).to_owned()).or_insert_with(candidate);
        }
    }
    names.into_values().chain(ids.into_values()).collect()
}

/// Whether a name can be typed as it is. Shells put a candidate into the command line without quotes, and
/// a model can have chosen the name.
fn is_typed(name: &str) -> bool {
    let is_plain = |character: char| character.is_alphanumeric() || "-_.".contains(character);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain)
}

fn definitions(
    directories: fn(&Surroundings) -> DefinitionDirectories,
    is_meant: fn(&Definition) -> bool,
) -> Vec<CompletionCandidate> {
    let Ok(surroundings) = Surroundings::of_this_process() else { return Vec::new() };
    let definitions = load_definitions(&directories(&surroundings));
    definitions
        .iter()
        .filter(|definition| is_meant(definition))
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

    fn state(&self) -> String {
        format!("{}, {}", self.status.word(), age(self.meta.created_at))
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

#[cfg(test)]
mod tests {
    use super::is_typed;

    #[test]
    fn a_name_that_a_shell_would_read_otherwise_is_not_offered() {
        for name in ["review", "prüfen", "3-17_a.b"] {
            assert!(is_typed(name), "{name}");
        }
        for name in ["", "-rf", "two words", "$(touch x)", "a;b", "a\nb", "`x`", "a'b", "\u{1b}[2J"]
        {
            assert!(!is_typed(name), "{name:?}");
        }
    }
}
