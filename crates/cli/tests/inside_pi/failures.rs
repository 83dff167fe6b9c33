//! Without the program that does the work, pi continues.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;
use test_support::{pi_programs, write_program};

use crate::remote::Remote;
use crate::{Inside, TOOLS, offered};

/// Starts pi with another program instead of ours, and lets it answer a prompt. Returns the message to the
/// user.
fn without_us(inside: &Inside, program: &str) -> String {
    let mut command = inside.pi(&["--mode", "rpc"]);
    command.env("PI_SUBAGENTS_BIN", program);
    goes_on(inside, command)
}

/// Lets pi answer a prompt without us, and returns the message to the user.
fn goes_on(inside: &Inside, command: Command) -> String {
    let mut pi = Remote::start(command);
    for _ in 0..2 {
        pi.send(&json!({"type": "prompt", "message": crate::told(&json!([{"text": "Hello."}]))}));
        pi.wait_for(|record| record["type"] == "agent_settled");
    }
    let said = pi.ask(&json!({"type": "get_last_assistant_text"}));
    assert_eq!(said["text"], "Hello.");
    assert!(!offered(&inside.asked()[0]).iter().any(|tool| TOOLS.contains(&tool.as_str())));
    let notices = pi.shown("notify");
    assert_eq!(notices.len(), 1, "{notices:#?}");
    assert_eq!(notices[0]["notifyType"], "error");
    let message = notices[0]["message"].as_str().unwrap().to_owned();
    pi.close();
    inside.world.wait_until_nothing_is_left();
    message
}

#[test]
fn the_program_is_missing() {
    let inside = Inside::new();
    let message = without_us(&inside, "/nonexistent/pi-subagents");
    assert!(message.contains("/nonexistent/pi-subagents"), "{message}");
    assert!(message.contains("PI_SUBAGENTS_BIN"), "{message}");
}

#[test]
fn the_program_on_the_path_belongs_to_another_project() {
    let inside = Inside::new();
    let (bin, ran) = (inside.world.path("bin"), inside.world.path("ran"));
    let program = inside.world.path("node_modules/pi-subagents/install.mjs");
    write_program(&program, &format!("#!/bin/sh\ntouch {}\n", ran.display()));
    fs::create_dir(&bin).unwrap();
    symlink(&program, bin.join("pi-subagents")).unwrap();
    let mut command = inside.pi(&["--mode", "rpc"]);
    let path = format!("{}:{}", bin.display(), pi_programs().1);
    command.env_remove("PI_SUBAGENTS_BIN").env("PATH", path);
    let message = goes_on(&inside, command);
    assert!(message.contains("The program pi-subagents was not found"), "{message}");
    assert!(!ran.exists(), "the other program was run");
}

/// A program that runs these commands, to be started instead of ours.
fn impostor(inside: &Inside, commands: &str) -> String {
    let path = inside.world.path("impostor");
    write_program(&path, &format!("#!/bin/sh\n{commands}\n"));
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_program_is_of_another_version() {
    let inside = Inside::new();
    let answer = json!({"jsonrpc": "2.0", "id": 1, "error": {
        "code": -32600, "message": "This is another version. Run `pi-subagents setup pi`.",
    }});
    let commands = format!(
        "read request\nid=$(echo \"$request\" | sed 's/.*\"id\":\\([0-9]*\\).*/\\1/')\n\
         echo '{answer}' | sed \"s/\\\"id\\\":1/\\\"id\\\":$id/\""
    );
    let message = without_us(&inside, &impostor(&inside, &commands));
    assert!(message.contains("This is another version. Run `pi-subagents setup pi`."), "{message}");
}

#[test]
fn an_extension_of_another_version_is_told_what_to_do() {
    let inside = Inside::new();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocol": 999, "extensionVersion": "999.0.0", "mode": "rpc",
        "cwd": inside.world.project(), "sessionId": "s", "agent": null, "trusted": false,
        "columns": null,
    }});
    let ran = inside.world.feed(inside.world.command(["bridge"]), &format!("{initialize}\n"));
    let answer: serde_json::Value = serde_json::from_str(ran.stdout.trim()).unwrap();
    assert_eq!(answer["id"], 1);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("999") && message.contains("setup pi"), "{message}");
}

#[test]
fn the_program_dies_at_once() {
    let inside = Inside::new();
    let message =
        without_us(&inside, &impostor(&inside, "echo 'I have no memory left' >&2; exit 3"));
    assert!(message.contains("I have no memory left"), "{message}");
}
