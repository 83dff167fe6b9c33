//! `/agents`: what is listed, and what can be done with it.

use test_support::wait_until;

use super::*;
use crate::workspaces::{repository, shell};

fn listed(bridge: &mut Bridge) -> Vec<Value> {
    let answer = bridge.request("agents/list", &json!({}));
    answer["result"]["runs"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
}

fn actions(run: &Value) -> Vec<&str> {
    let actions = run["actions"].as_array().unwrap().iter();
    actions.map(|action| action["action"].as_str().unwrap()).collect()
}

fn act(bridge: &mut Bridge, run: &Value, action: &str, text: &str) -> Value {
    let params = json!({"runId": run["runId"], "action": action, "text": text});
    bridge.request("agents/act", &params)
}

#[test]
fn a_run_of_a_call_is_listed_and_stopped() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &world.working());
    assert!(listed(&mut bridge).is_empty());
    let call = bridge.begin_call("call", "delegate_to_subagents", &tasks(1));
    wait_until(|| world.path("working").exists());
    let runs = listed(&mut bridge);
    assert_eq!((runs.len(), &runs[0]["section"]), (1, &json!("this session")));
    assert!(runs[0]["text"].as_str().unwrap().contains("  task 1  "), "{runs:?}");
    assert_eq!(actions(&runs[0]), ["look", "message", "stop"]);
    assert_eq!(runs[0]["actions"][2]["question"], json!("Stop task 1?"));
    let stopped = act(&mut bridge, &runs[0], "stop", "");
    assert_eq!(stopped["result"]["message"], json!("Stopped task 1."), "{stopped}");
    let answer = bridge.response(call)["result"].clone();
    assert_eq!(answer["isError"], json!(true), "{answer}");
    assert!(answer["text"].as_str().unwrap().contains("working on it"), "{answer}");
    let again = act(&mut bridge, &runs[0], "stop", "");
    assert_eq!(again["result"]["message"], json!("task 1 had ended before."), "{again}");
    assert_eq!(actions(&listed(&mut bridge)[0]), ["look", "resume"]);
    bridge.close();
    world.assert_nothing_left();
}

#[test]
fn a_run_of_another_program_goes_on_in_the_background() {
    let world = world();
    let ran = world.run(&["run", "--agent", &world.agent(&quick()), "--name", "counter", "Count."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut bridge = Bridge::of_pi(&world, &quick());
    let runs = listed(&mut bridge);
    assert_eq!((runs.len(), &runs[0]["section"]), (1, &json!("this project")));
    assert_eq!(runs[0]["actions"][1]["asks"], json!("What should counter do next?"));
    let resumed = act(&mut bridge, &runs[0], "resume", "Count on.");
    let message = json!("counter goes on in the background.");
    assert_eq!(resumed["result"]["message"], message, "{resumed}");
    // The agent of the first run has no name.
    let mut told = || bridge.wait_for("ui/notify")["params"]["message"].clone();
    let other = "Task \"counter\" continues a session of the agent \"program\" with \"pi\"";
    assert_eq!([told(), told()], [json!(other), json!("Background agent counter finished")]);
    // The session is there once, and is this conversation's by now.
    let runs = listed(&mut bridge);
    assert_eq!((runs.len(), &runs[0]["section"]), (1, &json!("this session")));
    let prompt =
        world.project().join(".pi/subagents/runs").join(runs[0]["runId"].as_str().unwrap());
    let prompt = fs::read_to_string(prompt.join("prompt.md")).unwrap();
    assert!(prompt.starts_with("Previously:\n") && prompt.ends_with("Count on."), "{prompt}");
    bridge.close();
    world.wait_until_nothing_is_left();
}

#[test]
fn what_an_agent_changed_is_shown() {
    let world = repository();
    let script = shell("sed -i s/two/2/ a.txt && printf '<!--\\033[31mred\\n' > odd.txt");
    for (name, script) in [("changer", script), ("same", quick())] {
        let ran = world.play(&script, &["--worktree", "--name", name]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let mut bridge = Bridge::of_pi(&world, &quick());
    let runs = listed(&mut bridge);
    let [same, changer] = runs.as_slice() else { panic!("{runs:?}") };
    assert_eq!(actions(same), ["look", "resume"]);
    assert_eq!(actions(changer), ["look", "changes", "resume"]);
    assert!(changer["text"].as_str().unwrap().contains("  2 files +2 −1  "), "{changer}");
    let shown = act(&mut bridge, changer, "changes", "")["result"].clone();
    assert_eq!(shown["message"], json!("changer: 2 files +2 −1"), "{shown}");
    let window = text(&shown["lines"]);
    let beginning = "changer  2 files +2 −1\n\ndiff --git a/a.txt b/a.txt\n";
    assert!(window.starts_with(beginning), "{window}");
    assert!(window.contains("\n-two\n+2\n") && window.contains("\n+<!--red\n"), "{window}");
    for line in [json!([["removed", "-two"]]), json!([["added", "+2"]])] {
        assert!(shown["lines"].as_array().unwrap().contains(&line), "{shown}");
    }
    bridge.close();
    world.assert_nothing_left();
}

#[test]
fn what_cannot_be_done_is_said() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    let gone = json!({"runId": "0199c0de-0000-7000-8000-000000000000"});
    for action in ["stop", "resume", "changes"] {
        let refused = act(&mut bridge, &gone, action, "x");
        let message = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{refused}"));
        assert!(message.ends_with(" is gone."), "{message}");
    }
    let refused = act(&mut bridge, &gone, "explode", "");
    assert_eq!(refused["error"]["message"], json!("there is no action explode"));
    bridge.close();
}
