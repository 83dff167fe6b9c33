//! Commits that no branch has, and refs that lead elsewhere: the result has them, or the directory stays and the result says
//! why, and the user's branches are where they were.

use super::passed_over::stayed;
use super::*;

/// The agent's git has a name.
const COMMIT: &str = "git -c user.name=A -c user.email=a commit -qm";

/// A command in which `COMMIT` makes a commit.
fn with_commits(command: &str) -> String {
    let settings =
        "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a";
    format!("{settings}; {}", command.replace("COMMIT", COMMIT))
}

fn branches(world: &World) -> String {
    git(world, &["for-each-ref", "refs/heads"])
}

/// Whether a commit with this subject is reached from a ref of the repository.
fn is_in_a_ref(world: &World, subject: &str) -> bool {
    git(world, &["log", "--all", "--format=%s"]).lines().any(|line| line == subject)
}

#[test]
fn a_ref_of_ours_that_leads_to_a_branch_of_the_user_moves_and_removes_no_branch() {
    for which in ["result", "base"] {
        let world = repository();
        git(&world, &["branch", "victim"]);
        let before = branches(&world);
        let command = format!(
            "echo 1 > made && git symbolic-ref refs/pi-subagents/$(basename $PWD)/{which} refs/heads/victim"
        );
        let task = run(&world, &command, &["--name", "t"]).task();
        let id = task["runId"].as_str().unwrap();
        assert_eq!(kept(&world, id, "made"), "1", "{which}: {task}");
        assert_eq!(branches(&world), before, "{which}: {task}");
        assert_eq!(world.run(&["changes", "discard", "t"]).code, Some(0));
        let pruned = world.run(&["sessions", "prune", "--keep", "0"]);
        assert!(pruned.stdout.starts_with("removed 1 run"), "{pruned:?}");
        assert_eq!(branches(&world), before, "{which}: {pruned:?}");
        assert_eq!(git(&world, &["for-each-ref", "refs/pi-subagents"]), "", "{which}");
    }
}

#[test]
fn what_an_unfinished_merge_has_put_aside_keeps_the_directory() {
    let world = repository();
    let command = "base=$(git rev-parse HEAD) && echo other > a.txt && COMMIT Other -a && other=$(git rev-parse HEAD) && \
        git branch other && git checkout -q $base && echo mine > a.txt && COMMIT Mine -a && echo precious > b.txt && \
        ! git merge -q --autostash other";
    let (directory, warnings) = stayed(&run(&world, &with_commits(command), &[]).task());
    assert!(warnings.contains("is not finished"), "{warnings}");
    assert_eq!(git_in(&world, &directory, &["show", "MERGE_AUTOSTASH:b.txt"]), "precious");
}

#[test]
fn commits_that_only_the_git_directory_of_the_worktree_knows_keep_the_directory() {
    let two = "base=$(git rev-parse HEAD) && echo one > a.txt && COMMIT One -a && one=$(git rev-parse HEAD) && \
        echo second > second && git add second && COMMIT Precious && last=$(git rev-parse HEAD) && git checkout -q $base && \
        echo z > a.txt && COMMIT Mine -a";
    for (ending, words) in [
        ("! git merge -q $last", "a merge is not finished"),
        (
            "git reset -q --hard $base && git merge -q --no-commit --no-ff $last",
            "a merge is not finished",
        ),
        ("! git cherry-pick $base..$last", "a cherry-pick is not finished"),
        (
            "git checkout -q $last && echo y > a.txt && COMMIT Next -a && reverted=$(git rev-parse HEAD) && \
          git checkout -q $base && ! git revert --no-edit $reverted",
            "a revert is not finished",
        ),
        ("git update-ref refs/worktree/mine $last", "refs/worktree/mine"),
        (
            "git update-ref refs/worktree/a/tag $(echo precious | git hash-object -w --stdin)",
            "refs/worktree/a/tag",
        ),
        (
            "mkdir $(git rev-parse --git-dir)/sequencer && echo odd > $(git rev-parse --git-dir)/sequencer/todo",
            "a cherry-pick or a revert",
        ),
    ] {
        let world = repository();
        let command = with_commits(&format!("{two} && {ending}"));
        let task = run(&world, &command, &[]).task();
        let (directory, warnings) = stayed(&task);
        assert!(warnings.contains(words), "{ending}: {warnings}");
        let known = git_in(&world, &directory, &["log", "--format=%s", "--reflog"]);
        assert!(known.contains("Precious"), "{ending}: {known}");
        // What was read as a file is kept all the same.
        assert!(task["changes"]["ref"].is_string(), "{ending}: {task}");
    }
}

