//! Claude Code in its print mode, with records as a stream.

mod questions;
pub(crate) mod start;
pub(crate) mod stream;
pub(crate) mod tools;
