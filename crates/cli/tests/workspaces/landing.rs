//! `changes apply` and `changes merge`, killed halfway: the user's tree is as before or complete, and no lock is left.

use std::os::unix::fs::PermissionsExt;

use super::faults::{KILL_GIT, every, wrap_git};
use test_support::Running;

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

/// Runs a command of the user's in the project, and returns what it prints.
fn of_the_user(world: &World, command: &str) -> String {
    let mut shell = world.command_of("sh");
    let output = shell.args(["-ec", command]).current_dir(world.project()).output().unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Everything that is the user's: files of any kind, the index and the branch.
fn everything(world: &World) -> String {
    let ours = "\\( -path ./.git -o -path ./.pi \\) -prune -o";
    of_the_user(
        world,
        &format!(
            "find . {ours} -printf '%y %p %l\\n' | sort; \
             find . {ours} -type f -print0 | sort -z | xargs -0 sha256sum; \
             git ls-files --stage; git rev-parse HEAD"
        ),
    )
}

/// git overwrites what it ignores without a word.
#[test]
fn what_the_user_has_and_git_ignores_is_never_overwritten() {
    // What the user has, what the agent makes there, and what is named.
    for (has, makes, named) in [
        ("echo mine > x.log", "echo theirs > x.log; git add -f x.log", "x.log"),
        ("mkdir out; echo mine > out/data", "echo theirs > out", "out/data"),
        ("git init -q out; echo mine > out/data", "echo theirs > out", "out/"),
        ("echo mine > out.log", "mkdir out.log; echo theirs > out.log/f; git add -f .", "out.log"),
        ("ln -s /etc d.log", "mkdir d.log; echo theirs > d.log/f; git add -f .", "d.log"),
        (
            "echo mine > secret.env",
            "echo '*.log' > .gitignore; echo theirs > secret.env",
            "secret.env",
        ),
    ] {
        for action in ["apply", "merge"] {
            let world = repository();
            write(&world, ".gitignore", "*.log\nout/\nsecret.env\n.pi/\n");
            git(&world, &["add", ".gitignore"]);
            git(&world, &["commit", "-q", "-m", "ignore"]);
            let ran = run(&world, makes, &["--name", "t"]);
            assert_eq!(ran.code, Some(0), "{ran:?}");
            of_the_user(&world, has);
            let before = everything(&world);
            let ran = world.run(&["changes", action, "t"]);
            assert_eq!(ran.code, Some(1), "{action}, {has}: {ran:?}");
            assert!(ran.stdout.contains(&format!("in {named}")), "{ran:?}");
            assert_eq!(everything(&world), before, "{action}, {has}");
        }
    }
}

/// git does not look at what is in a submodule, at what is no longer in the index, and at files that were deleted.
#[test]
fn what_git_does_not_look_at_is_looked_at() {
    let submodule = "git init -q ../lib; git -C ../lib commit -q --allow-empty -m lib; \
                     git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -qm lib";
    // Before the run, what the agent does, what the user does then, and what is named.
    for (before, makes, then, named) in [
        (submodule, "rmdir lib; echo theirs > lib", "echo mine > lib/work", "lib/"),
        (
            "true",
            "rm b.txt; mkdir b.txt; echo theirs > b.txt/f",
            "git rm -q --cached b.txt; echo b.txt >> .git/info/exclude; echo mine > b.txt",
            "b.txt",
        ),
        ("true", "echo theirs > b.txt", "rm b.txt", "b.txt"),
        ("true", "rm -r sub; echo theirs > sub; echo x > a.txt", "echo mine > a.txt", "a.txt"),
        // The way to what the agent makes leads through a link.
        (
            "mkdir real; echo mine > real/f; ln -s real z; git add real z; git commit -qm z",
            "rm z; mkdir z; echo theirs > z/f; echo x > a.txt",
            "echo mine > a.txt",
            "a.txt",
        ),
    ] {
        for action in ["apply", "merge"] {
            let world = repository();
            of_the_user(&world, before);
            let ran = run(&world, makes, &["--name", "t"]);
            assert_eq!(ran.code, Some(0), "{ran:?}");
            of_the_user(&world, then);
            let before = everything(&world);
            let ran = world.run(&["changes", action, "t"]);
            assert_eq!(ran.code, Some(1), "{action}, {then}: {ran:?}");
            assert!(ran.stdout.contains(&format!("in {named}")), "{action}, {then}: {ran:?}");
            assert_eq!(everything(&world), before, "{action}, {then}");
        }
    }
}

#[test]
fn what_the_user_has_beyond_a_sparse_checkout_stays() {
    for action in ["apply", "merge"] {
        let world = repository();
        of_the_user(
            &world,
            "mkdir in out; echo i > in/f; echo o > out/f; git add in out; git commit -qm both; \
             git sparse-checkout set in",
        );
        let ran = run(&world, "echo theirs > in/f", &["--name", "t"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        of_the_user(&world, "mkdir -p out; echo mine > out/new; echo edited > out/f");
        let ran = world.run(&["changes", action, "t"]);
        assert_eq!(ran.code, Some(0), "{action}: {ran:?}");
        let read = |name: &str| fs::read_to_string(world.project().join(name)).unwrap();
        assert_eq!(
            [read("in/f"), read("out/new"), read("out/f")],
            ["theirs\n", "mine\n", "edited\n"]
        );
    }
}

/// git refuses before it has written anything: what differs is the user's.
#[test]
fn an_index_that_cannot_be_changed_costs_the_user_nothing() {
    for (holds, frees) in [
        ("touch .git/index.lock", "rm .git/index.lock"),
        (
            "git switch -q -c side; echo side > b.txt; git commit -qam side; git switch -q -; \
             echo main > b.txt; git commit -qam main; ! git merge -q side > /dev/null",
            "git merge --abort",
        ),
    ] {
        let world = changed();
        git(&world, &["checkout", "-q", "b.txt"]);
        of_the_user(&world, holds);
        write(&world, "a.txt", "the user's edit\n");
        let before = everything(&world);
        let ran = world.run(&["changes", "merge", "t"]);
        assert_eq!(ran.code, Some(1), "{holds}: {ran:?}");
        assert_eq!(everything(&world), before, "{holds}");
        of_the_user(&world, frees);
        git(&world, &["checkout", "-q", "a.txt"]);
        let ran = world.run(&["changes", "merge", "t"]);
        assert_eq!(ran.code, Some(0), "{holds}: {ran:?}");
    }
}

#[test]
fn several_programs_that_land_changes_at_once_take_turns() {
    for action in ["apply", "merge"] {
        let world = repository();
        let make = "for n in $(seq 200); do echo new > new$n; done; echo agent > a.txt";
        let ran = run(&world, make, &["--name", "t"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let children: Vec<_> =
            (0..4).map(|_| Running::start(world.command(["changes", action, "t"]))).collect();
        let ran: Vec<Ran> = children.into_iter().map(Running::finish).collect();
        assert!(ran.iter().all(|ran| ran.code == Some(0)), "{action}: {ran:?}");
        assert_eq!(fs::read_to_string(world.project().join("a.txt")).unwrap(), "agent\n");
        let made = (1..=200).filter(|n| world.project().join(format!("new{n}")).exists());
        assert_eq!(made.count(), 200, "{action}");
        let commits = git(&world, &["rev-list", "--count", "HEAD"]);
        let status = git(&world, &["status", "--porcelain"]);
        let expected = if action == "merge" { ("2", 0) } else { ("1", 201) };
        assert_eq!((commits.trim(), status.lines().count()), expected, "{action}: {status}");
        assert_eq!(left(&world), Vec::<String>::new(), "{action}");
    }
}
