//! A worker that has the key of its pool, takes tasks, and sends back what would harm their caller.

use std::fs;
use std::path::{Path, PathBuf};

use fleet::{
    CHANGES, EventChunk, Format, ServerAddress, TASKS, TaskMessage, TaskResult, Tasks,
    cut_into_chunks, has_object, send_file,
};
use serde_json::{Value, json};
use test_support::{Ran, wait_until, write_file};

use super::machines::Fleet;

/// What a terminal would obey: a title, a cleared screen, and text that runs backwards.
const SEQUENCES: &str = "\u{1b}]0;owned\u{7}\u{1b}[2Jwords\u{202e}\u{9b}31m";

/// What the worker sends back for a task.
#[derive(Default)]
struct Deed {
    /// The chunks of its events, each as it is sent.
    chunks: Vec<Vec<u8>>,
    /// Changes of its result.
    result: Value,
    /// A bundle, and the commit that is claimed to be in it.
    changes: Option<(PathBuf, String)>,
}

/// Does something at the server, as any program with a key can.
fn at_server<T>(fleet: &Fleet, act: impl AsyncFnOnce(fleet::Fleet) -> T) -> T {
    let address = ServerAddress::new(&fleet.servers.url(), None, None).unwrap();
    let acted = fleet::block_on(async {
        act(fleet::Fleet::connect(&address, "hostile").await.unwrap()).await
    });
    acted.unwrap()
}

/// The tasks that are queued, once there are so many.
fn queued(fleet: &Fleet, count: usize) -> Vec<TaskMessage> {
    let mut tasks = Vec::new();
    wait_until(|| {
        tasks = at_server(fleet, async |server| {
            let Ok(stream) = server.jetstream().get_stream(TASKS).await else { return Vec::new() };
            let last = stream.get_info().await.unwrap().state.last_sequence;
            let mut tasks = Vec::new();
            for sequence in 1..=last {
                if let Ok(message) = stream.get_raw_message(sequence).await {
                    tasks.push(serde_json::from_slice(&message.payload).unwrap());
                }
            }
            tasks
        });
        tasks.len() >= count
    });
    tasks
}

/// The lines of events as chunks, each whole.
fn chunks(events: &[Value]) -> Vec<Vec<u8>> {
    let lines = events.iter().zip(1..).map(|(event, number)| {
        let mut record = event.clone();
        record["seq"] = json!(number);
        record["at"] = json!(1_794_772_669_900_u64);
        chunk(number, &format!("{record}\n"))
    });
    lines.collect()
}

fn chunk(number: u64, text: &str) -> Vec<u8> {
    serde_json::to_vec(&EventChunk { format: Format, number, text: text.to_owned() }).unwrap()
}

fn ended() -> Value {
    json!({"type": "run_ended", "outcome": "completed"})
}

