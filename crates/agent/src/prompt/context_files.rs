//! `AGENTS.md` and the like: instructions of the user and of the project for every agent.

use std::fs;
use std::path::{Path, PathBuf};

use plan::{Surroundings, is_planted};

use crate::text_file::read_text;

pub(super) struct ContextFile {
    path: PathBuf,
    text: String,
}

/// Only the first that exists in a directory is used.
const NAMES: [&str; 5] = ["AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"];
/// The largest part of one file that the model gets.
const LARGEST: usize = 128 * 1024;
/// The most that the model gets of all files.
const LARGEST_SUM: usize = 512 * 1024;

/// The user's file, then those of all directories from the root of the file system down to the
/// current one.
pub(super) fn find(surroundings: &Surroundings, warnings: &mut Vec<String>) -> Vec<ContextFile> {
    let mut files: Vec<ContextFile> = Vec::new();
    let mut directories: Vec<&Path> = surroundings.cwd.ancestors().collect();
    directories.push(&surroundings.agent_dir);
    let shadowed = shadowed_file(&surroundings.cwd);
    let mut left = LARGEST_SUM;
    for directory in directories.into_iter().rev() {
        let Some((file, is_cut)) = read_first(directory, LARGEST.min(left), warnings) else {
            continue;
        };
        let is_shadowed = shadowed.is_some() && fs::canonicalize(&file.path).ok() == shadowed;
        if is_shadowed || files.iter().any(|other| other.path == file.path) {
            continue;
        }
        if is_cut {
            let size = file.text.len();
            let path = file.path.display();
            warnings.push(format!("{path}: the model gets only its first {size} bytes"));
        }
        left -= file.text.len().min(left);
        files.push(ContextFile {
            text: if is_cut { format!("{}\n{NOTICE}", file.text) } else { file.text },
            path: file.path,
        });
    }
    files
}

const NOTICE: &str = "[The file goes on here, but is too long. Read it if you need the rest.]";

pub(super) fn render(files: &[ContextFile]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let blocks = files.iter().map(|file| {
        let (path, text) = (file.path.display(), &file.text);
        format!("<project_instructions path=\"{path}\">\n{text}\n</project_instructions>")
    });
    let heading = "Instructions and guidelines for this project:".to_owned();
    [heading].into_iter().chain(blocks).collect::<Vec<_>>().join("\n\n")
}

fn read_first(
    directory: &Path,
    largest: usize,
    warnings: &mut Vec<String>,
) -> Option<(ContextFile, bool)> {
    for path in NAMES.map(|name| directory.join(name)) {
        // A directory of this name is no error, and a file that another user has put into `/tmp`
        // does not belong to the project.
        if path.is_dir() || is_planted(&path) {
            continue;
        }
        match read_text(&path, largest) {
            Ok(Some(file)) => return Some((ContextFile { path, text: file.text }, file.is_cut)),
            Ok(None) => {}
            Err(error) => warnings.push(format!("{}: it cannot be read: {error}", path.display())),
        }
    }
    None
}

/// The file of a repository's main directory that a worktree below that directory also has: the
/// model would get everything twice, perhaps in two versions.
fn shadowed_file(cwd: &Path) -> Option<PathBuf> {
    let worktree = cwd.ancestors().find(|directory| directory.join(".git").exists())?;
    let link = read_text(&worktree.join(".git"), 4096).ok().flatten()?;
    let git = worktree.join(link.text.trim().strip_prefix("gitdir: ")?);
    let common = read_text(&git.join("commondir"), 4096).ok().flatten()?;
    let common = fs::canonicalize(git.join(common.text.trim())).ok()?;
    let main = common.parent()?;
    let worktree = fs::canonicalize(worktree).ok()?;
    // The directory of a bare repository has no checked-out files.
    let is_checked_out = fs::canonicalize(main.join(".git")).is_ok_and(|git| git == common);
    if worktree == main || !worktree.starts_with(main) || !is_checked_out {
        return None;
    }
    let own = NAMES.into_iter().find(|name| worktree.join(name).is_file())?;
    Some(main.join(own))
}
