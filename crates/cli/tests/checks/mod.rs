//! What is asked of an agent's work after its last word, on real processes: a check that passes, an answer that fits a
//! schema. Whatever fails, hangs or is killed meanwhile, the outcome is true and nothing is left.

mod answers;
mod commands;
mod ends;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use test_support::{Ran, World};

use crate::builtin::harness::{Api, Builtin};

/// A built-in agent, which can be spoken to, with these turns.
fn builtin(turns: &Value) -> Builtin {
    Builtin::new(Api::Completions, turns)
}

/// `run` with the built-in agent.
fn run(builtin: &Builtin, arguments: &[&str]) -> Ran {
    let all = ["run", "--json", "--agent", "builtin", "--name", "work"];
    let ran = builtin.world.run(&[&all[..], arguments, &["go"]].concat());
    builtin.world.assert_nothing_left();
    ran
}

/// What the user has told the model, in each request, without the prompt.
fn told(builtin: &Builtin) -> Vec<Vec<String>> {
    let told = |request: Value| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let of_user = messages.iter().filter(|message| message["role"] == "user");
        of_user.skip(1).map(crate::builtin::harness::text_of).collect()
    };
    builtin.asked().into_iter().map(told).collect()
}

/// The events about what was found, and what the agent said and was told, in a short form.
fn findings(run_dir: &Path) -> Vec<String> {
    let events = fs::read_to_string(run_dir.join("events.jsonl")).unwrap_or_default();
    let records = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let short = |record: Value| {
        Some(match record["type"].as_str()? {
            "assistant_message" => format!("said {}", text(&record["text"])),
            "check_started" => format!("check {}", text(&record["command"])),
            "check_ended" if record["passed"] == true => "passed".to_owned(),
            "check_ended" => format!("failed {} {}", record["exitCode"], text(&record["output"])),
            "answer_checked" => match record["problem"].as_str() {
                Some(problem) => format!("unfit {problem}"),
                None => "fits".to_owned(),
            },
            "run_ended" => format!("ended {}", text(&record["outcome"])),
            _ => return None,
        })
    };
    records.filter_map(short).collect()
}

fn outcome(ran: &Ran) -> (String, String) {
    let task = ran.task();
    let text = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
    (text("outcome"), text("error"))
}

/// A file of the project, for `sh`.
fn path(world: &World, name: &str) -> String {
    world.project().join(name).display().to_string()
}

/// Turns of the model that only say something.
fn saying(answers: &[&str]) -> Value {
    answers.iter().map(|answer| json!({"text": answer})).collect()
}
