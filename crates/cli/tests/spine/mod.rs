//! A task from its start to its end, on real processes: every fault of a child, a parent, a supervisor or a disk,
//! with the complete events and the proof that nothing is left.

mod ends;
mod event_protocol;
pub(crate) mod events;
mod parents;
mod resources;
mod run_command;
mod sessions_command;
mod stopped;
mod storage;
mod streams;
mod times;
mod trees;

use crate::world;
