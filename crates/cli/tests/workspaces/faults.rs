//! Whatever is killed, and whenever: the ref or the directory has every byte that the agent wrote.

use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal, kill_process};
use test_support::wait_until;

use super::*;

/// A `git` that acts at one of its calls: `$N` is the number of the call, `$REAL` the real program.
pub(super) fn wrap_git(world: &World, at: usize, action: &str) -> String {
    let bin = world.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let count = world.path("count");
    let text = format!(
        "#!/bin/sh\nREAL=/usr/bin/git\nPROJECT={project}\necho \"$*\" >> {count}\nN=$(wc -l < {count})\n\
         if [ \"$N\" = {at} ]; then {action}; fi\nexec $REAL \"$@\"\n",
        count = count.display(),
        project = world.project().display()
    );
    fs::write(bin.join("git"), text).unwrap();
    fs::set_permissions(bin.join("git"), PermissionsExt::from_mode(0o755)).unwrap();
    format!("{}:/usr/bin:/bin", bin.display())
}

/// Everything that the agent had done when it wrote the manifest is in the ref or in the directory, nothing of the user's has
/// changed, and there is no lock.
fn assert_safe(world: &World, before: &Untouched, manifest: &Path, case: &str) {
    if let Ok(expected) = fs::read_to_string(manifest) {
        let run = world.only_run();
        let id = run.file_name().unwrap().to_str().unwrap();
        let reference = format!("refs/pi-subagents/{id}/result");
        let is_safe = work::in_ref(world, &reference) == expected
            || work::in_directory(world, &worktrees(world).join(id)) == expected;
        assert!(is_safe, "{case}: lost");
    }
    work::remove_branch(world);
    assert_eq!(&Untouched::of(world), before, "{case}");
    let locks = left(world).into_iter().filter(|path| path.ends_with(".lock"));
    assert_eq!(locks.collect::<Vec<_>>(), Vec::<String>::new(), "{case}");
}

/// Hooks of the user that let every commit, checkout and change of a ref fail.
fn fail_in_hooks(world: &World) {
    let hooks = world.project().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in ["pre-commit", "post-checkout", "reference-transaction", "post-index-change"] {
        fs::write(hooks.join(hook), "#!/bin/sh\nexit 1\n").unwrap();
        fs::set_permissions(hooks.join(hook), PermissionsExt::from_mode(0o755)).unwrap();
    }
}

/// Runs an agent with a git that acts at its call `at`; returns all calls, and what is said of the run.
fn fault_at(at: usize, action: &str) -> (Vec<String>, Ran) {
    let world = repository();
    write(&world, "dirty.txt", "uncommitted\n");
    // More than some of these faults let git write, however it is packed.
    let mut noise = 1_u32;
    let mut next = || {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b' ' + u8::try_from(noise >> 26).unwrap())
    };
    write(&world, "middle.txt", &(0..3_000).map(|_| next()).collect::<String>());
    fail_in_hooks(&world);
    let before = Untouched::of(&world);
    let path = wrap_git(&world, at, action);
    let manifest = world.path("manifest");
    let script = shell(&work::command(&work::without_lock(), &manifest));
    let mut command = world.play_command(&script, &["--worktree"]);
    let ran: Ran = command.env("PATH", &path).output().unwrap().into();
    world.wait_until_nothing_is_left();
    // A reader ends what has lost its supervisor, and keeps what it left.
    let calls = fs::read_to_string(world.path("count")).unwrap();
    let listed = world.run(&["changes", "list", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let case = format!("{action} at call {at}: {ran:?}");
    assert_safe(&world, &before, &manifest, &case);
    (calls.lines().map(str::to_owned).collect(), ran)
}

/// Tries a fault at point after point, until it returns that there is no such point; returns how many it has tried. Of a run's
/// life it takes every so many-th, and with `PI_SUBAGENTS_TEST_EVERY_POINT` (`cargo xtask test all-points`), which takes
/// minutes, every one.
pub(super) fn every(step: usize, mut fault: impl FnMut(usize) -> bool) -> usize {
    let step = if std::env::var_os("PI_SUBAGENTS_TEST_EVERY_POINT").is_some() { 1 } else { step };
    let mut at = 1;
    while fault(at) {
        at += step;
    }
    at
}

/// The points of a run's life at which git is called.
#[expect(
    clippy::print_stdout,
    reason = "for the table in docs/use/workspaces.md, with `--nocapture`"
)]
fn points(action: &str) {
    let points = every(6, |at| fault_at(at, action).0.len() >= at);
    println!("{points} points");
    assert!(points > 20, "a run has {points} points");
}

