//! The built-in agent on real processes, against a model without a network: what it prints, what
//! the provider sees of it, what it does to files, and that nothing of it is left.

mod choice;
mod compaction;
mod errors;
mod fallback;
pub(crate) mod harness;
mod keys;
mod malformed;
mod models;
mod prompts;
mod recorded;
mod sessions;
mod sizes;
mod stops;
mod supervised;
mod tools;

use serde_json::{Value, json};

use crate::world;

/// A turn of the model that calls one tool.
fn call(name: &str, args: &Value) -> Value {
    json!({"tools": [{"name": name, "args": args}]})
}

/// A turn of the model that calls bash.
pub(crate) fn bash(command: &str) -> Value {
    call("bash", &json!({"command": command}))
}