/// Carries a task out, as far as the server can see.
fn carry_out(fleet: &Fleet, task: &TaskMessage, deed: Deed) {
    let TaskMessage { address, run_id, session_id, .. } = task;
    let mut run = json!({
        "format": 1, "runId": run_id, "sessionId": session_id, "name": "theirs", "status": "completed",
        "outcome": "completed", "error": null, "output": "done", "exitCode": 0, "signal": null,
        "model": null, "stopReason": null, "toolCalls": 0, "startedAt": 1, "endedAt": 2,
        "durationMs": 1, "warnings": [],
        "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
            "cost": {"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.0}},
    });
    for (field, value) in deed.result.as_object().into_iter().flatten() {
        run[field] = value.clone();
    }
    let commit = deed.changes.as_ref().map(|(_, commit)| commit);
    let result = json!({"format": 1, "attempt": 1, "worker": SEQUENCES, "lastChunk": 1, "result": run,
        "commit": commit});
    let result: TaskResult = serde_json::from_value(result).unwrap();
    at_server(fleet, async |server| {
        if let Some((bundle, _)) = &deed.changes {
            let store = server.objects(CHANGES).await.unwrap();
            send_file(&server, &store, &address.changes_name(1), bundle).await.unwrap();
        }
        for chunk in deed.chunks {
            let subject = address.event_subject(1);
            server.jetstream().publish(subject, chunk.into()).await.unwrap().await.unwrap();
        }
        Tasks::open(&server).await.unwrap().finish(address, result).await.unwrap();
    });
}

/// Runs git in a directory that is no repository of the user's.
fn git(fleet: &Fleet, directory: &Path, words: &[&str]) -> String {
    let mut command = fleet.world.command_of("git");
    let ran: Ran = command.args(words).current_dir(directory).output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
    ran.stdout.trim().to_owned()
}

/// A bundle with one file of this name, in a tree that git itself would not make.
fn planted(fleet: &Fleet, name: &str, mode: &str, content: &str) -> (PathBuf, String) {
    let directory = fleet.world.path(&format!("made-{}", name.replace('/', "-")));
    fs::create_dir_all(&directory).unwrap();
    git(fleet, &directory, &["init", "--quiet", "--initial-branch=main"]);
    write_file(&directory.join("content"), content);
    let blob = git(fleet, &directory, &["hash-object", "-w", "content"]);
    let id =
        (0..blob.len()).step_by(2).map(|at| u8::from_str_radix(&blob[at..at + 2], 16).unwrap());
    let mut tree = format!("{mode} {name}\0").into_bytes();
    tree.extend(id);
    fs::write(directory.join("content"), tree).unwrap();
    let store = ["hash-object", "-w", "--literally", "-t", "tree", "content"];
    let tree = git(fleet, &directory, &store);
    let commit = git(fleet, &directory, &["commit-tree", &tree, "-m", "Theirs"]);
    git(fleet, &directory, &["update-ref", "refs/heads/main", &commit]);
    git(fleet, &directory, &["bundle", "create", "--quiet", "bundle", "refs/heads/main"]);
    (directory.join("bundle"), commit)
}

fn assert_plain(what: &str, text: &str) {
    let is_bad = |letter: char| {
        (letter.is_control() && !matches!(letter, '\n' | '\t')) || letter == '\u{202e}'
    };
    assert!(!text.contains(is_bad), "{what}: {text:?}");
}

#[test]
fn what_is_planted_in_a_result_reaches_neither_files_nor_refs_of_the_caller() {
    let mut fleet = Fleet::new();
    let tasks: Vec<Value> =
        (0..4).map(|index| fleet.task(&format!("t{index}"), &json!([{"text": "never"}]))).collect();
    let head = fleet.git(&["rev-parse", "HEAD"]);
    let before = fleet.git(&["for-each-ref", "refs/heads", "refs/tags"]);
    let call = fleet.world.path("call.json");
    write_file(&call, &json!(tasks).to_string());
    let mut command = fleet.command(&["delegate", "--on", "fleet", "--json", "--concurrency", "4"]);
    command.arg(call);
    let caller = test_support::Running::start(command);
    let hook = fleet.world.path("planted");
    let touch = format!("#!/bin/sh\ntouch {}\n", hook.display());
    let (whole, commit) = planted(&fleet, "b.txt", "100644", "theirs\n");
    let half = fleet.world.path("half");
    let bytes = fs::read(&whole).unwrap();
    fs::write(&half, &bytes[..bytes.len() / 2]).unwrap();
    let deeds = [
        planted(&fleet, ".git/hooks/post-checkout", "100755", &touch),
        planted(&fleet, "../planted", "100644", &touch),
        // A commit of the user's, which no agent has made.
        (whole, head),
        (half, commit),
    ];
    let queued = queued(&fleet, 4);
    for (task, changes) in queued.iter().zip(deeds) {
        let said = json!({"type": "assistant_message", "text": "done"});
        let chunks = chunks(&[json!({"type": "run_started", "pid": 1}), said, ended()]);
        carry_out(&fleet, task, Deed { chunks, changes: Some(changes), ..Deed::default() });
    }
    let ran = caller.finish();
    for task in ran.json()["tasks"].as_array().unwrap() {
        assert_eq!((&task["outcome"], &task["output"]), (&json!("completed"), &json!("done")));
        let warnings = task["warnings"].to_string();
        assert!(warnings.contains("could not be brought back"), "{task}");
        assert_eq!(task["changes"]["files"], 0, "{task}");
    }
    // What was refused may have been refused wrongly, as on a full disk: it is not lost.
    at_server(&fleet, async |server| {
        let changes = server.objects(CHANGES).await.unwrap();
        for task in &queued {
            assert!(has_object(&changes, &task.address.changes_name(1)).await, "{task:?}");
        }
    });
    assert_eq!(fleet.git(&["for-each-ref", "refs/heads", "refs/tags"]), before);
    assert_eq!(fleet.git(&["status", "--porcelain"]), " M a.txt\n?? new.txt");
    assert!(!hook.exists() && !fleet.world.project().join(".git/hooks/post-checkout").exists());
    fleet.end_all();
}

#[test]
fn forged_events_are_cleaned_bounded_and_end_the_run_once() {
    let mut fleet = Fleet::new();
    let task = fleet.task("forged", &json!([{"text": "never"}]));
    let caller = fleet.start_delegation(&task);
    let task = &queued(&fleet, 1)[0];
    let mut sent = chunks(&[
        json!({"type": "run_started", "pid": 1}),
        json!({"type": "tool_call", "id": SEQUENCES, "tool": SEQUENCES, "args": {"command": SEQUENCES}}),
        json!({"type": "tool_result", "id": SEQUENCES, "output": SEQUENCES.repeat(20_000), "isError": false}),
        json!({"type": "message_delivered", "number": 99}),
        json!({"type": "question_answered", "number": 7, "answer": "always", "by": "shell"}),
        json!({"type": "changes_kept", "files": 1, "insertions": 1, "deletions": 0, "worktree": "/etc"}),
        json!({"type": "an_event_of_tomorrow", "text": SEQUENCES}),
        json!({"type": "warning", "message": SEQUENCES}),
    ]);
    // Twice, in another order, what is no JSON, and a line that does not end within twenty megabytes.
    sent.push(sent[1].clone());
    sent.push(sent[0].clone());
    sent.push(b"{}".to_vec());
    sent.push(chunk(20, "{\"seq\":\u{0},not json\n[]\n\n"));
    let endless = "x".repeat(20 << 20);
    let numbers = 21..;
    sent.extend(numbers.zip(cut_into_chunks(&endless)).map(|(number, text)| chunk(number, text)));
    let last =
        json!({"seq": 1, "at": 1, "type": "assistant_message", "text": format!("end {SEQUENCES}")});
    sent.push(chunk(1_000, &format!("\n{last}\n")));
    let end = json!({"seq": u64::MAX, "at": u64::MAX, "type": "run_ended", "outcome": "completed"});
    sent.push(chunk(u64::MAX, &format!("{end}\n{end}\n")));
    carry_out(&fleet, task, Deed { chunks: sent, ..Deed::default() });
    let ran = caller.finish();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["tasks"][0]["output"].as_str().unwrap().split(' ').next(), Some("end"));
    assert_plain("the document", &ran.stdout);
    assert_plain("the messages", &ran.stderr);
    let run = fleet.world.runs().into_iter().next().unwrap();
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    assert_plain("the record", &events);
    let lines: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ends: Vec<usize> =
        (0..lines.len()).filter(|index| lines[*index]["type"] == "run_ended").collect();
    assert_eq!(ends, [lines.len() - 1], "{events}");
    assert!(lines.iter().zip(1..).all(|(line, number)| line["seq"] == number), "{events}");
    assert!(!lines.iter().any(|line| line["type"] == "changes_kept" && line["worktree"] == "/etc"));
    assert!(events.lines().all(|line| line.len() < 1 << 20));
    fleet.end_all();
}

