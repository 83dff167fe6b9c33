//! Agents of four makes side by side, in one call of the real pi.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, Stdio};

use serde_json::{Value, json};
use test_support::e2e;

use crate::{Agent, Scene};

#[test]
fn agents_of_four_makes_work_side_by_side_and_their_costs_are_in_pis_totals() {
    let told = |script: Value| format!("Do it. <<SCRIPT>>{script}<<END>>");
    let bash = |command: &str| json!({"name": "bash", "args": {"command": command}});
    let task = |name: &str, call: Value| {
        let script = json!([{"tools": [call]}, {"text": format!("{name} has {{{{result:0}}}}")}]);
        json!({"name": name, "agent": name, "prompt": told(script)})
    };
    let tasks = json!([
        task("pi", bash("echo one")),
        task("claude", Agent::Claude.bash("echo two")),
        task("codex", Agent::Codex.bash("echo three")),
        task("builtin", bash("echo four")),
    ]);
    let call = json!({"name": "delegate_to_subagents", "args": {"tasks": tasks}});
    let prompt = told(json!([{"tools": [call]}, {"text": "All are done."}]));
    let scene = Scene::new(Agent::Claude, &json!([]));
    scene.with_pi(&json!({"access": "full"}));
    let records = ask_pi(&scene, &prompt);
    scene.world.wait_until_nothing_is_left();

    let result = records
        .iter()
        .map(|record| &record["message"])
        .find(|message| message["role"] == "toolResult")
        .unwrap();
    let text = result["content"][0]["text"].as_str().unwrap();
    for (name, word) in [("pi", "one"), ("claude", "two"), ("codex", "three"), ("builtin", "four")]
    {
        assert!(text.contains(&format!("✓ {name}: completed")), "{text}");
        let (_, answer) = text.split_once(&format!("### {name}\n")).unwrap();
        let answer = answer.split("\n### ").next().unwrap();
        assert!(answer.contains(&format!("{name} has ")) && answer.contains(word), "{text}");
    }

    // What the three cost that know it, and what pi itself cost. Codex tells its tokens only.
    let mut cost = 0.0;
    for run in scene.world.runs() {
        let result: Value =
            serde_json::from_slice(&std::fs::read(run.join("result.json")).unwrap()).unwrap();
        let is_known = !result["usage"]["cost"].is_null();
        assert_eq!(is_known, result["name"] != "codex", "{result:#}");
        assert_eq!(result["usage"]["totalTokens"], 2 * 120, "{result:#}");
        cost += result["usage"]["cost"]["total"].as_f64().unwrap_or_default();
    }
    assert_eq!(scene.world.runs().len(), 4);
    assert!(cost > 0.0);
    assert_near(&result["usage"]["cost"]["total"], cost);
    let stats = records.iter().find(|record| record["command"] == "get_session_stats").unwrap();
    let own: f64 = records
        .iter()
        .filter(|record| record["type"] == "message_end")
        .map(|record| &record["message"])
        .filter(|message| message["role"] == "assistant")
        .map(|message| message["usage"]["cost"]["total"].as_f64().unwrap())
        .sum();
    assert!(own > 0.0, "{stats:#}");
    assert_near(&stats["data"]["cost"], own + cost);
    assert_eq!(stats["data"]["tokens"]["total"], 5 * 2 * 120, "{stats:#}");
}

#[track_caller]
fn assert_near(figure: &Value, expected: f64) {
    let figure = figure.as_f64().unwrap();
    assert!((figure - expected).abs() < 1e-9, "{figure} instead of {expected}");
}

/// Gives pi, with our extension, a prompt, and then asks it for its totals. Returns everything that it says.
fn ask_pi(scene: &Scene, prompt: &str) -> Vec<Value> {
    let programs = e2e().join("node_modules/.bin");
    let extension = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../extension");
    let mut command = scene.offer(scene.world.command_of(programs.join("pi")));
    command
        .args(["--mode", "rpc", "--extension"])
        .arg(extension.canonicalize().unwrap())
        .env("PI_SUBAGENTS_BIN", env!("CARGO_BIN_EXE_pi-subagents"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut pi = command.spawn().unwrap();
    let mut stdin = pi.stdin.take();
    let send = |stdin: &mut Option<ChildStdin>, command: Value| {
        writeln!(stdin.as_mut().unwrap(), "{command}").unwrap();
    };
    send(&mut stdin, json!({"type": "prompt", "message": prompt}));
    let mut records = Vec::new();
    for line in BufReader::new(pi.stdout.take().unwrap()).lines() {
        let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let (kind, command) = (record["type"].clone(), record["command"].clone());
        records.push(record);
        if kind == "agent_settled" {
            send(&mut stdin, json!({"type": "get_session_stats"}));
        }
        // It ends with its input.
        if command == "get_session_stats" {
            stdin = None;
        }
    }
    assert!(pi.wait().unwrap().success());
    records
}
