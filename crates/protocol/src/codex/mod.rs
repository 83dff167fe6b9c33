//! Codex in its non-interactive mode.

pub(crate) mod start;
pub(crate) mod stream;
