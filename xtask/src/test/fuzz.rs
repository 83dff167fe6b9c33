//! A short run of the fuzzer: `fuzz/`.
//!
//! The tests run the corpora already. This searches a little beyond them, always with the same seed, so that
//! what it finds comes from the change and not from chance.

use super::{Outcome, StepFailure, StepResult, system_package};
use crate::fuzz::{Build, Fuzzer, targets};

/// How long each target is fuzzed.
const SECONDS: u32 = 2;

/// Runs it where there is a C++ compiler, with which the fuzzer is built.
pub(super) fn run() -> StepResult {
    if let Err(missing) = system_package::provide("g++", "c++ --version") {
        return missing.report();
    }
    let repeat = "cargo xtask fuzz".to_owned();
    let failure = |reason| StepFailure { reason, repeat: repeat.clone() };
    let built = Fuzzer::build(Build::Quick);
    let fuzzer = built.map_err(|(build, what)| StepFailure::of(&build, &what))?;
    for target in targets().map_err(failure)? {
        let search = fuzzer.search_nearby(&target, SECONDS).map_err(failure)?;
        println!("$ {search}");
        let said = search.run_quietly().map_err(|what| StepFailure::of(&search, &what))?;
        let inputs = statistic(&said, "number_of_executed_units");
        println!("{target}: {inputs} inputs, none of them broke it");
    }
    Ok(Outcome::Passed)
}

/// A figure that the fuzzer prints at its end.
fn statistic<'a>(said: &'a str, name: &str) -> &'a str {
    let mut figures = said.lines().filter_map(|line| line.strip_prefix("stat::")?.split_once(':'));
    figures.find(|(figure, _)| *figure == name).map_or("?", |(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_among_the_rest() {
        let said = "#3 DONE\nstat::number_of_executed_units: 3235\nstat::peak_rss_mb:    55\n";
        assert_eq!(statistic(said, "number_of_executed_units"), "3235");
        assert_eq!(statistic(said, "peak_rss_mb"), "55");
        assert_eq!(statistic(said, "slowest_unit_time_sec"), "?");
    }
}
