//! Many tasks, profiles, presets, keys, resuming: delegation on real processes.

mod answers;
mod descriptors;
mod keys;
mod many;
mod presets;
mod profiles;
mod resuming;
mod subagent;

use std::fs;

use serde_json::Value;
use test_support::{Ran, World};

use crate::world;

/// `delegate --json` with these tasks and a fake agent that plays the script.
fn delegate(world: &World, script: &Value, call: &Value, arguments: &[&str]) -> Ran {
    let agent = world.agent(script);
    let mut all = vec!["delegate", "--json", "--agent", &agent];
    all.extend(arguments);
    world.feed(world.command(all), &call.to_string())
}

/// Writes a profile of the user.
fn profile(world: &World, name: &str, text: &str) {
    let directory = world.agent_dir().join("agent-profiles");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(format!("{name}.md")), text).unwrap();
}

/// Writes a profile of the project.
fn project_profile(world: &World, name: &str, text: &str) {
    let directory = world.project().join(".pi/agent-profiles");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(format!("{name}.md")), text).unwrap();
}

/// Writes a preset of the user.
fn preset(world: &World, name: &str, text: &str) {
    let directory = world.agent_dir().join("subagents");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(format!("{name}.md")), text).unwrap();
}

/// Writes a preset of the project.
fn project_preset(world: &World, name: &str, text: &str) {
    let directory = world.project().join(".pi/subagents");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(format!("{name}.md")), text).unwrap();
}
