//! How much memory each kind of agent takes, learned from the runs before.

use std::path::{Path, PathBuf};

use model::{AgentKind, Meta};
use serde::{Deserialize, Serialize};

use crate::ledger::{change, load};

/// What an agent is expected to take of which nothing is known, in bytes.
const UNKNOWN_AGENT: u64 = 256 << 20;
/// The same of the built-in agent, whose commands take more than itself.
const UNKNOWN_BUILTIN: u64 = 64 << 20;

/// So many runs of a kind are remembered.
const RUNS: usize = 20;
/// So many kinds are remembered.
const KINDS: usize = 200;
/// Each of the last runs as its most memory at one time, by kind. The kind that ran last is the last.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Peaks(Vec<(String, Vec<u64>)>);

impl Peaks {
    fn add(&mut self, kind: String, peak: u64) {
        let known = self.0.iter().position(|(known, _)| *known == kind);
        let mut peaks = known.map(|index| self.0.remove(index).1).unwrap_or_default();
        peaks.push(peak);
        peaks.drain(..peaks.len().saturating_sub(RUNS));
        self.0.push((kind, peaks));
        self.0.drain(..self.0.len().saturating_sub(KINDS));
    }

    /// The 90th percentile.
    fn expected(&self, kind: &str) -> Option<u64> {
        let (_, peaks) = self.0.iter().find(|(known, _)| known == kind)?;
        let mut peaks = peaks.clone();
        peaks.sort_unstable();
        peaks.get((peaks.len() * 9).div_ceil(10).checked_sub(1)?).copied()
    }
}

/// How much memory the run is expected to take, in bytes.
pub(crate) fn expected_memory(meta: &Meta) -> u64 {
    let usual = match meta.agent {
        Some(AgentKind::Builtin) => UNKNOWN_BUILTIN,
        _ => UNKNOWN_AGENT,
    };
    let learned = meta.ledger.as_ref().map(|ledger| load::<Peaks>(&file(&ledger.directory)));
    learned.and_then(|peaks| peaks.expected(&kind(meta))).unwrap_or(usual)
}

/// Remembers the most memory that a run has taken at one time, in bytes.
pub fn remember(meta: &Meta, peak: u64) {
    // Of a run that needed no admission here, another machine learns.
    if let (Some(_), Some(ledger)) = (&meta.admission, &meta.ledger) {
        change(&file(&ledger.directory), |peaks: &mut Peaks| peaks.add(kind(meta), peak));
    }
}

/// What runs that take about the same have in common.
fn kind(meta: &Meta) -> String {
    let agent = meta.agent.as_ref().map_or("unknown", AgentKind::word);
    match meta.profile.as_ref().or(meta.preset.as_ref()) {
        Some(definition) => format!("{agent} {definition}"),
        None => agent.to_owned(),
    }
}

fn file(directory: &Path) -> PathBuf {
    directory.join("memory.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expectation_is_what_nine_of_ten_runs_did_not_exceed() {
        let mut peaks = Peaks::default();
        assert_eq!(peaks.expected("pi"), None);
        peaks.add("pi".to_owned(), 7);
        assert_eq!(peaks.expected("pi"), Some(7));
        for peak in 1..=20 {
            peaks.add("pi".to_owned(), peak);
        }
        assert_eq!(peaks.expected("pi"), Some(18), "of the last twenty");
        assert_eq!(peaks.expected("claude"), None);
    }

    #[test]
    fn kinds_that_have_not_run_for_long_are_forgotten() {
        let mut peaks = Peaks::default();
        for number in 0..KINDS {
            peaks.add(number.to_string(), 1);
        }
        peaks.add("0".to_owned(), 2);
        peaks.add("new".to_owned(), 3);
        assert_eq!(peaks.0.len(), KINDS);
        assert_eq!((peaks.expected("1"), peaks.expected("0")), (None, Some(2)));
    }
}
