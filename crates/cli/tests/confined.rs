//! Disks that are full or cannot be written, and a system without file watches. These tests mount file systems
//! and set limits, so `cargo xtask test` runs them in a namespace of their own.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "this is how a test fails")]

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change,
    mount_remount, unmount,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::{Program, World, wait_until};

#[path = "workspaces/untouched.rs"]
mod untouched;
#[path = "confined/worktrees.rs"]
mod worktrees;

fn world() -> World {
    World::new(Program {
        pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
        fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
    })
}

/// A mount that is dropped before its world: otherwise the directory could not be removed.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.0, UnmountFlags::DETACH).unwrap();
    }
}

impl Deref for Mounted {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

/// Puts a file system of this size, and nothing else, under the project's `.pi`.
fn mount_small_disk(world: &World, size: &str) -> Mounted {
    let disk = world.project().join(".pi");
    fs::create_dir_all(&disk).unwrap();
    keep_mounts_to_ourselves();
    let options = std::ffi::CString::new(format!("size={size}")).unwrap();
    mount("tmpfs", &disk, "tmpfs", MountFlags::empty(), Some(options.as_c_str())).unwrap();
    Mounted(disk)
}

fn make_read_only(path: &Path) -> Mounted {
    keep_mounts_to_ourselves();
    mount_bind(path, path).unwrap();
    mount_remount(path, MountFlags::BIND | MountFlags::RDONLY, "").unwrap();
    fs::write(path.join("probe"), "").expect_err("the mount is read-only even for root");
    Mounted(path.to_owned())
}

/// Refuses to change the mounts of the whole machine if these tests run outside a namespace of their own.
fn keep_mounts_to_ourselves() {
    let ours = fs::read_link("/proc/self/ns/mnt").unwrap();
    let first = fs::read_link("/proc/1/ns/mnt").ok();
    assert_ne!(Some(ours), first, "run these tests with `cargo xtask test`");
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
}

fn fill(disk: &Path) {
    let mut block = vec![0_u8; 64 * 1024];
    let mut number = 0;
    while !block.is_empty() {
        number += 1;
        if fs::write(disk.join(format!("ballast-{number}")), &block).is_err() {
            block.truncate(block.len() / 2);
        }
    }
}

fn empty(disk: &Path) {
    for entry in fs::read_dir(disk).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::remove_file(path).unwrap();
        }
    }
}

/// A child that says something, waits until the disk is full, and says a lot more: more than a pipe
/// holds, so that most of it has been read, and could not be written, when the child goes on.
fn script(world: &World) -> Value {
    json!([
        {"message": {"text": "before", "stop": "toolUse"}},
        {"touch": world.path("working")},
        {"await": world.path("go on")},
        {"repeat": {"times": 60_000, "steps": [{"line": "something that is worth an event of its own"}]}},
        {"touch": world.path("written")},
        {"await": world.path("finish")},
        {"say": "after"},
    ])
}

/// Whether the agent works, and the disk has the first event: what is done to the disk comes later.
fn is_recorded_and_working(world: &World) -> bool {
    let size = |run: &PathBuf| fs::metadata(run.join("events.jsonl")).map_or(0, |file| file.len());
    world.path("working").exists() && world.runs().first().is_some_and(|run| size(run) > 0)
}

fn whole_events(run_dir: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run_dir.join("events.jsonl")).unwrap();
    assert!(text.ends_with('\n'), "the last event is torn");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_disk_that_fills_up_under_a_run_costs_the_record_but_not_the_result() {
    let world = world();
    let disk = mount_small_disk(&world, "1m");
    fs::write(world.path("finish"), "").unwrap();
    let running = world.start(&script(&world), &[]);
    wait_until(|| is_recorded_and_working(&world));
    fill(&disk);
    fs::write(world.path("go on"), "").unwrap();
    let ran = running.finish();
    world.assert_nothing_left();
    let task = ran.task();
    assert_eq!((ran.code, &task["outcome"]), (Some(0), &json!("completed")), "{ran:?}");
    assert_eq!(task["output"], "after");
    let warnings = task["warnings"].to_string();
    assert!(warnings.contains("The record of this run is not complete"), "{warnings}");
    assert!(warnings.contains("The result was not kept"), "{warnings}");
    assert!(warnings.contains("No space left on device"), "{warnings}");
    let events = whole_events(&world.only_run());
    assert_eq!(events[0]["type"], "run_started");
    assert!(!world.only_run().join("result.json").exists());
}

#[test]
fn a_disk_that_has_room_again_at_the_end_keeps_the_result() {
    let world = world();
    let disk = mount_small_disk(&world, "1m");
    let running = world.start(&script(&world), &[]);
    wait_until(|| is_recorded_and_working(&world));
    fill(&disk);
    fs::write(world.path("go on"), "").unwrap();
    wait_until(|| world.path("written").exists());
    empty(&disk);
    fs::write(world.path("finish"), "").unwrap();
    let ran = running.finish();
    world.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("after")));
    let result = fs::read_to_string(world.only_run().join("result.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["output"], "after");
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("The record of this run is not complete"), "{warnings}");
    let events = whole_events(&world.only_run());
    assert_eq!(events.last().unwrap()["type"], "run_ended");
}

