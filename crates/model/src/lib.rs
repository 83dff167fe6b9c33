//! Plain data that every part of pi-subagents shares: what a run is, what happened in it and how
//! it ended.
//!
//! Nothing here reads a file, a clock or the environment, and nothing here can fail on any input.
//! The words of this crate are the words of the JSON files, of the screen and of the documents.

mod access;
mod admission;
mod budget;
mod changes;
mod clean;
mod containment;
mod event;
mod id;
mod ledger;
mod message;
mod meta;
mod outcome;
pub mod paths;
mod plan;
pub mod provider_variables;
mod question;
mod redactor;
mod remote_task;
mod result;
mod short_text;
mod stop_cause;
mod stop_reason;
pub mod tool_names;
mod usage;
pub mod variables;
mod waiting;

pub use access::{Access, AccessPaths, Mirror};
pub use admission::Admission;
pub use budget::{Budget, Spent, cost, dollars};
pub use changes::{Changes, ChangesState, Isolation, WorktreePlan};
pub use clean::{clean, escape_json};
pub use containment::{AgentProcess, LeftProcess, Leftovers};
pub use event::{Activity, Event, Record, for_each_text};
pub use id::{CallId, InvalidId, RunId, SessionId};
pub use ledger::Ledger;
pub use message::{Message, MessageTiming};
pub use meta::{
    AgentKind, FORMAT, FallbackStart, Lifetime, Limits, Meta, Owner, OwnerKind, ShellCommand,
};
pub use outcome::{Outcome, Status, Verdict};
pub use plan::{Argument, Plan, PlannedFallback, Secrets};
pub use question::{
    Answer, AnswerKind, AnsweredBy, LeftAnswer, OpenQuestion, Question, QuestionKind, ToolEffect,
};
pub use redactor::Redactor;
pub use remote_task::{FleetPool, InvalidPool, RemoteDefinition, RemoteTask, is_fleet_name};
pub use result::{CheckResult, Resources, RunResult};
pub use short_text::{short_error, short_optional_text, short_path, short_text};
pub use stop_cause::StopCause;
pub use stop_reason::StopReason;
pub use usage::{Cost, Usage};
pub use waiting::{WaitReason, Waiting, amount};