/// Kills the supervisor, which is the parent of git.
const KILL_SUPERVISOR: &str = "kill -9 $PPID; exit 1";
/// Kills the caller, which is the parent of the supervisor, or that of git before there is one. git goes on.
const KILL_CALLER: &str = "parent=$PPID; \
    if tr '\\0' ' ' < /proc/$PPID/cmdline | grep -q ' supervise '; \
    then parent=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$PPID/status); fi; kill -9 $parent";
pub(super) const KILL_GIT: &str = "kill -9 $$";
/// What has no ref yet is gone.
const COLLECT_GARBAGE: &str = "(cd \"$PROJECT\" && env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE $REAL gc --quiet --prune=now)";
const FAIL: &str = "echo 'fatal: no space left on device' >&2; exit 128";

#[test]
fn a_supervisor_that_is_killed_at_some_points_loses_nothing() {
    points(KILL_SUPERVISOR);
}

#[test]
fn a_caller_that_is_killed_at_some_points_loses_nothing() {
    points(KILL_CALLER);
}

/// Kills the agent after so much of its work; returns whether there is so much. Everything that is not ignored is then kept as
/// a ref, as the agent has left it.
fn agent_killed_after(count: usize) -> bool {
    let Some(work) = work::WORK.get(..count) else { return false };
    let world = repository();
    let before = Untouched::of(&world);
    let manifest = world.path("manifest");
    let command = format!("{}; kill -9 $PPID", work::command(work, &manifest));
    let ran = world.play(&json!(["start", {"shell": command}, "hang"]), &["--worktree"]);
    let case = format!("after {count} steps: {ran:?}");
    world.wait_until_nothing_is_left();
    let task = ran.task();
    assert_eq!(task["outcome"], "killed_by_signal", "{case}");
    let reference = task["changes"]["ref"].as_str().unwrap_or_else(|| panic!("{case}"));
    let kept = work::in_ref(&world, reference);
    assert_eq!(kept, fs::read_to_string(manifest).unwrap(), "{case}");
    work::remove_branch(&world);
    assert_eq!(Untouched::of(&world), before, "{case}");
    assert_eq!(left(&world), Vec::<String>::new(), "{case}");
    true
}

#[test]
fn an_agent_that_is_killed_at_some_points_of_its_work_loses_nothing() {
    let points = every(7, agent_killed_after);
    assert!(points > work::WORK.len(), "{points}");
}

#[test]
fn a_git_that_is_killed_or_fails_at_some_points_loses_nothing() {
    points(KILL_GIT);
    points(FAIL);
}

/// Of a git that writes into files, the kernel makes an end at the first byte, when it has its lock, or in the middle of a
/// larger file. It cannot clean up.
const KILL_WRITING_GIT: [&str; 2] = ["ulimit -c 0; ulimit -f 0", "ulimit -c 0; ulimit -f 1"];
/// What git writes by in a run.
const WRITERS: [&str; 7] =
    ["add", "commit-tree", "read-tree", "reset", "update-index", "update-ref", "worktree"];

#[test]
fn a_git_that_is_killed_while_it_writes_loses_nothing() {
    let (calls, _) = fault_at(0, "true");
    let is_writer = |call: &String| WRITERS.iter().any(|word| call.split(' ').next() == Some(word));
    let writers: Vec<usize> =
        (1..).zip(&calls).filter(|(_, call)| is_writer(call)).map(|(at, _)| at).collect();
    assert!(writers.len() > 6, "{calls:#?}");
    let has_all = std::env::var_os("PI_SUBAGENTS_TEST_EVERY_POINT").is_some();
    let mut kills = 0;
    for (index, at) in writers.into_iter().enumerate() {
        for (limit, action) in KILL_WRITING_GIT.into_iter().enumerate() {
            if has_all || index % 2 == limit {
                let (_, ran) = fault_at(at, action);
                kills += usize::from(ran.stdout.contains("killed by signal"));
            }
        }
    }
    assert!(kills > 3, "git was killed {kills} times");
}

#[test]
fn garbage_that_is_collected_at_some_points_costs_the_task_at_most() {
    points(COLLECT_GARBAGE);
}

#[test]
fn agents_and_callers_that_are_killed_lose_nothing() {
    for victim in ["agent", "caller", "supervisor"] {
        let world = repository();
        let before = Untouched::of(&world);
        let ready = world.path("ready");
        let script = json!([
            "start",
            {"shell": work::command(&work::without_lock(), &ready)},
            "hang",
        ]);
        let running = world.start(&script, &["--worktree"]);
        wait_until(|| ready.exists());
        match victim {
            "caller" => running.signal(Signal::KILL),
            "supervisor" => kill_process(world.supervisor(), Signal::KILL).unwrap(),
            _ => {
                let processes = world.processes();
                let agent = processes.iter().find(|(_, words)| {
                    words.contains("fake-agent") && !words.contains("pi-subagents")
                });
                let pid = i32::try_from(agent.unwrap().0).unwrap();
                kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
            }
        }
        let _ = running.finish();
        world.wait_until_nothing_is_left();
        assert_eq!(world.run(&["changes", "list"]).code, Some(0));
        assert_safe(&world, &before, &ready, victim);
        assert_eq!(left(&world), Vec::<String>::new(), "{victim}");
    }
}

