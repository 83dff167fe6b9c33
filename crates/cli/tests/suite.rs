//! The tests on real processes that need only Rust, in one program: each further one would be linked with
//! everything else again. What needs something installed is in a program of its own; see `Cargo.toml`.

#![expect(clippy::panic, clippy::unwrap_used, reason = "this is how a test fails")]

mod agents;
mod background;
mod bounds;
mod bridge;
mod budgets;
mod builtin;
mod checks;
mod claude_definitions;
mod closed_streams;
mod completions;
mod conversation;
mod delegation;
mod demo;
mod doctor;
mod documents;
mod governor;
mod hostile;
mod live;
mod mcp;
mod mistakes;
mod models;
mod naming;
mod newcomers;
mod newcomers_worktrees;
mod notify;
mod pi_versions;
mod presets;
mod private_memory;
mod profiles;
mod providers;
mod questions;
mod setup;
mod setup_clients;
mod spine;
mod unattended;
mod workspaces;

use test_support::{Program, World};

/// A world with the programs that were just built.
fn world() -> World {
    World::new(Program {
        pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
        fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
    })
}
