//! pi is interrupted or killed while its children work.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::wait_until;

use crate::remote::Remote;
use crate::{Inside, bash, call, delegate, task};

/// What a task is called that was under way when pi went.
const INTERRUPTED: &str = "Session was interrupted (main agent session ended unexpectedly)";

/// Four children that have said something and are in the middle of a command.
fn working(inside: &Inside, pi: &mut Remote) {
    let script = |name: &str| json!([bash(&format!("touch {name}.txt; sleep 1000")), {"text": ""}]);
    let names = ["ann", "bob", "cyd", "dot"];
    pi.begin(&[delegate(&names.map(|name| task(name, &script(name))))]);
    wait_until(|| {
        let project = inside.world.project();
        names.iter().all(|name| project.join(format!("{name}.txt")).exists())
    });
}

/// The sessions that were written down when the tasks began.
fn sessions(inside: &Inside) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for entry in inside.entries("pi-subagents") {
        let id = entry["sessionId"].as_str().unwrap().to_owned();
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn an_abort_in_the_middle_leaves_nothing() {
    let inside = Inside::new();
    let mut pi = inside.remote(&[]);
    working(&inside, &mut pi);
    pi.ask(&json!({"type": "abort"}));
    let left: Vec<(u32, String)> = inside.world.processes();
    let is_ours = |words: &str| words.contains(" supervise ") || words.contains("sleep 1000");
    assert!(!left.iter().any(|(_, words)| is_ours(words)), "{left:#?}");
    let ids = sessions(&inside);
    assert_eq!(ids.len(), 4);
    let output = pi.call_once(call("get_subagent_output", json!({"sessionId": ids[0]})));
    assert_eq!(output.answer(), "I run touch.");
    assert_eq!(output.details["status"], "error");
    pi.close();
    inside.world.wait_until_nothing_is_left();
}

/// What holds when pi is killed while these children are in the middle of something.
fn kill_pi(inside: &Inside) {
    let mut pi = inside.remote(&[]);
    working(inside, &mut pi);
    kill(pi.pid());
    let killed = Instant::now();
    pi.wait();
    inside.world.wait_until_nothing_is_left();
    let took = killed.elapsed();
    assert!(took < Duration::from_secs(10), "it took {took:?}");

    let ids = sessions(inside);
    assert_eq!(ids.len(), 4);
    let mut pi = inside.remote(&["--continue"]);
    for id in ids {
        let results = pi.call(&[
            call("get_subagent_output", json!({"sessionId": id})),
            call("get_subagent_session", json!({"sessionId": id})),
        ]);
        assert_eq!(results[0].answer(), "I run touch.");
        assert_eq!(results[0].details["status"], "error");
        let transcript = results[1].answer();
        assert!(transcript.contains("→ bash: {\"command\":\"touch "), "{transcript}");
        assert!(transcript.contains(&format!("[Error: {INTERRUPTED}]")), "{transcript}");
    }
    pi.close();
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn pi_is_killed_while_four_children_run_commands() {
    kill_pi(&Inside::new());
}

#[test]
fn pi_is_killed_while_four_children_that_are_pi_run_commands() {
    kill_pi(&Inside::with_pi_children());
}

#[test]
fn the_bridge_is_killed_while_four_children_run_commands() {
    let inside = Inside::new();
    let mut pi = inside.remote(&[]);
    working(&inside, &mut pi);
    let bridges = inside.of_role("bridge");
    assert_eq!(bridges.len(), 1);
    kill(bridges[0]);
    pi.wait_for(|record| record["type"] == "agent_settled");
    let results: Vec<crate::ToolResult> =
        pi.records.iter().filter_map(crate::ToolResult::of).collect();
    assert_eq!(results.len(), 1);
    let error = results[0].error();
    assert!(error.contains("pi-subagents") && error.contains("SIGKILL"), "{error}");
    wait_until(|| inside.of_role("supervise").is_empty());

    let again = pi.call_once(delegate(&[task("again", &json!([{"text": "Here I am."}]))]));
    let expected = "✓ again: completed (session: ID)\n\n### again\n\nHere I am.";
    assert_eq!(again.without_ids(), expected);
    let new = inside.of_role("bridge");
    assert!(new.len() == 1 && new != bridges, "{new:?}");
    pi.close();
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn a_parent_that_is_told_to_end() {
    let inside = Inside::new();
    let mut pi = inside.remote(&[]);
    working(&inside, &mut pi);
    let pid = Pid::from_raw(i32::try_from(pi.pid()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    pi.wait();
    inside.world.wait_until_nothing_is_left();
    // What was said is in the run directories, whether or not pi could still write it down.
    for run in inside.world.runs() {
        let result = fs::read_to_string(run.join("result.json")).unwrap();
        let result: Value = serde_json::from_str(&result).unwrap();
        assert_eq!(result["output"], "I run touch.", "{result:#}");
    }
}
