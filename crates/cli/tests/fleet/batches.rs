//! Batches as the server keeps them, without a worker: what is queued, counted, cancelled, tried again and deleted.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::{Value, json};
use test_support::{NatsServers, Ran, Running, World, wait_until, write_file};

use super::machines::new_world;
use super::nats_server;

/// `fleet` with these arguments, at this server.
fn fleet(world: &World, url: &str, arguments: &[&str]) -> Ran {
    world.command(["fleet"]).args(arguments).env("PI_SUBAGENTS_FLEET", url).output().unwrap().into()
}

fn lines(keys: impl Iterator<Item = usize>) -> String {
    let line =
        |key| format!("{}\n", json!({"key": format!("t.{key}"), "prompt": format!("Do {key}")}));
    keys.map(line).collect()
}

fn documents(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_same_command_again_adds_only_what_is_missing() {
    let (servers, world) = (NatsServers::one(&nats_server()), new_world());
    let (url, file) = (servers.url(), world.project().join("nightly.jsonl"));
    write_file(&file, &lines((0..250).rev()));
    let submit = || fleet(&world, &url, &["submit", "nightly.jsonl", "--json"]);
    let first = submit();
    assert_eq!(first.code, Some(0), "{first:?}");
    assert_eq!(first.json(), json!({"batch": "nightly", "added": 250, "retried": 0, "present": 0}));
    write_file(&file, &lines((0..260).rev()));
    assert_eq!(
        submit().json(),
        json!({"batch": "nightly", "added": 10, "retried": 0, "present": 250})
    );
    let status = fleet(&world, &url, &["status", "nightly", "--json"]).json();
    assert_eq!((&status["tasks"], &status["queued"]), (&json!(260), &json!(260)), "{status}");
    let list = fleet(&world, &url, &["status", "--json"]).json();
    assert_eq!(list["batches"], json!([{"batch": "nightly", "tasks": 260, "ended": 0}]));
    let cancelled = fleet(&world, &url, &["cancel", "nightly", "--json"]).json();
    assert_eq!(cancelled["queued"], json!(260), "{cancelled}");
    // In the order of submission: the later ten come last.
    let results = fleet(&world, &url, &["results", "nightly"]);
    assert_eq!(results.code, Some(1));
    let keys: Vec<String> =
        documents(&results).iter().map(|task| task["key"].as_str().unwrap().to_owned()).collect();
    let expected = (0..250).rev().chain((250..260).rev()).map(|key| format!("t.{key}"));
    assert_eq!(keys, expected.collect::<Vec<_>>());
    assert!(documents(&results).iter().all(|task| task["outcome"] == "cancelled"));
    // What was cancelled is tried again only if that is asked for, and keeps its place.
    assert_eq!(submit().json()["present"], json!(260));
    let again = fleet(&world, &url, &["submit", "nightly.jsonl", "--failed", "--json"]).json();
    assert_eq!(again, json!({"batch": "nightly", "added": 0, "retried": 260, "present": 0}));
    let status = fleet(&world, &url, &["status", "nightly", "--json"]).json();
    assert_eq!(status["queued"], json!(260), "{status}");
    let refused = fleet(&world, &url, &["delete", "nightly"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("260 tasks of the batch have not ended"), "{refused:?}");
    fleet(&world, &url, &["cancel", "nightly"]);
    assert_eq!(fleet(&world, &url, &["delete", "nightly"]).code, Some(0));
    assert_eq!(fleet(&world, &url, &["status", "--json"]).json(), json!({"batches": []}));
    assert_eq!(fleet(&world, &url, &["results", "nightly"]).code, Some(2));
}

#[test]
fn a_caller_that_is_killed_and_comes_again_loses_and_doubles_nothing() {
    let (mut servers, world) = (NatsServers::three(&nats_server()), new_world());
    let url = servers.url();
    write_file(&world.project().join("many.jsonl"), &lines(0..3_000));
    let mut command = world.command(["fleet", "submit", "many.jsonl"]);
    let caller = Running::start({
        command.env("PI_SUBAGENTS_FLEET", &url);
        command
    });
    let tasks =
        || fleet(&world, &url, &["status", "--json"]).json()["batches"][0]["tasks"].as_u64();
    wait_until(|| tasks().is_some_and(|tasks| tasks >= 200));
    caller.signal(Signal::KILL);
    caller.finish();
    servers.kill(0);
    let again = fleet(&world, &url, &["submit", "many.jsonl", "--json"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let again = again.json();
    let sum = again["added"].as_u64().unwrap() + again["present"].as_u64().unwrap();
    assert_eq!(sum, 3_000, "{again}");
    servers.start(0);
    servers.kill_all();
    (0..3).for_each(|node| servers.start(node));
    servers.wait_until_ready();
    // A node that has just come back may still be taking in what the others have.
    wait_until(|| {
        let status = fleet(&world, &url, &["status", "many", "--json"]).json();
        (&status["tasks"], &status["queued"]) == (&json!(3_000), &json!(3_000))
    });
}

#[test]
fn everything_that_the_server_keeps_goes_by_its_age() {
    let (servers, world) = (NatsServers::one(&nats_server()), new_world());
    write_file(&world.project().join("b.jsonl"), &lines(0..1));
    assert_eq!(fleet(&world, &servers.url(), &["submit", "b.jsonl"]).code, Some(0));
    let kept = servers.days_kept();
    assert_eq!(kept.len(), 9, "{kept:?}");
    for (stream, days) in kept {
        let expected = match stream.as_str() {
            // A worker that is not heard of for a minute is gone.
            "KV_SUBAGENTS_WORKERS" => 0,
            "SUBAGENTS_BATCHES" => 30,
            "SUBAGENTS_TASKS"
            | "KV_SUBAGENTS_STATES"
            | "KV_SUBAGENTS_RESULTS"
            | "KV_SUBAGENTS_LIMITS" => 31,
            _ => 7,
        };
        assert_eq!(days, expected, "{stream}");
    }
}

#[test]
fn a_mistake_names_its_line_and_what_was_queued_before_it() {
    let (servers, world) = (NatsServers::one(&nats_server()), new_world());
    for (line, problem) in [
        ("{", "it is not JSON"),
        ("[]", "it must be an object with a key and a prompt"),
        (r#"{"prompt": "p"}"#, "key: is missing"),
        (r#"{"key": "../a", "prompt": "p"}"#, "cannot name a task"),
        (r#"{"key": "a"}"#, "prompt: is missing"),
        (r#"{"key": "a", "prompt": "p", "promt": "p"}"#, "promt: is unknown"),
        (r#"{"key": "t.0", "prompt": "p"}"#, "the key \"t.0\" stands in line 1, too"),
        (
            r#"{"key": "a", "prompt": "p", "cwd": "/etc"}"#,
            "cwd: a task of a batch works in a directory of its worker",
        ),
        (r#"{"key": "a", "prompt": "p", "profile": "none"}"#, "none"),
    ] {
        write_file(&world.project().join("b.jsonl"), &format!("{}\n{line}\n", lines(0..1).trim()));
        let ran = fleet(&world, &servers.url(), &["submit", "b.jsonl"]);
        assert_eq!(ran.code, Some(2), "{line}: {ran:?}");
        assert!(ran.stderr.contains(problem) && ran.stderr.contains("line "), "{line}: {ran:?}");
    }
    let status = fleet(&world, &servers.url(), &["status", "b", "--json"]).json();
    assert_eq!(status["tasks"], json!(1), "{status}");
}

#[test]
fn a_server_elsewhere_without_credentials_is_refused_and_so_is_one_that_is_not_there() {
    let world = new_world();
    let ran = fleet(&world, "nats://192.0.2.1:4222", &["status"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("no credentials are named"), "{ran:?}");
    let none = world.run(&["fleet", "status"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.stderr.contains("no server of the fleet is named"), "{none:?}");
}

/// A free port, found as the servers of tests find theirs.
fn init(world: &World, port: u16) -> Ran {
    world.run(&[
        "fleet",
        "init",
        "fleet",
        "--port",
        &port.to_string(),
        "--pool",
        "default",
        "--pool",
        "gpu",
    ])
}

#[test]
fn a_key_does_what_its_role_may_and_no_other_key_does_anything() {
    let world = new_world();
    let port = test_support::free_port();
    let made = init(&world, port);
    assert_eq!(made.code, Some(0), "{made:?}");
    let directory = world.project().join("fleet");
    let worker = |name: &str| {
        format!("pi-subagents worker --credentials {}/worker-{name}\n", directory.display())
    };
    for name in ["default.nk", "gpu.nk --pool gpu"] {
        assert!(made.stdout.contains(&worker(name)), "{made:?}");
    }
    for name in ["nats.conf", "caller.nk", "viewer.nk", "worker-default.nk", "worker-gpu.nk"] {
        let mode = fs::metadata(directory.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let before = fs::read(directory.join("caller.nk")).unwrap();
    let again = init(&world, port);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.stderr.contains("is there already"), "{again:?}");
    assert_eq!(fs::read(directory.join("caller.nk")).unwrap(), before);

    let servers = NatsServers::with_config(&nats_server(), &directory.join("nats.conf"), port);
    let url = servers.url();
    let act = |key: &str, arguments: &[&str]| -> Ran {
        let key = if key.starts_with('/') { key.into() } else { directory.join(key) };
        let mut command = world.command(["fleet"]);
        command.args(arguments).env("PI_SUBAGENTS_FLEET", &url);
        command.env("PI_SUBAGENTS_FLEET_CREDENTIALS", key).output().unwrap().into()
    };
    write_file(&world.project().join("b.jsonl"), &lines(0..3));
    let submitted = act("caller.nk", &["submit", "b.jsonl", "--json"]);
    assert_eq!(submitted.code, Some(0), "{submitted:?}");
    let seen = act("viewer.nk", &["status", "b", "--json"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert_eq!(seen.json()["queued"], json!(3));
    // No credentials, and a key that the server does not know.
    for key in ["/dev/null".to_owned(), {
        world.run(&["fleet", "init", "other"]);
        world.project().join("other/caller.nk").to_string_lossy().into_owned()
    }] {
        let refused = act(&key, &["status", "b"]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
    }
    // A viewer changes nothing, and a worker reads no batch.
    for (key, arguments) in [
        ("viewer.nk", vec!["cancel", "b"]),
        ("viewer.nk", vec!["submit", "b.jsonl", "--name", "c"]),
        ("worker-gpu.nk", vec!["status", "b"]),
        ("worker-gpu.nk", vec!["results", "b"]),
    ] {
        let refused = act(key, &arguments);
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (Some(1), ""),
            "{key} {arguments:?}: {refused:?}"
        );
    }
    let seen = act("caller.nk", &["status", "b", "--json"]);
    assert_eq!(seen.json()["queued"], json!(3), "{seen:?}");
}
