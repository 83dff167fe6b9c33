//! Keeps what is in the memory of a process from other processes of the same user, and from the disk.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// From now on no other process of the user can debug this one or read its memory and its environment,
/// and it leaves no core dump (Linux). Root still can, if it may debug at all. What this process
/// executes is not affected.
///
/// Other processes find such a process by its arguments: its environment is not shown to them.
pub fn hide_memory() {
    #[cfg(target_os = "linux")]
    {
        let hidden = rustix::process::DumpableBehavior::NotDumpable;
        // Fails for no process that asks for itself.
        let _ = rustix::process::set_dumpable_behavior(hidden);
    }
    #[cfg(not(target_os = "linux"))]
    forgo_core_dumps();
}

/// From now on this process, and what it starts, leaves no core dumps, unless it asks for them by
/// raising its limit again.
pub fn forgo_core_dumps() {
    let maximum = getrlimit(Resource::Core).maximum;
    // Lowering a limit is always allowed.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
}
