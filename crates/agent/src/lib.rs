//! The built-in agent: it takes pi's arguments and prints pi's stream.

mod agent;
mod answer;
mod calls;
pub mod cancel;
mod clock;
mod commands;
mod compacting;
mod compaction;
pub mod config;
mod event;
mod fallback;
mod history;
mod inbox;
pub mod invocation;
pub mod message;
mod prompt;
pub mod provider;
mod retry;
mod rpc;
mod run;
mod session_file;
#[cfg(test)]
mod testing;
mod text_file;
mod tokens;
pub mod tools;

pub use agent::Ending;
pub use answer::message_of;
pub use commands::refusals;
pub use config::take_profile_key;
pub use run::{AgentError, LAST_WORDS, Report, RunInputs, run};
pub use session_file::{SessionFileError, continue_session};
