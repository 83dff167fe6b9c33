//! Makes other programs find this one, and undoes it: puts what this program carries where they look
//! for it, and an entry into their configuration.
//!
//! Everything is repeatable: what is there already, stays; what is not ours, is kept and named.

pub mod clients;
mod config;
mod error;
mod files;
pub mod man;
pub mod pi;

pub use config::ConfigError;
pub use error::SetupError;
pub use files::Change;
