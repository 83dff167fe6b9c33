//! The fleet with real NATS servers, pinned in `e2e/fleet/requirements.txt`. `cargo xtask test` installs the server and
//! says where it is.

#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

mod batch_runs;
mod batches;
mod conversation;
#[cfg(target_os = "linux")]
mod faults;
mod hostile_worker;
mod interactive;
mod limits;
mod machines;
mod real_pi;
mod security;
mod servers;

use std::path::PathBuf;

use test_support::e2e;

/// The server's program.
fn nats_server() -> PathBuf {
    e2e().join("fleet/server/bin/nats-server")
}
