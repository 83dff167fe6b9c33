//! Worktrees for agents, on real git: what they start from, what is kept, and how it comes back.

mod changes;
mod doors;
mod faults;
mod hidden_commits;
mod kinds;
mod landing;
mod passed_over;
mod preparation;
mod retention;
mod settings;
mod untouched;
mod work;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use test_support::{Ran, World};

use crate::world;
use untouched::{Untouched, git_in};

/// A world whose project is a repository with one commit.
pub(crate) fn repository() -> World {
    let world = world();
    fs::remove_dir(world.project().join(".git")).unwrap();
    git(&world, &["init", "--quiet", "--initial-branch=main"]);
    configure(&world);
    for (name, text) in [("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n"), ("sub/c.txt", "c\n")] {
        write(&world, name, text);
    }
    write(&world, ".gitignore", "*.log\n.pi/\n");
    git(&world, &["add", "--all"]);
    git(&world, &["commit", "--quiet", "-m", "First"]);
    write(&world, "b.txt", "stashed\n");
    git(&world, &["stash", "--quiet"]);
    world
}

/// The user's own settings of git.
fn configure(world: &World) {
    fs::write(world.home().join(".gitconfig"), "[user]\n\tname = Me\n\temail = me@example.org\n")
        .unwrap();
}

fn write(world: &World, name: &str, text: &str) {
    let path = world.project().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn git(world: &World, arguments: &[&str]) -> String {
    git_in(world, &world.project(), arguments)
}

/// The script of an agent that runs a command of the shell in its directory, and answers.
pub(crate) fn shell(command: &str) -> Value {
    json!(["start", {"shell": command}, {"say": "done"}, {"end": false}, "settle"])
}

/// A prompt for [`prompted_agent`] that has it play this script.
fn prompt(script: &Value) -> String {
    format!("<<SCRIPT>>{script}<<END>>")
}

/// `--agent` for a fake agent that plays the script in its prompt.
fn prompted_agent(world: &World) -> String {
    world.agent(&json!("-")).replace("\\\"-\\\"", "-")
}

/// A call with a task for each name, whose agents run a command each.
fn call(commands: &[(&str, &str)]) -> Value {
    let tasks = commands
        .iter()
        .map(|(name, command)| json!({"name": name, "prompt": prompt(&shell(command))}));
    json!({"tasks": tasks.collect::<Vec<Value>>()})
}

/// `delegate --worktree` with such a call.
fn delegate(world: &World, commands: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let agent = prompted_agent(world);
    let mut all = vec!["delegate", "--worktree", "--agent", &agent];
    all.extend(arguments);
    world.feed(world.command(all), &call(commands).to_string())
}

/// `run --json --worktree` with an agent that runs this command.
fn run(world: &World, command: &str, arguments: &[&str]) -> Ran {
    let mut all = vec!["--worktree"];
    all.extend(arguments);
    world.play(&shell(command), &all)
}

/// A script and a call for four agents who play it, of which two share a directory, and two have worktrees whose changes
/// conflict.
pub(crate) fn rivals() -> (Value, Value) {
    let script = json!([
        "start",
        {"tool": {"name": "write", "args": {"path": "shared.txt", "content": "x"}}},
        {"shell": "echo $$ > a.txt"},
        {"say": "done"}, {"end": false}, "settle",
    ]);
    let task = |name: &str| json!({"name": name, "prompt": "go"});
    let apart = |name: &str| json!({"name": name, "prompt": "go", "isolation": "worktree"});
    (script, json!({"tasks": [task("one"), task("two"), apart("left"), apart("right")]}))
}

/// A text or a list of warnings names what the agents of [`rivals`] did to each other.
#[track_caller]
pub(crate) fn assert_rivals_are_named(said: &str) {
    let warnings: Vec<&str> = said.lines().collect();
    let shared = warnings.iter().find(|line| line.contains("shared.txt was written by "));
    let shared = shared.unwrap_or_else(|| panic!("{said}"));
    assert!(shared.contains("\"one\"") && shared.contains("\"two\""), "{said}");
    let conflict = "The changes of \"left\" and \"right\" conflict in a.txt";
    assert_eq!(said.matches(conflict).count(), 1, "{said}");
}

/// Where worktrees are.
fn worktrees(world: &World) -> PathBuf {
    world.home().join(".local/state/pi-subagents/worktrees")
}

/// What is in the state directory and in the repository that is ours and not a ref.
fn left(world: &World) -> Vec<String> {
    let mut left = Vec::new();
    for directory in [worktrees(world), world.project().join(".git/worktrees")] {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            left.push(entry.path().display().to_string());
        }
    }
    let mut directories = vec![world.project().join(".git")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            } else if entry.file_name().to_string_lossy().ends_with(".lock") {
                left.push(entry.path().display().to_string());
            }
        }
    }
    left
}

/// The text of a file in the result of a run.
fn kept(world: &World, run: &str, file: &str) -> String {
    git(world, &["show", &format!("refs/pi-subagents/{run}/result:{file}")])
}

