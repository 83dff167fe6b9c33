//! `access: workspace` in a repository: git works, and nothing is planted that git would run.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use test_support::{Running, SystemCall, forbid, wait_until, write_file};

use super::Restricted;

const WORKSPACE: &[&str] = &["--access", "workspace"];

#[test]
fn git_commits_and_its_hooks_and_settings_stay() {
    let restricted = Restricted::with_repository();
    let configuration = fs::read(restricted.project(".git/config")).unwrap();
    restricted.assert_can(
        "echo x > new && git add new && git commit -qm second && git switch -qc topic \
         && echo y >> new && git stash -q && git stash pop -q && git commit -qam third \
         && git switch -q main && git merge -q topic && git branch -qd topic && git gc -q",
        WORKSPACE,
    );
    assert_eq!(restricted.git(&restricted.project(""), "log --format=%s"), "third\nsecond\nfirst");
    for script in [
        "printf '#!/bin/sh\\n' > .git/hooks/post-commit",
        "git config core.fsmonitor ./evil",
        "git config --worktree core.fsmonitor ./evil",
        "git remote add origin 'ext::sh -c evil'",
        "echo '[core]' >> .git/config",
        "cp .git/config mine && mv mine .git/config",
        "mv .git/config .git/old",
        "mv .git/hooks .git/old && mkdir .git/hooks",
        "rm -rf .git/hooks",
        "mv .git old && cp -r old .git",
        "ln .git/config linked && echo x >> linked",
        "cd .git && echo x >> ./config",
        "echo x >> /proc/self/cwd/.git/config",
        "umount .git/config",
        "umount -l .git",
        "mount --bind /tmp .git/hooks",
        "unshare -rm sh -c 'umount -l .git/config && echo x >> .git/config'",
        "nsenter -t $PPID -m sh -c \"echo x >> $PWD/.git/config\"",
        "echo x >> /proc/$PPID/cwd/.git/config",
        "echo x >> /proc/$PPID/root$PWD/.git/config",
    ] {
        restricted.assert_cannot(script, WORKSPACE);
        assert_eq!(fs::read(restricted.project(".git/config")).unwrap(), configuration, "{script}");
        assert!(!restricted.project(".git/hooks/post-commit").exists(), "{script}");
    }
    restricted.git(&restricted.project(""), "fsck");
    // The repository can be ruined, but a ruin is kept as well: the next agent would complete it.
    restricted.assert_cannot("rm -rf .git", WORKSPACE);
    restricted.assert_cannot("echo '[core]' >> .git/config", WORKSPACE);
    restricted.assert_cannot("echo x > .git/hooks/post-commit", WORKSPACE);
}

/// What is missing could be made by the agent. So it is made before, empty.
#[test]
fn missing_hooks_are_made_so_that_they_can_be_kept() {
    let restricted = Restricted::with_repository();
    fs::remove_dir_all(restricted.project(".git/hooks")).unwrap();
    restricted.assert_cannot("mkdir -p .git/hooks && echo x > .git/hooks/post-commit", WORKSPACE);
    assert_eq!(fs::read_dir(restricted.project(".git/hooks")).unwrap().count(), 0);
    // A working tree can have settings of its own, where the repository says so.
    restricted.git(&restricted.project(""), "config extensions.worktreeConfig true");
    restricted.assert_cannot("echo '[core]' > .git/config.worktree", WORKSPACE);
}

/// A file that is not there cannot be kept from appearing, so it is removed at the end. git would read the settings as soon
/// as its user makes a sparse checkout.
#[test]
fn a_planted_redirection_of_the_repository_is_removed() {
    let restricted = Restricted::with_repository();
    let attempt =
        restricted.assert_can("cp -r .git evil && echo ../evil > .git/commondir", WORKSPACE);
    assert!(!restricted.project(".git/commondir").exists());
    let warnings = attempt.warnings();
    assert!(warnings.contains(".git/commondir") && warnings.contains("was removed"), "{warnings}");
    let attempt = restricted
        .assert_can("printf '[core]\\nfsmonitor = /tmp/evil\\n' > .git/config.worktree", WORKSPACE);
    assert!(!restricted.project(".git/config.worktree").exists());
    assert!(attempt.warnings().contains(".git/config.worktree"), "{}", attempt.warnings());
    let quiet = restricted.assert_can("true", WORKSPACE);
    assert_eq!(quiet.warnings(), "[]");
}

