//! Worktrees: whatever was killed, every file that an agent wrote is in the ref of its run or in its directory, and what
//! belongs to the user is as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::records::Record;
use super::{directory_entries, name_of};
use crate::log::{Entries, Log};
use crate::plan::Project;
use crate::task::{MARKS, made_name};
use crate::testbed::Testbed;

/// What belongs to the user in a repository, by what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Untouched(BTreeMap<String, Vec<u8>>);

impl Untouched {
    /// Index, settings, branches, stash, HEAD, and all files that git does not ignore.
    pub(crate) fn of(testbed: &Testbed, project: Project) -> Untouched {
        let directory = testbed.project(project);
        let read =
            |name: &str| (name.to_owned(), fs::read(directory.join(name)).unwrap_or_default());
        let refs = print(testbed, project, &["for-each-ref"]);
        let own = refs.lines().filter(|line| !line.contains("/pi-subagents/"));
        let own = own.map(|line| format!("{line}\n")).collect::<String>();
        let list = ["ls-files", "--cached", "--others", "--exclude-standard"];
        let names = print(testbed, project, &list);
        let files = [".git/HEAD", ".git/index", ".git/config"].into_iter().chain(names.lines());
        let all = files.map(read).chain([("refs".to_owned(), own.into_bytes())]);
        Untouched(all.collect())
    }

    /// What is not the same in both.
    fn differences(&self, other: &Untouched) -> String {
        let names = self.0.keys().chain(other.0.keys());
        let differing = names.filter(|name| self.0.get(*name) != other.0.get(*name));
        let differing: BTreeSet<&str> = differing.map(String::as_str).collect();
        differing.into_iter().collect::<Vec<&str>>().join(", ")
    }
}

fn print(testbed: &Testbed, project: Project, words: &[&str]) -> String {
    let output = testbed.git(project, "git").arg("--no-optional-locks").args(words).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// How many files were written in worktrees, and how many of them are in refs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) written: usize,
    pub(super) in_refs: usize,
}

/// Checks what agents wrote and what belongs to the user, in the projects whose files are not deleted.
pub(super) fn check(
    testbed: &Testbed,
    before: &BTreeMap<Project, Untouched>,
    (entries, records): (&Entries, &BTreeMap<String, Record>),
    log: &Log,
) -> Counted {
    let mut counted = Counted::default();
    let marks = directory_entries(&testbed.world.home().join(MARKS));
    let written: BTreeSet<String> = marks.iter().map(|mark| name_of(mark)).collect();
    let in_directories = in_directories(testbed);
    for (project, before) in before {
        let differences = before.differences(&Untouched::of(testbed, *project));
        if !differences.is_empty() {
            let what =
                format!("something of the user's changed in {}: {differences}", project.word());
            log.report_violation(&[], what);
        }
        for lock in locks(&testbed.project(*project).join(".git")) {
            log.report_violation(&[], format!("a lock is left: {}", lock.display()));
        }
        let in_refs = in_refs(testbed, *project);
        for (token, entry) in entries.tasks.iter().filter(|(_, entry)| entry.project == *project) {
            let is_completed = records
                .get(token)
                .is_some_and(|record| record.outcome.as_deref() == Some("completed"));
            // A restricted agent cannot make a mark, and a worker keeps nothing of an attempt that does not count.
            let is_elsewhere = testbed.is_elsewhere(*project);
            let is_written = match is_elsewhere || entry.task.access.is_some() {
                true => entry.task.is_isolated && is_completed,
                false => written.contains(token),
            };
            if !is_written {
                continue;
            }
            counted.written += 1;
            counted.in_refs += usize::from(in_refs.contains(token));
            if !in_refs.contains(token) && !in_directories.contains(token) {
                log.report_violation(&[token], "what its agent wrote is lost");
            }
        }
    }
    counted
}

/// The tokens of the files that refs have whole.
fn in_refs(testbed: &Testbed, project: Project) -> BTreeSet<String> {
    let refs =
        print(testbed, project, &["for-each-ref", "--format=%(refname)", "refs/pi-subagents/"]);
    let mut found = BTreeSet::new();
    for reference in refs.lines().filter(|name| name.ends_with("/result")) {
        let names = print(testbed, project, &["ls-tree", "--name-only", reference]);
        for token in names.lines().filter_map(token_of) {
            let name = format!("{reference}:{}", made_name(token));
            if print(testbed, project, &["show", &name]).trim_end() == token {
                found.insert(token.to_owned());
            }
        }
    }
    found
}

/// The tokens of the files that are still in worktrees.
fn in_directories(testbed: &Testbed) -> BTreeSet<String> {
    let worktrees = testbed.world.home().join(".local/state/pi-subagents/worktrees");
    let files = directory_entries(&worktrees).into_iter().flat_map(|tree| directory_entries(&tree));
    let whole = files.filter_map(|file| {
        let token = token_of(&name_of(&file))?.to_owned();
        (fs::read_to_string(&file).ok()?.trim_end() == token).then_some(token)
    });
    whole.collect()
}

fn token_of(name: &str) -> Option<&str> {
    name.strip_prefix("made-")?.strip_suffix(".txt")
}

/// The locks in a repository. What belongs to a worktree that is still there goes with it.
fn locks(git: &Path) -> Vec<PathBuf> {
    let mut locks = Vec::new();
    let mut open = vec![git.to_owned()];
    while let Some(directory) = open.pop() {
        for path in directory_entries(&directory) {
            if path.is_dir() && path != git.join("worktrees") {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "lock") {
                locks.push(path);
            }
        }
    }
    locks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_named() {
        let of =
            |text: &str| Untouched(BTreeMap::from([("a".to_owned(), text.as_bytes().to_vec())]));
        assert_eq!(of("1").differences(&of("1")), "");
        assert_eq!(of("1").differences(&of("2")), "a");
        assert_eq!(of("1").differences(&Untouched(BTreeMap::new())), "a");
    }

    #[test]
    fn a_file_is_known_by_its_name() {
        assert_eq!(token_of(&made_name("3-17-1")), Some("3-17-1"));
        assert_eq!(token_of("a.txt"), None);
    }
}
