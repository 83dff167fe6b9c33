//! Everything that reads what other programs wrote, as targets of a fuzzer.
//!
//! A target takes any bytes, gives them to a public function of a crate, and asserts what must be true of any
//! input, not only that nothing panics. `cargo xtask fuzz` searches for input of which it is not true;
//! `cargo test` runs the corpora, which are what the fuzzer has found worth keeping.

mod assertions;
mod captured;
mod folds;
mod scratch;
mod targets;

pub use targets::{TARGETS, Target};
