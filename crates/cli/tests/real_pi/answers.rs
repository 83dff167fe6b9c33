//! Tasks that come to their own end.

use std::fs;

use serde_json::{Value, json};
use test_support::Ran;

use crate::{PiWorld, bash, events, prompt};

#[test]
fn a_task_has_an_answer_and_the_sum_of_its_usage() {
    let pi = PiWorld::new(&json!([
        {"tools": [{"name": "bash", "args": {"command": "echo 6*7"}}],
         "usage": {"input": 100, "output": 20, "cached": 40}},
        {"text": "It is {{result:0}}", "usage": {"input": 200, "output": 30, "cached": 0}},
    ]));
    let task = pi.complete(&[]);
    assert_eq!(task["output"].as_str().unwrap().trim_end(), "It is 6*7");
    assert_eq!(task["model"], "fake-1");
    let usage = &task["usage"];
    assert_eq!(
        [&usage["input"], &usage["output"], &usage["cacheRead"], &usage["totalTokens"]],
        [260, 50, 40, 350],
        "{usage}"
    );
    let asked = pi.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(prompt(&asked[0]), "do it");
}

#[test]
fn sixteen_tasks_run_four_at_a_time_and_stay_in_order() {
    // Each waits until four run at once, and counts how many run.
    let meet = "mkdir -p here seen; touch here/$$ seen/$$; \
        until [ $(ls seen | wc -l) -ge 4 ]; do sleep 0.02; done; \
        ls here | wc -l >> counts; rm here/$$";
    let pi = PiWorld::new(&json!([bash(meet), {"text": "{{prompt}} is done"}]));
    let task = |number| json!({"name": format!("t{number}"), "prompt": format!("task {number}")});
    let call = json!({"tasks": (0..16).map(task).collect::<Vec<_>>()});
    let file = pi.world.path("tasks.json");
    fs::write(&file, call.to_string()).unwrap();
    let arguments = ["delegate", "--json", "--concurrency", "4", file.to_str().unwrap()];
    let ran: Ran = pi.command(&arguments).output().unwrap().into();
    pi.world.assert_nothing_left();
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let answers: Vec<Value> =
        (0..16).map(|number| format!("task {number} is done").into()).collect();
    let document = ran.json();
    let tasks = document["tasks"].as_array().unwrap();
    assert_eq!(tasks.iter().map(|task| task["output"].clone()).collect::<Vec<_>>(), answers);
    let counts = fs::read_to_string(pi.world.project().join("counts")).unwrap();
    let counts: Vec<usize> = counts.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert!(counts.len() == 16 && counts.iter().all(|count| *count <= 4), "{counts:?}");
    assert_eq!(pi.asked().len(), 32);
}

#[test]
fn files_stand_in_front_of_the_prompt() {
    let pi = PiWorld::new(&json!([{"text": "read"}]));
    pi.project_file("notes.txt", "one\ntwo\nthree\n");
    pi.project_file("src/@all.txt", "-x\n");
    pi.complete(&["--file", "notes.txt:2-3", "--file", "src/@all.txt"]);
    assert_eq!(
        prompt(&pi.asked_once()),
        "=== notes.txt ===\ntwo\nthree\n\n=== src/@all.txt ===\n-x\n\ndo it"
    );
}

#[test]
fn a_session_goes_on_in_another_process() {
    let pi = PiWorld::new(&json!([
        {"text": "Let me look.", "tools": [{"name": "bash", "args": {"command": "echo pineapple"}}]},
        {"text": "The fruit is a pineapple."},
    ]));
    let first = pi.complete(&[]);
    let id = first["sessionId"].as_str().unwrap();
    let arguments = ["run", "--json", "--resume", id, "Which fruit?"];
    let second: Ran = pi.command(&arguments).output().unwrap().into();
    pi.world.assert_nothing_left();
    let second = second.task();
    assert_eq!((second["status"].as_str(), &second["sessionId"]), (Some("completed"), &json!(id)));
    assert_ne!(second["runId"], first["runId"]);
    // The first two requests were those of the first process.
    let resumed = prompt(&pi.asked()[2]);
    for part in ["do it", "Let me look.", "echo pineapple", "The fruit is a pineapple."] {
        assert!(resumed.contains(part), "{part:?} is missing in {resumed}");
    }
    assert!(resumed.trim_end().ends_with("Which fruit?"), "{resumed}");
}

#[test]
fn a_refusal_of_the_provider_is_an_error_although_pi_exits_with_zero() {
    let pi = PiWorld::new(&json!([{"error": 400}]));
    let ran = pi.run(&[]);
    let task = ran.task();
    assert_eq!((ran.code, &task["outcome"]), (Some(1), &json!("provider_error")), "{ran:#?}");
    assert!(task["error"].as_str().unwrap().contains("400"), "{task:#}");
    // On a busy machine pi lingers so long after its last word that it is stopped.
    let has_exited = events(&task, "stopping").is_empty();
    assert!(!has_exited || events(&task, "run_ended")[0]["exitCode"] == 0, "{ran:#?}");
    pi.asked_once();
}

#[test]
fn a_failure_of_the_provider_is_retried() {
    let pi = PiWorld::new(&json!([{"error": 500, "times": 1, "text": "better now"}]));
    let task = pi.complete(&[]);
    assert_eq!(task["output"], "better now");
    assert_eq!(events(&task, "retry_scheduled").len(), 1);
    assert_eq!(pi.asked().len(), 2);
}
