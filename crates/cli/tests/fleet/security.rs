//! Encrypted connections, keys that are not enough, and tasks that would reach out of where they belong.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use test_support::{NatsServers, Ran, Running, World, wait_until, write_file};

use super::machines::{Fleet, new_world};
use super::nats_server;

/// A server that listens on loopback with credentials, and the directory of its keys.
fn with_keys(
    world: &World,
    change: impl Fn(String) -> String,
) -> (NatsServers, std::path::PathBuf) {
    // A directory that is in no repository travels as it is.
    fs::remove_dir(world.project().join(".git")).unwrap();
    let (port, keys) = (test_support::free_port(), world.path("server"));
    let words = ["fleet", "init", keys.to_str().unwrap(), "--port", &port.to_string()];
    let made = world.run(&[&words[..], &["--pool", "gpu"]].concat());
    assert_eq!(made.code, Some(0), "{made:?}");
    let config = keys.join("nats.conf");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, change(text)).unwrap();
    (NatsServers::with_config(&nats_server(), &config, port), keys)
}

fn openssl(world: &World, directory: &Path, words: &str) {
    let mut command: Command = world.command_of("openssl");
    let ran: Ran = command.args(words.split(' ')).current_dir(directory).output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// An authority, and a certificate of it for a server on loopback: as `docs/use/fleet.md` makes them.
fn make_certificates(world: &World, directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    for words in [
        "req -x509 -newkey ed25519 -nodes -days 2 -subj /CN=fleet -keyout ca-key.pem -out ca.pem",
        "req -newkey ed25519 -nodes -subj /CN=node -keyout server-key.pem -out server.csr",
    ] {
        openssl(world, directory, words);
    }
    write_file(&directory.join("names"), "subjectAltName=IP:127.0.0.1\n");
    let sign = "x509 -req -in server.csr -CA ca.pem -CAkey ca-key.pem -days 2 -extfile names -out server.pem";
    openssl(world, directory, sign);
}

#[test]
fn connections_are_encrypted_and_only_the_named_authority_is_trusted() {
    let world = new_world();
    let (ours, other) = (world.path("tls"), world.path("other"));
    make_certificates(&world, &ours);
    make_certificates(&world, &other);
    let encrypted = |text: String| {
        let file = |name: &str| ours.join(name).display().to_string();
        let tls = format!(
            "tls {{ cert_file: {:?}, key_file: {:?} }}\n",
            file("server.pem"),
            file("server-key.pem")
        );
        text + &tls
    };
    let (servers, keys) = with_keys(&world, encrypted);
    let url = servers.url().replace("nats://", "tls://");
    let command = |key: &str, ca: &Path, url: &str, words: &[&str]| {
        let mut command = world.command(words);
        command.env("PI_SUBAGENTS_FLEET", url);
        command.env("PI_SUBAGENTS_FLEET_CREDENTIALS", keys.join(key));
        command.env("PI_SUBAGENTS_FLEET_CA", ca.join("ca.pem"));
        command
    };
    let mut worker =
        command("worker-gpu.nk", &ours, &url, &["worker", "--pool", "gpu", "--workspace"]);
    worker.arg(world.path("worker"));
    let worker = Running::start(worker);
    let script = world.path("script.json");
    write_file(&script, &json!([{"text": "over TLS"}]).to_string());
    let model = format!("script/{}", script.display());
    let run = ["run", "--on", "fleet:gpu", "--agent", "builtin", "--model", &model, "Go."];
    let ran: Ran = command("caller.nk", &ours, &url, &run).output().unwrap().into();
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "over TLS"), "{ran:?}");
    let untrusted: Ran =
        command("caller.nk", &other, &url, &["fleet", "workers"]).output().unwrap().into();
    assert_eq!((untrusted.code, untrusted.stdout.as_str()), (Some(1), ""), "{untrusted:?}");
    worker.signal(rustix::process::Signal::TERM);
    assert_eq!(worker.finish().code, Some(0));
    drop(servers);
    world.wait_until_nothing_is_left();
}

#[test]
fn the_key_of_a_worker_takes_no_tasks_of_another_pool_and_reads_none() {
    let world = new_world();
    let (servers, keys) = with_keys(&world, |text| text);
    let act = |key: &str, words: &[&str]| -> Ran {
        let mut command = world.command(words);
        command.env("PI_SUBAGENTS_FLEET", servers.url());
        command.env("PI_SUBAGENTS_FLEET_CREDENTIALS", keys.join(key));
        command.output().unwrap().into()
    };
    write_file(&world.project().join("b.jsonl"), "{\"key\": \"a\", \"prompt\": \"Secret.\"}\n");
    assert_eq!(act("caller.nk", &["fleet", "submit", "b.jsonl"]).code, Some(0));
    let workspace = world.path("worker");
    let words = ["worker", "--pool", "default", "--workspace", workspace.to_str().unwrap()];
    let refused = act("worker-gpu.nk", &words);
    assert!(refused.code == Some(1) && refused.stderr.contains("ermissions"), "{refused:?}");
    for words in [["fleet", "show", "b", "a"], ["fleet", "results", "b", "--json"]] {
        let words = &words[..if words[1] == "results" { 3 } else { 4 }];
        let refused = act("worker-gpu.nk", words);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
    }
    let status = act("caller.nk", &["fleet", "status", "b", "--json"]).json();
    assert_eq!(status["queued"], 1, "{status}");
    drop(servers);
    world.wait_until_nothing_is_left();
}

