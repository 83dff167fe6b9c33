//! The whole way of a task, on real processes: every fault that a child, a parent, a supervisor or
//! a disk can have, with its complete events and the proof that nothing is left behind.

#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

mod ends;
mod event_protocol;
mod events;
mod parents;
mod run_command;
mod sessions_command;
mod storage;
mod streams;
mod times;
mod trees;

use test_support::{Program, World};

/// A world with the programs that were just built.
fn world() -> World {
    World::new(Program {
        pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
        fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
    })
}
