//! Clients that do not wait for ever. They wait for a minute, mostly, and agents work for longer.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use test_support::{World, wait_until};

use crate::{
    Client, agents, assert_only_results_are_left, completed, delegation, let_leave, of_role,
    run_file, world,
};

/// How long a client waits without an answer, in seconds.
const LIMIT: u32 = 60;
/// How long an agent works that takes its time.
const THREE_MINUTES: u32 = 180;
/// The same for those who show only that there is a limit. It is more than the five seconds after
/// which the server tells anew how things stand.
const SHORT_LIMIT: u32 = 8;

with_both_clients!(three_minutes_are_waited_for_piece_by_piece);

/// Without progress, a call is answered before the client loses patience, and its answer is waited
/// for in as many calls as it takes.
fn three_minutes_are_waited_for_piece_by_piece(client: Client) {
    let world = world_of_work(THREE_MINUTES);
    let mut call = delegation();
    call["timeout"] = json!(LIMIT);
    let options = json!({
        "call": call, "limit": {"timeout": LIMIT}, "stay": world.path("leave"),
    });
    let mut playing = client.start(&world, "wait", &options);
    let facts = playing.facts();
    // A client that waits does nothing else.
    let worked = processor_time(of_role(&world, "mcp")[0]);
    assert!(worked < Duration::from_secs(10), "{worked:?}");
    let_leave(&world);
    playing.finish();

    let answers = facts["answers"].as_array().unwrap();
    let seconds = |seen: &Value| seen["seconds"].as_f64().unwrap();
    assert!(answers.iter().all(|seen| seconds(seen) < f64::from(LIMIT)), "{facts:#}");
    let all: f64 = answers.iter().map(seconds).sum();
    assert!(all >= f64::from(THREE_MINUTES), "{facts:#}");
    assert!(seconds(&answers[0]) >= 45.0, "{facts:#}");

    let (last, earlier) = answers.split_last().unwrap();
    for seen in earlier {
        assert_eq!(seen["answer"]["structuredContent"]["status"], "running", "{facts:#}");
        assert_eq!(seen["answer"]["isError"], false, "{facts:#}");
    }
    let last = &last["answer"]["structuredContent"];
    assert_eq!((&last["status"], &last["output"]), (&json!("completed"), &json!("found it")));
    assert_only_results_are_left(&world);
}

/// With progress, one call is enough for a client whose limit begins anew with every word. That of
/// the Python SDK does not, see below.
#[test]
fn three_minutes_with_progress_are_one_call_in_typescript() {
    let world = world_of_work(THREE_MINUTES);
    let facts = Client::TypeScript.play(&world, "call", &json!({"calls": [telling(LIMIT, true)]}));
    let seen = &facts["answers"][0];
    completed(seen);
    assert!(seen["seconds"].as_f64().unwrap() >= f64::from(THREE_MINUTES), "{seen:#}");
    let words = seen["words"].as_array().unwrap();
    let times = words.iter().map(|word| word[0].as_f64().unwrap());
    let times: Vec<f64> = times.collect();
    let longest = times.windows(2).map(|pair| pair[1] - pair[0]).fold(times[0], f64::max);
    assert!(longest < f64::from(LIMIT) / 2.0, "{longest} seconds of silence");
    assert!(times.last().unwrap() > &f64::from(THREE_MINUTES - LIMIT), "{times:?}");
    assert_only_results_are_left(&world);
}

/// The limit above is one: the very same call fails where words do not count.
#[test]
fn without_words_that_count_a_limit_is_the_end_in_typescript() {
    let world = world_of_work(2 * SHORT_LIMIT + 4);
    let calls = json!({"calls": [telling(SHORT_LIMIT, false), telling(SHORT_LIMIT, true)]});
    let facts = Client::TypeScript.play(&world, "call", &calls);
    let seen = &facts["answers"][0];
    assert_eq!(seen["error"]["code"], -32001, "{facts:#}");
    assert!(!seen["words"].as_array().unwrap().is_empty(), "{facts:#}");
    completed(&facts["answers"][1]);
    let runs = world.runs();
    let outcomes = runs.iter().map(|run| run_file(run, "result.json")["outcome"].clone());
    assert_eq!(outcomes.collect::<Vec<Value>>(), [json!("cancelled"), json!("completed")]);
    assert_only_results_are_left(&world);
}

/// The client of the Python SDK hears words, and loses patience all the same. It says so to the
/// server, which stops the work that no client waits for any more.
#[test]
fn words_do_not_count_in_python() {
    let world = world_of_work(THREE_MINUTES);
    let calls = json!({"calls": [telling(SHORT_LIMIT, true)], "stay": world.path("leave")});
    let mut playing = Client::Python.start(&world, "call", &calls);
    let facts = playing.facts();
    let seen = &facts["answers"][0];
    assert_eq!(seen["error"]["code"], -32001, "{facts:#}");
    assert!(!seen["words"].as_array().unwrap().is_empty(), "{facts:#}");
    wait_until(|| agents(&world) == 0 && of_role(&world, "supervise").is_empty());
    assert_eq!(of_role(&world, "mcp").len(), 1);
    assert_eq!(run_file(&world.only_run(), "result.json")["outcome"], "cancelled");
    let_leave(&world);
    playing.finish();
    assert_only_results_are_left(&world);
}

/// How long a process has kept a processor busy, with all of its threads.
fn processor_time(process: u32) -> Duration {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // Behind the name, which may contain anything, the twelfth and the thirteenth field are the time
    // in the program and that in the system, in hundredths of a second.
    let (_, fields) = status.rsplit_once(')').unwrap();
    let times = fields.split_whitespace().skip(11).take(2);
    Duration::from_millis(times.map(|time| time.parse::<u64>().unwrap() * 10).sum())
}

/// A call of a client that wants to hear how it stands.
fn telling(limit: u32, is_reset: bool) -> Value {
    let mut call = delegation();
    call["timeout"] = json!(limit);
    call["progress"] = json!(true);
    call["reset"] = json!(is_reset);
    call
}

/// A world with the settings as they are by default, whose agents work for so many seconds without a
/// word.
fn world_of_work(seconds: u32) -> World {
    let script = json!([
        "start",
        {"message": {"text": "working on it", "stop": "toolUse"}},
        {"sleep_ms": seconds * 1000},
        {"say": "found it"},
        {"end": false},
        "settle",
    ]);
    let world = world(&script);
    let agent: Value = serde_json::from_str(&world.agent(&script)).unwrap();
    world.settings(&json!({ "agent": agent }));
    world
}