#[test]
fn a_disk_that_is_full_from_the_start_moves_the_run_elsewhere() {
    let world = world();
    let disk = mount_small_disk(&world, "256k");
    fill(&disk);
    let ran = world.play(&json!([{"say": "done"}]), &[]);
    kept_elsewhere(&world, &ran);
}

#[test]
fn a_read_only_project_moves_the_run_elsewhere() {
    let world = world();
    let _mounted = make_read_only(&world.project());
    let ran = world.play(&json!([{"say": "done"}]), &[]);
    kept_elsewhere(&world, &ran);
    let listed = world.run(&["sessions", "list", "--json"]);
    assert_eq!((listed.code, listed.json()), (Some(0), json!({"sessions": []})));
}

#[test]
fn a_project_that_becomes_read_only_can_still_be_looked_at() {
    let world = world();
    let id = world.play(&json!([{"say": "earlier"}]), &[]).task()["sessionId"].clone();
    let _mounted = make_read_only(&world.project());
    let output = world.run(&["sessions", "output", id.as_str().unwrap()]);
    assert_eq!(output.stdout, "earlier\n");
}

fn kept_elsewhere(world: &World, ran: &test_support::Ran) {
    world.assert_nothing_left();
    let task = ran.task();
    assert_eq!((ran.code, &task["outcome"]), (Some(0), &json!("completed")), "{ran:?}");
    assert_eq!(task["output"], "done");
    let run_dir = ran.run_dir();
    assert!(!run_dir.starts_with(world.project()), "{}", run_dir.display());
    assert!(run_dir.join("result.json").exists());
    let kinds: Vec<Value> =
        whole_events(&run_dir).iter().map(|record| record["type"].clone()).collect();
    assert_eq!(kinds, ["run_started", "assistant_message", "run_ended"]);
    for private in [run_dir.as_path(), run_dir.parent().unwrap()] {
        let mode = fs::metadata(private).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "{}", private.display());
    }
    let warning = task["warnings"][0].as_str().unwrap();
    assert!(warning.contains("cannot be written, so this run is kept in"), "{warning}");
    assert!(warning.contains(run_dir.to_str().unwrap()), "{warning}");
    assert!(world.runs().is_empty());
}

fn write_preset(world: &World) {
    let presets = world.agent_dir().join("subagents");
    fs::create_dir_all(&presets).unwrap();
    let preset = "---\nname: scout\ndescription: D.\nmodel: a/b\n---\n";
    fs::write(presets.join("scout.md"), preset).unwrap();
}

/// Starts a background run that never ends by itself, and returns its id and its supervisor.
fn start_background(world: &World) -> (String, Pid) {
    write_preset(world);
    let agent = world.agent(&json!([
        {"message": {"text": "before", "stop": "toolUse"}},
        {"touch": world.path("working")},
        "hang",
    ]));
    let started = world.run(&["bg", "start", "--preset", "scout", "--agent", &agent, "look"]);
    let id = started.stdout.trim().to_owned();
    let events = world.only_run().join("events.jsonl");
    wait_until(|| fs::read_to_string(&events).unwrap().contains("before"));
    wait_until(|| is_recorded_and_working(world));
    let processes = world.processes();
    let supervisor = processes.iter().find(|(_, words)| words.contains(" supervise ")).unwrap();
    (id, Pid::from_raw(i32::try_from(supervisor.0).unwrap()).unwrap())
}

#[test]
fn a_background_run_is_stopped_although_the_project_has_become_read_only() {
    let world = world();
    let (id, _) = start_background(&world);
    let _mounted = make_read_only(&world.project());
    let ran = world.run(&["bg", "stop", &id]);
    world.assert_nothing_left();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, format!("{id}  aborted    scout: 0 processes left\n"));
}

#[test]
fn a_background_run_that_cannot_be_ended_in_its_record_has_failed_all_the_same() {
    let world = world();
    let disk = mount_small_disk(&world, "1m");
    let (id, supervisor) = start_background(&world);
    fill(&disk);
    kill_process(supervisor, Signal::KILL).unwrap();
    world.wait_until_nothing_is_left();
    for command in
        [["bg", "list", "--all"].as_slice(), &["bg", "status", &id], &["bg", "wait", &id]]
    {
        let ran = world.run(&[command, &["--json"]].concat());
        let run = &ran.json()["runs"][0];
        assert_eq!((&run["runId"], &run["status"]), (&json!(id), &json!("failed")), "{ran:?}");
        assert_eq!(run["finalText"], "before");
    }
    assert!(!world.only_run().join("result.json").exists());
    empty(&disk);
    assert_eq!(world.run(&["bg", "wait", &id]).code, Some(1));
    assert!(world.only_run().join("result.json").exists());
}

