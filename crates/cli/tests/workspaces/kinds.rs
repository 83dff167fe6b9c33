//! Every kind of repository works, or is refused with the reason.

use std::fs;

use super::*;

#[test]
fn directories_without_a_working_tree_are_refused_with_the_reason() {
    let world = repository();
    git_in(&world, &world.path(""), &["init", "--quiet", "--bare", "bare"]);
    fs::create_dir(world.path("plain")).unwrap();
    for (directory, words) in [
        ("bare", "is a repository without a working tree (bare)"),
        ("plain", "is not inside of a git repository"),
    ] {
        let path = world.path(directory);
        let ran = run(&world, "touch x", &["--cwd", path.to_str().unwrap()]);
        let error = ran.task()["error"].as_str().unwrap().to_owned();
        assert!(error.contains(words), "{directory}: {error}");
        assert_eq!(ran.code, Some(1));
        assert!(!path.join("x").exists());
    }
    assert_eq!(left(&world), Vec::<String>::new());
}

#[test]
fn a_repository_without_a_commit_a_shallow_clone_and_a_worktree_work() {
    let world = repository();
    let project = world.project();
    let url = format!("file://{}", project.display());
    git_in(&world, &world.path(""), &["init", "--quiet", "unborn"]);
    fs::write(world.path("unborn/first"), "1\n").unwrap();
    write(&world, "second", "2\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "--quiet", "-m", "Second"]);
    git_in(&world, &world.path(""), &["clone", "--quiet", "--depth=1", &url, "shallow"]);
    let linked = world.path("linked");
    git(&world, &["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]);
    for name in ["unborn", "shallow", "linked"] {
        let path = world.path(name);
        let ran = run(&world, "echo made > made.txt", &["--cwd", path.to_str().unwrap()]);
        let task = ran.task();
        assert_eq!(task["changes"]["files"], 1, "{name}: {task}");
        let reference = format!("{}:made.txt", task["changes"]["ref"].as_str().unwrap());
        assert_eq!(git_in(&world, &path, &["show", &reference]), "made", "{name}");
        assert!(!path.join("made.txt").exists(), "{name}");
    }
}

#[test]
fn a_sparse_checkout_stays_sparse_and_keeps_what_the_agent_writes_anywhere() {
    let world = repository();
    git(&world, &["sparse-checkout", "set", "--no-cone", "/*", "!/sub/"]);
    assert!(!world.project().join("sub").exists());
    let task =
        run(&world, "test ! -e sub && mkdir sub && echo here > sub/new.txt && echo x > y", &[])
            .task();
    let id = task["runId"].as_str().unwrap();
    assert_eq!(kept(&world, id, "sub/new.txt"), "here");
    assert_eq!(
        kept(&world, id, "sub/c.txt"),
        "c",
        "what is outside of the checkout is still in the tree"
    );
    assert_eq!(task["changes"]["files"], 2, "{task}");
}

#[test]
fn a_submodule_is_empty_and_a_repository_inside_keeps_the_directory() {
    let world = repository();
    git_in(&world, &world.path(""), &["init", "--quiet", "library"]);
    let library = world.path("library");
    fs::write(library.join("l"), "l\n").unwrap();
    git_in(&world, &library, &["add", "."]);
    git_in(&world, &library, &["commit", "--quiet", "-m", "L"]);
    git(
        &world,
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            library.to_str().unwrap(),
            "lib",
        ],
    );
    git(&world, &["commit", "--quiet", "-m", "With a submodule"]);
    let task = run(&world, "test -z \"$(ls lib)\" && echo x > x.txt", &[]).task();
    assert_eq!(
        (&task["changes"]["files"], &task["changes"]["directory"]),
        (&json!(1), &Value::Null),
        "{task}"
    );
    // The files of a repository inside are in no commit, so that the directory must stay.
    let command = "git init -q inner && cd inner && echo v > v && git add v && \
                   git -c user.name=A -c user.email=a commit -qm V && echo w > w";
    let task = run(&world, command, &[]).task();
    let directory = PathBuf::from(task["changes"]["directory"].as_str().unwrap());
    assert_eq!(fs::read_to_string(directory.join("inner/w")).unwrap(), "w\n");
    assert!(
        task["warnings"][0].as_str().unwrap().contains("inner is a repository of its own"),
        "{task}"
    );
}

/// What Git LFS commits in place of a file.
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n\
    oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

/// A repository with a pointer, and a `PATH` with git and a shell alone.
fn with_pointers() -> (World, String) {
    let world = repository();
    write(&world, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    write(&world, "big.bin", POINTER);
    git(&world, &["add", "--all"]);
    git(&world, &["commit", "--quiet", "-m", "Big"]);
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    for program in ["/usr/bin/git", "/bin/sh"] {
        let name = Path::new(program).file_name().unwrap();
        std::os::unix::fs::symlink(program, bin.join(name)).unwrap();
    }
    (world, bin.display().to_string())
}

#[test]
fn without_git_lfs_its_pointers_stay_pointers() {
    let (world, path) = with_pointers();
    write(&world, "new.bin", POINTER);
    let before = Untouched::of(&world);
    let script = shell(
        "PATH=/usr/bin:/bin; cat big.bin new.bin > seen.txt && cp big.bin copy.bin && echo more >> new.bin",
    );
    let mut command = world.play_command(&script, &["--worktree", "--name", "t"]);
    // A system can have the filter in its own settings.
    let ran: Ran =
        command.env("PATH", &path).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap().into();
    let task = ran.task();
    let id = task["runId"].as_str().unwrap();
    assert_eq!(task["changes"]["files"], 3, "{task}");
    for (file, text) in [
        ("big.bin", POINTER.to_owned()),
        ("copy.bin", POINTER.to_owned()),
        ("new.bin", format!("{POINTER}more")),
        ("seen.txt", POINTER.repeat(2)),
    ] {
        assert_eq!(kept(&world, id, file), text.trim_end(), "{file}");
    }
    assert_eq!(Untouched::of(&world), before);
    let applied = world.command(["changes", "apply", "t"]).env("PATH", &path).output().unwrap();
    assert!(applied.status.success(), "{applied:?}");
    assert_eq!(fs::read_to_string(world.project().join("copy.bin")).unwrap(), POINTER);
}

#[test]
fn where_a_repository_needs_git_lfs_and_it_is_missing_the_task_is_refused() {
    let (world, path) = with_pointers();
    let mark = world.path("ran");
    let evil = format!("touch {}; cat", mark.display());
    for name in ["clean", "smudge", "process"] {
        git(&world, &["config", &format!("filter.lfs.{name}"), &evil]);
    }
    let mut command = world.play_command(&shell("echo x > x"), &["--worktree"]);
    let ran: Ran =
        command.env("PATH", &path).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap().into();
    let task = ran.task();
    assert_eq!(task["outcome"], "spawn_failure", "{task}");
    let error = task["error"].as_str().unwrap();
    assert!(error.contains("git-lfs: ") && error.contains("not found"), "{error}");
    assert!(!mark.exists(), "a program of the repository ran");
    assert_eq!(left(&world), Vec::<String>::new());
}

/// Makes a repository inside of the project, with a file that is not committed.
fn nest(world: &World, name: &str, has_commit: bool) {
    git(world, &["init", "--quiet", name]);
    let inner = world.project().join(name);
    if has_commit {
        git_in(world, &inner, &["commit", "--quiet", "--allow-empty", "-m", "Inner"]);
    }
    fs::write(inner.join("file"), "inner\n").unwrap();
}

#[test]
fn repositories_inside_that_are_not_submodules_are_left_out_with_a_warning() {
    for (born, unborn, names) in [
        (&["born"][..], &[][..], "born"),
        (&[], &["sub/unborn"], "sub/unborn"),
        (&["born", "d e/f"], &["sub/unborn", "x", "y"], "born, d e/f, sub/unborn and 2 more"),
    ] {
        let world = repository();
        write(&world, "d e/beside", "beside\n");
        for (inside, has_commit) in [(born, true), (unborn, false)] {
            inside.iter().for_each(|name| nest(&world, name, has_commit));
        }
        git(&world, &["worktree", "add", "--quiet", "--detach", "ignored.log"]);
        let before = Untouched::of(&world);
        let ran = run(&world, "test ! -e born && echo made >> a.txt", &["--name", "t"]);
        let task = ran.task();
        let id = task["runId"].as_str().unwrap();
        let warnings = task["warnings"].as_array().unwrap();
        let expected = format!("The worktree is without {names}: ");
        assert!(warnings.len() == 1 && warnings[0].as_str().unwrap().starts_with(&expected));
        assert_eq!(task["changes"]["files"], 1, "{names}: {task}");
        assert_eq!(task["changes"].get("directory"), None, "{names}: {task}");
        let base = format!("refs/pi-subagents/{id}/base");
        let files = git(&world, &["ls-tree", "-r", "--name-only", &base]);
        assert_eq!(files, ".gitignore\na.txt\nb.txt\nd e/beside\nsub/c.txt", "{names}");
        assert_eq!(Untouched::of(&world), before, "{names}");
        let applied = world.run(&["changes", "apply", "t"]);
        assert_eq!(applied.code, Some(0), "{names}: {applied:?}");
        for name in born.iter().chain(unborn) {
            let inner = world.project().join(name);
            assert_eq!(fs::read_to_string(inner.join("file")).unwrap(), "inner\n");
            assert!(inner.join(".git/HEAD").exists(), "{name}");
        }
    }
}

#[test]
fn a_repository_without_a_commit_that_an_agent_makes_keeps_the_directory_and_everything_else() {
    let world = repository();
    let task = run(&world, "git init -q inner && echo w > inner/w && echo x > x", &[]).task();
    assert_eq!(kept(&world, task["runId"].as_str().unwrap(), "x"), "x");
    let directory = PathBuf::from(task["changes"]["directory"].as_str().unwrap());
    assert_eq!(fs::read_to_string(directory.join("inner/w")).unwrap(), "w\n");
    let warning = task["warnings"][0].as_str().unwrap();
    assert!(warning.contains("inner is a repository of its own"), "{task}");
}

#[test]
fn worktrees_inside_of_the_repository_are_refused_unless_git_ignores_them() {
    for (variable, ignored, is_refused) in [
        ("PI_SUBAGENTS_STATE_DIR", "", true),
        ("XDG_STATE_HOME", "", true),
        // The files would be ignored, but not the directory.
        ("PI_SUBAGENTS_STATE_DIR", "state/**\n!*/\n", true),
        ("PI_SUBAGENTS_STATE_DIR", "state/worktrees/\n", false),
        ("PI_SUBAGENTS_STATE_DIR", "state/worktrees/*/\n", false),
        ("XDG_STATE_HOME", "/state\n", false),
    ] {
        let world = repository();
        let case = format!("{variable}, {ignored:?}");
        fs::write(world.project().join(".git/info/exclude"), ignored).unwrap();
        let state = world.project().join("state");
        let mark = world.path("agent-ran");
        let script = shell(&format!("touch {} && echo made > made.txt", mark.display()));
        let mut command = world.play_command(&script, &["--worktree"]);
        command.env_remove("PI_SUBAGENTS_STATE_DIR").env(variable, &state);
        let ran: Ran = command.output().unwrap().into();
        let task = ran.task();
        assert_eq!(mark.exists(), !is_refused, "{case}: {ran:?}");
        if is_refused {
            let error = task["error"].as_str().unwrap();
            for words in [
                "The worktree could not be made: worktrees would be in ",
                "inside of the repository in ",
                "Set PI_SUBAGENTS_STATE_DIR, or XDG_STATE_HOME,",
            ] {
                assert!(error.contains(words), "{case}: {error}");
            }
        } else {
            assert_eq!(kept(&world, task["runId"].as_str().unwrap(), "made.txt"), "made");
            assert_eq!(task["changes"]["files"], 1, "{case}: {task}");
        }
        let found = world.command_of("find").args(["state", "-path", "*worktrees/*"]).output();
        assert_eq!(String::from_utf8_lossy(&found.unwrap().stdout), "", "{case}");
        assert_eq!(left(&world), Vec::<String>::new(), "{case}");
    }
}

#[test]
fn a_home_that_is_a_repository_is_no_place_for_its_own_worktrees_but_for_those_of_others() {
    let world = repository();
    let home = world.home();
    git_in(&world, &home, &["init", "--quiet"]);
    let inner = home.join("work");
    world.copy_project(&inner);
    let refused = run(&world, "true", &["--cwd", home.to_str().unwrap()]).task();
    assert!(refused["error"].as_str().unwrap().contains("let git ignore that"), "{refused}");
    let task = run(&world, "echo made > made.txt", &["--cwd", inner.to_str().unwrap()]).task();
    assert_eq!(task["changes"]["files"], 1, "{task}");
}
