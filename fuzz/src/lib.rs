//! Everything that reads what others wrote, as targets of a fuzzer.
//!
//! A target takes any bytes, hands them to the public door of a crate, and asserts what must be true
//! whatever they were: more than that nothing panics. `cargo xtask fuzz` looks for bytes of which it
//! is not; `cargo test` goes through the corpora, which are what the fuzzer has found worth keeping.

mod assertions;
mod folds;
mod place;
mod said;
mod targets;

pub use targets::{TARGETS, Target};