#[test]
fn what_is_not_finished_but_has_a_ref_keeps_no_directory() {
    let two = "base=$(git rev-parse HEAD) && echo one > a.txt && COMMIT One -a && echo 2 > second && git add second && \
        COMMIT Two && git branch known && git checkout -q $base && echo z > a.txt && COMMIT Mine -a";
    for ending in [
        "! git merge -q known",
        "! git cherry-pick $base..known",
        "! git revert --no-edit $base",
        "git update-ref refs/worktree/mine known",
        "git update-ref refs/worktree/mine HEAD && git symbolic-ref refs/worktree/other refs/heads/known",
        "git bisect start && git bisect reset",
    ] {
        let world = repository();
        run(&world, &with_commits(&format!("{two} && {{ {ending}; }}; echo precious > made")), &[]);
        assert_eq!(left(&world), Vec::<String>::new(), "{ending}");
        assert!(is_in_a_ref(&world, "Two") && is_in_a_ref(&world, "Mine"), "{ending}");
    }
}

#[test]
fn commits_of_a_worktree_that_the_agent_has_deleted_become_the_result() {
    let work = "echo precious > made && git add made && COMMIT Precious && echo lost > lost && tree=$PWD && cd /";
    for ending in [
        "rm -rf $tree",
        // A result that is not ours.
        "git -C $tree update-ref refs/pi-subagents/$(basename $tree)/result HEAD~1 && rm -rf $tree",
    ] {
        let world = repository();
        let task = run(&world, &with_commits(&format!("{work} && {ending}")), &[]).task();
        let id = task["runId"].as_str().unwrap();
        assert_eq!(kept(&world, id, "made"), "precious", "{ending}: {task}");
        assert!(is_in_a_ref(&world, "Precious"), "{ending}: {task}");
        let warnings = task["warnings"].to_string();
        assert!(
            warnings.contains("is gone, so that only its commits are kept"),
            "{ending}: {task}"
        );
        assert_eq!((&task["changes"]["files"], left(&world)), (&json!(1), Vec::new()), "{task}");
    }
    // One without a commit has nothing to keep, and one whose commits are hidden keeps what knows them.
    let world = repository();
    let task = run(&world, "tree=$PWD && cd / && rm -rf $tree", &[]).task();
    assert!(task["warnings"].to_string().contains("is gone"), "{task}");
    assert_eq!(left(&world), Vec::<String>::new());
    let hidden = "base=$(git rev-parse HEAD) && echo 1 > made && git add made && COMMIT Precious && \
        git update-ref refs/worktree/mine HEAD && git reset -q --hard $base && tree=$PWD && cd / && rm -rf $tree";
    let task = run(&world, &with_commits(hidden), &[]).task();
    assert!(task["warnings"].to_string().contains("refs/worktree/mine"), "{task}");
    let id = task["runId"].as_str().unwrap();
    let reference = format!("worktrees/{id}/refs/worktree/mine");
    assert_eq!(git(&world, &["log", "-1", "--format=%s", &reference]), "Precious");
}

#[test]
fn a_worktree_that_the_agent_has_moved_stays_where_it_is_now() {
    for moving in [
        "git worktree move $PWD MOVED",
        "git worktree move $PWD MOVED && cd / && git -C MOVED status -s",
    ] {
        let world = repository();
        let moved = world.path("moved");
        let moving = moving.replace("MOVED", moved.to_str().unwrap());
        let command = format!(
            "echo 1 > made && git add made && COMMIT Precious && echo 2 > uncommitted && {moving}"
        );
        let task = run(&world, &with_commits(&command), &[]).task();
        let (directory, _) = stayed(&task);
        assert_eq!(directory, moved, "{task}");
        assert_eq!(git_in(&world, &moved, &["log", "-1", "--format=%s"]), "Precious");
        assert_eq!(git_in(&world, &moved, &["status", "--short"]), "?? uncommitted");
        assert_eq!(kept(&world, task["runId"].as_str().unwrap(), "made"), "1");
    }
}

#[test]
fn what_a_replacement_shows_is_not_taken_for_what_a_commit_has() {
    let world = repository();
    let command = "echo precious > made && git add made && COMMIT Shown && shown=$(git rev-parse HEAD) && \
        git reset -q --soft HEAD~1 && git rm -q --cached made && COMMIT Stored --allow-empty && git replace HEAD $shown";
    let task = run(&world, &with_commits(command), &[]).task();
    let id = task["runId"].as_str().unwrap();
    let replaced = git(&world, &["replace", "-l"]);
    git(&world, &["replace", "-d", &replaced]);
    assert_eq!(kept(&world, id, "made"), "precious", "{task}");
}
