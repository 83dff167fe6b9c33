//! The whole way of a task, on real processes: every fault that a child, a parent, a supervisor or
//! a disk can have, with its complete events and the proof that nothing is left behind.

mod ends;
mod event_protocol;
mod events;
mod parents;
mod run_command;
mod sessions_command;
mod storage;
mod streams;
mod times;
mod trees;

use crate::world;