#[test]
fn where_objects_cannot_be_written_the_directory_stays_and_is_named() {
    let world = repository();
    let before = Untouched::of(&world);
    let path = wrap_git(&world, 0, "true");
    // From the agent's work on, git cannot write.
    let bin = world.path("bin/git");
    let command = format!(
        "echo precious > made.txt && sed -i 's/^exec.*/case \"$*\" in add*) exit 128;; esac\\nexec $REAL \"$@\"/' {}",
        bin.display()
    );
    let mut play = world.play_command(&shell(&command), &["--worktree"]);
    let ran: Ran = play.env("PATH", path).output().unwrap().into();
    let task = ran.task();
    let directory = PathBuf::from(task["changes"]["directory"].as_str().unwrap());
    assert_eq!(fs::read_to_string(directory.join("made.txt")).unwrap(), "precious\n");
    assert_eq!(task["changes"]["ref"], Value::Null);
    assert!(
        task["warnings"][0].as_str().unwrap().contains("were not kept as a ref, and are in"),
        "{task}"
    );
    assert_eq!(task["outcome"], "completed");
    assert_eq!(Untouched::of(&world), before);
}

/// What a user does meanwhile. The commits have fixed dates, so that they are the same in every copy of the repository.
fn commit_and_checkout(world: &World, project: &Path, round: usize) {
    fs::write(project.join("user.txt"), format!("{round}\n")).unwrap();
    let elsewhere = if round.is_multiple_of(2) { "HEAD~1" } else { "main" };
    for arguments in [
        &["add", "user.txt"][..],
        &["commit", "--quiet", "-m", "User"],
        &["checkout", "--quiet", elsewhere],
        &["checkout", "--quiet", "main"],
    ] {
        let mut command = world.command_of("git");
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            command.env(name, "2026-01-01T00:00:00Z");
        }
        let output = command.current_dir(project).args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
    }
}

#[test]
fn many_worktrees_at_once_while_the_user_commits_and_collects_garbage() {
    let world = repository();
    // The same user works there without any agent.
    let twin = world.path("twin");
    world.copy_project(&twin);
    let calls: Vec<_> = (0..4)
        .map(|call| {
            let tasks = (0..4).map(|task| {
                let script = shell(&format!("echo precious > made-{call}-{task}.txt"));
                json!({"name": format!("{call}-{task}"), "prompt": prompt(&script)})
            });
            let input = world.path(&format!("tasks-{call}.json"));
            fs::write(&input, json!({"tasks": tasks.collect::<Vec<Value>>()}).to_string()).unwrap();
            let agent = prompted_agent(&world);
            let command = world.command([
                "delegate",
                "--json",
                "--worktree",
                "--agent",
                &agent,
                input.to_str().unwrap(),
            ]);
            test_support::Running::start(command)
        })
        .collect();
    for round in 0..6 {
        for project in [&world.project(), &twin] {
            commit_and_checkout(&world, project, round);
        }
        // `git worktree add` does not make a worktree in one step, and a `git gc` that sees half of one fails.
        let _ = world.command_of("git").args(["gc", "--quiet"]).output().unwrap();
    }
    let mut staying = Vec::new();
    for (call, running) in calls.into_iter().enumerate() {
        let ran = running.finish();
        let tasks = ran.json()["tasks"].as_array().unwrap().clone();
        assert_eq!(tasks.len(), 4, "{ran:?}");
        for (task, report) in tasks.iter().enumerate() {
            let changes = report.get("changes").unwrap_or_else(|| panic!("{report}"));
            let name = format!("made-{call}-{task}.txt");
            let id = report["runId"].as_str().unwrap();
            let text = match changes["directory"].as_str() {
                Some(directory) => {
                    staying.push(id.to_owned());
                    fs::read_to_string(Path::new(directory).join(&name)).unwrap()
                }
                None => kept(&world, id, &name),
            };
            assert_eq!(text.trim(), "precious", "{report}");
        }
    }
    let untouched = Untouched::but_for_times(&world, &world.project());
    assert_eq!(untouched, Untouched::but_for_times(&world, &twin));
    assert_eq!(untouched.status, "");
    let is_explained =
        |path: &String| !path.ends_with(".lock") && staying.iter().any(|id| path.contains(id));
    let left: Vec<String> = left(&world).into_iter().filter(|path| !is_explained(path)).collect();
    assert_eq!(left, Vec::<String>::new());
    git(&world, &["fsck", "--no-dangling"]);
}
