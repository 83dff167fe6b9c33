//! Events in a short form that a test can compare.

use std::fs;
use std::path::Path;

use serde_json::Value;
use test_support::{Ran, World};

/// The events of a run, a short line each. Checks on the way that they are numbered without a
/// gap, and that there is one terminal event, which is the last.
pub(crate) fn events(run_dir: &Path) -> Vec<String> {
    let records = records(run_dir);
    let numbers: Vec<u64> = records.iter().map(|record| record["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=records.len() as u64).collect::<Vec<_>>());
    let ends = records.iter().filter(|record| record["type"] == "run_ended").count();
    assert_eq!(ends, 1, "{records:#?}");
    assert_eq!(records.last().unwrap()["type"], "run_ended");
    records.iter().map(describe).collect()
}

/// The events of a run as they are stored.
pub(crate) fn records(run_dir: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run_dir.join("events.jsonl")).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "the last line is torn");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Checks everything about a run that has ended: its outcome, its events, its result file, and
/// that nothing of it is left.
#[track_caller]
pub(crate) fn assert_ended(world: &World, ran: &Ran, outcome: &str, expected: &[&str]) {
    world.assert_nothing_left();
    let task = ran.task();
    assert_eq!(task["outcome"], outcome, "{ran:#?}");
    let (status, code) = if outcome == "completed" { ("completed", 0) } else { ("error", 1) };
    assert_eq!((task["status"].as_str(), ran.code), (Some(status), Some(code)), "{ran:#?}");
    assert_eq!(task["error"].is_null(), outcome == "completed", "{task:#}");
    let run_dir = ran.run_dir();
    assert_eq!(events(&run_dir), expected);
    let result: Value =
        serde_json::from_slice(&fs::read(run_dir.join("result.json")).unwrap()).unwrap();
    for field in ["name", "sessionId", "runId", "status", "outcome", "error", "output", "usage"] {
        assert_eq!(result[field], task[field], "{field}");
    }
    assert_only_known_files(&run_dir);
}

/// Checks that a run directory contains only its own files, and no temporary one.
pub(crate) fn assert_only_known_files(run_dir: &Path) {
    let mut names: Vec<String> = fs::read_dir(run_dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = [
        "events.jsonl",
        "meta.json",
        "prompt.md",
        "result.json",
        "stderr.log",
        "stdout.log",
        "transcript.log",
    ];
    assert_eq!(names, expected);
}

fn describe(record: &Value) -> String {
    let word = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
    let kind = word("type");
    match kind.as_str() {
        "assistant_message" => {
            let error = record.get("error").and_then(Value::as_str);
            let error = error.map(|error| format!(" ({error})")).unwrap_or_default();
            format!("assistant {} {:?}{error}", word("stopReason"), word("text"))
        }
        "user_message" => format!("user {:?}", word("text")),
        "tool_call" => format!("call {} {}", word("tool"), record["args"]),
        "tool_result" => {
            let end = if record["isError"] == true { "failed" } else { "finished" };
            format!("{} {end}", word("tool"))
        }
        "retry_scheduled" => {
            format!("retry {}/{} ({})", record["attempt"], record["maxAttempts"], word("error"))
        }
        "stderr" => format!("stderr {:?}", word("text")),
        "unreadable_line" => format!("unreadable {} {:?}", record["bytes"], short(&word("text"))),
        "message_lost" => format!("message lost {}", record["bytes"]),
        "stopping" => format!("stopping {}", word("cause")),
        "log_full" => format!("log_full {}", word("log")),
        "run_ended" => {
            let exit = match (&record["exitCode"], &record["signal"]) {
                (Value::Number(code), _) => format!(" code {code}"),
                (_, Value::Number(signal)) => format!(" signal {signal}"),
                _ => String::new(),
            };
            format!("ended {}{exit}", word("outcome"))
        }
        _ => kind,
    }
}

fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(20)]
}
