//! The fuzzer: libFuzzer around one target, which the environment names.
//!
//! `cargo xtask fuzz` builds it, with the instrumentation that libFuzzer needs, and starts it.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pi_subagents_fuzz::{TARGETS, Target};

/// One program for all targets: each would be linked with everything else again.
static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let target = TARGETS.iter().find(|target| target.name == name);
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert!(target.is_some(), "FUZZ_TARGET must be one of {}", names.join(", "));
    target.unwrap_or(&TARGETS[0])
});

fuzz_target!(|data: &[u8]| (TARGET.check)(data));
