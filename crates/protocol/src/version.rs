//! Versions of agents, on which some of their arguments depend.

use std::fmt;
use std::path::Path;

use crate::Protocol;

/// A version, as programs print it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

/// Whose version is wanted.
#[derive(Debug)]
pub struct VersionQuestion<'a> {
    /// The program, and the arguments that it always has.
    pub command: &'a [String],
    #[expect(missing_docs, reason = "the type says it")]
    pub protocol: Protocol,
    /// Whether the program can be started only to print its version. A program of the user's own
    /// might do anything.
    pub may_be_asked: bool,
    /// The user's agent directory, where answers are remembered.
    pub agent_dir: &'a Path,
}

impl Version {
    /// The version `major.minor.patch`.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Version {
        Version { major, minor, patch }
    }

    /// The first version in a text such as `1.5.0`, `pi v1.5.0` or `1.5.0-beta.1`, of which the rest
    /// does not count.
    pub fn parse(text: &str) -> Option<Version> {
        text.split_whitespace().find_map(|word| {
            let mut numbers = word.strip_prefix('v').unwrap_or(word).splitn(3, '.');
            let (major, minor) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
            let patch = numbers.next()?;
            let end = patch.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(patch.len());
            Some(Version { major, minor, patch: patch[..end].parse().ok()? })
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_a_program_prints() {
        for (text, expected) in [
            ("1.5.0", Some("1.5.0")),
            ("pi v0.87.1\n", Some("0.87.1")),
            ("2.1.325 (Claude Code)", Some("2.1.325")),
            ("1.0.4-beta.2", Some("1.0.4")),
            ("1.2.3.4", Some("1.2.3")),
            ("", None),
            ("1.5", None),
            ("usage: a.b.c", None),
            ("1.99999999999.0", None),
            ("{\"type\":\"session\"}", None),
        ] {
            let found = Version::parse(text).map(|version| version.to_string());
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
        assert!(Version::new(0, 99, 0) < Version::new(1, 0, 0));
        assert!(Version::new(1, 0, 4) < Version::new(1, 0, 10));
    }
}
