//! `@harms-haus/pi-subagents` from npm, an extension of pi that starts children of its own, with
//! the built-in agent as these children: a reader of the stream that we did not write.

use std::fs;

use serde_json::{Value, json};
use test_support::{Ran, e2e, write_file, write_program};

use crate::{PiWorld, bash, system_prompt, tools};

/// A world in which `pi` means the built-in agent. What it is called with is written down.
fn world() -> PiWorld {
    let pi = PiWorld::new(&json!([]));
    let program = pi.world.path("programs/pi");
    let calls = pi.world.path("calls");
    let text = format!(
        "#!/bin/sh\necho \"$*\" >> {}\nexec {} agent \"$@\"\n",
        calls.display(),
        env!("CARGO_BIN_EXE_pi-subagents")
    );
    write_program(&program, &text);
    // The peer starts what it runs in itself, if that has a path. Without one, it starts `pi`.
    let anonymous = "export default () => { process.argv[1] = ''; };\n";
    write_file(&pi.world.path("anonymous.mjs"), anonymous);
    pi.project_file("notes.txt", "one\ntwo\nthree\n");
    pi.project_file("src/lib.rs", "pub fn one() {}\n");
    pi
}

/// A task whose model plays this script.
fn task(name: &str, script: &Value) -> Value {
    json!({"name": name, "prompt": format!("Do it. <<SCRIPT>>{script}<<END>>")})
}

/// Lets the peer, in the real pi, run these tasks in one call. Returns what it says to the model,
/// and what it knows about each child.
fn delegate(pi: &PiWorld, arguments: &Value) -> (String, Vec<Value>) {
    let script = json!([
        {"tools": [{"name": "delegate_to_subagents", "args": arguments}]},
        {"text": "All are done."},
    ]);
    let modules = e2e().join("node_modules");
    let parent = json!([
        modules.join(".bin/pi"),
        "--extension",
        pi.world.path("anonymous.mjs"),
        "--extension",
        modules.join("@harms-haus/pi-subagents"),
    ]);
    let prompt = format!("Delegate. <<SCRIPT>>{script}<<END>>");
    let mut command = pi.command(&["run", "--json", "--agent", &parent.to_string(), &prompt]);
    let programs = pi.world.path("programs");
    let modules = modules.join(".bin");
    command.env("PATH", format!("{}:{}:/usr/bin:/bin", programs.display(), modules.display()));
    let ran: Ran = command.output().unwrap().into();
    pi.world.assert_nothing_left();
    assert_eq!(ran.task()["output"], "All are done.", "{ran:#?}");
    let records = fs::read_to_string(ran.run_dir().join("stdout.log")).unwrap();
    let records = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ends: Vec<Value> =
        records.filter(|record| record["type"] == "tool_execution_end").collect();
    assert_eq!(ends.len(), 1, "{ends:#?}");
    let result = &ends[0]["result"];
    assert_eq!(ends[0]["isError"], false, "{result:#}");
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    (text, result["details"]["windows"].as_array().unwrap().clone())
}

/// The lines of a child's window of this kind.
fn lines<'a>(window: &'a Value, kind: &str) -> Vec<&'a str> {
    let lines = window["allMessages"].as_array().unwrap().iter();
    lines.filter(|line| line["kind"] == kind).map(|line| line["text"].as_str().unwrap()).collect()
}

#[test]
fn a_child_with_tools_and_a_profile() {
    let pi = world();
    pi.agent_file(
        "agent-profiles/helper.md",
        "---\nname: helper\nprovider: fake\nmodel: fake-2\nthinkingLevel: low\n\
         tools: [read, bash, ls]\nnoExtensions: true\nnoSkills: true\nnoContextFiles: true\n---\n\
         - Be brief.\n- Be kind.\n",
    );
    let script = json!([
        {"thinking": "I look first.", "text": "Looking.", "tools": [
            {"name": "ls", "args": {"path": "src"}},
            {"name": "read", "args": {"path": "notes.txt"}},
            {"name": "read", "args": {"path": "missing.txt"}},
        ]},
        bash("wc -l < notes.txt"),
        {"text": "There are\n{{result:3}} lines."},
    ]);
    let mut child = task("counter", &script);
    child["profile"] = "helper".into();
    child["files"] = json!(["src/lib.rs"]);
    let (text, windows) = delegate(&pi, &json!({"tasks": [child]}));
    let window = &windows[0];
    assert_eq!(window["status"], "completed", "{window:#}");
    assert_eq!((&window["exitCode"], &window["stopReason"]), (&json!(0), &json!("stop")));
    assert_eq!(window["model"], "fake-2");
    assert!(text.starts_with("✓ counter: completed"), "{text}");
    assert_eq!(
        lines(window, "tool"),
        [
            "→ ls → src → 1 file",
            "→ read → notes.txt",
            "→ read → missing.txt",
            "→ bash → wc -l < notes.txt",
        ]
    );
    let said = lines(window, "text");
    assert!(said.ends_with(&["There are", "3", " lines."]), "{said:#?}");
    assert!(!said.iter().any(|line| line.contains("[stderr]")), "{said:#?}");

    let arguments = fs::read_to_string(pi.world.path("calls")).unwrap();
    assert!(arguments.starts_with("--mode json -p --no-session --provider fake"), "{arguments}");
    let asked = pi.asked();
    let child = asked.iter().find(|request| request["model"] == "fake-2").unwrap();
    assert!(system_prompt(child).contains("- Be brief.\n- Be kind."), "{child:#}");
    assert_eq!(tools(child), ["bash", "ls", "read"]);
    assert_eq!(child["reasoning_effort"], "low");
}

#[test]
fn a_child_whose_provider_refuses() {
    let pi = world();
    let script = json!([bash("echo started"), {"error": 400, "error_message": "no such luck"}]);
    let (text, windows) = delegate(&pi, &json!({"tasks": [task("unlucky", &script)]}));
    let window = &windows[0];
    assert_eq!((&window["status"], &window["stopReason"]), (&json!("error"), &json!("error")));
    assert!(window["errorMessage"].as_str().unwrap().contains("no such luck"), "{window:#}");
    assert!(text.starts_with("✗ unlucky: "), "{text}");
    assert!(!lines(window, "text").iter().any(|line| line.contains("[stderr]")), "{window:#}");
    assert_eq!(lines(window, "tool").len(), 1);
}

#[test]
fn children_side_by_side() {
    let pi = world();
    // Each waits until all three run.
    let meet =
        "mkdir -p here; touch here/$$; until [ $(ls here | wc -l) = 3 ]; do sleep 0.02; done";
    let script = |name: &str| json!([bash(meet), {"text": format!("{name} was there.")}]);
    let children = ["ann", "bob", "cyd"].map(|name| task(name, &script(name)));
    let (text, windows) = delegate(&pi, &json!({"tasks": children}));
    assert_eq!(windows.len(), 3);
    for (window, name) in windows.iter().zip(["ann", "bob", "cyd"]) {
        assert_eq!((&window["name"], &window["status"]), (&json!(name), &json!("completed")));
        assert!(text.contains(&format!("✓ {name}: completed")), "{text}");
        assert_eq!(lines(window, "text").last(), Some(&&*format!("{name} was there.")));
        assert_eq!(lines(window, "tool").len(), 1, "{window:#}");
    }
    assert_eq!(fs::read_to_string(pi.world.path("calls")).unwrap().lines().count(), 3);
}
