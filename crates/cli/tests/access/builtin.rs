//! The built-in agent with restricted access: it knows, its tools are refused, and its outputs are kept.

use std::fs;

use serde_json::{Value, json};
use test_support::write_file;

use super::Restricted;

/// Runs the built-in agent with a model that plays these turns.
#[track_caller]
fn run(restricted: &Restricted, turns: &Value, arguments: &[&str]) -> Value {
    write_file(&restricted.world.path("turns.json"), &turns.to_string());
    let model = format!("script/{}", restricted.world.path("turns.json").display());
    let all = ["run", "--json", "--agent", "builtin", "--model", &model];
    let ran = restricted.world.run(&[&all[..], arguments, &["do it"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    restricted.world.assert_nothing_left();
    ran.task()
}

fn tool(name: &str, args: &Value) -> Value {
    json!({"tools": [{"name": name, "args": args}]})
}

#[test]
fn its_tools_change_what_they_may() {
    let restricted = Restricted::new();
    let outside = restricted.world.path("outside/new").display().to_string();
    let turns = json!([
        tool("write", &json!({"path": "new", "content": "x"})),
        tool("write", &json!({"path": outside, "content": "x"})),
        tool("bash", &json!({"command": format!("echo x > {outside}")})),
        {"text": "1: {{result:0}} 2: {{result:1}} 3: {{result:2}}"},
    ]);
    let task = run(&restricted, &turns, &["--access", "workspace"]);
    let output = task["output"].as_str().unwrap();
    assert_eq!(fs::read_to_string(restricted.project("new")).unwrap(), "x", "{output}");
    assert_eq!(output.matches("ermission denied").count(), 2, "{output}");
    restricted.assert_outside_untouched();
    fs::remove_file(restricted.project("new")).unwrap();
    let task = run(&restricted, &turns, &["--access", "read"]);
    let output = task["output"].as_str().unwrap();
    assert_eq!(output.matches("ermission denied").count(), 3, "{output}");
    assert!(!restricted.project("new").exists());
}

#[test]
fn a_long_output_is_kept_with_the_run() {
    let restricted = Restricted::new();
    let turns = json!([
        tool("bash", &json!({"command": "seq 100000"})),
        {"text": "{{result:0}}"},
    ]);
    let task = run(&restricted, &turns, &["--access", "read"]);
    let outputs = std::path::PathBuf::from(task["runDir"].as_str().unwrap()).join("outputs");
    let kept: Vec<_> = fs::read_dir(outputs).unwrap().flatten().collect();
    assert_eq!(kept.len(), 1, "{task:#}");
    assert!(fs::read_to_string(kept[0].path()).unwrap().ends_with("100000\n"));
}
