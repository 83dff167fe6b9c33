//! From a request to a plan: everything that is decided before anything is started.
//!
//! Nothing here reads the process's environment by itself: it is given as [`Surroundings`], so
//! that every decision can be tested.

mod agent;
mod request;
mod settings;
mod surroundings;

pub use agent::{Agent, AgentError};
pub use request::{Request, plan};
pub use settings::{Settings, load_settings};
pub use surroundings::{Surroundings, SurroundingsError};
