//! What git passes over without a word is never lost: the ref has it, or the directory stays and the result says why.

use super::*;

/// Where the run's worktree stayed, and what it says about that.
pub(super) fn stayed(task: &Value) -> (PathBuf, String) {
    let directory = task["changes"]["directory"].as_str();
    let directory = directory.unwrap_or_else(|| panic!("the directory is gone: {task}"));
    (PathBuf::from(directory), task["warnings"].to_string())
}

#[test]
fn a_repository_that_the_agent_makes_around_known_files_keeps_the_directory() {
    let world = repository();
    let command = "cd sub && git init -q && git add . && \
                   git -c user.name=A -c user.email=a commit -qm Inner && echo more >> c.txt";
    let task = run(&world, command, &[]).task();
    let (directory, warnings) = stayed(&task);
    assert!(warnings.contains("sub is a repository of its own"), "{warnings}");
    assert_eq!(git_in(&world, &directory.join("sub"), &["log", "--format=%s"]), "Inner");
    assert_eq!(kept(&world, task["runId"].as_str().unwrap(), "sub/c.txt"), "c\nmore");
}

#[test]
fn files_in_a_directory_that_only_has_the_name_of_a_repository_keep_the_directory() {
    for command in [
        "mkdir -p only/.git && echo precious > only/.git/x",
        "mkdir -p with/.git && echo precious > with/.git/x && echo y > with/y",
        "mkdir deep && git init -q deep/inner && echo precious > deep/inner/x",
        // All that git sees there, it ignores.
        "mkdir -p d/.git && echo precious > d/.git/x && echo y > d/y.log",
        "mkdir -p d/e/.git && echo precious > d/e/.git/x && echo y > d/y.log",
        "printf 'd/*\\n!d/keep\\n' > .gitignore && mkdir -p d/keep/.git && echo precious > d/keep/.git/x && echo y > d/y",
    ] {
        let world = repository();
        let task = run(&world, command, &[]).task();
        let (directory, _) = stayed(&task);
        let found = world.command_of("grep").args(["-rl", "precious"]).arg(&directory).output();
        assert!(!found.unwrap().stdout.is_empty(), "{command}: {task}");
    }
}

#[test]
fn what_the_agent_has_added_although_git_ignores_it_is_kept_as_it_is_now() {
    let world = repository();
    let command = "echo 1 > x.log && git add -f x.log && git -c user.name=A -c user.email=a commit -qm X && echo 2 > x.log && \
                   echo new > ':odd.log' && git add -f -- ./':odd.log' && echo ignored > z.log && \
                   echo gone > gone.log && git add -f gone.log && rm gone.log";
    let task = run(&world, command, &[]).task();
    let id = task["runId"].as_str().unwrap();
    assert_eq!([kept(&world, id, "x.log"), kept(&world, id, ":odd.log")], ["2", "new"]);
    let changes = &task["changes"];
    assert_eq!((&changes["files"], &changes["ignored"]), (&json!(2), &json!(1)), "{task}");
    assert_eq!(left(&world), Vec::<String>::new());
}

#[test]
fn files_beyond_a_sparse_checkout_that_the_agent_ends_are_kept() {
    for command in [
        "git sparse-checkout disable && echo precious > sub/c.txt",
        "git config sparse.expectFilesOutsideOfPatterns true && mkdir sub && echo precious > sub/c.txt",
    ] {
        let world = repository();
        git(&world, &["sparse-checkout", "set", "--no-cone", "/*", "!/sub/"]);
        let task = run(&world, command, &[]).task();
        let id = task["runId"].as_str().unwrap();
        assert_eq!(kept(&world, id, "sub/c.txt"), "precious", "{command}: {task}");
    }
}

