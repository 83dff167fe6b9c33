//! `cargo xtask fuzz`: searches for input that breaks the code that reads it; see docs/internals/fuzzing.md.

use std::fs;
use std::path::PathBuf;

use xtask::{Invocation, repository_root};

use crate::executable;

/// How long each target is fuzzed without `--seconds`.
const SECONDS: u32 = 60;

/// How the fuzzer is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// Optimised, to try as much input as possible.
    Fast,
    /// Not optimised, so that the dependencies are those that the tests have built already.
    Quick,
}

/// The fuzzer, after it was built.
pub(crate) struct Fuzzer {
    executable: String,
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    target: Option<String>,
    work: Work,
}

#[derive(Debug, PartialEq, Eq)]
enum Work {
    /// Search for new input.
    Search { seconds: u32 },
    /// Run one input.
    Reproduce { input: String },
    /// Shorten an input as long as it still breaks its target.
    Minimise { input: String, seconds: u32 },
    /// Add what was found to the corpus, without what reaches nothing new.
    Keep,
}

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let Request { target, work } = read(arguments)?;
    let known = targets()?;
    let targets = match target {
        None => known,
        Some(target) if known.contains(&target) => vec![target],
        Some(target) => {
            let known = known.join(", ");
            return Err(format!("there is no target `{target}`; there are {known}"));
        }
    };
    let fuzzer = Fuzzer::build(Build::Fast).map_err(|(build, what)| format!("`{build}` {what}"))?;
    for target in targets {
        let invocation = match &work {
            Work::Search { seconds } => fuzzer.search(&target, *seconds)?,
            Work::Reproduce { input } => fuzzer.on(&target).word(input),
            Work::Minimise { input, seconds } => fuzzer
                .on(&target)
                .words("-minimize_crash=1")
                .word(format!("-max_total_time={seconds}"))
                .word(format!("-artifact_prefix={}", findings(&target)?))
                .word(input),
            Work::Keep => fuzzer.keep(&target)?,
        };
        println!("$ {invocation}");
        invocation.run().map_err(|what| format!("`{invocation}` {what}"))?;
    }
    Ok(())
}

