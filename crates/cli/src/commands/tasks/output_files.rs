//! The files of `--output-dir`: what each task said, as soon as it has ended.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tools::CallTask;

use crate::error::CommandError;

/// A file for each task of a call.
#[derive(Debug)]
pub(in crate::commands) struct OutputFiles {
    paths: Vec<PathBuf>,
}

/// The longest name of a file, in characters, without what makes it unique.
const LONGEST: usize = 100;

impl OutputFiles {
    /// Makes the directory, before anything is spent on the tasks. `names` are those of the tasks.
    pub(in crate::commands) fn new<'a>(
        directory: &Path,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<OutputFiles, CommandError> {
        store::create_export_directory(directory).map_err(CommandError::usage)?;
        let mut taken = BTreeSet::new();
        let paths = names.into_iter().map(|name| directory.join(unique(name, &mut taken)));
        Ok(OutputFiles { paths: paths.collect() })
    }

    /// Writes what a task that has ended said. A failed one says that it failed, so that no file of an
    /// earlier call is taken for its answer.
    pub(super) fn write(&self, index: usize, task: &CallTask) -> Result<(), CommandError> {
        let (Some(path), Some(report)) = (self.paths.get(index), &task.report) else {
            return Ok(());
        };
        // A pipe would hold everything up until it is read.
        if fs::symlink_metadata(path).is_ok_and(|there| !there.is_file() && !there.is_symlink()) {
            let message = format!("{} is not a plain file, and was not written", path.display());
            return Err(CommandError::failure(message));
        }
        let said = session::clean(report.result.output.trim());
        let text = match report.result.error {
            None => format!("{said}\n"),
            Some(_) => {
                let summary = task.summary().unwrap_or_default();
                format!("{}\n\n{said}\n", session::clean(&summary))
            }
        };
        Ok(store::write_export(path, &text)?)
    }
}

/// `NAME.md`, and `NAME-2.md` for the second of that name. Names are compared without case, as some
/// file systems do.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let kept = |character: char| character.is_alphanumeric() || "-_.".contains(character);
    let name: String =
        name.chars().take(LONGEST).map(|next| if kept(next) { next } else { '-' }).collect();
    let name = name.trim_matches(['.', '-']);
    let name = if name.is_empty() { "task" } else { name };
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    let is_new = |name: &String| taken.insert(name.to_lowercase());
    format!("{}.md", names.find(is_new).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_has_a_file_of_its_own_in_the_directory() {
        let mut taken = BTreeSet::new();
        for (name, expected) in [
            ("review", "review.md"),
            ("review", "review-2.md"),
            ("Review", "Review-3.md"),
            ("review-2", "review-2-2.md"),
            ("../../etc/passwd", "etc-passwd.md"),
            (".hidden", "hidden.md"),
            ("#1 scout", "1-scout.md"),
            ("prüfen: alles", "prüfen--alles.md"),
            ("..", "task.md"),
            ("", "task-2.md"),
        ] {
            assert_eq!(unique(name, &mut taken), expected, "{name}");
        }
        assert_eq!(unique(&"x".repeat(300), &mut taken).len(), LONGEST + 3);
    }
}
