//! Worktrees on disks that are full or cannot be written.

use super::untouched::Untouched;
use super::*;

/// A repository on a disk of its own, with a commit and a file that is not committed.
fn repository_on_small_disk(world: &World) -> Mounted {
    let disk = world.project();
    keep_mounts_to_ourselves();
    mount("tmpfs", &disk, "tmpfs", MountFlags::empty(), Some(c"size=3m")).unwrap();
    let git = "git init -q && echo stashed > a && git add a && \
               git -c user.name=A -c user.email=a commit -qm Zero && echo x > a && \
               git -c user.name=A -c user.email=a stash -q && echo one > a && echo '.pi/' > .gitignore && echo 'ballast-*' >> .gitignore && git add . && \
               git -c user.name=A -c user.email=a commit -qm One && echo two > b";
    assert!(world.command_of("sh").args(["-c", git]).status().unwrap().success());
    Mounted(disk)
}

/// Runs an agent in a worktree, lets something happen to the disk when it has written its file, and returns what the
/// run says of its changes.
fn changes_after(world: &World, happens: impl FnOnce() -> Option<Mounted>) -> Value {
    let script = json!([
        "start", {"shell": "head -c 200000 /dev/urandom > made && echo precious >> made"},
        {"touch": world.path("working")}, {"await": world.path("go on")},
        {"say": "done"}, {"end": false}, "settle",
    ]);
    let running = world.start(&script, &["--worktree"]);
    wait_until(|| world.path("working").exists());
    let _mounted = happens();
    fs::write(world.path("go on"), "").unwrap();
    let ran = running.finish();
    world.assert_nothing_left();
    ran.task()["changes"].clone()
}

/// The agent's file is in the directory, and the user's repository is as it was.
#[track_caller]
fn assert_stayed(world: &World, changes: &Value, before: &Untouched) {
    let directory = PathBuf::from(changes["directory"].as_str().unwrap());
    let made = fs::read(directory.join("made")).unwrap();
    assert!(made.len() == 200_009 && made.ends_with(b"precious\n"), "{}", made.len());
    assert_eq!(&Untouched::of(world), before);
    assert_eq!(locks(world), "");
}

#[test]
fn a_repository_on_a_full_disk_or_one_that_cannot_be_written_costs_nothing_of_a_worktree() {
    for fault in ["full", "read-only"] {
        let world = world();
        let disk = repository_on_small_disk(&world);
        let before = Untouched::of(&world);
        let objects = disk.join(".git/objects");
        let changes = changes_after(&world, || {
            if fault == "read-only" {
                return Some(make_read_only(&objects));
            }
            fill(&disk);
            None
        });
        assert_stayed(&world, &changes, &before);
        assert_eq!(changes["ref"], Value::Null, "{fault}: {changes}");
        assert!(!changes["problem"].as_str().unwrap().is_empty(), "{fault}: {changes}");
    }
}

/// Puts a disk with room for little more than a worktree where the state of all runs is.
fn state_on_small_disk(world: &World) -> Mounted {
    let state = world.home().join(".local/state/pi-subagents");
    fs::create_dir_all(&state).unwrap();
    keep_mounts_to_ourselves();
    mount("tmpfs", &state, "tmpfs", MountFlags::empty(), Some(c"size=1m")).unwrap();
    Mounted(state)
}

#[test]
fn a_state_directory_on_a_full_disk_costs_nothing_of_a_worktree() {
    let world = world();
    let _disk = repository_on_small_disk(&world);
    let state = state_on_small_disk(&world);
    let before = Untouched::of(&world);
    let changes = changes_after(&world, || {
        fill(&state);
        None
    });
    // What the agent made fits into the repository, or the directory has it.
    let Some(reference) = changes["ref"].as_str() else {
        return assert_stayed(&world, &changes, &before);
    };
    let made = format!("git cat-file blob {reference}:made | tail -c 9");
    let made = world.command_of("sh").args(["-c", &made]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&made.stdout), "precious\n", "{changes}");
    assert_eq!((Untouched::of(&world), locks(&world)), (before, String::new()));
}

#[test]
fn where_the_state_directory_is_full_no_agent_starts_in_a_worktree_and_nothing_is_left() {
    let world = world();
    let _disk = repository_on_small_disk(&world);
    let state = state_on_small_disk(&world);
    // What is on the disk of the state from the start stays there.
    fs::create_dir_all(state.join("worktrees")).unwrap();
    let before = Untouched::of(&world);
    fill(&state);
    let mark = world.path("agent ran");
    let ran = world.play(&json!(["start", {"touch": mark}, {"say": "x"}]), &["--worktree"]);
    let task = ran.task();
    assert_eq!(task["outcome"], "spawn_failure", "{ran:?}");
    assert!(!mark.exists(), "{ran:?}");
    unfill(&state);
    assert_eq!((Untouched::of(&world), locks(&world)), (before, String::new()), "{ran:?}");
    let left: Vec<_> = fs::read_dir(state.join("worktrees")).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    world.assert_nothing_left();
    let ran = world.play(&json!(["start", {"touch": mark}, {"say": "x"}]), &["--worktree"]);
    assert_eq!((ran.code, mark.exists()), (Some(0), true), "{ran:?}");
}

