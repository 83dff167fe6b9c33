//! What a tree has used: processor time and memory.

use std::time::Duration;

/// What the processes of a tree have used together, the ended ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Resources {
    pub processor_time: Duration,
    /// In bytes, at one time.
    pub peak_memory: u64,
}

/// What the children of this process have used for which it has waited, and those for which they have. The
/// memory is that of the largest single process.
pub(crate) fn of_ended_children() -> Resources {
    // SAFETY: a structure of numbers may be all zeros, and the call fills the one that it is given.
    #[expect(unsafe_code, reason = "no safe wrapper tells the largest child")]
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut used);
        used
    };
    let duration = |time: libc::timeval| {
        Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or_default())
            + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or_default())
    };
    let memory = u64::try_from(used.ru_maxrss).unwrap_or_default();
    // Linux counts in kibibytes, macOS in bytes.
    let unit = if cfg!(target_os = "linux") { 1024 } else { 1 };
    Resources {
        processor_time: duration(used.ru_utime) + duration(used.ru_stime),
        peak_memory: memory.saturating_mul(unit),
    }
}

/// The memory of these processes now, in bytes. What several of them share counts for each.
#[cfg(target_os = "linux")]
pub(crate) fn memory_of(pids: impl Iterator<Item = rustix::process::Pid>) -> u64 {
    let pages = pids.filter_map(|pid| {
        let sizes = crate::proc_file::read_text(&format!("/proc/{pid}/statm")).ok()?;
        sizes.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    });
    pages.sum::<u64>().saturating_mul(rustix::param::page_size() as u64)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::getpid;

    use super::*;

    #[test]
    fn the_memory_of_processes_is_added_up() {
        let once = memory_of([getpid()].into_iter());
        let four_times = memory_of([getpid(); 4].into_iter());
        // Other tests use memory meanwhile.
        assert!(once > 500_000 && four_times > 2 * once, "{once} {four_times}");
        assert_eq!(memory_of(std::iter::empty()), 0);
    }
}
