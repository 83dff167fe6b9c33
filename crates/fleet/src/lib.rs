//! Runs on other machines.
//!
//! # Theory of operation
//!
//! A NATS server (or a cluster of them) keeps everything that must survive: the queue of tasks, the events of their
//! attempts, their states and results, and the snapshots that agents work on. A *caller* queues tasks and reads what becomes
//! of them; a *worker* takes one when it has a free slot.
//!
//! A task can be delivered more than once, because a worker can die. Each delivery that begins to run is an *attempt* with a
//! number, an own working directory and own events. The attempts of a task are counted in its [`TaskState`], which changes by
//! compare-and-set, so that a worker learns that a later attempt has begun. A [`TaskResult`] is created once and never
//! replaced: the first attempt that stores one wins.
//!
//! Nothing of this runs, and no socket is opened, unless a command of the fleet is used.

mod address;
mod batch;
mod connection;
mod departure;
mod events;
mod message;
mod names;
mod relay;
mod role;
mod tasks;
mod worker;

pub use address::{AddressError, Credentials, ServerAddress};
pub use batch::{
    AttemptEvents, BATCHES, BatchCount, BatchEntry, Cancelled, Change, FailureReason, Figures,
    Following, NewTask, Overview, Patches, Phase, SlowTask, Submission, Submitted, TaskLineError,
    batch_entries, cancel_batch, count_batches, delete_batch, each_result, load_overview,
    prune_batches, read_task_line, task_events, task_result, task_state, workers,
};
pub use connection::{
    Fleet, FleetError, PATIENCE, block_on, check_credentials, pause, ready_within, task_consumer,
};
pub use departure::send_directory;
pub use events::{EventLines, cut_into_chunks};
pub use message::{
    Attempt, AttemptEnd, CallerPing, Command, CommandReply, EventChunk, FORMAT, Format, Heartbeat,
    OfferedAgent, Snapshot, TaskMessage, TaskResult, TaskState,
};
pub use names::{
    BUCKETS, CHANGES, EVENTS, InvalidName, LIMITS, Pool, RESULTS, SNAPSHOTS, STATES, TASKS,
    TaskAddress, TaskName, WORKERS, consumer,
};
pub use relay::{RelayInput, RelayOptions, relay};
pub use role::{Key, KeyError, Role, server_configuration};
pub use tasks::{Tasks, fetch_file, has_object, send_file};
pub use worker::{WorkerOptions, WorkerSignal, work};
