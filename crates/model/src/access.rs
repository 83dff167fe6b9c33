//! What an agent may change.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What an agent and everything that it starts may change, from the least to the most. It limits
/// neither reading nor the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Only what belongs to the run: its outputs, a temporary directory, the agent's own sessions.
    Read,
    /// Also the directory of the task, except for the hooks and the configuration of its
    /// repository, and the caches that the user's settings name.
    Workspace,
    /// Everything that the user may change.
    #[default]
    Full,
}

impl Access {
    /// All of them, with their words, from the least to the most.
    pub const WORDS: [(&'static str, Access); 3] =
        [("read", Access::Read), ("workspace", Access::Workspace), ("full", Access::Full)];

    /// The access that this is the word for.
    pub fn parse(word: &str) -> Option<Access> {
        Access::WORDS.iter().find(|(known, _)| *known == word).map(|(_, access)| *access)
    }

    /// The word, the same in files, in arguments and on the screen.
    pub fn word(self) -> &'static str {
        Access::WORDS[self as usize].0
    }

    /// Whether anything is refused that the user may change.
    pub fn is_restricted(self) -> bool {
        self != Access::Full
    }
}

/// The paths that a restricted run may change besides its task's directory, and those that it may
/// not change wherever they are. What is missing is passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AccessPaths {
    /// Made for the run, and removed at its end.
    pub temporary: PathBuf,
    /// Names of files in the run directory that the agent writes.
    pub run_files: Vec<String>,
    /// Files, and directories with everything beneath them.
    pub writable: Vec<PathBuf>,
    /// What the agent sees through links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror: Option<Mirror>,
    /// Variables that tell the agent where it can write what it would write elsewhere: each names an empty directory of the
    /// run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub private: Vec<String>,
    /// What stays as it is, also inside the task's directory.
    pub kept: Vec<PathBuf>,
}

/// A directory whose entries an agent reads through links in its temporary directory. There it can
/// make files beside them, such as locks, which it must not make in the directory itself: whoever may
/// make a directory may also rename one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Mirror {
    pub directory: PathBuf,
    /// The variable that tells the agent where the links are.
    pub variable: String,
    /// What the agent adds to the value of the variable to find its directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beneath: Option<String>,
    /// The entries that are linked; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<String>>,
    /// Files among them that are mounted where that can be had: the agent makes a lock beside the file to which a link leads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounted: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_says_what_it_means() {
        for (word, access) in Access::WORDS {
            assert_eq!((access.word(), Access::parse(word)), (word, Some(access)));
            assert_eq!(serde_json::to_value(access).unwrap(), word);
        }
        assert_eq!(Access::parse("Read"), None);
    }

    #[test]
    fn the_least_comes_first() {
        assert!(Access::Read < Access::Workspace && Access::Workspace < Access::Full);
        assert_eq!(Access::default(), Access::Full, "a run of an earlier version");
    }
}
