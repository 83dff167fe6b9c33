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

/// Makes a record of this run that could have come with the project: under this name, with its worktree here.
fn plant(record: &Path, name: &str, worktree: &Path) -> PathBuf {
    let planted = record.with_file_name(name);
    fs::create_dir(&planted).unwrap();
    for entry in fs::read_dir(record).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, planted.join(path.file_name().unwrap())).unwrap();
    }
    let change = |file: &str, change: &dyn Fn(&mut Value)| {
        let text = fs::read_to_string(planted.join(file)).unwrap();
        let mut value: Value = serde_json::from_str(&text).unwrap();
        value["runId"] = name.into();
        change(&mut value);
        fs::write(planted.join(file), value.to_string()).unwrap();
    };
    change("meta.json", &|meta| {
        meta["worktree"]["directory"] = worktree.to_str().unwrap().into();
        meta["environment"]["PI_SUBAGENTS_RUN_DIR"] = planted.to_str().unwrap().into();
    });
    change("result.json", &|_| {});
    planted
}

#[test]
fn a_planted_record_has_no_directory_and_no_worktree_of_the_users_removed() {
    let world = repository();
    let record = run(&world, "true", &[]).run_dir();
    let precious = world.path("elsewhere/Documents");
    fs::create_dir_all(&precious).unwrap();
    fs::write(precious.join("precious"), "").unwrap();
    // A worktree that the user has made, and its name in git.
    let own = world.path("elsewhere/feature-x");
    git(&world, &["worktree", "add", "--quiet", own.to_str().unwrap()]);
    fs::write(own.join("unsaved"), "").unwrap();

    plant(&record, "Documents", &precious);
    plant(&record, "feature-x", &own);
    let pruned = world.run(&["sessions", "prune", "--keep", "0"]);
    assert!(pruned.stdout.starts_with("removed 3 runs"), "{pruned:?}");
    assert!(precious.join("precious").exists() && own.join("unsaved").exists());

    // With a place that could be one of ours.
    let record = run(&world, "true", &[]).run_dir();
    plant(&record, "feature-x", &worktrees(&world).join("feature-x"));
    let pruned = world.run(&["sessions", "prune", "--keep", "0"]);
    assert!(pruned.stdout.starts_with("removed 2 runs"), "{pruned:?}");
    assert_eq!(git_in(&world, &own, &["status", "--porcelain"]).trim(), "?? unsaved");

    // As if its supervisor had died.
    let record = run(&world, "true", &[]).run_dir();
    let planted = plant(&record, "Documents", &precious);
    fs::remove_file(planted.join("result.json")).unwrap();
    let events = fs::read_to_string(planted.join("events.jsonl")).unwrap();
    let is_open = |line: &&str| !line.contains("run_ended") && !line.contains("changes_kept");
    let open: Vec<&str> = events.lines().filter(is_open).collect();
    fs::write(planted.join("events.jsonl"), open.join("\n") + "\n").unwrap();
    assert_eq!(world.run(&["sessions", "list"]).code, Some(0));
    let result = fs::read_to_string(planted.join("result.json")).unwrap();
    assert!(result.contains("is not in your own directory of worktrees"), "{result}");
    assert!(precious.join("precious").exists());
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
