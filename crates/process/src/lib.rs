//! The operating system, and no agents: contained process trees, signals, reaping, capped lines.
//!
//! # Theory of operation
//!
//! A contained child is started in a session of its own by a process that is a *child subreaper*
//! (Linux): whatever the child starts, however deep, in whichever session or group, stays below
//! that process, because an orphan is handed to the nearest subreaper above it. Hence two facts
//! that nothing else gives: every member of the tree can be found by walking down from ourselves,
//! and "there is no child left to wait for" *proves* that the tree is gone.
//!
//! Other Unix systems have no subreaper. There a tree is the child's process group, and a
//! descendant that moves to a group of its own escapes; see [`Containment`].
//!
//! A process can hide from all this: another user's cannot be signalled, and one whose supervisor
//! has been killed can empty its environment. A [`Cgroup`] holds it all the same, where one can be
//! had. Elsewhere the [`Traces`] of the tree lead to most of it, and what they cannot prove is told. What a child may change is bounded by [`WritablePaths`], where the kernel can.
//!
//! This is the only crate that starts a process or sends a signal.

mod cgroup;
mod command_output;
mod desktop;
mod foreground;
mod job;
mod landlock;
mod lines;
mod machine_memory;
mod marker;
#[cfg(target_os = "linux")]
mod mount_calls;
mod named_pipe;
mod oom;
mod open_files;
mod peer;
mod private_memory;
mod private_socket;
#[cfg(target_os = "linux")]
mod proc_file;
#[cfg(target_os = "linux")]
mod proc_table;
mod read_only;
mod recorded;
mod remains;
mod resources;
mod signals;
mod spawn;
mod standard_streams;
mod stopped;
mod threads;
mod tree;
mod writable;

pub use cgroup::{Cgroup, CgroupError, NoCgroup};
pub use command_output::{
    CommandOutput, OutputError, ToolCommand, command_output, shell_output, tool_output,
};
pub use desktop::start_on_desktop;
pub use foreground::run_in_foreground;
pub use job::{Job, spawn_job};
pub use landlock::{NoLandlock, WritablePathError, WritablePaths, landlock_version};
pub use lines::{Keep, Line, LineBuffer, ReadStatus};
pub use machine_memory::{Memory, MemoryGauge, MemoryPressure, memory_below_each};
pub use marker::{KILL_PATIENCE, Marker, processes_with_variable, stop_marked};
pub use named_pipe::make_named_pipe;
pub use open_files::{
    has_free_descriptors, is_shortage, limit_open_files, original_open_files, raise_open_files,
};
pub use peer::Peer;
pub use private_memory::{forgo_core_dumps, hide_memory};
pub use private_socket::PrivateSocket;
pub use read_only::{ReadOnlyPathError, ReadOnlyPaths};
pub use recorded::{
    ProcessStamp, RecordedLeader, forks, has_process, has_restarted_since, pid_space,
};
pub use remains::{Remains, Traces};
pub use resources::Resources;
pub use signals::{
    Notice, SignalPipe, Signals, TerminalNotice, TerminalSignals, reset_signals, suspend,
};
pub use spawn::{
    Child, ChildSpec, Confinement, DetachFrom, Detached, DetachedSpec, OWN_NAME, SpawnError,
    name_process, own_executable, own_executable_for_others, spawn_confined, spawn_contained,
    spawn_detached,
};
pub use standard_streams::was_stdout_closed;
pub use stopped::{StoppedProcess, stopped_processes};
pub use threads::{NoThread, start_thread};
pub use tree::{
    Containment, Exit, KillTarget, Members, Pid, Reaped, Signal, Tree, become_subreaper,
    has_children, is_proc_own, stop_adopted,
};
pub use writable::{Writable, wait_until_writable};
