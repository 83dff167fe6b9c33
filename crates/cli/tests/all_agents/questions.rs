//! What real agents ask before they run a command, and the answers.

use super::claude::CLAUDE;
use super::{Agent, COPILOT, GEMINI, OPENCODE, Running, Scene, Value, fs, json, wait_until};

/// A run that asks whether it may run a command, which leaves a file. Returns the run when the question waits.
fn ask(agent: &'static Agent) -> (Scene, Running) {
    let script = json!([Scene::bash(agent, "echo hi > asked.txt"), {"text": "Hello"}]);
    let scene = Scene::new(agent, &script);
    let run = Running::start(scene.command(&["--name", "asker", "--access", "full", "--ask"]));
    wait_until(|| events(&scene).iter().any(|event| event["type"] == "question_asked"));
    (scene, run)
}

fn events(scene: &Scene) -> Vec<Value> {
    let Some(run) = scene.world.runs().into_iter().next() else { return Vec::new() };
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap_or_default();
    events.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The run is answered with this word, and ends. The question was for the command, and has one answer, of the shell.
/// Returns whether the command ran, and what the model was asked afterwards.
#[track_caller]
fn answer(agent: &'static Agent, word: &str) -> (bool, Option<String>) {
    let (scene, run) = ask(agent);
    let told = scene.world.run(&["answer", "asker", word]);
    assert_eq!(told.code, Some(0), "{}: {told:?}", agent.name);
    let ran = run.finish();
    let events = events(&scene);
    let of_type = |kind: &str| -> Vec<&Value> {
        events.iter().filter(|event| event["type"] == kind).collect()
    };
    let asked = of_type("question_asked");
    assert_eq!(asked.len(), 1, "{}: {ran:#?}", agent.name);
    let text = asked[0]["question"]["text"].as_str().unwrap();
    assert!(text.contains("echo hi > asked.txt"), "{}: {text}", agent.name);
    let answered = of_type("question_answered");
    assert_eq!(answered.len(), 1, "{}: {answered:?}", agent.name);
    assert_eq!(answered[0]["by"], "shell", "{}", agent.name);
    let has_run = scene.world.project().join("asked.txt").exists();
    let requests = scene.asked();
    scene.world.wait_until_nothing_is_left();
    (has_run, requests.get(1).map(Value::to_string))
}

#[test]
fn a_command_that_is_allowed_runs() {
    for agent in [&OPENCODE, &GEMINI, &COPILOT, &CLAUDE] {
        let (has_run, request) = answer(agent, "yes");
        assert!(has_run && request.is_some(), "{}: {request:?}", agent.name);
    }
}

#[test]
fn a_command_that_is_denied_does_not_run() {
    for agent in [&OPENCODE, &GEMINI, &COPILOT, &CLAUDE] {
        let (has_run, request) = answer(agent, "Use git clean instead.");
        assert!(!has_run, "{}: {request:?}", agent.name);
    }
}
