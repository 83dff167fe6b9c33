//! `changes apply` and `changes merge`, killed halfway: the user's tree is as before or complete, and no lock is left.

use std::os::unix::fs::PermissionsExt;

use super::faults::{KILL_GIT, every, wrap_git};
use super::*;

/// The user's repository, with work of the user that is not committed, and a run that changed, made and removed files.
fn changed() -> World {
    let world = repository();
    let command = "echo agent > a.txt && echo new > new.txt && mkdir z && echo z > z/last.txt && rm sub/c.txt";
    let ran = run(&world, command, &["--name", "t"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    write(&world, "b.txt", "the user's\n");
    world
}

/// Names and contents.
type Files = Vec<(String, Vec<u8>)>;

/// The user's files that are not ignored.
fn files(world: &World) -> Files {
    let names = git(world, &["ls-files", "--cached", "--others", "--exclude-standard"]);
    let read = |name: &str| Some((name.to_owned(), fs::read(world.project().join(name)).ok()?));
    let mut files: Vec<_> = names.lines().filter_map(read).collect();
    files.sort();
    files.dedup();
    files
}

/// The files after the command in a world in which nothing is killed.
fn complete(action: &str) -> Files {
    let world = changed();
    assert_eq!(world.run(&["changes", action, "t"]).code, Some(0));
    files(&world)
}

/// After a fault: everything or nothing of the changes is there, what the user has not committed is, and no lock is left.
/// The command then does what it was asked for.
fn assert_whole(world: &World, action: &str, [before, complete]: [&Files; 2], case: &str) {
    world.wait_until_nothing_is_left();
    let after = files(world);
    assert!(after == *before || after == *complete, "{case}: {after:?}");
    let locks = left(world).into_iter().filter(|path| path.ends_with(".lock"));
    // A private index, whose next user replaces it.
    let locks = locks.filter(|path| !path.ends_with(".base-index.lock"));
    assert_eq!(locks.collect::<Vec<_>>(), Vec::<String>::new(), "{case}");
    let again = world.run(&["changes", action, "t"]);
    assert_eq!(again.code, Some(0), "{case}: {again:?}");
    assert_eq!(files(world), *complete, "{case}");
    assert_eq!(left(world), Vec::<String>::new(), "{case}");
    let status = git(world, &["status", "--porcelain"]);
    let is_committed = action == "merge";
    assert_eq!(status == " M b.txt", is_committed, "{case}: {status}");
}

/// Kills the program itself, before or after what git does.
const KILL_CALLER: &str = "kill -9 $PPID; exit 1";
const KILL_CALLER_AFTER: &str = "$REAL \"$@\"; kill -9 $PPID; exit 1";

#[test]
fn the_users_tree_is_as_before_or_complete_wherever_applying_or_merging_is_cut_off() {
    for action in ["apply", "merge"] {
        let complete = complete(action);
        for fault in [KILL_CALLER, KILL_CALLER_AFTER, KILL_GIT] {
            let points = every(8, |at| {
                let world = changed();
                let before = files(&world);
                let path = wrap_git(&world, at, fault);
                let mut command = world.command(["changes", action, "t"]);
                let _ = command.env("PATH", path).output().unwrap();
                let calls = fs::read_to_string(world.path("count")).unwrap().lines().count();
                let case = format!("{action}, {fault} at call {at}");
                assert_whole(&world, action, [&before, &complete], &case);
                calls >= at
            });
            assert!(points > 8, "{action} has {points} points");
        }
    }
}

/// Has a program of the user run in the middle of the writing of files: a filter of the user's own, for the last but one.
fn interfere(world: &World, script: &str) {
    let filter = world.path("filter");
    fs::write(&filter, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&filter, PermissionsExt::from_mode(0o755)).unwrap();
    let settings = format!("[filter \"evil\"]\n\tsmudge = {}\n", filter.display());
    let path = world.home().join(".gitconfig");
    fs::write(&path, fs::read_to_string(&path).unwrap() + &settings).unwrap();
    fs::write(world.project().join(".git/info/attributes"), "new.txt filter=evil\n").unwrap();
}

#[test]
fn what_was_written_is_undone_if_git_is_killed_or_fails_in_the_middle_of_it() {
    for action in ["apply", "merge"] {
        let complete = complete(action);
        for (fault, script) in [
            ("killed", "kill -9 $PPID"),
            // As on a full disk: what is written comes out short.
            ("failed", "exit 1"),
        ] {
            let world = changed();
            let before = files(&world);
            interfere(&world, script);
            if fault == "failed" {
                git(&world, &["config", "--global", "filter.evil.required", "true"]);
            }
            let ran = world.run(&["changes", action, "t"]);
            let case = format!("{action}, {fault}: {ran:?}");
            assert_eq!(ran.code, Some(1), "{case}");
            assert_eq!(files(&world), before, "{case}");
            fs::write(world.project().join(".git/info/attributes"), "").unwrap();
            assert_whole(&world, action, [&before, &complete], &case);
        }
    }
}

#[test]
fn git_finishes_what_it_writes_if_the_program_is_killed_meanwhile() {
    for action in ["apply", "merge"] {
        let world = changed();
        let before = files(&world);
        // The parent of the filter is git.
        interfere(&world, "kill -9 $(sed -n 's/^PPid:[[:space:]]*//p' /proc/$PPID/status); cat");
        let ran = world.run(&["changes", action, "t"]);
        assert_eq!(ran.code, None, "{ran:?}");
        world.wait_until_nothing_is_left();
        let complete = complete(action);
        assert_eq!(files(&world), complete, "{action}");
        fs::write(world.project().join(".git/info/attributes"), "").unwrap();
        assert_whole(&world, action, [&before, &complete], action);
    }
}
