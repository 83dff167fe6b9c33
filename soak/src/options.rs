//! The command line of the soak.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) length: Duration,
    pub(crate) seed: u64,
    /// Whether this process is in the namespace already.
    pub(crate) is_inside: bool,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options =
            Options { length: Duration::from_secs(120), seed: any_seed(), is_inside: false };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let usage = || {
                format!("`soak` takes `--minutes N` and `--seed S`, and cannot use `{argument}`.")
            };
            match argument.as_str() {
                "--inside" => options.is_inside = true,
                "--minutes" => {
                    let minutes = arguments.next().and_then(|word| word.parse::<f64>().ok());
                    let minutes = minutes.filter(|minutes| (0.05..=1_440.0).contains(minutes));
                    let seconds = minutes.ok_or_else(usage)? * 60.0;
                    options.length = Duration::from_secs_f64(seconds.round());
                }
                "--seed" => {
                    let seed = arguments.next().and_then(|word| word.parse().ok());
                    options.seed = seed.ok_or_else(usage)?;
                }
                _ => return Err(usage()),
            }
        }
        Ok(options)
    }
}

/// A different seed each time, short enough to type.
fn any_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() % 1_000_000
}

impl fmt::Display for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.length.as_secs_f64() / 60.0;
        // A soak of 20 seconds is 0.333 minutes, and 0.333 minutes are 20 seconds.
        let minutes = (minutes * 1_000.0).round() / 1_000.0;
        write!(formatter, "--minutes {minutes} --seed {}", self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_shown_as_they_are_typed() {
        for line in ["--minutes 2 --seed 7", "--minutes 0.333 --seed 18446744073709551615"] {
            assert_eq!(parse(line).unwrap().to_string(), line);
        }
        let seconds = |line| parse(line).unwrap().length.as_secs();
        assert_eq!((seconds(""), seconds("--minutes 0.333")), (120, 20));
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        for line in ["--minutes", "--minutes 0", "--minutes x", "--seed -1", "--sed 1", "5"] {
            assert!(parse(line).unwrap_err().contains("`soak` takes"), "{line}");
        }
    }
}