/// Removes what [`fill`] has made.
fn unfill(disk: &Path) {
    for entry in fs::read_dir(disk).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("ballast-") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

fn locks(world: &World) -> String {
    let found = world.command_of("find").args([".git", "-name", "*.lock"]).output().unwrap();
    String::from_utf8_lossy(&found.stdout).into_owned()
}

#[test]
fn where_no_worktree_fits_or_can_be_written_no_agent_starts_and_nothing_is_left() {
    for fault in ["full", "read-only"] {
        let world = world();
        let disk = repository_on_small_disk(&world);
        // Its content is in no object yet.
        fs::write(disk.join("b"), "not yet an object\n".repeat(1_000)).unwrap();
        let before = Untouched::of(&world);
        let read_only = (fault == "read-only").then(|| make_read_only(&disk.join(".git/objects")));
        if read_only.is_none() {
            fill(&disk);
        }
        let mark = world.path("agent ran");
        let ran = world.play(&json!(["start", {"touch": mark}, {"say": "x"}]), &["--worktree"]);
        let task = ran.task();
        assert_eq!(task["outcome"], "spawn_failure", "{fault}: {ran:?}");
        assert!(task["error"].as_str().unwrap().contains("git"), "{fault}: {task}");
        assert!(!mark.exists(), "{fault}");
        drop(read_only);
        unfill(&disk);
        assert_eq!(Untouched::of(&world), before, "{fault}");
        assert_eq!(locks(&world), "", "{fault}");
        let worktrees = world.home().join(".local/state/pi-subagents/worktrees");
        let left: Vec<_> = fs::read_dir(worktrees).into_iter().flatten().flatten().collect();
        assert!(left.is_empty(), "{fault}: {left:?}");
        world.assert_nothing_left();
    }
}

#[test]
fn changes_that_do_not_fit_on_the_disk_leave_the_users_tree_as_it_was() {
    for action in ["apply", "merge"] {
        let world = world();
        let disk = repository_on_small_disk(&world);
        fs::write(world.home().join(".gitconfig"), "[user]\n\tname = A\n\temail = a\n").unwrap();
        let make = "echo agent > a && head -c 600000 /dev/urandom > large && echo last > z";
        let script = json!(["start", {"shell": make}, {"say": "done"}, {"end": false}, "settle"]);
        let ran = world.play(&script, &["--worktree", "--name", "t"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        fill(&disk);
        // Enough for what git notes down, and not for the large file.
        for number in 1..=2 {
            fs::remove_file(disk.join(format!("ballast-{number}"))).unwrap();
        }
        let refused = world.run(&["changes", action, "t"]);
        assert_eq!(refused.code, Some(1), "{action}: {refused:?}");
        assert!(refused.stdout.contains("unable to write file large"), "{action}: {refused:?}");
        assert_eq!(fs::read_to_string(disk.join("a")).unwrap(), "one\n", "{action}: {refused:?}");
        assert_eq!(fs::read_to_string(disk.join("b")).unwrap(), "two\n", "{action}");
        assert!(!disk.join("large").exists() && !disk.join("z").exists(), "{action}");
        assert_eq!(locks(&world), "", "{action}");
        unfill(&disk);
        let done = world.run(&["changes", action, "t"]);
        assert_eq!(done.code, Some(0), "{action}: {done:?}");
        assert_eq!(fs::read_to_string(disk.join("a")).unwrap(), "agent\n", "{action}");
        assert_eq!(fs::read(disk.join("large")).unwrap().len(), 600_000, "{action}");
    }
}

/// git goes on past a directory in which it may not write, and ends well if it only had to delete there.
#[test]
fn a_directory_that_cannot_be_written_leaves_all_of_the_users_tree_as_it_was() {
    for agent in ["rm d/t", "echo new > \"d/would be overwritten 'q'\"", "echo agent > d/t"] {
        for action in ["apply", "merge"] {
            let world = world();
            let disk = repository_on_small_disk(&world);
            fs::create_dir(disk.join("d")).unwrap();
            fs::write(disk.join("d/t"), "t\n").unwrap();
            let settings = "[user]\n\tname = A\n\temail = a\n";
            fs::write(world.home().join(".gitconfig"), settings).unwrap();
            let commit = ["-c", "git add d && git commit -qm d"];
            assert!(world.command_of("sh").args(commit).status().unwrap().success());
            let make = format!("echo agent > a && echo new > a-new && {agent}");
            let script =
                json!(["start", {"shell": make}, {"say": "done"}, {"end": false}, "settle"]);
            let ran = world.play(&script, &["--worktree", "--name", "t"]);
            assert_eq!(ran.code, Some(0), "{ran:?}");
            let read_only = make_read_only(&disk.join("d"));
            let refused = world.run(&["changes", action, "t"]);
            let case = format!("{action}, {agent}: {refused:?}");
            assert_eq!(refused.code, Some(1), "{case}");
            assert!(refused.stdout.contains("/d cannot be changed: Read-only"), "{case}");
            assert_eq!(fs::read_to_string(disk.join("a")).unwrap(), "one\n", "{case}");
            assert!(!disk.join("a-new").exists(), "{case}");
            drop(read_only);
            let done = world.run(&["changes", action, "t"]);
            assert_eq!(done.code, Some(0), "{done:?}");
            assert_eq!(fs::read_to_string(disk.join("a")).unwrap(), "agent\n");
        }
    }
}
