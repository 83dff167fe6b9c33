//! The files that `grep` and `find` look at.

use std::path::Path;

use ignore::{DirEntry, WalkBuilder};
/// Everything below the directory that git does not ignore, in the order of the paths. Hidden files
/// are there; what git keeps for itself in `.git` is not.
pub(super) fn walk(directory: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(directory);
    // Within a repository, the rules of an outer one end at its border. Where there is none,
    // `.gitignore` still says what is of no interest.
    let is_in_repository = directory.ancestors().any(|ancestor| ancestor.join(".git").exists());
    walk.hidden(false)
        .require_git(is_in_repository)
        .sort_by_file_path(Path::cmp)
        .filter_entry(|entry: &DirEntry| entry.depth() == 0 || entry.file_name() != ".git");
    walk
}