/// The names of all targets: each has a corpus, and a test checks that.
pub(crate) fn targets() -> Result<Vec<String>, String> {
    let entries = fs::read_dir(repository_root().join("fuzz/corpus"));
    let entries = entries.map_err(|error| format!("the corpora cannot be listed: {error}"))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

impl Fuzzer {
    /// Builds it. An error comes with the command that failed.
    pub(crate) fn build(build: Build) -> Result<Fuzzer, (Invocation, String)> {
        let wrapper = repository_root().join("fuzz/instrumented-rustc");
        // With the features that the dependencies have in the whole workspace: otherwise they would be
        // built once more.
        let invocation = Invocation::new(
            "cargo build --workspace --bin fuzz --features pi-subagents-fuzz/engine --profile",
        )
        .word(if build == Build::Fast { "fuzz" } else { "dev" })
        .environment("RUSTC_WORKSPACE_WRAPPER", &wrapper.to_string_lossy());
        match executable::build(&invocation, "fuzz") {
            Ok(executable) => Ok(Fuzzer { executable }),
            Err(what) => Err((invocation, what)),
        }
    }

    /// Searches for new input, and continues where the last search stopped.
    fn search(&self, target: &str, seconds: u32) -> Result<Invocation, String> {
        self.search_from(target, seconds, found(target)?)
    }

    /// Searches near the corpus, always with the same seed, and keeps nothing.
    pub(crate) fn search_nearby(&self, target: &str, seconds: u32) -> Result<Invocation, String> {
        let forgotten = directory("forgotten", target)?;
        // A search that was interrupted may have left something there.
        let emptied = fs::remove_dir_all(repository_root().join(&forgotten));
        emptied.map_err(|error| format!("{forgotten} cannot be emptied: {error}"))?;
        let search = self.search_from(target, seconds, directory("forgotten", target)?)?;
        Ok(search.words("-seed=1"))
    }

    fn search_from(&self, target: &str, seconds: u32, found: String) -> Result<Invocation, String> {
        Ok(self
            .on(target)
            .word(format!("-max_total_time={seconds}"))
            .word(format!("-artifact_prefix={}", findings(target)?))
            .words("-timeout=10 -rss_limit_mb=1024 -print_final_stats=1")
            .word(found)
            .word(format!("fuzz/corpus/{target}")))
    }

    /// Adds what was found to the corpus. Only short input is kept, and only if it reaches code that no
    /// other input reaches. To count also how often code is reached would keep a hundred times as much.
    fn keep(&self, target: &str) -> Result<Invocation, String> {
        let words = "-set_cover_merge=1 -use_counters=0 -max_len=200";
        let corpus = format!("fuzz/corpus/{target}");
        Ok(self.on(target).words(words).word(corpus).word(found(target)?))
    }

    fn on(&self, target: &str) -> Invocation {
        Invocation::new("").word(&self.executable).environment("FUZZ_TARGET", target)
    }
}

/// The directory for new input, kept between runs.
fn found(target: &str) -> Result<String, String> {
    directory("found", target)
}

/// The directory for input that breaks its target.
fn findings(target: &str) -> Result<String, String> {
    directory("broken", target)
}

/// A directory of the target that Git ignores, with a slash at its end.
fn directory(kind: &str, target: &str) -> Result<String, String> {
    let name = PathBuf::from("target/fuzzing").join(kind).join(target);
    let made = fs::create_dir_all(repository_root().join(&name));
    made.map_err(|error| format!("{} cannot be made: {error}", name.display()))?;
    Ok(format!("{}/", name.display()))
}

fn read(arguments: &[String]) -> Result<Request, String> {
    let (mut target, mut seconds, mut input) = (None, None, None);
    let (mut is_minimising, mut is_keeping) = (false, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("`{word}` needs a value"));
        match word.as_str() {
            "--seconds" => {
                let given = value()?;
                let parsed = given
                    .parse::<u32>()
                    .map_err(|_| format!("`--seconds` must be a whole number, not `{given}`"))?;
                seconds = Some(parsed);
            }
            "--input" => input = Some(value()?.clone()),
            "--minimise" => is_minimising = true,
            "--keep" => is_keeping = true,
            option if option.starts_with('-') => return Err(format!("`{option}` is unknown")),
            _ if target.is_some() => return Err(format!("`{word}` is one target too many")),
            _ => target = Some(word.clone()),
        }
    }
    if input.is_some() && target.is_none() {
        return Err("an input is for one target; name it".to_owned());
    }
    let seconds = seconds.unwrap_or(SECONDS);
    let work = match (input, is_minimising, is_keeping) {
        (None, false, false) => Work::Search { seconds },
        (None, false, true) => Work::Keep,
        (Some(input), false, false) => Work::Reproduce { input },
        (Some(input), true, false) => Work::Minimise { input, seconds },
        (None, true, _) => return Err("`--minimise` needs an `--input`".to_owned()),
        (Some(_), _, true) => return Err("`--keep` takes no `--input`".to_owned()),
    };
    Ok(Request { target, work })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn command_lines_are_read() {
        let request =
            |target: Option<&str>, work| Ok(Request { target: target.map(str::to_owned), work });
        let input = || "a".to_owned();
        for (line, expected) in [
            ("", request(None, Work::Search { seconds: SECONDS })),
            ("protocol --seconds 5", request(Some("protocol"), Work::Search { seconds: 5 })),
            ("protocol --input a", request(Some("protocol"), Work::Reproduce { input: input() })),
            (
                "protocol --minimise --input a",
                request(Some("protocol"), Work::Minimise { input: input(), seconds: SECONDS }),
            ),
            ("--keep", request(None, Work::Keep)),
            ("a b", Err("`b` is one target too many".to_owned())),
            ("--input a", Err("an input is for one target; name it".to_owned())),
            ("a --minimise", Err("`--minimise` needs an `--input`".to_owned())),
            ("a --keep --input a", Err("`--keep` takes no `--input`".to_owned())),
            ("--seconds", Err("`--seconds` needs a value".to_owned())),
            ("--seconds x", Err("`--seconds` must be a whole number, not `x`".to_owned())),
            ("--fast", Err("`--fast` is unknown".to_owned())),
        ] {
            assert_eq!(read(&words(line)), expected, "{line}");
        }
    }

    #[test]
    fn the_targets_are_known_by_their_corpora() {
        assert!(targets().unwrap().contains(&"protocol".to_owned()));
    }
}
