//! Commits that only the git directory of a worktree knows, and that would go with it.

use std::path::Path;

use process::Exit;

use crate::GitError;
use crate::files::read_short;
use crate::git::{Git, MOST_NAMES, failed};

/// What git has beside a worktree in which it goes from commit to commit, of which some may have no ref.
const GOING: [&str; 3] = ["rebase-merge", "rebase-apply", "BISECT_LOG"];

/// The files that name commits while something is not finished, and what that is.
const UNFINISHED: [(&str, &str); 6] = [
    ("MERGE_AUTOSTASH", "a merge with `--autostash`"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("sequencer/todo", "a cherry-pick or a revert of several commits"),
    ("sequencer/head", "a cherry-pick or a revert of several commits"),
];

/// The refs that each worktree has for itself.
const OWN: [&str; 3] = ["refs/worktree/", "refs/bisect/", "refs/rewritten/"];

/// Those of them that only keep what runs start from.
const OURS: &str = "refs/worktree/pi-subagents/";

/// Why commits would be lost with the git directory of a worktree, if some would. `outside` is git in the user's own working
/// tree, where the result of the run has a ref. What only a reflog or the index knows counts as discarded.
pub(crate) fn only_known_to(
    admin: &Path,
    of_agent: &Git<'_>,
    outside: &Git<'_>,
) -> Result<Option<String>, GitError> {
    let unfinished =
        |what: &str| Ok(Some(format!("{what} is not finished, and no ref has its commits")));
    if GOING.iter().any(|name| is_there(&admin.join(name))) {
        return unfinished("a rebase or a search by `git bisect`");
    }
    for (name, what) in UNFINISHED {
        let is_lost = match named_by(admin, name, of_agent)? {
            Some(commits) => !are_reached(outside, &commits)?,
            // What cannot be read may name anything.
            None => true,
        };
        if is_lost {
            return unfinished(what);
        }
    }
    let lost = lost_ref(admin, of_agent, outside)?;
    Ok(lost
        .map(|name| format!("{name} is a ref of the worktree alone, and no other has its commits")))
}

/// What cannot be seen is there.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata()
        .map_or_else(|error| error.kind() != std::io::ErrorKind::NotFound, |_| true)
}

/// The commits that such a file names, of which there are none without the file; `None` if it cannot be read.
fn named_by(admin: &Path, name: &str, of_agent: &Git<'_>) -> Result<Option<Vec<String>>, GitError> {
    let path = admin.join(name);
    if is_there(&path) {
        return Ok(read_short(&path).and_then(|text| commits_in(&text)));
    }
    // Where refs are not files, some of these are among the refs.
    let is_ref = is_there(&admin.join("reftable"));
    let commit = if is_ref { of_agent.resolve(name)? } else { None };
    Ok(Some(commit.into_iter().collect()))
}

/// The commits in a file with one in each line, alone or as git lists what it has to do.
fn commits_in(text: &str) -> Option<Vec<String>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let commit = |line: &str| {
        let mut words = line.split_whitespace();
        let commit = match words.next()? {
            "pick" | "revert" => words.next()?,
            word => word,
        };
        let is_commit = commit.len() >= 4 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_commit.then(|| commit.to_owned())
    };
    lines.map(commit).collect()
}

/// The first ref of the worktree whose commits no other ref has.
fn lost_ref(
    admin: &Path,
    of_agent: &Git<'_>,
    outside: &Git<'_>,
) -> Result<Option<String>, GitError> {
    let may_have_some = |name: &&str| is_there(&admin.join(name));
    if !is_there(&admin.join("reftable")) && !OWN.iter().any(may_have_some) {
        return Ok(None);
    }
    let args = ["for-each-ref", "--format=%(objecttype) %(objectname) %(refname)"];
    let listed = of_agent.text(&[&args[..], &OWN].concat())?;
    for line in listed.lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(kind), Some(object), Some(name)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        if name.starts_with(OURS) {
            continue;
        }
        // Where else anything but a commit is would take long to find.
        if kind != "commit" || !are_reached(outside, &[object.to_owned()])? {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

/// Whether refs that stay have all of these commits. One that git does not know is reached by none.
fn are_reached(outside: &Git<'_>, commits: &[String]) -> Result<bool, GitError> {
    for commits in commits.chunks(MOST_NAMES) {
        // The commits that are checked out in other worktrees may be gone tomorrow.
        let mut args = vec!["rev-list", "--single-worktree", "--max-count=1"];
        args.extend(commits.iter().map(String::as_str));
        args.extend(["--not", "--all"]);
        let output = outside.output(&args)?;
        match output.exit {
            Exit::Code(0) if output.stdout.is_empty() => {}
            Exit::Code(_) => return Ok(false),
            Exit::Signal(_) => return Err(failed(&args, &output)),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_read_and_what_is_none_is_not_taken_for_one() {
        for (text, expected) in [
            ("", Some(&[][..])),
            (
                "4c5879375879d8d4c4ad994226e2b0f57320f46c\n5debee7\n",
                Some(&["4c5879375879d8d4c4ad994226e2b0f57320f46c", "5debee7"]),
            ),
            ("pick 4c58793 A\nrevert 5debee7 pick B\n\n# a word\n", Some(&["4c58793", "5debee7"])),
            ("pick\n", None),
            ("pick --all\n", None),
            ("4c58793\nref: refs/heads/main\n", None),
        ] {
            let found = commits_in(text);
            let found: Option<Vec<&str>> =
                found.as_ref().map(|found| found.iter().map(String::as_str).collect());
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
    }
}
