//! Which results cannot be merged together.

use std::collections::BTreeSet;

use process::Exit;

use crate::change::{Change, files};
use crate::git::{Git, failed};
use crate::snapshot::commit_tree;
use crate::{Repository, WorkspaceError};

/// Two results that conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The indexes of the two.
    pub between: (usize, usize),
    /// In which files.
    pub files: Vec<String>,
}

/// What comes of a merge of two commits.
pub(crate) enum Merged {
    Clean(String),
    Conflicting(Vec<String>),
}

/// Tries to merge each result with each other. Nothing is changed.
pub fn conflicts(
    repository: &Repository,
    changes: &[Change],
) -> Result<Vec<Conflict>, WorkspaceError> {
    let git = repository.git(&|| false);
    let touched: Vec<BTreeSet<String>> = changes
        .iter()
        .map(|change| {
            let files = files(&git, &change.base, &change.result)?;
            Ok(files.into_iter().map(|file| file.path).collect())
        })
        .collect::<Result<_, WorkspaceError>>()?;
    let mut found = Vec::new();
    for (first, one) in changes.iter().enumerate() {
        for (second, other) in changes.iter().enumerate().skip(first + 1) {
            if !overlap(&touched[first], &touched[second]) {
                continue;
            }
            // Tasks that started from different trees have a common commit further back, if any.
            let base = (one.base == other.base).then_some(one.base.as_str());
            if let Merged::Conflicting(files) = merge_trees(&git, base, &one.result, &other.result)?
            {
                found.push(Conflict { between: (first, second), files });
            }
        }
    }
    Ok(found)
}

/// Whether two sets of paths have one in common, or one in which the other has a directory.
fn overlap(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let is_in = |path: &String, set: &BTreeSet<String>| {
        let below = format!("{path}/");
        let is_directory =
            || set.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below));
        set.contains(path) || is_directory()
    };
    one.iter().any(|path| is_in(path, other)) || other.iter().any(|path| is_in(path, one))
}

/// Merges two commits, without a working tree.
pub(crate) fn merge_trees(
    git: &Git<'_>,
    base: Option<&str>,
    one: &str,
    other: &str,
) -> Result<Merged, WorkspaceError> {
    // git before 2.40 cannot be told the base. It finds it by itself for commits that stand on it.
    let standing = |commit: &str| match base {
        Some(base) => {
            let tree = git.text(&["rev-parse", &format!("{commit}^{{tree}}")])?;
            commit_tree(git, &tree, &[base.to_owned()], "0", "One side of a merge")
        }
        None => Ok(commit.to_owned()),
    };
    let (one, other) = (standing(one)?, standing(other)?);
    let mut args = vec!["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z"];
    if base.is_none() {
        args.push("--allow-unrelated-histories");
    }
    args.extend([one.as_str(), other.as_str()]);
    let output = git.output(&args)?;
    let (tree, files) = listed_merge(&output.stdout);
    match output.exit {
        Exit::Code(0) => Ok(Merged::Clean(tree)),
        Exit::Code(1) if !tree.is_empty() => Ok(Merged::Conflicting(files)),
        _ => Err(failed(&args, &output).into()),
    }
}

/// Reads what `git merge-tree --name-only -z` prints: the tree, and the files that conflict, each once.
pub fn listed_merge(listing: &[u8]) -> (String, Vec<String>) {
    let mut words =
        listing.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let tree = words.next().unwrap_or_default();
    let names: BTreeSet<String> = words.filter(|name| !name.is_empty()).collect();
    (tree, names.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_overlap_also_where_one_is_a_directory() {
        let set = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        for (one, other, expected) in [
            (&["a", "b"][..], &["c"][..], false),
            (&["a", "b"], &["b"], true),
            (&["a"], &["a/b"], true),
            (&["a/b"], &["a"], true),
            (&["a"], &["a.txt", "ab/c"], false),
            (&[], &["a"], false),
        ] {
            assert_eq!(overlap(&set(one), &set(other)), expected, "{one:?} {other:?}");
        }
    }
}
