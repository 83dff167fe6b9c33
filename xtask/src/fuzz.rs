//! `cargo xtask fuzz`: looking for bytes that break what reads them; see docs/fuzzing.md.

use std::fs;
use std::path::PathBuf;

use xtask::{Invocation, repository_root};

use crate::executable;

/// How long each target is fuzzed if nobody says.
const SECONDS: u32 = 60;

/// How the fuzzer is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// To find something: optimised.
    Fast,
    /// To be there soon: the crates of others are those that the tests have built already.
    Soon,
}

/// The fuzzer, built.
pub(crate) struct Fuzzer {
    executable: String,
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Wish {
    target: Option<String>,
    work: Work,
}

#[derive(Debug, PartialEq, Eq)]
enum Work {
    /// Look for something new.
    Search { seconds: u32 },
    /// See what becomes of one input.
    Reproduce { input: String },
    /// Make an input that breaks its target as small as possible.
    Minimise { input: String, seconds: u32 },
    /// Put into the corpus what was found since, without what is alike.
    Keep,
}

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let Wish { target, work } = read(arguments)?;
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

/// The names of all targets: each has a corpus, which a test makes sure of.
pub(crate) fn targets() -> Result<Vec<String>, String> {
    let entries = fs::read_dir(repository_root().join("fuzz/corpus"));
    let entries = entries.map_err(|error| format!("the corpora cannot be listed: {error}"))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

impl Fuzzer {
    /// Builds it. What could not be done is told together with its command.
    pub(crate) fn build(build: Build) -> Result<Fuzzer, (Invocation, String)> {
        let wrapper = repository_root().join("fuzz/instrumented-rustc");
        // With the features that the crates of others have in the whole workspace: otherwise they
        // would be built once more.
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

    /// Looks for something new, from where the last search has ended.
    fn search(&self, target: &str, seconds: u32) -> Result<Invocation, String> {
        self.search_from(target, seconds, found(target)?)
    }

    /// Looks around the corpus, always in the same direction, and remembers nothing.
    pub(crate) fn look_around(&self, target: &str, seconds: u32) -> Result<Invocation, String> {
        let forgotten = directory("forgotten", target)?;
        // Whatever is there was left by a search that was cut off.
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

    /// Adds to the corpus what was found since. Only what is short and reaches code that nothing else
    /// reaches is kept, the smallest first: everything that differs in how often it does so would be a
    /// hundred times as much.
    fn keep(&self, target: &str) -> Result<Invocation, String> {
        let words = "-set_cover_merge=1 -use_counters=0 -max_len=200";
        let corpus = format!("fuzz/corpus/{target}");
        Ok(self.on(target).words(words).word(corpus).word(found(target)?))
    }

    fn on(&self, target: &str) -> Invocation {
        Invocation::new("").word(&self.executable).environment("FUZZ_TARGET", target)
    }
}

/// Where what is found worth another look is kept between runs.
fn found(target: &str) -> Result<String, String> {
    directory("found", target)
}

/// Where inputs go that break their target.
fn findings(target: &str) -> Result<String, String> {
    directory("broken", target)
}

/// A directory of the target's own that Git does not see, with a slash at its end.
fn directory(kind: &str, target: &str) -> Result<String, String> {
    let name = PathBuf::from("target/fuzzing").join(kind).join(target);
    let made = fs::create_dir_all(repository_root().join(&name));
    made.map_err(|error| format!("{} cannot be made: {error}", name.display()))?;
    Ok(format!("{}/", name.display()))
}

fn read(arguments: &[String]) -> Result<Wish, String> {
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
    Ok(Wish { target, work })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_asked_for_is_read() {
        let wish =
            |target: Option<&str>, work| Ok(Wish { target: target.map(str::to_owned), work });
        let input = || "a".to_owned();
        for (line, expected) in [
            ("", wish(None, Work::Search { seconds: SECONDS })),
            ("protocol --seconds 5", wish(Some("protocol"), Work::Search { seconds: 5 })),
            ("protocol --input a", wish(Some("protocol"), Work::Reproduce { input: input() })),
            (
                "protocol --minimise --input a",
                wish(Some("protocol"), Work::Minimise { input: input(), seconds: SECONDS }),
            ),
            ("--keep", wish(None, Work::Keep)),
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