#[test]
fn a_batch_shows_nothing_raw_and_one_hostile_task_hides_no_patch_of_another() {
    let mut fleet = Fleet::new();
    let lines = ["a", "b", "c"].map(|key| json!({"key": key, "prompt": "Go."}).to_string());
    let file = fleet.world.path("b.jsonl");
    write_file(&file, &lines.join("\n"));
    let project = fleet.world.project();
    let submitted =
        fleet.ask(&["submit", file.to_str().unwrap(), "--files", project.to_str().unwrap()]);
    assert_eq!(submitted.code, Some(0), "{submitted:?}");
    let tasks = queued(&fleet, 3);
    let key_of = |task: &TaskMessage| task.address.task.as_str().to_owned();
    for task in &tasks {
        let said = json!({"type": "assistant_message", "text": SEQUENCES});
        let mut chunks = chunks(&[json!({"type": "run_started", "pid": 1}), said, ended()]);
        let deed = match key_of(task).as_str() {
            "a" => Deed {
                changes: Some(planted(&fleet, "../../planted", "100644", "theirs")),
                ..Deed::default()
            },
            "b" => Deed {
                changes: Some(planted(&fleet, "good.txt", "100644", "theirs\n")),
                ..Deed::default()
            },
            // The result of another task, which has failed with the words of a terminal, and events without end.
            _ => {
                let endless = "x\n".repeat(10 << 20);
                let parts = (4..).zip(cut_into_chunks(&endless));
                chunks.extend(parts.map(|(number, text)| chunk(number, text)));
                Deed {
                    result: json!({"name": SEQUENCES, "runId": tasks[0].run_id, "error": SEQUENCES,
                    "output": SEQUENCES, "model": SEQUENCES, "outcome": "timeout", "status": "error"}),
                    ..Deed::default()
                }
            }
        };
        carry_out(&fleet, task, Deed { chunks, ..deed });
    }
    let patches = fleet.world.path("patches");
    let written = fleet.ask(&["results", "b", "--patches", patches.to_str().unwrap()]);
    let names: Vec<_> =
        fs::read_dir(&patches).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["b.patch"], "{written:?}");
    assert_eq!(written.code, Some(1), "{written:?}");
    assert!(
        written.stderr.contains("a: ") && written.stderr.contains("are refused"),
        "{written:?}"
    );
    assert!(fs::read_to_string(patches.join("b.patch")).unwrap().contains("+theirs"));
    for words in [
        &["results", "b"][..],
        &["results", "b", "--failed"],
        &["status", "b"],
        &["status", "b", "--json"],
        &["show", "b", "c"],
        &["show", "b", "a", "--json"],
        &["watch", "b"],
        &["workers"],
    ] {
        let ran = fleet.ask(words);
        assert_plain(&words.join(" "), &(ran.stdout + &ran.stderr));
    }
    let shown = fleet.ask(&["show", "b", "c"]);
    assert!(shown.stderr.contains("did too much to show all of it"), "{shown:?}");
    assert!(shown.stdout.len() < 1 << 20, "{}", shown.stdout.len());
    let results = fleet.ask(&["results", "b"]);
    let results: Vec<Value> =
        results.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let named: Vec<Value> =
        results.iter().map(|result| json!([result["key"], result["name"]])).collect();
    assert_eq!(named, ["a", "b", "c"].map(|key| json!([key, key])));
    fleet.end_all();
}
