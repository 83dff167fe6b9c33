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
//! had. What a child may change is bounded by [`WritablePaths`], where the kernel can.
//!
//! This is the only crate that starts a process or sends a signal.

mod cgroup;
mod command_output;
mod foreground;
mod job;
mod landlock;
mod lines;
mod marker;
mod peer;
mod private_socket;
#[cfg(target_os = "linux")]
mod proc_table;
mod signals;
mod spawn;
mod tree;
mod writable;

pub use cgroup::{Cgroup, CgroupError, NoCgroup};
pub use command_output::{CommandOutput, OutputError, command_output, shell_output};
pub use foreground::run_in_foreground;
pub use job::{Job, spawn_job};
pub use landlock::{NoLandlock, WritablePathError, WritablePaths, landlock_version};
pub use lines::{Keep, Line, LineBuffer, ReadStatus};
pub use marker::{Marker, processes_with_variable, stop_marked};
pub use peer::Peer;
pub use private_socket::PrivateSocket;
pub use signals::{
    Notice, SignalPipe, Signals, TerminalNotice, TerminalSignals, reset_signals, suspend,
};
pub use spawn::{
    Child, ChildSpec, Confinement, DetachFrom, Detached, DetachedSpec, SpawnError, name_process,
    own_executable, own_executable_for_others, spawn_confined, spawn_contained, spawn_detached,
};
pub use tree::{
    Containment, Exit, KillTarget, Pid, Reaped, Signal, Tree, become_subreaper, children,
    stop_adopted,
};
pub use writable::{Writable, wait_until_writable};
