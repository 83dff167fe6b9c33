//! The command line of the official inspector, with which people try a server out.

use std::fs;

use serde_json::{Value, json};
use test_support::{Ran, World, e2e};

use crate::{assert_only_results_are_left, echo, program_in, world};

#[test]
fn the_inspector_lists_calls_reads_and_gets() {
    let world = world(&echo());
    // The inspector finds out its own version with this, and looks for it from where it is run.
    fs::write(world.path("package.json"), "{}").unwrap();

    let tools = inspect(&world, &["tools/list"])["tools"].clone();
    assert_eq!(tools.as_array().unwrap().len(), 8, "{tools:#}");

    let tasks = r#"tasks=[{"name": "first", "prompt": "look"}]"#;
    let called = inspect(
        &world,
        &["tools/call", "--tool-name", "delegate_to_subagents", "--tool-arg", tasks],
    );
    let session = &called["structuredContent"]["sessions"][0];
    assert_eq!(session["status"], "completed", "{called:#}");

    let uri = format!("subagent://session/{}", session["sessionId"].as_str().unwrap());
    let listed = inspect(&world, &["resources/list"]);
    let uris = listed["resources"].as_array().unwrap().iter().map(|resource| &resource["uri"]);
    assert!(uris.into_iter().any(|listed| *listed == json!(uri)), "{listed:#}");
    let read = inspect(&world, &["resources/read", "--uri", &uri]);
    assert_eq!(read["contents"][0]["text"], "[prompt]: look\nYou said: look", "{read:#}");

    let arguments = ["--prompt-name", "implement", "--prompt-args", "task=a clock"];
    let prompt = inspect(&world, &[&["prompts/get"], &arguments[..]].concat());
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("with sub-agents: a clock\n"), "{text}");
    assert_only_results_are_left(&world);
}

/// What the inspector prints when it is asked for a method.
fn inspect(world: &World, method: &[&str]) -> Value {
    let modules = e2e().join("node_modules");
    let mut command = program_in(world, &modules.join(".bin/node"));
    command
        .arg(modules.join("@modelcontextprotocol/inspector-cli/build/cli.js"))
        .args(["--cli", env!("CARGO_BIN_EXE_pi-subagents"), "mcp", "--method"])
        .args(method);
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    world.wait_until_nothing_is_left();
    ran.json()
}
