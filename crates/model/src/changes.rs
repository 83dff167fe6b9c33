//! Where an agent works, and what it changed there.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{RunId, ShellCommand};

/// How an agent is kept apart from other work on the same files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// It works in a git worktree of its own.
    Worktree,
}

impl Isolation {
    /// All of them, with their words.
    pub const WORDS: [(&'static str, Isolation); 1] = [("worktree", Isolation::Worktree)];

    /// The word, the same in files, in arguments and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Isolation::Worktree => "worktree",
        }
    }
}

/// The worktree of a run, as it is planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreePlan {
    /// Where it will be: a directory that has the name of the run.
    pub directory: PathBuf,
    /// The run from whose result it starts; the user's working tree if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<RunId>,
    /// Whether it starts from the same files as the others of its call: from what the first of them has found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_base: bool,
    /// What is run in it before the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<ShellCommand>,
}

/// What an agent changed in its worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Changes {
    #[expect(missing_docs, reason = "the name says it")]
    pub files: u64,
    /// Lines.
    pub insertions: u64,
    /// Lines.
    pub deletions: u64,
    /// The ref that has everything; absent if it could not be written.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The commit from which the worktree started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The commit of the ref.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// How many files git ignores, which no ref has.
    #[serde(default)]
    pub ignored: u64,
    /// Where the worktree still is, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Why it is, or what is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Changes {
    /// In a few characters: `3 files +40 −2`.
    pub fn brief(&self) -> String {
        let files = match self.files {
            1 => "1 file".to_owned(),
            files => format!("{files} files"),
        };
        match (self.files, self.reference.is_some()) {
            (_, false) => "changes not kept".to_owned(),
            (0, true) => "no changes".to_owned(),
            (_, true) => format!("{files} +{} −{}", self.insertions, self.deletions),
        }
    }

    /// Whether a ref has something that was changed, so that there is a diff.
    pub fn has_diff(&self) -> bool {
        self.files > 0 && self.reference.is_some()
    }

    /// Whether there is something that a user could want.
    pub fn is_empty(&self) -> bool {
        let is_complete = self.directory.is_none() && self.problem.is_none();
        self.files == 0 && is_complete && self.reference.is_some()
    }
}

/// What the user did with the changes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ChangesState {
    Applied,
    Merged,
    Discarded,
}

impl ChangesState {
    /// The word, the same in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            ChangesState::Applied => "applied",
            ChangesState::Merged => "merged",
            ChangesState::Discarded => "discarded",
        }
    }
}
