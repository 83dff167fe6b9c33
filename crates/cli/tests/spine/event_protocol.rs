//! A child that prints our own events: a run that another supervisor carries out.

use std::sync::Arc;

use model::{Meta, Outcome, Plan, RunResult, Secrets};
use runner::{Change, Dispatcher, Launcher};
use serde_json::json;
use store::Store;
use test_support::World;

use super::events::events;
use crate::world;

const STARTED: &str = r#"{"seq":1,"at":1,"type":"run_started","pid":7}"#;
const CALL: &str =
    r#"{"seq":2,"at":2,"type":"tool_call","id":"c","tool":"ls","args":{"path":"."}}"#;
const RESULT: &str =
    r#"{"seq":3,"at":3,"type":"tool_result","id":"c","tool":"ls","isError":false,"text":"a"}"#;
const SAID: &str = r#"{"seq":4,"at":4,"type":"assistant_message","text":"found it","model":"far/away","stopReason":"stop","usage":{"totalTokens":7}}"#;
const COMPLETED: &str = r#"{"seq":5,"at":5,"type":"run_ended","outcome":"completed"}"#;

/// Runs a shell script whose output is read by the protocol that the word names.
fn run(world: &World, protocol: &str, script: &str) -> RunResult {
    // Tests run side by side, and the cgroup of a run has its id.
    let run_id = plan::new_id().to_string();
    let meta: Meta = serde_json::from_value(json!({
        "format": 1,
        "runId": run_id,
        "sessionId": "0123456789abcdef",
        "name": "far",
        "owner": {"kind": "shell"},
        "lifetime": "foreground",
        "protocol": protocol,
        "command": [],
        "cwd": world.project(),
        "environment": {"PI_SUBAGENTS_RUN": run_id},
        "model": null,
        "limits": {
            "timeoutMs": 60_000,
            "extendTimeoutDebounceMs": 0,
            "loopingToolCount": 5,
            "logBytes": 100_000,
        },
        "createdAt": 1,
    }))
    .unwrap();
    let plan = Plan {
        meta: meta.into(),
        prompt: "say \"hello\"".to_owned(),
        command: Arc::new(["/bin/sh", "-c", script].map(Into::into).to_vec()),
        fallbacks: Vec::new(),
        files: Default::default(),
        file_variables: Default::default(),
        secrets: Secrets::default(),
        refusal: None,
    };
    let launcher = Launcher::new(env!("CARGO_BIN_EXE_pi-subagents").into());
    let mut dispatcher = Dispatcher::new(Store::in_project(&world.project()));
    dispatcher.submit(launcher, 1, [Box::new(plan)]);
    loop {
        for update in dispatcher.wait(&[], None) {
            if let Change::Ended(report) = update.change {
                assert_eq!(report.warnings, [""; 0]);
                world.assert_nothing_left();
                return report.result;
            }
        }
    }
}

/// A script that prints lines, and then does something else.
fn printing(lines: &[&str], then: &str) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("echo '{line}'\n")).collect();
    format!("read -r prompt\n{}{then}", lines.concat())
}

#[test]
fn events_of_another_supervisor_become_those_of_this_run() {
    let world = world();
    let then = "read -r reply; echo \"$prompt $reply\" >&2; cat; echo 'the input has ended' >&2";
    let script = printing(&[STARTED, CALL, RESULT, SAID, SAID, COMPLETED], then);
    let result = run(&world, "events", &script);
    assert_eq!((result.outcome, result.output.as_str()), (Outcome::Completed, "found it"));
    assert_eq!(
        (result.tool_calls, result.usage.total_tokens),
        (1, 7),
        "the repeated line counts once"
    );
    assert_eq!(result.model.as_deref(), Some("far/away"));
    let reply = r#"{"type":"prompt","text":"say \"hello\""} {"type":"acknowledged","seq":5}"#;
    assert_eq!(
        events(&world.only_run()),
        [
            "run_started",
            r#"call ls {"path":"."}"#,
            "ls finished",
            r#"assistant stop "found it""#,
            &format!("stderr {reply:?}"),
            r#"stderr "the input has ended""#,
            "ended completed code 0",
        ]
    );
}

#[test]
fn what_the_other_supervisor_decides_holds() {
    let world = world();
    let ended =
        r#"{"seq":2,"at":2,"type":"run_ended","outcome":"timeout","error":"Timed out after 2s."}"#;
    let result = run(&world, "events", &printing(&[STARTED, ended], "cat"));
    assert_eq!(result.outcome, Outcome::Timeout);
    assert_eq!(result.error.as_deref(), Some("Timed out after 2s."));
}

#[test]
fn a_stream_that_breaks_off_or_has_a_gap_is_no_success() {
    let broken_off = world();
    let result = run(&broken_off, "events", &printing(&[STARTED, CALL, RESULT, SAID], "exit 0"));
    assert_eq!((result.outcome, result.output.as_str()), (Outcome::Interrupted, "found it"));
    let with_gap = world();
    let ended = COMPLETED.replace("\"seq\":5", "\"seq\":6");
    let lines = [STARTED, CALL, RESULT, SAID, &ended];
    let result = run(&with_gap, "events", &printing(&lines, "cat"));
    assert_eq!(result.outcome, Outcome::Interrupted);
}

#[test]
fn an_unknown_protocol_is_refused_with_its_word() {
    let world = world();
    let result = run(&world, "telepathy", "echo 'it is not started'");
    assert_eq!(result.outcome, Outcome::Interrupted);
    let error = result.error.unwrap();
    assert!(error.contains("does not know the protocol \"telepathy\""), "{error}");
    assert_eq!(result.started_at, None);
}
