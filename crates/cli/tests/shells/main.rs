//! Completions in zsh and fish, and manual pages through `man`: programs that not every machine has.

#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

mod completions;
mod manual;

use test_support::{Program, World};

/// A world with the programs that were just built.
fn world() -> World {
    World::new(Program {
        pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
        fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
    })
}