#[test]
fn git_commits_in_a_linked_worktree_and_the_repository_stays() {
    let restricted = Restricted::with_repository();
    let tree = restricted.world.path("tree");
    restricted.git(&restricted.project(""), "worktree add -q ../tree");
    restricted.git(&restricted.project(""), "worktree add -q ../other");
    let common = restricted.project(".git");
    let before = fs::read(common.join("config")).unwrap();
    let tree_name = tree.to_str().unwrap();
    let arguments = ["--access", "workspace", "--cwd", tree_name];
    restricted.assert_can(
        "echo x > new && git add new && git commit -qm second && git switch -qc topic \
         && git commit -q --allow-empty -m third && git switch -q tree && git branch -qD topic \
         && echo y >> new && git stash -q && git stash pop -q",
        &arguments,
    );
    assert_eq!(restricted.git(&tree, "log --format=%s"), "second\nfirst");
    let at = |path: &str| common.join(path).display().to_string();
    for script in [
        format!("echo x > {}", at("hooks/post-commit")),
        "git config core.fsmonitor evil".to_owned(),
        format!("echo x >> {}", at("config")),
        format!("echo x > {}", at("HEAD")),
        format!("rm {}", at("index")),
        format!("echo /tmp > {}", at("worktrees/tree/commondir")),
        format!("echo /tmp > {}", at("worktrees/other/commondir")),
        format!("mv {} {}", at("worktrees/tree"), at("worktrees/mine")),
        "echo 'gitdir: /tmp' > .git".to_owned(),
        "rm .git && mkdir .git".to_owned(),
        format!("echo x > {}/new", restricted.project("").display()),
    ] {
        restricted.assert_cannot(&script, &arguments);
        assert_eq!(fs::read(common.join("config")).unwrap(), before, "{script}");
    }
    restricted.git(&tree, "fsck");
    restricted.git(&restricted.project(""), "status");
}

#[test]
fn a_subdirectory_of_a_repository_is_all_that_changes_besides_commits() {
    let restricted = Restricted::with_repository();
    fs::create_dir(restricted.project("sub")).unwrap();
    let sub = restricted.project("sub").display().to_string();
    let arguments = ["--access", "workspace", "--cwd", &sub];
    restricted.assert_can("echo x > new && git add new && git commit -qm second", &arguments);
    restricted.assert_cannot("echo x > ../new", &arguments);
    restricted.assert_cannot("echo x > ../.git/hooks/post-commit", &arguments);
    restricted.assert_cannot("git config core.fsmonitor evil", &arguments);
    restricted.assert_cannot("mv ../.git ../old", &arguments);
}

#[test]
fn the_settings_of_submodules_stay_as_well() {
    let restricted = Restricted::with_repository();
    restricted.git(
        &restricted.project(""),
        "-c protocol.file.allow=always submodule --quiet add ./ libs/inner",
    );
    restricted.assert_can(
        "cd libs/inner && git commit -q --allow-empty -m inner && git log --format=%s",
        WORKSPACE,
    );
    for script in [
        "git -C libs/inner config core.fsmonitor evil",
        "echo x > .git/modules/libs/inner/hooks/post-commit",
        "mv .git/modules/libs .git/modules/mine",
        "mv .git/modules/libs/inner/config .git/mine",
    ] {
        restricted.assert_cannot(script, WORKSPACE);
    }
    let sub = restricted.project("libs/inner").display().to_string();
    let arguments = ["--access", "workspace", "--cwd", &sub];
    restricted.assert_can("git commit -q --allow-empty -m again", &arguments);
    restricted.assert_cannot("git config core.fsmonitor evil", &arguments);
    restricted.assert_cannot("echo x >> ../../.git/config", &arguments);
}

