//! Whatever is killed, and whenever: the ref or the directory has every byte that the agent wrote.

use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal, kill_process};
use test_support::wait_until;

use super::*;

/// A `git` that acts at one of its calls: `$N` is the number of the call, `$REAL` the real program.
fn wrap_git(world: &World, at: usize, action: &str) -> String {
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

/// The agent's file is in the ref or in the directory, and nothing of the user's has changed.
fn assert_safe(world: &World, before: &Untouched, agent_ran: bool, case: &str) {
    let run = world.only_run();
    let id = run.file_name().unwrap().to_str().unwrap().to_owned();
    let in_ref = world
        .command_of("git")
        .args(["show", &format!("refs/pi-subagents/{id}/result:made.txt")])
        .output()
        .unwrap();
    let in_directory = fs::read(worktrees(world).join(&id).join("made.txt"));
    let is_safe =
        in_ref.stdout == b"precious\n" || in_directory.is_ok_and(|text| text == b"precious\n");
    assert!(is_safe || !agent_ran, "{case}: lost");
    assert_eq!(&Untouched::of(world), before, "{case}");
    let locks = left(world)
        .into_iter()
        .filter(|path| path.ends_with(".lock") && !path.contains("/worktrees/"));
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

/// Runs an agent with a git that acts at its call `at`; returns whether there was such a call.
fn fault_at(at: usize, action: &str) -> bool {
    let world = repository();
    write(&world, "dirty.txt", "uncommitted\n");
    fail_in_hooks(&world);
    let before = Untouched::of(&world);
    let path = wrap_git(&world, at, action);
    let mark = world.path("agent-ran");
    let script = shell(&format!("echo precious > made.txt && touch {}", mark.display()));
    let mut command = world.play_command(&script, &["--worktree"]);
    let ran: Ran = command.env("PATH", &path).output().unwrap().into();
    world.wait_until_nothing_is_left();
    // A reader ends what has lost its supervisor, and keeps what it left.
    let calls = fs::read_to_string(world.path("count")).unwrap().lines().count();
    let listed = world.run(&["changes", "list", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let case = format!("{action} at call {at}: {ran:?}");
    assert_safe(&world, &before, mark.exists(), &case);
    calls >= at
}

/// Every sixth point of a run's life, or with `PI_SUBAGENTS_TEST_EVERY_POINT`, which takes minutes, every one.
fn points(action: &str) {
    let step = if std::env::var_os("PI_SUBAGENTS_TEST_EVERY_POINT").is_some() { 1 } else { 6 };
    let mut at = 1;
    while fault_at(at, action) {
        at += step;
    }
    assert!(at > 20, "a run has more points than {at}");
}

/// Kills the supervisor, which is the parent of git.
const KILL_SUPERVISOR: &str = "kill -9 $PPID; exit 1";
const KILL_GIT: &str = "kill -9 $$";
/// What has no ref yet is gone.
const COLLECT_GARBAGE: &str = "(cd \"$PROJECT\" && env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE $REAL gc --quiet --prune=now)";
const FAIL: &str = "echo 'fatal: no space left on device' >&2; exit 128";

#[test]
fn a_supervisor_that_is_killed_at_some_points_loses_nothing() {
    points(KILL_SUPERVISOR);
}

#[test]
fn a_git_that_is_killed_or_fails_at_some_points_loses_nothing() {
    points(KILL_GIT);
    points(FAIL);
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
            {"shell": format!("echo precious > made.txt && touch {}", ready.display())},
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
        assert_safe(&world, &before, true, victim);
        let id = world.only_run().file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(kept(&world, &id, "made.txt"), "precious", "{victim}");
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

#[test]
fn many_worktrees_at_once_while_the_user_commits_and_collects_garbage() {
    let world = repository();
    let calls: Vec<_> = (0..4)
        .map(|call| {
            let tasks = (0..4).map(|task| {
                let script = shell(&format!("echo precious > made-{call}-{task}.txt"));
                json!({"name": format!("{call}-{task}"), "prompt": format!("<<SCRIPT>>{script}<<END>>")})
            });
            let input = world.path(&format!("tasks-{call}.json"));
            fs::write(&input, json!({"tasks": tasks.collect::<Vec<Value>>()}).to_string()).unwrap();
            let agent = world.agent(&json!("-")).replace("\\\"-\\\"", "-");
            let command = world.command(["delegate", "--json", "--worktree", "--agent", &agent, input.to_str().unwrap()]);
            test_support::Running::start(command)
        })
        .collect();
    for round in 0..6 {
        write(&world, "user.txt", &format!("{round}\n"));
        git(&world, &["add", "user.txt"]);
        git(&world, &["commit", "--quiet", "-m", "User"]);
        // `git worktree add` does not make a worktree in one step, and a `git gc` that sees half of one fails.
        let _ = world.command_of("git").args(["gc", "--quiet"]).output().unwrap();
        git(&world, &["checkout", "--quiet", if round % 2 == 0 { "HEAD~1" } else { "main" }]);
        git(&world, &["checkout", "--quiet", "main"]);
    }
    for (call, running) in calls.into_iter().enumerate() {
        let ran = running.finish();
        for (task, report) in ran.json()["tasks"].as_array().unwrap().iter().enumerate() {
            let Some(changes) = report.get("changes") else {
                // `gc --prune=now` can remove what a worktree was about to start from. Then no agent has worked.
                assert_eq!(report["outcome"], "spawn_failure", "{report}");
                continue;
            };
            let name = format!("made-{call}-{task}.txt");
            let id = report["runId"].as_str().unwrap();
            let is_left = changes["directory"]
                .as_str()
                .map(|path| fs::read_to_string(Path::new(path).join(&name)).unwrap());
            let text = is_left.unwrap_or_else(|| kept(&world, id, &name));
            assert_eq!(text.trim(), "precious", "{report}");
        }
    }
    assert_eq!(git(&world, &["status", "--porcelain"]), "");
    git(&world, &["fsck", "--no-dangling"]);
}
