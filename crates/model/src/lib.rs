//! Plain data that every part of pi-subagents shares: what a run is, what happened in it and how
//! it ended.
//!
//! Nothing here reads a file, a clock or the environment, and nothing here can fail on any input.
//! The words of this crate are the words of the JSON files, of the screen and of the documents.

mod event;
mod id;
mod meta;
mod outcome;
mod plan;
mod usage;
pub mod variables;

pub use event::{Activity, Event, Record, StopCause};
pub use id::{InvalidId, RunId, SessionId};
pub use meta::{AgentKind, FORMAT, Lifetime, Limits, Meta, Owner, OwnerKind};
pub use outcome::{Outcome, RunResult, Status};
pub use plan::{Argument, Plan, Secrets};
pub use usage::{Cost, Usage};
