//! Runs that outlive the pi that started them, and how it is notified of their end.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::wait_until;

use crate::remote::Remote;
use crate::{Inside, bash, call, offered, told};

/// Starts a scout that waits for the file `go`, and then gives this answer.
fn launch(pi: &mut Remote, script: &Value) -> String {
    let started = call("background_agent", json!({"preset": "scout", "task": told(script)}));
    let started = pi.call_once(started);
    started.answer();
    started.details["runId"].as_str().unwrap().to_owned()
}

fn waiting(last: &Value) -> Value {
    json!([bash("until [ -e go ]; do sleep 0.02; done"), last])
}

fn world() -> Inside {
    let inside = Inside::new();
    inside.scout("model: fake/fake-1");
    inside
}

/// The messages that pi shows about runs that have ended.
fn messages(pi: &Remote) -> Vec<&Value> {
    let records = pi.records.iter().filter(|record| record["type"] == "message_end");
    let messages = records.map(|record| &record["message"]);
    messages.filter(|message| message["customType"] == "pi-subagents:bg-complete").collect()
}

/// The runs of whose end the session of a pi was notified, in order.
fn shown_in(pi: &mut Remote) -> Vec<String> {
    let answer = pi.ask(&json!({"type": "get_messages"}));
    let messages = answer["messages"].as_array().unwrap().iter();
    let ours = messages.filter(|message| message["customType"] == "pi-subagents:bg-complete");
    ours.map(|message| message["details"]["runId"].as_str().unwrap().to_owned()).collect()
}

fn notices(pi: &Remote) -> Vec<(&str, &str)> {
    let notices = pi.shown("notify").into_iter();
    notices
        .map(|notice| (notice["message"].as_str().unwrap(), notice["notifyType"].as_str().unwrap()))
        .collect()
}

/// Waits until pi has said that a run has ended.
fn wait_for_message(pi: &mut Remote) {
    pi.wait_for(|record| {
        record["type"] == "message_end"
            && record["message"]["customType"] == "pi-subagents:bg-complete"
    });
}

#[test]
fn the_end_of_a_run_is_told_once_and_starts_no_turn() {
    let inside = world();
    let mut pi = inside.remote(&[]);
    let run_id = launch(&mut pi, &waiting(&json!({"text": "Found it."})));
    pi.wait_for_footer("bg: 1 running / 1 total");
    inside.project_file("go", "");
    wait_for_message(&mut pi);
    pi.wait_for_no_footer();
    assert_eq!(pi.footers(), [Some("bg: 1 running / 1 total"), None]);
    let message = messages(&pi)[0].clone();
    assert_eq!(
        message["content"],
        format!("Background agent scout finished ({run_id}): Found it.")
    );
    assert_eq!(message["display"], true);
    assert_eq!(message["details"]["runId"], run_id);
    assert_eq!(message["details"]["status"], "completed");
    assert_eq!(notices(&pi), [("Background agent scout finished", "info")]);
    let of_pi = |request: &&Value| offered(request).contains(&"background_agent".to_owned());
    assert_eq!(inside.asked().iter().filter(of_pi).count(), 2, "pi has not asked again");

    let failing = json!([{"error": 400, "error_message": "no such luck"}]);
    launch(&mut pi, &failing);
    if messages(&pi).len() == 1 {
        wait_for_message(&mut pi);
    }
    pi.wait_for_no_footer();
    let (text, level) = notices(&pi)[1];
    assert!(text.starts_with("Background agent scout failed: "), "{text}");
    assert!(text.contains("no such luck") && level == "error", "{text}");
    assert_eq!((messages(&pi).len(), notices(&pi).len()), (2, 2));
    pi.close();
    inside.world.wait_until_nothing_is_left();
    assert_eq!(inside.entries("pi-subagents:bg-run").len(), 2);
    let updates = inside.entries("pi-subagents:bg-update");
    let statuses: Vec<&Value> = updates.iter().map(|update| &update["status"]).collect();
    assert_eq!(statuses, ["completed", "failed"]);
}

/// Checks a run that continues after pi has ended, and its notification in the next pi.
fn pick_up(end: impl FnOnce(Remote)) {
    let inside = world();
    let mut pi = inside.remote(&[]);
    let first = launch(&mut pi, &waiting(&json!({"text": "Found it."})));
    let later = json!([bash("until [ -e later ]; do sleep 0.02; done"), {"text": "And this."}]);
    let second = launch(&mut pi, &later);
    end(pi);
    wait_until(|| inside.of_role("bridge").is_empty());
    assert_eq!(inside.of_role("supervise").len(), 2, "both go on");
    // One ends while no pi is running.
    inside.project_file("go", "");
    wait_until(|| inside.of_role("supervise").len() == 1);

    let mut pi = inside.remote(&["--continue"]);
    pi.wait_for_footer("bg: 1 running / 2 total");
    // Said while pi starts, it is in the session and on no stream.
    wait_until(|| shown_in(&mut pi) == [first.as_str()]);
    let status = pi.call_once(call("background_agent_status", json!({})));
    assert!(status.answer().starts_with("Active runs: 1. "), "{status:#?}");
    assert_eq!(status.details["runs"][0]["runId"], second);
    inside.project_file("later", "");
    wait_for_message(&mut pi);
    pi.wait_for_no_footer();
    assert_eq!(shown_in(&mut pi), [first.as_str(), second.as_str()]);
    assert_eq!(notices(&pi).len(), 2);
    pi.close();

    // No pi is notified again.
    let mut pi = inside.remote(&["--continue"]);
    pi.call_once(call("background_agent_status", json!({}))).answer();
    assert_eq!(pi.footers(), [None; 0], "nothing runs");
    assert_eq!(shown_in(&mut pi).len(), 2);
    assert_eq!((messages(&pi).len(), notices(&pi).len()), (0, 0));
    pi.close();
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn runs_are_picked_up_after_a_restart() {
    pick_up(Remote::close);
}

#[test]
fn runs_are_picked_up_after_a_crash_of_pi() {
    pick_up(|pi| {
        let pid = Pid::from_raw(i32::try_from(pi.pid()).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        pi.wait();
    });
}
