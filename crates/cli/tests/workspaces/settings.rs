//! A repository whose settings name programs: ours run none of them.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::live::terminal::Terminal;

fn program(world: &World, path: &Path, mark: &str) -> String {
    let text = format!("#!/bin/sh\ntouch {}\ncat\n", world.path(mark).display());
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Settings of a repository that name a program, and what the user's own git does that has it run. `EVIL` is the program.
const HOSTILE: [(&[(&str, &str)], &str); 10] = [
    (&[("core.fsmonitor", "EVIL")], "git status"),
    (&[("core.editor", "EVIL")], "git commit --allow-empty"),
    (&[("core.sshCommand", "EVIL < /dev/null #")], "git ls-remote ssh://example.org/x"),
    (&[("core.askPass", "EVIL")], "printf 'protocol=https\nhost=x\n\n' | git credential fill"),
    (&[("credential.helper", "EVIL")], "printf 'protocol=https\nhost=x\n\n' | git credential fill"),
    (
        &[("gpg.program", "EVIL"), ("commit.gpgSign", "true")],
        "git commit --quiet --allow-empty -m Signed",
    ),
    (&[("gpg.program", "EVIL"), ("log.showSignature", "true")], "git log -1 signed"),
    (&[("diff.external", "EVIL")], "git diff HEAD"),
    (&[("diff.evil.textconv", "EVIL"), ("diff.evil.command", "EVIL")], "git diff HEAD"),
    (&[("merge.evil.driver", "EVIL")], "git merge-tree --write-tree HEAD 'stash@{0}'"),
];

/// Has a ref name the commit that is checked out, but signed, as far as a look at it shows.
fn sign(world: &World, reference: &str) {
    let sign = "git cat-file commit HEAD | \
        sed '/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\\n \\n x\\n -----END PGP SIGNATURE-----' | \
        git hash-object -t commit -w --stdin | xargs git update-ref \"$0\"";
    let signed = world.command_of("sh").args(["-c", sign, reference]).output().unwrap();
    assert!(signed.status.success(), "{signed:?}");
    assert!(git(world, &["cat-file", "commit", reference]).contains("gpgsig"));
}

/// Whether the user's own git runs the program in this command, which may fail for it.
fn runs_it(world: &World, command: &str) -> bool {
    let mark = world.path("ran");
    let _ = fs::remove_file(&mark);
    let _ = world.command_of("sh").args(["-c", command]).output().unwrap();
    fs::remove_file(mark).is_ok()
}

#[test]
fn hooks_fsmonitor_pagers_drivers_and_signatures_of_a_repository_never_run() {
    let world = repository();
    fs::create_dir(world.path("bin")).unwrap();
    let evil = program(&world, &world.path("bin/evil"), "ran");
    write(&world, "b.txt", "not what is stashed\n");
    git(&world, &["commit", "--quiet", "--all", "-m", "Second"]);
    sign(&world, "refs/heads/signed");
    fs::write(world.project().join(".git/info/attributes"), "* diff=evil merge=evil\n").unwrap();
    write(&world, "a.txt", "one\nTWO\nthree\n");
    // The user's own git runs each of them.
    for (settings, command) in HOSTILE {
        assert!(!runs_it(&world, command), "{command} runs it in any case");
        for (name, value) in settings {
            git(&world, &["config", name, &value.replace("EVIL", &evil)]);
        }
        assert!(runs_it(&world, command), "{settings:?}: {command}");
        for (name, _) in settings {
            git(&world, &["config", "--unset", name]);
        }
    }
    let hooks = world.project().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "post-checkout",
        "pre-commit",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-index-change",
        "post-merge",
        "pre-auto-gc",
        "fsmonitor-watchman",
    ] {
        program(&world, &hooks.join(hook), "ran");
    }
    for command in [
        "git commit --quiet --allow-empty -m Hooks",
        "git checkout --quiet --detach && git checkout --quiet main",
        "git update-ref refs/heads/x HEAD && git update-ref -d refs/heads/x",
    ] {
        assert!(runs_it(&world, command), "{command}");
    }
    let mut pager = world.command_of("git");
    pager.args(["-c", &format!("core.pager={evil}"), "log", "-1"]).env("TERM", "xterm");
    assert_eq!(Terminal::start(&pager, 80, 24).finish(), Some(0));
    assert!(fs::remove_file(world.path("ran")).is_ok(), "the pager");
    write(&world, "a.txt", "one\ntwo\nthree\n");
    sign(&world, "HEAD");

    git(&world, &["config", "core.pager", &evil]);
    for (name, value) in HOSTILE.iter().flat_map(|(settings, _)| *settings) {
        git(&world, &["config", name, &value.replace("EVIL", &evil)]);
    }
    let _ = fs::remove_file(world.path("ran"));
    let task = run(&world, "echo agent >> a.txt", &["--name", "t"]).task();
    assert_eq!(task["changes"]["files"], 1, "{task}");
    fs::write(world.project().join("a.txt"), "zero\none\ntwo\nthree\n").unwrap();
    for words in
        [&["changes", "show", "t"][..], &["changes", "diff", "t"], &["changes", "apply", "t"]]
    {
        let ran = world.run(words);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    assert_eq!(
        fs::read_to_string(world.project().join("a.txt")).unwrap(),
        "zero\none\ntwo\nthree\nagent\n"
    );
    fs::write(world.project().join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let merged = world.run(&["changes", "merge", "t"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    assert!(!world.path("ran").exists(), "a program of the repository ran");
}

#[test]
fn a_look_at_the_tree_that_tasks_share_runs_nothing_either() {
    let world = repository();
    let evil = program(&world, &world.path("evil"), "ran");
    // The first task names a monitor, the second a filter, which was harmless when the first had ended.
    write(&world, ".gitattributes", "* filter=evil\n");
    let monitor = format!("git config core.fsmonitor {evil} && echo 1 > a.txt");
    let filter = format!("git config filter.evil.clean {evil} && echo 2 > a.txt");
    let tasks = call(&[("monitor", &monitor), ("filter", &filter)]);
    let agent = prompted_agent(&world);
    let command = world.command(["delegate", "--json", "--concurrency", "1", "--agent", &agent]);
    let ran = world.feed(command, &tasks.to_string());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!world.path("ran").exists(), "a program of the repository ran");
    // They are named indeed.
    let _ = world.command_of("git").args(["status", "--porcelain"]).output().unwrap();
    assert!(world.path("ran").exists());
}

#[test]
fn a_merge_driver_whose_name_is_no_text_never_runs() {
    let world = repository();
    let evil = program(&world, &world.path("evil"), "ran");
    let git_dir = world.project().join(".git");
    let mut config = fs::read(git_dir.join("config")).unwrap();
    config.extend(b"[merge \"\xff\"]\n\tdriver = ");
    config.extend(format!("{evil} %A\n").as_bytes());
    fs::write(git_dir.join("config"), config).unwrap();
    fs::write(git_dir.join("info/attributes"), b"* merge=\xff\n").unwrap();
    run(&world, "echo agent >> a.txt", &["--name", "t"]).task();
    write(&world, "a.txt", "zero\none\ntwo\nthree\n");
    let applied = world.run(&["changes", "apply", "t"]);
    assert_eq!(applied.code, Some(0), "{applied:?}");
    let merged = fs::read_to_string(world.project().join("a.txt")).unwrap();
    assert_eq!(merged, "zero\none\ntwo\nthree\nagent\n");
    assert!(!world.path("ran").exists(), "a program of the repository ran");
}

/// From version 2.54 on, git also runs hooks that are settings. One that does so stands for it here.
#[test]
fn hooks_that_are_settings_never_run() {
    let world = repository();
    let evil = program(&world, &world.path("evil"), "ran");
    git(&world, &["config", "hook.evil\u{e9}.event", "reference-transaction"]);
    git(&world, &["config", "hook.evil\u{e9}.command", &evil]);
    let search_path = std::env::var("PATH").unwrap();
    let newer_git = format!(
        "#!/bin/sh\nPATH='{search_path}'\nhook=hook.evil\u{e9}\n\
         case \"$*\" in config*|rev-parse*) ;; *)\n\
         [ \"$(git config --type=bool --default=true $hook.enabled)\" = false ] || \
         sh -c \"$(git config --default=true $hook.command)\" < /dev/null ;;\nesac\nexec git \"$@\"\n"
    );
    fs::create_dir(world.path("newer")).unwrap();
    test_support::write_program(&world.path("newer/git"), &newer_git);
    let path = format!("{}:{search_path}", world.path("newer").display());
    let mut command =
        world.play_command(&shell("echo agent >> a.txt"), &["--worktree", "--name", "t"]);
    let ran: Ran = command.env("PATH", &path).output().unwrap().into();
    assert_eq!(ran.task()["changes"]["files"], 1, "{ran:?}");
    let mut command = world.command(["changes", "merge", "t"]);
    let merged: Ran = command.env("PATH", &path).output().unwrap().into();
    assert_eq!(merged.code, Some(0), "{merged:?}");
    assert!(!world.path("ran").exists(), "a hook of the repository ran");
    // It would have.
    let status = world.command_of("git").env("PATH", &path).args(["status"]).output().unwrap();
    assert!(status.status.success() && world.path("ran").exists(), "{status:?}");
}

#[test]
fn a_pipe_in_the_place_of_a_file_that_git_reads_holds_nobody_up() {
    let world = repository();
    // Of an agent, in its worktree.
    let task = run(&world, "echo precious > made.txt && mkfifo sub/.gitignore", &[]).task();
    let problem = task["changes"]["problem"].as_str().unwrap();
    assert!(problem.contains("sub/.gitignore is a pipe"), "{task}");
    let directory = PathBuf::from(task["changes"]["directory"].as_str().unwrap());
    assert_eq!(fs::read_to_string(directory.join("made.txt")).unwrap(), "precious\n");
    // Of the project.
    let pipe = world.project().join(".git/info/exclude");
    let _ = fs::remove_file(&pipe);
    let made = world.command_of("mkfifo").arg(&pipe).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let task = run(&world, "true", &[]).task();
    assert!(task["error"].as_str().unwrap().contains("info/exclude is a pipe"), "{task}");
    world.wait_until_nothing_is_left();
}

#[test]
fn settings_that_hold_only_in_worktrees_run_nothing_either() {
    let world = repository();
    let evil = program(&world, &world.path("evil"), "ran");
    let filter = format!("[filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n");
    fs::write(world.path("included"), filter).unwrap();
    write(&world, ".gitattributes", "* filter=evil\n");
    let included = world.path("included");
    let name = "includeIf.gitdir:**/worktrees/**.path";
    git(&world, &["config", name, included.to_str().unwrap()]);
    let task = run(&world, "echo x > x", &[]).task();
    assert!(task["error"].as_str().unwrap().contains("name the filter \"evil\""), "{task}");
    assert!(!world.path("ran").exists(), "a program of the repository ran");
    assert_eq!(left(&world), Vec::<String>::new());
    // An agent can write such settings for its own worktree.
    git(&world, &["config", "--unset", name]);
    git(&world, &["config", "extensions.worktreeConfig", "true"]);
    let command =
        format!("echo precious > made.txt && git config --worktree filter.evil.clean {evil}");
    let task = run(&world, &command, &[]).task();
    assert!(!world.path("ran").exists(), "a program of the agent ran");
    let directory = PathBuf::from(task["changes"]["directory"].as_str().unwrap());
    assert_eq!(fs::read_to_string(directory.join("made.txt")).unwrap(), "precious\n");
}

#[test]
fn filters_of_a_repository_inside_never_run() {
    let world = repository();
    let evil = program(&world, &world.path("evil"), "ran");
    let inner = format!(
        "git init -q inner && cd inner && echo 1 > v && git add v && \
         git -c user.name=A -c user.email=a commit -qm V && git config filter.evil.clean {evil} && \
         git config core.fsmonitor {evil} && echo '* filter=evil' > .gitattributes && echo 2 > v"
    );
    // In the user's own tree, where the index already has it, and in the worktree of an agent.
    let mut shell = world.command_of("sh");
    assert!(shell.args(["-c", &inner]).output().unwrap().status.success());
    git(&world, &["-c", "advice.addEmbeddedRepo=false", "add", "inner"]);
    git(&world, &["commit", "--quiet", "-m", "Inner"]);
    let _ = fs::remove_file(world.path("ran"));
    let mut shell = world.command_of("sh");
    let more = "cd inner && git -c core.fsmonitor= -c user.name=A -c user.email=a commit -q --allow-empty -m W";
    assert!(shell.args(["-c", more]).output().unwrap().status.success());
    let head = git_in(&world, &world.project().join("inner"), &["rev-parse", "HEAD"]);
    let _ = fs::remove_file(world.path("ran"));
    let task = run(&world, &format!("rmdir inner; {inner}"), &[]).task();
    assert!(!world.path("ran").exists(), "a program of a repository inside ran");
    assert!(task["warnings"].to_string().contains("inner is a repository of its own"), "{task}");
    // The commit that the user has there is where the agent starts.
    let id = task["runId"].as_str().unwrap();
    let base = format!("refs/pi-subagents/{id}/base:inner");
    assert_eq!(git(&world, &["rev-parse", &base]), head);
}

#[test]
fn a_repository_whose_working_tree_is_elsewhere_is_refused() {
    let world = repository();
    fs::create_dir(world.path("private")).unwrap();
    fs::write(world.path("private/key"), "secret").unwrap();
    let elsewhere = world.path("private");
    git(&world, &["config", "core.worktree", elsewhere.to_str().unwrap()]);
    let task = run(&world, "cat key > seen", &[]).task();
    assert!(task["error"].as_str().unwrap().contains("has its working tree elsewhere"), "{task}");
    let broken = world.path("line\nbreak");
    git_in(&world, &world.path(""), &["init", "--quiet", broken.to_str().unwrap()]);
    let task = run(&world, "true", &["--cwd", broken.to_str().unwrap()]).task();
    assert!(task["error"].as_str().unwrap().contains("has a line break"), "{task}");
}

#[test]
fn a_filter_of_the_repository_is_refused_and_one_of_the_user_is_used() {
    let world = repository();
    write(&world, ".gitattributes", "*.big filter=turn\n");
    git(&world, &["config", "filter.turn.clean", "tr a-z n-za-m"]);
    git(&world, &["config", "filter.turn.smudge", "tr a-z n-za-m"]);
    let ran = run(&world, "touch x", &[]);
    let task = ran.task();
    assert!(
        task["error"]
            .as_str()
            .unwrap()
            .contains("name the filter \"turn\", which would run a program"),
        "{task}"
    );
    assert_eq!(left(&world), Vec::<String>::new());
    git(&world, &["config", "--remove-section", "filter.turn"]);
    git(&world, &["config", "--global", "filter.turn.clean", "tr a-z n-za-m"]);
    git(&world, &["config", "--global", "filter.turn.smudge", "tr a-z n-za-m"]);
    write(&world, "x.big", "hello\n");
    let task = run(&world, "cat x.big > seen.txt && echo more >> x.big", &[]).task();
    let id = task["runId"].as_str().unwrap();
    assert_eq!(kept(&world, id, "seen.txt"), "hello");
    assert_eq!(kept(&world, id, "x.big"), "uryyb\nzber");
}

/// Git LFS is set up in the repository, as it may be, and has settings of its own that name programs.
#[test]
fn programs_that_a_repository_names_for_git_lfs_are_refused() {
    let world = repository();
    write(&world, ".gitattributes", "*.big filter=lfs\n");
    git(&world, &["config", "filter.lfs.clean", "git-lfs clean -- %f"]);
    for name in [
        "lfs.extension.evil.clean",
        "lfs.extension.evil.smudge",
        "lfs.customtransfer.evil.path",
        "lfs.customTransfer.Evil.path",
        "lfs.standalonetransferagent",
        "lfs.https://example.org/x.standalonetransferagent",
    ] {
        git(&world, &["config", name, "evil"]);
        let task = run(&world, "true", &[]).task();
        let error = task["error"].as_str().unwrap();
        assert!(error.contains(&format!("name a program for Git LFS, \"{name}\"")), "{error}");
        git(&world, &["config", "--unset", name]);
    }
    assert_eq!(left(&world), Vec::<String>::new());
}

#[test]
fn variables_of_a_hook_that_starts_us_lead_neither_us_nor_the_agent_astray() {
    let world = repository();
    let command = "echo made > made.txt && git add made.txt && git -c user.name=A -c user.email=a commit -qm Made";
    let mut command = world.play_command(&shell(command), &["--worktree"]);
    let project = world.project();
    let before = Untouched::of(&world);
    command.env("GIT_DIR", project.join(".git")).env("GIT_INDEX_FILE", project.join(".git/index"));
    let ran: Ran = command.env("GIT_WORK_TREE", &project).output().unwrap().into();
    let id = ran.task()["runId"].as_str().unwrap().to_owned();
    assert_eq!(kept(&world, &id, "made.txt"), "made");
    assert_eq!(Untouched::of(&world), before);
}
