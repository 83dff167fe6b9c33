//! Batches that workers carry out.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use test_support::{NatsServers, Ran, Running, wait_until, write_file};

use super::machines::{Fleet, await_end_of, await_process, long_turn, new_world, shell};
use super::nats_server;

/// A line of a batch whose agent plays these turns.
fn line(fleet: &Fleet, key: &str, turns: &Value) -> String {
    let mut task = fleet.task(key, turns);
    task["key"] = json!(key);
    format!("{task}\n")
}

fn submit(fleet: &Fleet, lines: &str) {
    write_file(&fleet.world.project().join("batch.jsonl"), lines);
    let ran = fleet.ask(&["submit", "batch.jsonl"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// Waits until the batch has ended.
fn watch(fleet: &Fleet) -> Ran {
    Running::start(fleet.command(&["fleet", "watch", "batch"])).finish()
}

fn results(fleet: &Fleet) -> Vec<Value> {
    let ran = fleet.ask(&["results", "batch"]);
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn keys_and_outputs(results: &[Value]) -> Vec<(&str, &str)> {
    results
        .iter()
        .map(|task| (task["key"].as_str().unwrap(), task["output"].as_str().unwrap()))
        .collect()
}

#[test]
fn workers_carry_out_a_batch_each_task_once_and_in_the_order_of_submission() {
    let mut fleet = Fleet::new();
    let expected: Vec<(String, String)> =
        (0..60).rev().map(|index| (format!("t.{index}"), format!("answer {index}"))).collect();
    let lines: String =
        expected.iter().map(|(key, text)| line(&fleet, key, &json!([{"text": text}]))).collect();
    submit(&fleet, &lines);
    fleet.worker(&["--slots", "4"]);
    fleet.worker(&["--slots", "4"]);
    let watched = watch(&fleet);
    assert_eq!(watched.code, Some(0), "{watched:?}");
    assert!(watched.stdout.contains("batch: 60 of 60 ended"), "{watched:?}");
    let found = results(&fleet);
    let expected: Vec<(&str, &str)> =
        expected.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
    assert_eq!(keys_and_outputs(&found), expected);
    assert!(found.iter().all(|task| task["attempt"] == 1), "{found:?}");
    let written = fleet.ask(&["results", "batch", "--output-dir", "answers"]);
    assert_eq!(written.code, Some(0), "{written:?}");
    let answer = fs::read_to_string(fleet.world.project().join("answers/t.7.md")).unwrap();
    assert_eq!(answer, "answer 7\n");
    let shown = fleet.ask(&["show", "batch", "t.7"]);
    assert!(shown.code == Some(0) && shown.stdout.contains("answer 7"), "{shown:?}");
    let workers = fleet.ask(&["workers", "--json"]).json();
    let workers = workers["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 2, "{workers:?}");
    assert!(workers.iter().all(|worker| worker["slots"] == 4), "{workers:?}");
    let again = fleet.ask(&["submit", "batch.jsonl", "--json"]).json();
    assert_eq!(again, json!({"batch": "batch", "added": 0, "retried": 0, "present": 60}));
    fleet.end_all();
}

#[test]
fn the_tasks_of_a_batch_work_each_on_its_own_copy_of_the_files_of_a_repository() {
    let mut fleet = Fleet::new();
    let command = "ls; cat a.txt new.txt; echo changed > a.txt; ls ignored.log";
    let lines: String = (0..4)
        .map(|index| line(&fleet, &format!("t{index}"), &json!([shell(command), {"text": "seen"}])))
        .collect();
    write_file(&fleet.world.path("batch.jsonl"), &lines);
    let file = fleet.world.path("batch.jsonl");
    let ran = fleet.ask(&["submit", file.to_str().unwrap(), "--files", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    fleet.worker(&["--slots", "2"]);
    assert_eq!(watch(&fleet).code, Some(0));
    for index in 0..4 {
        let shown = fleet.ask(&["show", "batch", &format!("t{index}"), "--json"]).json();
        let events = shown["events"].as_array().unwrap();
        let result = events.iter().find(|event| event["type"] == "tool_result").unwrap();
        let seen = result["text"].as_str().unwrap();
        assert!(seen.contains("a.txt\nnew.txt\nnot committed\nuntracked\n"), "{seen}");
        assert!(seen.contains("cannot access 'ignored.log'"), "{seen}");
    }
    let own = || fs::read_to_string(fleet.world.project().join("a.txt")).unwrap();
    assert_eq!(own(), "not committed\n");
    let patches = fleet.world.path("patches");
    let ran = fleet.ask(&["results", "batch", "--patches", patches.to_str().unwrap()]);
    assert_eq!((ran.code, fs::read_dir(&patches).unwrap().count()), (Some(0), 4), "{ran:?}");
    let mut apply = fleet.world.command_of("git");
    let applied = apply.arg("apply").arg(patches.join("t2.patch")).output().unwrap();
    assert!(applied.status.success(), "{applied:?}");
    assert_eq!(own(), "changed\n");
    fleet.end_all();
}

#[test]
fn what_failed_is_tried_again_when_that_is_asked_for() {
    let mut fleet = Fleet::new();
    let lines = [
        line(&fleet, "good", &json!([{"text": "at once"}])),
        line(&fleet, "bad", &json!([{"text": "later"}])),
    ];
    let script = fleet.world.path("bad.json");
    fs::remove_file(&script).unwrap();
    submit(&fleet, &lines.concat());
    fleet.worker(&[]);
    let watched = watch(&fleet);
    assert_eq!(watched.code, Some(1), "{watched:?}");
    let failed = fleet.ask(&["results", "batch", "--failed"]);
    assert_eq!((failed.code, &failed.json()["key"]), (Some(1), &json!("bad")), "{failed:?}");
    write_file(&script, &json!([{"text": "later"}]).to_string());
    let again = fleet.ask(&["submit", "batch.jsonl", "--failed", "--json"]).json();
    assert_eq!(again, json!({"batch": "batch", "added": 0, "retried": 1, "present": 1}));
    assert_eq!(watch(&fleet).code, Some(0));
    assert_eq!(keys_and_outputs(&results(&fleet)), [("good", "at once"), ("bad", "later")]);
    fleet.end_all();
}

/// Tasks whose agents go on for ten minutes, and the files into which they write their processes.
fn long_tasks(fleet: &Fleet, count: usize) -> (String, Vec<PathBuf>) {
    let file = |index| fleet.world.path(&format!("process-{index}"));
    let files: Vec<PathBuf> = (0..count).map(file).collect();
    let lines = files.iter().enumerate().map(|(index, file)| {
        line(fleet, &format!("t{index}"), &json!([long_turn(file), {"text": "late"}]))
    });
    (lines.collect(), files)
}

#[test]
fn cancelling_a_batch_ends_its_agents_and_what_waits() {
    let mut fleet = Fleet::new();
    let (lines, files) = long_tasks(&fleet, 6);
    submit(&fleet, &lines);
    fleet.worker(&["--slots", "3"]);
    wait_until(|| files.iter().filter(|file| file.exists()).count() == 3);
    let begun: Vec<u32> =
        files.iter().filter(|file| file.exists()).map(|file| await_process(file)).collect();
    let key = format!("t{}", files.iter().position(|file| file.exists()).unwrap());
    let follow = ["fleet", "show", "batch", &key, "--follow"];
    let follower = Running::start(fleet.command(&follow));
    let cancelled = fleet.ask(&["cancel", "batch", "--json"]).json();
    let expected = json!({"batch": "batch", "queued": 3, "running": 3, "ended": 0});
    assert_eq!(cancelled, expected);
    begun.into_iter().for_each(await_end_of);
    let followed = follower.finish();
    assert!(followed.code == Some(1) && followed.stdout.contains("echo $$"), "{followed:?}");
    watch(&fleet);
    let found = results(&fleet);
    assert_eq!(found.len(), 6);
    assert!(found.iter().all(|task| task["outcome"] == "cancelled"), "{found:?}");
    assert_eq!(files.iter().filter(|file| file.exists()).count(), 3);
    assert_eq!(fleet.ask(&["delete", "batch"]).code, Some(0));
    fleet.end_all();
}

#[test]
fn the_tasks_of_a_killed_worker_are_carried_out_once_by_another_one() {
    let mut fleet = Fleet::new();
    let went = |index: usize| fleet.world.path(&format!("went-{index}"));
    let lines: String = (0..12)
        .map(|index| {
            // The first time it goes on without end.
            let command =
                format!("test -e {0} || {{ touch {0}; exec sleep 600; }}", went(index).display());
            line(&fleet, &format!("t{index}"), &json!([shell(&command), {"text": "made"}]))
        })
        .collect();
    let files: Vec<PathBuf> = (0..12).map(went).collect();
    submit(&fleet, &lines);
    let first = fleet.worker(&["--slots", "4"]);
    let count = || files.iter().filter(|file| file.exists()).count();
    wait_until(|| count() == 4);
    // The others would go on, too.
    files.iter().for_each(|file| write_file(file, ""));
    fleet.kill(first);
    fleet.worker(&["--slots", "4"]);
    let watched = watch(&fleet);
    assert_eq!(watched.code, Some(0), "{watched:?}");
    let found = results(&fleet);
    let expected: Vec<String> = (0..12).map(|index| format!("t{index}")).collect();
    let expected: Vec<(&str, &str)> = expected.iter().map(|key| (key.as_str(), "made")).collect();
    assert_eq!(keys_and_outputs(&found), expected);
    assert_eq!(found.iter().filter(|task| task["attempt"] == 2).count(), 4, "{found:?}");
    fleet.end_all();
}

#[test]
fn each_key_is_enough_for_its_role() {
    let world = new_world();
    // A directory that is in no repository travels as it is.
    fs::remove_dir(world.project().join(".git")).unwrap();
    let port = test_support::free_port();
    let keys = world.path("server");
    let made = world.run(&["fleet", "init", keys.to_str().unwrap(), "--port", &port.to_string()]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let servers = NatsServers::with_config(&nats_server(), &keys.join("nats.conf"), port);
    let url = servers.url();
    let command = |key: &str, arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env("PI_SUBAGENTS_FLEET", &url);
        command.env("PI_SUBAGENTS_FLEET_CREDENTIALS", keys.join(key));
        command
    };
    let act =
        |key: &str, arguments: &[&str]| -> Ran { command(key, arguments).output().unwrap().into() };
    let script = world.path("script.json");
    write_file(&script, &json!([{"text": "done"}]).to_string());
    let model = format!("script/{}", script.display());
    let task = json!({"key": "a", "prompt": "Go.", "agent": "builtin", "model": model});
    write_file(&world.project().join("b.jsonl"), &task.to_string());
    let submitted = act("caller.nk", &["fleet", "submit", "b.jsonl"]);
    assert_eq!(submitted.code, Some(0), "{submitted:?}");
    let mut worker = command("worker-default.nk", &["worker", "--workspace"]);
    worker.arg(world.path("worker"));
    let worker = Running::start(worker);
    let watched = act("viewer.nk", &["fleet", "watch", "b"]);
    assert_eq!(watched.code, Some(0), "{watched:?}");
    let workers = act("viewer.nk", &["fleet", "workers", "--json"]).json();
    assert_eq!(workers["workers"].as_array().unwrap().len(), 1, "{workers}");
    let shown = act("viewer.nk", &["fleet", "show", "b", "a"]);
    assert!(shown.stdout.contains("done"), "{shown:?}");
    let ran =
        act("caller.nk", &["run", "--on", "fleet", "--agent", "builtin", "--model", &model, "Go."]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "done"), "{ran:?}");
    assert_eq!(act("caller.nk", &["fleet", "delete", "b"]).code, Some(0));
    worker.signal(rustix::process::Signal::TERM);
    assert_eq!(worker.finish().code, Some(0));
    // The words of its program name the world, too.
    drop(servers);
    world.wait_until_nothing_is_left();
}
