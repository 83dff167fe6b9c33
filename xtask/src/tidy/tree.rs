//! The text files of the repository.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use xtask::{Invocation, repository_root};

use super::rust_source;
use super::test_modules;

/// All text files that are in the repository, or would be after `git add --all`.
pub(super) struct Tree {
    pub(super) files: Vec<TextFile>,
}

/// A text file.
pub(super) struct TextFile {
    /// From the root of the repository, with slashes.
    pub(super) path: String,
    pub(super) text: String,
    /// Only for Rust: the text without comments and without the contents of literals. Everything
    /// else is where it was, so that offsets and lines mean the same in both.
    pub(super) code: String,
    /// Only for Rust: the code without what is compiled for tests only.
    pub(super) product_code: String,
    /// Only for Rust: the contents of the literals in the product's code, where they were.
    pub(super) product_literals: String,
}

impl Tree {
    /// Reads the repository.
    ///
    /// Files that are not committed yet count too: a developer wants to know before the commit.
    pub(super) fn read() -> Result<Tree, String> {
        let git = Invocation::new("git ls-files -z --cached --others --exclude-standard");
        let list = git.read().map_err(|what| format!("tidy needs Git, but `{git}` {what}"))?;
        let list = String::from_utf8_lossy(&list);
        // A file with a merge conflict is listed once for each side.
        let paths: BTreeSet<&str> = list.split('\0').filter(|path| !path.is_empty()).collect();
        let mut files = Vec::new();
        for path in paths {
            let text = read_text(&repository_root().join(path))
                .map_err(|error| format!("{path} could not be read: {error}"))?;
            if let Some(text) = text {
                files.push((path.to_owned(), text));
            }
        }
        Ok(Tree::new(files))
    }

    /// A tree of these paths and texts.
    pub(super) fn new(files: Vec<(String, String)>) -> Tree {
        let mut files: Vec<TextFile> = files
            .into_iter()
            .map(|(path, text)| {
                let (code, literals) = if path.ends_with(".rs") {
                    (
                        rust_source::blank_comments_and_literals(&text),
                        rust_source::blank_all_but_literals(&text),
                    )
                } else {
                    Default::default()
                };
                let product_code = code.clone();
                TextFile { path, text, code, product_code, product_literals: literals }
            })
            .collect();
        test_modules::blank_all(&mut files);
        Tree { files }
    }

    /// A tree for tests.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Tree {
        Tree::new(files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect())
    }

    /// The file with this path.
    pub(super) fn file(&self, path: &str) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The files that are written in Rust.
    pub(super) fn rust_files(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }
}

impl TextFile {
    /// The directories that the file is in, the outermost first.
    pub(super) fn directories(&self) -> impl Iterator<Item = &str> {
        self.path.rsplit_once('/').map_or("", |(directories, _)| directories).split('/')
    }

    /// The name of the directory below `crates/` that the file is in.
    pub(super) fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split_once('/').map(|(name, _)| name)
    }
}

/// The text of a file, unless it is not text. A symbolic link counts as the text that Git keeps
/// for it: its destination.
fn read_text(path: &Path) -> io::Result<Option<String>> {
    let metadata = match fs::symlink_metadata(path) {
        // Deleted, but not yet in Git.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata?,
    };
    if metadata.is_symlink() {
        return Ok(Some(fs::read_link(path)?.to_string_lossy().into_owned()));
    }
    // Another repository inside this one is listed as a directory.
    if !metadata.is_file() {
        return Ok(None);
    }
    let bytes = fs::read(path)?;
    // The same test as Git's.
    let is_binary = bytes.iter().take(8000).any(|byte| *byte == 0);
    Ok((!is_binary).then(|| String::from_utf8_lossy(&bytes).into_owned()))
}
