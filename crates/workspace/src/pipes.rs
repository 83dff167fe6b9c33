//! Named pipes in the places of files that git reads: git would wait for ever until a program writes into one, and an agent
//! can make one with a single command.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The files that git reads in every directory of a working tree.
const IN_TREES: [&str; 2] = [".gitignore", ".gitattributes"];

/// Those of a repository that a program may replace.
const IN_REPOSITORIES: [&str; 12] = [
    "HEAD",
    "commondir",
    "config",
    "config.worktree",
    "index",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
    "packed-refs",
    "shallow",
];

/// A git that takes longer than this may wait for a pipe. Several at a time take seconds for a large tree, and to look costs
/// a walk through it.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// Looks for pipes while git runs, more and more rarely.
pub(crate) struct PipeSearch {
    tree: PathBuf,
    repositories: Vec<PathBuf>,
    progress: RefCell<Progress>,
}

struct Progress {
    next_look: Instant,
    pause: Duration,
    found: Option<PathBuf>,
}

impl PipeSearch {
    /// Begins with a git in this directory, which finds its repository itself unless one is named.
    pub(crate) fn new(tree: &Path, git_dir: Option<&Path>) -> PipeSearch {
        let repositories = match git_dir {
            Some(git_dir) => {
                // That of a linked worktree is in `worktrees` of the common one.
                let all = git_dir.parent().filter(|parent| parent.ends_with("worktrees"));
                let common = all.and_then(Path::parent);
                [Some(git_dir), common].into_iter().flatten().map(Path::to_owned).collect()
            }
            None => tree.ancestors().map(|ancestor| ancestor.join(".git")).collect(),
        };
        let (next_look, pause) = (Instant::now() + FIRST_LOOK, FIRST_LOOK);
        let progress = RefCell::new(Progress { next_look, pause, found: None });
        PipeSearch { tree: tree.to_owned(), repositories, progress }
    }

    /// Whether a pipe was found. Most calls do not look.
    pub(crate) fn has_found(&self) -> bool {
        let mut progress = self.progress.borrow_mut();
        if progress.found.is_none() && Instant::now() >= progress.next_look {
            progress.found = self.find();
            progress.pause *= 2;
            progress.next_look = Instant::now() + progress.pause;
        }
        progress.found.is_some()
    }

    /// The pipe that was found.
    pub(crate) fn into_found(self) -> Option<PathBuf> {
        self.progress.into_inner().found
    }

    fn find(&self) -> Option<PathBuf> {
        let in_repositories = self.repositories.iter().find_map(|repository| {
            let mut files = IN_REPOSITORIES.iter().map(|name| repository.join(name));
            // git follows links there.
            files.find(|path| fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()))
        });
        in_repositories.or_else(|| find_in_tree(&self.tree))
    }
}

fn find_in_tree(tree: &Path) -> Option<PathBuf> {
    let mut open = vec![tree.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if kind.is_fifo() && IN_TREES.iter().any(|known| name == *known) {
                return Some(entry.path());
            }
            if kind.is_dir() && name != ".git" {
                open.push(entry.path());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        process::make_named_pipe(path).unwrap();
    }

    #[test]
    fn a_pipe_is_found_where_git_would_read_it_and_nowhere_else() {
        for (path, is_found) in [
            (".gitignore", true),
            ("a/b/.gitattributes", true),
            (".git/config", true),
            (".git/info/exclude", true),
            (".git/objects/info/alternates", true),
            ("a/pipe", false),
            (".git/other", false),
            (".git/objects/.gitignore", false),
        ] {
            let top = tempfile::tempdir().unwrap();
            let expected = top.path().join(path);
            pipe(&expected);
            let found = PipeSearch::new(top.path(), None).find();
            assert_eq!(found, is_found.then_some(expected), "{path}");
        }
    }

    #[test]
    fn the_repository_of_a_linked_worktree_is_looked_at_as_well() {
        let top = tempfile::tempdir().unwrap();
        let (tree, common) = (top.path().join("tree"), top.path().join("project/.git"));
        fs::create_dir_all(&tree).unwrap();
        pipe(&common.join("info/attributes"));
        let found = |git_dir: &Path| PipeSearch::new(&tree, Some(git_dir)).find();
        let expected = Some(common.join("info/attributes"));
        assert_eq!(
            (found(&common.join("worktrees/run")), found(&common)),
            (expected.clone(), expected)
        );
        // No file of the repository, although it has the name of one.
        fs::remove_file(common.join("info/attributes")).unwrap();
        pipe(&top.path().join("project/config"));
        assert_eq!(found(&common), None);
    }

    #[test]
    fn nothing_is_looked_for_while_git_is_quick() {
        let top = tempfile::tempdir().unwrap();
        pipe(&top.path().join(".gitignore"));
        let search = PipeSearch::new(top.path(), None);
        assert!(!search.has_found());
        search.progress.borrow_mut().next_look = Instant::now();
        assert!(search.has_found());
        assert_eq!(search.into_found(), Some(top.path().join(".gitignore")));
    }
}
