//! Connects other programs with this one, and disconnects them: installs the extension for pi, an
//! entry in the configuration of MCP clients, and manual pages.
//!
//! Everything can be repeated. What is up to date stays, and what is not ours is kept and named.

pub mod clients;
mod config;
mod error;
mod files;
pub mod man;
pub mod pi;

pub use config::ConfigError;
pub use error::SetupError;
pub use files::Change;