#[test]
fn commits_that_only_an_unfinished_rebase_or_bisect_knows_keep_the_directory() {
    let commit = "git -c user.name=A -c user.email=a commit -qam";
    let rebase = format!(
        "echo one > a.txt && {commit} One && first=$(git rev-parse HEAD) && git checkout -q HEAD~1 && \
         echo two > a.txt && {commit} Two && ! git -c user.name=A -c user.email=a rebase -q $first"
    );
    let bisect = format!(
        "echo one > a.txt && {commit} One && echo two > a.txt && {commit} Two && \
         git bisect start -q HEAD HEAD~2 && git checkout -q HEAD~1"
    );
    for command in [rebase, bisect] {
        let world = repository();
        let (directory, warnings) = stayed(&run(&world, &command, &[]).task());
        assert!(warnings.contains("is not finished"), "{warnings}");
        let known = git_in(&world, &directory, &["log", "--format=%s", "--reflog"]);
        assert!(known.contains("Two"), "{known}");
    }
}

#[test]
fn a_worktree_that_the_agent_has_led_to_another_repository_stays() {
    let world = repository();
    let command = "git init -q --bare o.log && git push -q ./o.log HEAD:refs/heads/x && mkdir -p o.log/worktrees && \
        for base in $(git for-each-ref --format='%(refname)' 'refs/pi-subagents/*/base'); do git push -q ./o.log $base:$base; done && \
        echo precious > z && echo $PWD/o.log > $(git rev-parse --git-dir)/commondir";
    let (directory, _) = stayed(&run(&world, command, &[]).task());
    assert_eq!(fs::read_to_string(directory.join("z")).unwrap(), "precious\n");
}

#[test]
fn names_that_differ_in_case_only_are_two_files_whatever_the_settings_say() {
    let world = repository();
    git(&world, &["config", "core.ignoreCase", "true"]);
    let task = run(&world, "echo big > NOTES && echo small > notes && echo A > A.txt", &[]).task();
    let id = task["runId"].as_str().unwrap();
    let read = |name: &str| kept(&world, id, name);
    assert_eq!(
        (read("NOTES"), read("notes"), read("A.txt")),
        ("big".into(), "small".into(), "A".into())
    );
    assert_eq!(read("a.txt"), "one\ntwo\nthree");
    assert_eq!(left(&world), Vec::<String>::new());
}

#[test]
fn names_with_every_kind_of_character_huge_files_and_links_are_kept_and_shown_without_harm() {
    let world = repository();
    let command = r#"mkdir "$(printf 'a\nb')" && echo 1 > "$(printf 'a\nb')/\"q\" 'r'" && echo 2 > "$(printf 'bidi\342\200\256txt')" &&
        echo 3 > "$(printf 'bytes\377')" && echo 4 > ':(exclude)odd' && echo 5 > -- && echo 6 > "$(printf 'esc\033[31m')" &&
        ln -s /etc link && ln -s sub dir && head -c 30000000 /dev/zero > huge && mkdir many &&
        i=0; while [ $i -lt 1000 ]; do echo $i > many/$i; i=$((i+1)); done"#;
    let task = run(&world, command, &["--name", "t"]).task();
    assert_eq!(task["changes"]["files"], 1_009, "{}", task["changes"]);
    assert_eq!(left(&world), Vec::<String>::new());
    let id = task["runId"].as_str().unwrap();
    assert_eq!(kept(&world, id, "many/999"), "999");
    let show = world.run(&["changes", "show", "t"]);
    assert_eq!(show.code, Some(0));
    assert!(!show.stdout.contains('\u{1b}') && !show.stdout.contains('\u{202e}'), "it acts");
    let applied = world.run(&["changes", "apply", "t"]);
    assert_eq!(applied.code, Some(0), "{applied:?}");
    let project = world.project();
    assert_eq!(fs::read_to_string(project.join("a\nb/\"q\" 'r'")).unwrap(), "1\n");
    assert_eq!(fs::read_link(project.join("link")).unwrap(), Path::new("/etc"));
    assert_eq!(fs::read_to_string(project.join(":(exclude)odd")).unwrap(), "4\n");
    assert_eq!(fs::metadata(project.join("huge")).unwrap().len(), 30_000_000);
}
