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