/// Publishes a message as any program with a connection can.
fn publish(servers: &NatsServers, subject: &str, message: &Value) {
    let stream = TcpStream::connect(servers.url().strip_prefix("nats://").unwrap()).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let text = message.to_string();
    let words = format!(
        "CONNECT {{\"verbose\":false}}\r\nPUB {subject} {}\r\n{text}\r\nPING\r\n",
        text.len()
    );
    (&stream).write_all(words.as_bytes()).unwrap();
    assert!(answers.any(|line| line == "PONG"));
}

/// A task as a caller queues it, with its entry, so that its result can be read.
fn queue(fleet: &Fleet, key: &str, change: impl Fn(&mut Value)) {
    let address = json!({"pool": "default", "batch": "b", "task": key});
    let (run, session) = ("01a1e067-9fdf-74f3-92a0-b653fa59fb30", "0123456789abcdef");
    let entry = json!({"format": 1, "address": address, "runId": run, "sessionId": session,
        "name": key, "number": 1, "submittedAt": 1});
    publish(&fleet.servers, &format!("subagents.batch.b.{key}"), &entry);
    let limits = json!({"timeoutMs": 60000, "extendTimeoutDebounceMs": 1000, "loopingToolCount": 5, "logBytes": 100_000});
    let task =
        json!({"name": key, "prompt": "Go.", "task": "Go.", "agent": "builtin", "limits": limits});
    let mut message =
        json!({"format": 1, "address": address, "runId": run, "sessionId": session, "task": task});
    change(&mut message);
    publish(&fleet.servers, &format!("subagents.task.default.b.{key}"), &message);
}

#[test]
fn a_task_that_would_reach_out_of_its_directory_does_nothing() {
    let mut fleet = Fleet::new();
    // The streams are made by the first program that needs them.
    let worker = fleet.worker(&["--agents", "builtin"]);
    wait_until(|| fleet.ask(&["workers"]).stdout.contains("default"));
    write_file(&fleet.world.project().join("empty.jsonl"), "");
    fleet.ask(&["submit", "empty.jsonl", "--name", "b"]);
    let victim = fleet.world.path("victim");
    let planted = victim.join("planted");
    fs::create_dir_all(&victim).unwrap();
    let commit = "c".repeat(40);
    let outside = format!("../../../../../../../..{}", victim.display());
    queue(&fleet, "directory", |task| {
        task["snapshot"] = json!({"commit": commit, "directory": outside});
    });
    queue(&fleet, "commit", |task| task["snapshot"] = json!({"commit": outside, "directory": ""}));
    queue(&fleet, "program", |task| {
        let text = format!("---\nname: p\nagent: [touch, {}]\n---\n", planted.display());
        task["task"]["definition"] = json!({"isPreset": false, "name": "p", "text": text});
        task["task"]["agent"] = Value::Null;
    });
    let results = || -> Vec<Value> {
        let ran = fleet.ask(&["results", "b"]);
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    wait_until(|| results().len() == 3);
    for result in results() {
        assert_eq!(result["outcome"], "spawn_failure", "{result}");
    }
    // Another one wants a command to be run, which this worker does not do; a newer one is not understood.
    queue(&fleet, "command", |task| {
        task["task"]["check"] = json!(format!("touch {}", planted.display()));
    });
    wait_until(|| fleet.ask(&["workers"]).stdout.contains("--allow-prepare"));
    fleet.ask(&["cancel", "b"]);
    queue(&fleet, "newer", |task| task["format"] = json!(2));
    wait_until(|| fleet.ask(&["workers"]).stdout.contains("this version understands up to 1"));
    assert!(fs::read_dir(&victim).unwrap().next().is_none());
    assert_eq!(fleet.end(worker).code, Some(0));
    fleet.end_all();
}

#[test]
fn the_settings_of_the_user_name_the_server_of_batches_too() {
    let mut fleet = Fleet::new();
    fleet.world.settings(&json!({"fleet": {"url": fleet.servers.url()}}));
    fleet.worker(&[]);
    let script = fleet.world.path("script.json");
    write_file(&script, &json!([{"text": "by the settings"}]).to_string());
    let model = format!("script/{}", script.display());
    let line = json!({"key": "a", "prompt": "Go.", "agent": "builtin", "model": model});
    write_file(&fleet.world.project().join("s.jsonl"), &line.to_string());
    let submitted = fleet.world.run(&["fleet", "submit", "s.jsonl"]);
    assert_eq!(submitted.code, Some(0), "{submitted:?}");
    let watched = fleet.world.run(&["fleet", "watch", "s"]);
    assert_eq!(watched.code, Some(0), "{watched:?}");
    let results = fleet.world.run(&["fleet", "results", "s"]);
    assert_eq!(results.json()["output"], "by the settings", "{results:?}");
    fleet.end_all();
}

#[test]
fn a_caller_is_told_why_no_worker_takes_its_task() {
    let mut fleet = Fleet::new();
    fleet.worker(&["--agents", "pi"]);
    let task = fleet.task("waits", &json!([{"text": "never"}]));
    let caller = fleet.start_delegation(&task);
    wait_until(|| {
        let run = fleet.world.runs().into_iter().next();
        let events = run.and_then(|run| fs::read_to_string(run.join("events.jsonl")).ok());
        events.is_some_and(|events| {
            events.contains("does not take the task: this worker does not offer the agent")
        })
    });
    caller.signal(rustix::process::Signal::INT);
    let ran = caller.finish();
    assert_eq!(ran.json()["tasks"][0]["outcome"], "cancelled", "{ran:?}");
    fleet.end_all();
}