/// A file `.git` may have been written by an agent. It must not make another directory writable.
#[test]
fn a_forged_file_leads_nowhere() {
    let restricted = Restricted::with_repository();
    let tree = restricted.world.path("tree");
    fs::create_dir(&tree).unwrap();
    let arguments = ["--access", "workspace", "--cwd", tree.to_str().unwrap()];
    let outside = restricted.world.path("outside");
    let repository = restricted.project(".git");
    write_file(&tree.join("fake/worktrees/x/commondir"), repository.to_str().unwrap());
    write_file(&tree.join("fake/worktrees/x/gitdir"), tree.join(".git").to_str().unwrap());
    for led in [outside.clone(), repository.clone(), tree.join("fake/worktrees/x")] {
        write_file(&tree.join(".git"), &format!("gitdir: {}\n", led.display()));
        restricted.assert_cannot("echo x > $outside/new", &arguments);
        let objects = repository.join("objects/new").display().to_string();
        restricted.assert_cannot(&format!("echo x > {objects}"), &arguments);
        restricted.assert_outside_untouched();
    }
}

/// Without mounts, all of `.git` but its data stays as it is, and the run says so.
#[test]
fn without_mounts_git_cannot_commit_and_the_run_says_why() {
    let restricted = Restricted::with_repository();
    fs::create_dir(restricted.project("src")).unwrap();
    symlink(restricted.world.path("outside"), restricted.project("link")).unwrap();
    write_file(&restricted.project("file"), "");
    let attempt = |script: &str| {
        let mut command = restricted.command(script, WORKSPACE);
        forbid(&mut command, SystemCall::Unshare);
        restricted.outcome(command)
    };
    let works = attempt("echo x > src/new && echo x > file && git log -1 > /dev/null");
    assert_eq!(works.status, 0, "{}", works.said);
    let warnings = works.warnings();
    assert!(
        warnings.contains("git cannot commit") && warnings.contains("permits no mounts"),
        "{warnings}"
    );
    for script in [
        "git add file && git commit -qm second",
        "git config core.fsmonitor evil",
        "echo x > .git/hooks/post-commit",
        "echo x > .git/commondir",
        "mv .git old",
        "echo x > link/new",
        "echo x > new",
    ] {
        let attempt = attempt(script);
        assert_ne!(attempt.status, 0, "{script}: {}", attempt.said);
        restricted.assert_outside_untouched();
    }
    assert_eq!(restricted.git(&restricted.project(""), "log --format=%s"), "first");
}

/// Links cannot be mounted on, so what they stand for cannot be kept.
#[test]
fn a_repository_with_links_for_its_settings_is_not_written() {
    let restricted = Restricted::with_repository();
    fs::rename(restricted.project(".git/hooks"), restricted.project(".hooks")).unwrap();
    symlink("../.hooks", restricted.project(".git/hooks")).unwrap();
    let attempt = restricted.attempt("git commit -q --allow-empty -m second", WORKSPACE);
    assert_ne!(attempt.status, 0);
    let warnings = attempt.warnings();
    assert!(warnings.contains("a symbolic link leads there"), "{warnings}");
}

/// git replaces its settings to change them. What takes their place is not kept, so the run says so.
#[test]
fn settings_that_are_changed_from_outside_are_told() {
    let restricted = Restricted::with_repository();
    let script = "touch ready; until [ -e go ]; do sleep 0.01; done; git status";
    let running = Running::start(restricted.command(script, WORKSPACE));
    wait_until(|| restricted.project("ready").exists());
    restricted.git(&restricted.project(""), "config some.setting changed");
    write_file(&restricted.project("go"), "");
    let ran = running.finish();
    let warnings = ran.task()["warnings"].to_string();
    assert!(warnings.contains(".git/config has changed during the run"), "{warnings}");
}

#[test]
fn what_prepares_a_worktree_is_restricted_as_its_agent_is() {
    let restricted = Restricted::with_repository();
    let outside = restricted.world.path("outside/file");
    let prepare = format!(
        "echo prepared > prepared; if echo x > {}; then exit 7; fi; echo refused >> prepared",
        outside.display()
    );
    let profile = format!("---\nname: prepared\nprepare: {}\n---\n", json!(prepare));
    write_file(&restricted.world.agent_dir().join("agent-profiles/prepared.md"), &profile);
    let arguments = ["--profile", "prepared", "--worktree", "--access", "workspace"];
    let attempt = restricted.assert_can("echo agent >> prepared", &arguments);
    let task = attempt.ran.task();
    let reference = task["changes"]["ref"].as_str().unwrap();
    let kept = restricted.git(&restricted.project(""), &format!("show {reference}:prepared"));
    assert_eq!(kept, "prepared\nrefused\nagent");
    restricted.assert_outside_untouched();
}
