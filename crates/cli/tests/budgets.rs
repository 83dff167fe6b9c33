//! How much agents may spend, on real processes: an agent is stopped within one message of its budget, everything that it
//! said is kept, and the other tasks of the call stop with it. Each message of the fake agent costs $0.003 and 120 tokens.

use std::fs;

use serde_json::{Value, json};
use test_support::fake_agent::quick;
use test_support::{Ran, World, kill_and_wait, wait_until, write_file};

use crate::builtin::bash;
use crate::builtin::harness::{Api, Builtin, text_of};
use crate::world;

const FAKE_AGENT: &str = env!("CARGO_BIN_EXE_fake-agent");

/// A message that says something and calls a tool, after which the agent goes on.
fn turn(text: &str) -> [Value; 2] {
    [
        json!({"message": {"text": text, "stop": "toolUse"}}),
        json!({"tool": {"name": "read", "args": {"path": text}, "result": text}}),
    ]
}

/// An agent that goes on for ever after these messages.
fn endless(texts: &[&str]) -> Value {
    let turns = texts.iter().flat_map(|text| turn(text));
    [json!("start")].into_iter().chain(turns).chain([json!("hang")]).collect()
}

fn messages(ran: &Ran) -> Vec<String> {
    let events = fs::read_to_string(ran.run_dir().join("events.jsonl")).unwrap();
    let records = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let said = records.filter(|record| record["type"] == "assistant_message");
    said.map(|record| record["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_run_that_passes_its_budget_is_stopped_within_one_message_and_keeps_everything() {
    for (limit, words) in [
        (["--max-cost", "0.005"], "$0.005 (spent $0.006)"),
        (["--max-tokens", "200"], "200 tokens (spent 240)"),
        (["--max-turns", "2"], "2 turns (spent 2)"),
    ] {
        let world = world();
        let ran = world.play(&endless(&["one", "two", "three"]), &limit);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let task = ran.task();
        assert_eq!(task["outcome"], "budget", "{task}");
        let error =
            format!("Stopped at its budget of {words}. Consider resuming with a larger one.");
        assert_eq!(task["error"], error);
        assert_eq!(task["output"], "two", "what was said is kept");
        assert_eq!(messages(&ran), ["one", "two"], "and nothing was said after it");
        assert_eq!(task["usage"]["totalTokens"], 240);
        assert_eq!(task["budget"].as_object().unwrap().len(), 1, "{task}");
        world.assert_nothing_left();
    }
}

#[test]
fn an_agent_that_finishes_with_the_message_that_passes_its_budget_has_completed() {
    let world = world();
    let ran = world.play(&quick(), &["--max-cost", "0.001", "--max-turns", "1"]);
    assert_eq!((ran.code, ran.task()["output"].as_str()), (Some(0), Some("found it")), "{ran:?}");
}

#[test]
fn the_tasks_of_a_call_share_its_budget_and_those_that_wait_do_not_start() {
    let world = world();
    let script = json!([
        "start",
        {"await": world.path("patient")},
        {"repeat": {"times": 4, "steps": turn("spent")}},
        "hang",
    ]);
    let tasks = json!([
        {"name": "patient", "prompt": format!("<<SCRIPT>>{}<<END>>", json!([
            "start", {"message": {"text": "at work", "stop": "toolUse"}},
            {"touch": world.path("patient")}, "hang",
        ]))},
        {"name": "spender", "prompt": format!("<<SCRIPT>>{script}<<END>>")},
        {"name": "later", "prompt": "go"},
    ]);
    write_file(&world.project().join("tasks.json"), &tasks.to_string());
    let agent = json!([FAKE_AGENT, "-"]).to_string();
    let budget = ["--max-cost", "0.01", "--concurrency", "2"];
    let call = ["delegate", "--json", "--agent", &agent, "tasks.json"];
    let ran = world.run(&[&call[..], &budget].concat());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let document = ran.json();
    let task = |index: usize| &document["tasks"][index];
    for (index, output) in [(0, "at work"), (1, "spent")] {
        assert_eq!(task(index)["outcome"], "budget", "{document}");
        assert_eq!(task(index)["output"], output, "what was said is kept");
        let error = task(index)["error"].as_str().unwrap();
        assert!(
            error.starts_with("Stopped at the budget of its call, $0.01 (spent $0.01"),
            "{error}"
        );
    }
    assert_eq!(task(2)["outcome"], "budget");
    let error = task(2)["error"].as_str().unwrap();
    assert!(error.starts_with("Not started: nothing is left of the budget of its call"), "{error}");
    assert_eq!(task(2)["durationMs"], 0, "its agent was never started");
    world.assert_nothing_left();
}

#[test]
fn an_agent_that_can_be_spoken_to_is_told_once_to_come_to_an_end() {
    // It is told after 24 of 30 turns, and has some left in which it can hear it.
    let mut script: Vec<_> = (0..28).map(|turn| bash(&format!("echo {turn}"))).collect();
    script.push(json!({"text": "done"}));
    let builtin = Builtin::new(Api::Completions, &json!(script));
    let run = ["run", "--json", "--agent", "builtin", "--max-turns", "30", "go"];
    let ran = builtin.world.run(&run);
    assert_eq!((ran.code, ran.task()["output"].as_str()), (Some(0), Some("done")), "{ran:?}");
    let last = builtin.asked().pop().unwrap();
    let of_user = last["messages"].as_array().unwrap().iter();
    let of_user = of_user.filter(|message| message["role"] == "user").map(text_of);
    let urged = of_user.filter(|text| text.contains("Most of the budget of this task is spent"));
    assert_eq!(urged.count(), 1, "{last}");
}

#[test]
fn a_profile_has_a_budget_that_a_flag_raises_and_a_project_only_lowers() {
    let profile = |world: &World, of_project: bool, cost: &str| {
        let top = if of_project { world.project().join(".pi") } else { world.agent_dir() };
        let text = format!("---\nname: thrifty\nbudget:\n  costUsd: {cost}\n---\n");
        write_file(&top.join("agent-profiles/thrifty.md"), &text);
    };
    for (of_project, in_file, flag, expected) in [
        (false, "0.005", None, 0.005),
        (false, "0.005", Some("0.008"), 0.008),
        (true, "0.005", None, 0.005),
        (true, "5", Some("0.005"), 0.005),
    ] {
        let world = world();
        profile(&world, of_project, in_file);
        let mut arguments = vec!["--profile", "thrifty"];
        arguments.extend(flag.iter().flat_map(|cost| ["--max-cost", cost]));
        let task = world.play(&endless(&["one", "two", "three"]), &arguments).task();
        assert_eq!(task["outcome"], "budget", "{task}");
        assert_eq!(task["budget"], json!({"costUsd": expected}));
    }
    let world = world();
    let text = "---\nname: thrifty\nbudget: {cost: 5}\n---\n";
    write_file(&world.agent_dir().join("agent-profiles/thrifty.md"), text);
    let ran = world.play(&quick(), &["--profile", "thrifty"]);
    assert_eq!(ran.code, Some(2), "a budget that is not understood is not left out: {ran:?}");
    assert!(ran.stderr.contains("\"budget\" is ignored: it must be fields"), "{}", ran.stderr);
}

#[test]
fn a_budget_of_money_is_refused_for_an_agent_that_never_tells_its_cost() {
    let world = world();
    let command = json!([FAKE_AGENT, "[\"hang\"]"]);
    let agents = json!({"subagents": {"agents": {
        "like-codex": {"command": command, "protocol": "codex"},
        "like-acp": {"command": command, "protocol": "acp"},
    }}});
    write_file(&world.agent_dir().join("settings.json"), &agents.to_string());
    for (agent, reason) in [
        ("like-codex", "Codex tells its tokens and never what they cost"),
        ("like-acp", "need not tell what it costs"),
    ] {
        let ran = world.run(&["run", "--agent", agent, "--max-cost", "1", "go"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("A budget of money cannot be kept"), "{}", ran.stderr);
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
    assert_eq!(world.runs(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn nothing_new_starts_when_the_money_of_the_day_is_spent_and_nothing_is_counted_twice() {
    let world = world();
    let settings = |dollars: f64| {
        let settings = json!({"subagents": {"dailyCostUsd": dollars}});
        write_file(&world.agent_dir().join("settings.json"), &settings.to_string());
    };
    settings(0.005);
    for _ in 0..2 {
        assert_eq!(world.play(&quick(), &[]).code, Some(0), "$0.003 each");
    }
    let money = world.agent_dir().join("governor/money.json");
    let spent =
        || serde_json::from_slice::<Value>(&fs::read(&money).unwrap()).unwrap()["costUsd"].clone();
    assert!((spent().as_f64().unwrap() - 0.006).abs() < 1e-9, "{}", spent());
    let ran = world.play(&quick(), &[]);
    assert_eq!((ran.code, ran.task()["outcome"].as_str()), (Some(1), Some("budget")), "{ran:?}");
    let error = ran.task()["error"].as_str().unwrap().to_owned();
    let expected = "Not started: nothing is left of the budget of the day, $0.005 (spent $0.006). It begins anew on ";
    assert!(error.starts_with(expected) && error.ends_with(" at 00:00."), "{error}");
    let background = world.run(&["bg", "start", "--agent", &world.agent(&quick()), "go"]);
    assert_eq!(background.code, Some(2), "{background:?}");
    assert!(
        background.stderr.contains("nothing is left of the budget of the day"),
        "{background:?}"
    );

    // A supervisor that is killed behind a message has counted it, and the program that ends its run does not.
    settings(1.0);
    let going = world.start(&endless(&["one"]), &[]);
    wait_until(|| (spent().as_f64().unwrap() - 0.009).abs() < 1e-9);
    kill_and_wait(world.supervisor());
    assert_eq!(going.finish().task()["outcome"], "interrupted");
    assert!((spent().as_f64().unwrap() - 0.009).abs() < 1e-9, "{}", spent());
    world.assert_nothing_left();
}

#[test]
fn a_budget_of_money_says_so_where_the_price_of_the_model_is_not_known() {
    let world = world();
    write_file(&world.project().join("turns.json"), &json!([{"text": "done"}]).to_string());
    let run = ["run", "--json", "--agent", "builtin", "--model", "script/turns.json", "go"];
    let warnings =
        |budget: &[&str]| world.run(&[&run[..], budget].concat()).task()["warnings"].clone();
    let said = "What the model costs is not known, so the budget of $0.01 was not kept. Limit tokens or turns instead";
    assert_eq!(warnings(&["--max-cost", "0.01"]), json!([said]));
    assert_eq!(warnings(&["--max-turns", "5"]), json!([]));
}
