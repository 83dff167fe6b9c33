//! What holds the processes of a run together, with a cgroup and without one, for root and for a user without
//! privileges. These tests need root and a cgroup hierarchy of version 2, so `cargo xtask test` runs them where
//! there are both.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

mod held;
mod scene;
mod traced;
mod trusted;

/// `cargo xtask test` asks this first: where it fails, the other tests cannot be run.
#[test]
fn probe() {
    if let Err(reason) = process::Cgroup::parent() {
        panic!("{reason}");
    }
    assert!(rustix::process::geteuid().is_root(), "these tests need root");
}
