//! What git passes over without a word is never lost: the ref has it, or the directory stays and the result says why.

use super::*;

/// Where the run's worktree stayed, and what it says about that.
fn stayed(task: &Value) -> (PathBuf, String) {
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
    ] {
        let world = repository();
        let task = run(&world, command, &[]).task();
        let (directory, _) = stayed(&task);
        let found = world.command_of("grep").args(["-rl", "precious"]).arg(&directory).output();
        assert!(!found.unwrap().stdout.is_empty(), "{command}: {task}");
    }
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
