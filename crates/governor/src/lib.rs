//! When an agent may start.
//!
//! Every program of a user asks here before it starts an agent, and gets one of two answers: a [`Slot`], or what there is
//! to wait for. There is no process that decides. What the programs agree on is small files in a directory that only the
//! user can enter, and a file counts only while its process holds it; so a process that dies, however it dies, lets go.
//!
//! - `running/RUN` is a slot. The program that starts a run makes it, and the supervisor of the run holds it.
//! - `queue/NUMBER` is the turn of a call: a pipe, which its program has open. A call has one turn, however many tasks it
//!   has. With a task that starts, it gives its turn up, and takes a new one behind all others.
//! - `waiting/` says for people which calls wait, and for what.
//! - `lock` is held while one program decides.
//!
//! Only the program that has the first turn looks for a free slot. Each of the others watches the turn before its own, so
//! that something that ends wakes one program, however many wait.

use std::time::SystemTime;

mod admit;
mod applicant;
mod eviction;
mod learned;
mod ledger;
mod memory;
mod money;
mod notice;
mod provider;
mod queue;
mod quota;
mod shared_dir;
mod slot;

pub use admit::{MachineMemory, machine_memory, measured_memory, room};
pub use applicant::{Answer, Applicant, Parked};
pub use eviction::Eviction;
pub use learned::remember;
pub use money::{
    SpendingRecorder, SpentHere, day_is_spent, machine_id, note_spent_elsewhere, spent_here,
    spent_today,
};
pub use notice::{Notice, waiting_calls};
pub use provider::{
    Pace, Provider, ProviderLimits, Request, SharedLimit, agent_was_refused, merge_shared_limit,
    provider_limits, shared_limits,
};
pub use quota::quota_ends;
pub use slot::{RunningAgent, Slot, running_agents};

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
