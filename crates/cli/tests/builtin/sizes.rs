//! Large input of every kind, and how little memory the agent needs for it.
//!
//! The memory of every agent is read while it waits for a provider that does not answer, so that its peak is
//! known.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::harness::{ANSWER, Api, Builtin, CALLS, CLOSING, Heard, OPENING, RESULT, text_of};
use super::{bash, call};

const MEBIBYTE: u64 = 1024;

/// An answer that never comes, and for which the test does not wait.
const STOPPED: &[&str] =
    &["turn start", "assistant starts", "assistant ends: aborted", "turn ends"];

/// Runs the agent until the provider stops answering, and returns what it printed, and its peak of memory in
/// KiB.
fn work(builtin: &Builtin, arguments: &[&str], requests: usize) -> (Heard, u64) {
    let live = builtin.start(&[arguments, &["do it"]].concat());
    builtin.wait_until_asked(requests);
    let peak = live.peak_memory();
    live.signal(Signal::TERM);
    let heard = live.finish();
    builtin.world.assert_nothing_left();
    (heard, peak)
}

/// Runs a tool on many megabytes; the protocol does not matter to it.
#[track_caller]
fn assert_bounded(api: Api, turn: &Value, name: &str) {
    let builtin = Builtin::new(api, &json!([turn, {"hang": true}]));
    if name != "bash" {
        // Searching every line takes a while in a build that is not optimised.
        let size = if name == "grep" { 30_000_000 } else { 100_000_000 };
        let line = "a line of a very long list ".repeat(50);
        builtin.project_file("long", &format!("{line}\n").repeat(size / line.len()));
    }
    let (heard, peak) = work(&builtin, &["--tools", name], 2);
    assert!(peak < 32 * MEBIBYTE, "{name} took {peak} KiB");
    let runs = [format!("{name} runs"), format!("{name} runs…"), format!("{name} finished")];
    let runs: Vec<&str> =
        runs.iter().map(String::as_str).filter(|it| name == "bash" || !it.contains('…')).collect();
    let turn = [CALLS, &runs, RESULT, &["turn ends, 1 results"], STOPPED].concat();
    heard.assert_story(143, &[OPENING, &turn, CLOSING]);
    let result = &heard.results()[0];
    assert!((40_000..60_000).contains(&result.len()), "{name} said {}", result.len());
    assert!(heard.records.iter().all(|record| record.to_string().len() < 200_000));
}

#[test]
fn a_command_may_print_a_hundred_megabytes() {
    let turn = bash("yes 'a line of a very long list' | head -c 100000000");
    assert_bounded(Api::Completions, &turn, "bash");
}

#[test]
fn a_file_may_have_a_hundred_megabytes() {
    assert_bounded(Api::Messages, &call("read", &json!({"path": "long"})), "read");
}

#[test]
fn a_search_may_find_thirty_megabytes() {
    let arguments = json!({"pattern": "line", "path": "long", "limit": 1_000_000_000});
    assert_bounded(Api::Completions, &call("grep", &arguments), "grep");
}

#[test]
fn a_model_may_say_ten_megabytes() {
    let text = "0123456789".repeat(1024 * 1024);
    let turns = json!([{"text": text, "chunk": 65536}, {"hang": true}]);
    let builtin = Builtin::new(Api::Completions, &turns);
    let (heard, peak) = work(&builtin, &["tell me"], 2);
    // The words, the same in the request that follows, and what becomes of them on their way.
    assert!(peak < 128 * MEBIBYTE, "it took {peak} KiB");
    assert_eq!(text_of(&heard.messages("assistant")[0]), text);
    let second = [&["agent start"], &STOPPED[..1], &["user starts", "user ends"], &STOPPED[1..]];
    heard.assert_story(143, &[OPENING, ANSWER, CLOSING, &second.concat(), CLOSING]);
}

#[test]
fn a_model_may_call_five_hundred_tools_at_once() {
    let tool = |number: usize| json!({"name": "read", "args": {"path": format!("{number}.txt")}});
    let tools: Vec<Value> = (0..500).map(tool).collect();
    let turns = json!([{"tools": tools, "chunk": 1000}, {"hang": true}]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        for number in 0..500 {
            builtin.project_file(&format!("{number}.txt"), &format!("number {number}"));
        }
        let (heard, peak) = work(&builtin, &[], 2);
        assert!(peak < 64 * MEBIBYTE, "it took {peak} KiB");
        let expected: Vec<String> = (0..500).map(|number| format!("number {number}")).collect();
        assert_eq!(heard.results(), expected);
        let mut ends = vec!["read finished"; 500];
        ends.extend(["toolResult starts", "toolResult ends"].repeat(500));
        ends.push("turn ends, 500 results");
        let starts = vec!["read runs"; 500];
        heard.assert_story(143, &[OPENING, CALLS, &starts, &ends, STOPPED, CLOSING]);
    }
}

#[test]
fn an_event_without_an_end_is_given_up() {
    let turns = json!([{"text": "x".repeat(17 * 1024 * 1024), "chunk": 17 * 1024 * 1024}]);
    let heard = Builtin::new(Api::Messages, &turns).ask(&["tell me"]);
    let failed = ["assistant starts", "assistant ends: error", "turn ends"];
    heard.assert_story(0, &[OPENING, &failed, CLOSING]);
    let words = heard.answer()["errorMessage"].as_str().unwrap().to_owned();
    assert!(words.contains("an event of more than 16 MiB"), "{words}");
}
