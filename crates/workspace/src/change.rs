//! What an agent has changed: files, counts and the diff.

use model::Changes;

use crate::git::Git;
use crate::layout::WorktreeLayout;
use crate::{GitError, Repository, WorkspaceError};

/// The changes of a run, by their two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Change {
    pub base: String,
    pub result: String,
}

/// A file that an agent has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Below the root of the repository.
    pub path: String,
    /// Lines; none in a file that is not text.
    pub insertions: Option<u64>,
    /// The same.
    pub deletions: Option<u64>,
}

impl Change {
    /// The changes of a run; none if the repository does not have them.
    pub fn of(
        layout: &WorktreeLayout,
        repository: &Repository,
    ) -> Result<Option<Change>, WorkspaceError> {
        let base = repository.commit(&layout.base())?;
        let result = repository.commit(&layout.result())?;
        Ok(base.zip(result).map(|(base, result)| Change { base, result }))
    }

    /// The files that were changed.
    pub fn files(&self, repository: &Repository) -> Result<Vec<ChangedFile>, WorkspaceError> {
        Ok(files(&repository.git(&|| false), &self.base, &self.result)?)
    }
}

/// The diff of a run's changes, as git prints it.
pub fn diff(repository: &Repository, change: &Change) -> Result<Vec<u8>, WorkspaceError> {
    Ok(diff_of(&repository.git(&|| false), &change.base, &change.result)?)
}

/// The diff of two commits, as git prints it and applies it.
pub(crate) fn diff_of(git: &Git<'_>, one: &str, other: &str) -> Result<Vec<u8>, GitError> {
    let args = ["diff-tree", "-p", "-r", "-M", "--no-ext-diff", "--no-textconv", "--binary"];
    git.bytes(&[&args[..], &[one, other]].concat())
}

/// The files between two commits, without a guess which of them were renamed.
pub(crate) fn files(git: &Git<'_>, one: &str, other: &str) -> Result<Vec<ChangedFile>, GitError> {
    let args =
        ["diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--numstat", "-z"];
    Ok(listed_changes(&git.bytes(&[&args[..], &[one, other]].concat())?))
}

/// Reads what git lists with `--numstat -z`, without renamed files.
pub fn listed_changes(listing: &[u8]) -> Vec<ChangedFile> {
    let entries = listing.split(|byte| *byte == 0).filter_map(|entry| {
        let entry = String::from_utf8_lossy(entry);
        let mut fields = entry.splitn(3, '\t');
        let (insertions, deletions) = (fields.next()?.parse().ok(), fields.next()?.parse().ok());
        Some(ChangedFile { path: fields.next()?.to_owned(), insertions, deletions })
    });
    entries.collect()
}

/// How much was changed between two commits. A file that was renamed counts once.
pub(crate) fn count(
    git: &Git<'_>,
    layout: &WorktreeLayout,
    base: &str,
    result: &str,
) -> Result<Changes, GitError> {
    let args = ["diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--shortstat"];
    let text = git.text(&[&args[..], &[base, result]].concat())?;
    let number = |word: &str| {
        let part = text.split(',').find(|part| part.contains(word))?;
        part.split_whitespace().next()?.parse().ok()
    };
    Ok(Changes {
        files: number("file").unwrap_or(0),
        insertions: number("insertion").unwrap_or(0),
        deletions: number("deletion").unwrap_or(0),
        reference: Some(layout.result()),
        base: Some(base.to_owned()),
        result: Some(result.to_owned()),
        ..Changes::default()
    })
}
