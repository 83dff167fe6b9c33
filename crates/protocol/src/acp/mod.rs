//! The Agent Client Protocol: JSON-RPC over standard streams, spoken by Gemini CLI, opencode, GitHub Copilot and
//! many others.

mod calls;
mod copilot;
mod gemini;
mod make;
mod notices;
mod opencode;
mod permission;
mod prompts;
mod selection;
pub(crate) mod start;
pub(crate) mod stream;
mod tools;
#[cfg(test)]
mod two_way_tests;
