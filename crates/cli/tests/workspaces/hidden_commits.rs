//! Commits that no branch has, and refs that lead elsewhere: the result has them, or the directory stays and the result says
//! why, and the user's branches are where they were.

use super::*;

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
