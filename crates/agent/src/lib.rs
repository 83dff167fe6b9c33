//! The built-in agent: it is started like pi and prints pi's stream.

pub mod cancel;
pub mod config;
pub mod message;
pub mod prompt;
pub mod provider;
mod text_file;
pub mod tools;
