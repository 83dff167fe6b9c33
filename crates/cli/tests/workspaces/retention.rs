//! Changes go with their run only when the user has done something with them, or a week after a warning.

use std::time::{Duration, SystemTime};

use test_support::fake_agent::quick;

use super::*;

fn refs(world: &World) -> usize {
    git(world, &["for-each-ref", "refs/pi-subagents"]).lines().count()
}

#[test]
fn changes_go_with_their_run_when_they_are_settled_and_else_a_week_after_a_warning() {
    let world = repository();
    run(&world, "echo 1 > one.txt", &["--name", "merged"]);
    run(&world, "echo 2 > two.txt", &["--name", "discarded"]);
    run(&world, "true", &["--name", "unchanged"]);
    let open = run(&world, "echo 3 > three.txt", &["--name", "open"]).run_dir();
    // One whose directory stayed.
    let stayed = run(&world, "git init -q inner && echo x > inner/x", &["--name", "stayed"]);
    let directory = stayed.task()["changes"]["directory"].as_str().unwrap().to_owned();
    world.play(&quick(), &[]);
    assert_eq!(world.run(&["changes", "merge", "merged"]).code, Some(0));
    assert_eq!(world.run(&["changes", "discard", "discarded"]).code, Some(0));
    let prune = || world.run(&["sessions", "prune", "--keep", "0"]);
    let pruned = prune();
    assert!(pruned.stdout.starts_with("removed 4 runs"), "{pruned:?}");
    assert!(pruned.stderr.contains("2 runs stay for a week"), "{pruned:?}");
    let id = open.file_name().unwrap().to_str().unwrap();
    assert_eq!(kept(&world, id, "three.txt"), "3");
    assert_eq!(fs::read_to_string(Path::new(&directory).join("inner/x")).unwrap(), "x\n");
    let pruned = prune();
    assert!(pruned.stdout.starts_with("removed 0 runs"), "{pruned:?}");
    // A week later.
    let week = Duration::from_secs(7 * 24 * 60 * 60);
    for run in world.runs() {
        let mark = fs::File::options().append(true).open(run.join("changes-warned")).unwrap();
        mark.set_modified(SystemTime::now() - week).unwrap();
    }
    let pruned = prune();
    assert!(pruned.stdout.starts_with("removed 2 runs"), "{pruned:?}");
    assert_eq!((refs(&world), left(&world)), (0, Vec::<String>::new()));
}

#[test]
fn doctor_tells_what_worktrees_cost_and_why_they_are_there() {
    let world = repository();
    let task = run(&world, "git init -q inner && head -c 300000 /dev/zero > inner/x", &[]).task();
    let directory = task["changes"]["directory"].as_str().unwrap();
    let ran = world.run(&["doctor", "--json"]);
    let document = ran.json();
    let facts = &document["facts"]["worktrees"];
    assert!(facts["bytes"].as_u64().unwrap() >= 300_000, "{facts}");
    assert_eq!(facts["worktrees"][0]["state"], "kept", "{facts}");
    let findings = document["findings"].to_string();
    assert!(findings.contains("1 worktree of agents"), "{findings}");
    assert!(findings.contains(&format!("{directory} (")), "{findings}");
    assert!(findings.contains("stayed after its run"), "{findings}");
    assert!(findings.contains("inner"), "{findings}");
}
