//! The ways to have the extension: put there by `setup pi`, installed from where it is or with the
//! program as npm packages, and named this once (which is how all other tests have it).

use std::env::consts::{ARCH, OS};
use std::fs;

use serde_json::json;

use crate::remote::Remote;
use crate::{Inside, call, extension};

/// What pi offers that has the extension: its tools work, and its prompts and its command are there.
fn assert_at_work(inside: &Inside, has_program_beside: bool) {
    let mut command = inside.pi_without_extension(&["--mode", "rpc"]);
    if has_program_beside {
        command.env_remove("PI_SUBAGENTS_BIN");
    }
    let mut pi = Remote::start(command);
    let profiles = pi.call_once(call("list_subagent_profiles", json!({})));
    assert!(profiles.answer().starts_with("No subagent profiles found."), "{profiles:?}");
    let answer = pi.ask(&json!({"type": "get_commands"}));
    let commands = answer["commands"].as_array().unwrap();
    for (name, source) in [
        ("profile", "extension"),
        ("scout-and-plan", "prompt"),
        ("implement", "prompt"),
        ("implement-and-review", "prompt"),
    ] {
        let is_there =
            commands.iter().any(|known| known["name"] == name && known["source"] == source);
        assert!(is_there, "no {source} {name} in {answer}");
    }
    pi.close();
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn setup_puts_it_where_pi_finds_it_with_its_program() {
    let inside = Inside::new();
    let ran = inside.world.run(&["setup", "pi"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_at_work(&inside, true);
    let ran = inside.world.run(&["setup", "pi", "--remove"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut pi = Remote::start(inside.pi_without_extension(&["--mode", "rpc"]));
    let answer = pi.ask(&json!({"type": "get_commands"}));
    assert!(!answer.to_string().contains("profile"), "it is still there: {answer}");
    pi.close();
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn pi_installs_it_from_where_it_is() {
    let inside = Inside::new();
    let directory = extension();
    let mut install = inside.pi_without_extension(&["install", directory.to_str().unwrap()]);
    let output = install.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_at_work(&inside, false);
}

#[test]
fn the_npm_packages_bring_the_program_with_them() {
    let inside = Inside::new();
    let modules = inside.world.path("node_modules");
    let directory = modules.join("@pi-subagents/cli");
    for name in ["", "prompts"] {
        fs::create_dir_all(directory.join(name)).unwrap();
        for entry in fs::read_dir(extension().join(name)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, directory.join(name).join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    // As Node calls them.
    let platform = if OS == "macos" { "darwin" } else { OS };
    let architecture = match ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let package = modules.join(format!("@pi-subagents/{platform}-{architecture}"));
    fs::create_dir_all(&package).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_pi-subagents"), package.join("pi-subagents")).unwrap();
    let mut install = inside.pi_without_extension(&["install", directory.to_str().unwrap()]);
    let output = install.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_at_work(&inside, true);
}
