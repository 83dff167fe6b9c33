//! Commits that no branch has, and refs that lead elsewhere: the result has them, or the directory stays and the result says
//! why, and the user's branches are where they were.

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