/// The end of a run fits into the last block of a file whose middle found no room.
#[test]
fn a_background_run_whose_answer_was_not_kept_says_so_wherever_it_is_shown() {
    let world = world();
    write_preset(&world);
    let disk = mount_small_disk(&world, "1m");
    // One event that needs more room than the last block can have.
    let large = "much ".repeat(4_000);
    let agent = world.agent(&json!([
        {"message": {"text": "before", "stop": "toolUse"}},
        {"touch": world.path("working")},
        {"await": world.path("go on")},
        {"message": {"text": large, "stop": "toolUse"}},
        {"say": "after"},
    ]));
    let started = world.run(&["bg", "start", "--preset", "scout", "--agent", &agent, "look"]);
    let id = started.stdout.trim().to_owned();
    wait_until(|| is_recorded_and_working(&world));
    let is_recorded = |run: &PathBuf| {
        fs::read_to_string(run.join("events.jsonl")).is_ok_and(|text| text.contains("\"before\""))
    };
    wait_until(|| world.runs().first().is_some_and(is_recorded));
    fill(&disk);
    fs::write(world.path("go on"), "").unwrap();
    world.wait_until_nothing_is_left();
    let lost = "The record of this run is not complete: its answer was not kept";

    let waited = world.run(&["bg", "wait", &id]);
    assert_eq!((waited.code, waited.stdout.as_str()), (Some(1), ""), "{waited:?}");
    assert!(waited.stderr.contains(&format!("warning: scout: {lost}\n")), "{waited:?}");
    assert!(waited.stderr.contains("warning: scout: The result was not kept: "), "{waited:?}");

    let shown = world.run(&["bg", "status", &id]);
    assert!(shown.stdout.contains(&format!("\n  warnings   {lost}\n")), "{shown:?}");
    let report = format!("Background agent scout finished: Warning: {lost} ({id})\n");
    assert!(shown.stderr.contains(&report), "{shown:?}");
    for command in
        [["bg", "wait", &id].as_slice(), &["bg", "status", &id], &["bg", "list", "--all"]]
    {
        let run = world.run(&[command, &["--json"]].concat()).json()["runs"][0].clone();
        assert_eq!((&run["status"], &run["finalText"]), (&json!("completed"), &json!("")), "{run}");
        assert_eq!(run["warnings"][0], json!(lost), "{run}");
    }
    let listed = world.run(&["bg", "list", "--all"]);
    assert!(listed.stdout.trim_end().ends_with(lost), "{listed:?}");
    let output = world.run(&["sessions", "output", &id]);
    assert!(output.stderr.contains(&format!("warning: {lost}\n")), "{output:?}");

    // When there is room again, the first look writes the result, with what it has to say.
    empty(&disk);
    assert_eq!(world.run(&["bg", "wait", &id]).code, Some(1));
    let result = fs::read_to_string(world.only_run().join("result.json")).unwrap();
    assert!(result.contains(lost), "{result}");
}

/// Where the system has no watches, background runs are polled.
#[test]
fn without_watches_background_runs_are_waited_for_and_stopped_by_looking() {
    let world = world();
    write_preset(&world);
    let go = world.path("go");
    let working = json!([
        {"message": {"text": "working on it", "stop": "toolUse"}}, {"await": go}, {"say": "done"},
    ]);
    // All in one more namespace of its own, in which there are no watches at all.
    let line = "
        echo 0 > /proc/sys/user/max_inotify_instances || exit 90
        one=$(\"$0\" bg start --preset scout --agent \"$WORKING\" look) || exit 91
        two=$(\"$0\" bg start --preset scout --agent \"$HANGING\" look) || exit 92
        \"$0\" bg logs -f \"$one\" > \"$LOG\" & logs=$!
        until grep -q working \"$LOG\"; do :; done
        \"$0\" bg wait \"$one\" > \"$WAITED\" & wait=$!
        touch \"$GO\"
        wait $wait || exit 93
        wait $logs || exit 94
        \"$0\" bg stop \"$two\"";
    let command = world.command([""; 0]);
    let wrapper = ["unshare", "--user", "--map-root-user", "sh", "-c", line];
    let mut script = World::behind(&wrapper, &command);
    script.env("WORKING", world.agent(&working)).env("HANGING", world.agent(&json!(["hang"])));
    script.env("GO", &go).env("LOG", world.path("log")).env("WAITED", world.path("waited"));
    let ran = test_support::Ran::from(script.output().unwrap());
    world.wait_until_nothing_is_left();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.ends_with("aborted    scout: 0 processes left\n"), "{ran:?}");
    let waited = fs::read_to_string(world.path("waited")).unwrap();
    assert_eq!(waited, "done\n");
    let log = fs::read_to_string(world.path("log")).unwrap();
    assert!(log.ends_with("done\n"), "{log}");
}
