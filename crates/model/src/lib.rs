//! Plain data that every part of pi-subagents shares: what a run is, what happened in it and how
//! it ended.
//!
//! Nothing here reads a file, a clock or the environment, and nothing here can fail on any input.
//! The words of this crate are the words of the JSON files, of the screen and of the documents.

mod event;
mod id;
mod meta;
mod outcome;
pub mod paths;
mod plan;
mod result;
mod stop_cause;
mod stop_reason;
pub mod tool_names;
mod usage;
pub mod variables;

pub use event::{Activity, Event, Record, for_each_text};
pub use id::{CallId, InvalidId, RunId, SessionId};
pub use meta::{AgentKind, FORMAT, Lifetime, Limits, Meta, Owner, OwnerKind};
pub use outcome::{Outcome, Status, Verdict};
pub use plan::{Argument, Plan, Secrets};
pub use result::RunResult;
pub use stop_cause::StopCause;
pub use stop_reason::StopReason;
pub use usage::{Cost, Usage};