#[test]
fn the_working_tree_as_it_is_is_where_an_agent_starts_and_stays_untouched() {
    let world = repository();
    write(&world, "a.txt", "one\nTWO\nthree\n");
    write(&world, "b.txt", "staged\n");
    git(&world, &["add", "b.txt"]);
    write(&world, "new.txt", "untracked\n");
    write(&world, "secret.log", "ignored\n");
    let before = Untouched::of(&world);
    let ran = run(
        &world,
        "test ! -e secret.log && cat a.txt b.txt new.txt > all.txt && echo x > x.log && rm sub/c.txt",
        &[],
    );
    let task = ran.task();
    assert_eq!((ran.code, &task["outcome"]), (Some(0), &json!("completed")), "{ran:?}");
    let id = task["runId"].as_str().unwrap();
    let changes = &task["changes"];
    assert_eq!(changes["ref"], format!("refs/pi-subagents/{id}/result"));
    let counted = ["files", "insertions", "deletions", "ignored"].map(|name| changes[name].clone());
    assert_eq!(counted, [2, 5, 1, 1].map(Value::from), "{changes}");
    assert_eq!(kept(&world, id, "all.txt"), "one\nTWO\nthree\nstaged\nuntracked");
    assert_eq!(Untouched::of(&world), before);
    assert_eq!(left(&world), Vec::<String>::new());
    let result: Value =
        serde_json::from_slice(&fs::read(ran.run_dir().join("result.json")).unwrap()).unwrap();
    assert_eq!(&result["changes"], changes);
}

#[test]
fn the_tasks_of_a_call_start_from_the_same_files_whatever_happens_to_the_users_meanwhile() {
    let world = repository();
    write(&world, "a.txt", "uncommitted\n");
    let project = world.project();
    let overwrite = format!("echo later > {}/a.txt", project.display());
    let see = "cat a.txt > seen.txt";
    let call = [("first", overwrite.as_str()), ("second", see), ("third", see)];
    let ran = delegate(&world, &call, &["--json", "--concurrency", "1"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let answer = ran.json();
    let [first, second, third] = [0, 1, 2].map(|index| &answer["tasks"][index]);
    assert_eq!(git(&world, &["for-each-ref", "refs/worktree"]).lines().count(), 1, "{answer}");
    for task in [second, third] {
        assert_eq!(task["changes"]["base"], first["changes"]["base"], "{answer}");
        assert_eq!(kept(&world, task["runId"].as_str().unwrap(), "seen.txt"), "uncommitted");
    }
    // Another call finds what is there now.
    let next = run(&world, see, &[]);
    assert_eq!(kept(&world, next.task()["runId"].as_str().unwrap(), "seen.txt"), "later");
    assert_eq!(left(&world), Vec::<String>::new());
}

#[test]
fn commits_of_ours_are_in_our_name_and_never_in_the_users() {
    let world = repository();
    // So that the base is a commit of ours, too.
    write(&world, "dirty.txt", "uncommitted\n");
    let mut command = world.play_command(&shell("echo made > made.txt"), &["--worktree"]);
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Me").env(format!("GIT_{role}_EMAIL"), "me@x.org");
    }
    let ran: Ran = command.output().unwrap().into();
    let id = ran.task()["runId"].as_str().unwrap().to_owned();
    for which in ["base", "result"] {
        let reference = format!("refs/pi-subagents/{id}/{which}");
        let names = git(&world, &["log", "-1", "--format=%an <%ae>, %cn <%ce>", &reference]);
        let ours = "pi-subagents <pi-subagents@localhost>";
        assert_eq!(names, format!("{ours}, {ours}"), "{which}");
    }
}

#[test]
fn commits_of_the_agent_are_kept_with_what_it_left_uncommitted_on_top() {
    let world = repository();
    let command = "echo 1 > one && git add one && git -c user.name=A -c user.email=a commit -qm Mine && echo 2 > two";
    let task = run(&world, command, &[]).task();
    let id = task["runId"].as_str().unwrap();
    let log = git(&world, &["log", "--format=%s", &format!("refs/pi-subagents/{id}/result")]);
    assert_eq!(log, format!("What run {id} left uncommitted\nMine\nFirst"));
    assert_eq!(git(&world, &["log", "--format=%s"]), "First");
}

#[test]
fn a_directory_below_the_root_maps_into_the_worktree_and_a_resumed_run_goes_on_from_its_result() {
    let world = repository();
    let directory = world.project().join("sub");
    let first = run(&world, "echo changed > c.txt", &["--cwd", directory.to_str().unwrap()]).task();
    let id = first["runId"].as_str().unwrap();
    assert_eq!(kept(&world, id, "sub/c.txt"), "changed");
    let session = first["sessionId"].as_str().unwrap();
    let resumed = world.play(&shell("cat sub/c.txt > seen.txt"), &["--resume", session]).task();
    let id = resumed["runId"].as_str().unwrap();
    assert_eq!(kept(&world, id, "seen.txt"), "changed");
    // Its changes are those of the session.
    assert_eq!(resumed["changes"]["files"], 2, "{resumed}");
    assert_eq!(left(&world), Vec::<String>::new());
}

#[test]
fn a_failed_run_and_a_run_in_the_background_keep_their_changes_too() {
    let world = repository();
    let script = json!(["start", {"shell": "echo half > half.txt"}, {"exit": 3}]);
    let ran = world.play(&script, &["--worktree"]);
    let task = ran.task();
    assert_eq!((ran.code, &task["outcome"]), (Some(1), &json!("non_zero_exit")));
    assert_eq!(kept(&world, task["runId"].as_str().unwrap(), "half.txt"), "half");
    let agent = world.agent(&shell("echo bg > bg.txt"));
    let started = world.run(&["bg", "start", "--worktree", "--agent", &agent, "go"]);
    let id = started.stdout.trim();
    assert_eq!(world.run(&["bg", "wait", id]).code, Some(0), "{started:?}");
    assert_eq!(kept(&world, id, "bg.txt"), "bg");
    world.wait_until_nothing_is_left();
    assert_eq!(left(&world), Vec::<String>::new());
}
