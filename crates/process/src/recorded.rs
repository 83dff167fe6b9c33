//! Processes that are known by what was recorded of them.
//!
//! The number of a process says nothing by itself: it is given to another process later, and means
//! another one in another namespace and after a restart of the machine. Together with the time of
//! its start and the *pid space*, it names one process for good.

use rustix::process::Pid;

/// A process, told apart from a later one with the same number by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct ProcessStamp {
    pub pid: Pid,
    /// In clock ticks since the machine was started.
    pub start_time: u64,
}

impl ProcessStamp {
    /// The process that has this number now. Its start time is zero where it cannot be known.
    pub fn now(pid: Pid) -> ProcessStamp {
        #[cfg(target_os = "linux")]
        let start_time = crate::proc_table::stamp(pid).map_or(0, |stamp| stamp.start_time);
        #[cfg(not(target_os = "linux"))]
        let start_time = 0;
        ProcessStamp { pid, start_time }
    }

    /// Whether this very process lives, given where its number was recorded.
    pub fn is_alive_in(self, pid_space: &str) -> bool {
        #[cfg(target_os = "linux")]
        return self::pid_space().as_deref() == Some(pid_space)
            && crate::proc_table::is_alive(self);
        #[cfg(not(target_os = "linux"))]
        {
            let _ = pid_space;
            false
        }
    }
}

/// Whether any process has this number now, on any system and whichever user it belongs to.
pub fn has_process(number: i32) -> bool {
    let pid = Some(number).filter(|number| *number > 0).and_then(Pid::from_raw);
    pid.is_some_and(|pid| {
        !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))
    })
}

/// The leader of a session, as it was when it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedLeader {
    /// The process; its number is also that of the session.
    pub stamp: ProcessStamp,
    /// Where the number means this process; see [`pid_space`].
    pub pid_space: String,
    /// How many processes and threads the machine had started by then, if they were counted.
    pub forks: Option<u64>,
}

impl RecordedLeader {
    /// A child that was just started in a session of its own, without the count of [`forks`]. Nothing
    /// where the system does not tell.
    pub fn of_child(child: Pid) -> Option<RecordedLeader> {
        #[cfg(target_os = "linux")]
        {
            let stamp = crate::proc_table::stamp(child)?;
            Some(RecordedLeader { stamp, pid_space: pid_space()?, forks: None })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = child;
            None
        }
    }

    /// Whether the number of the session cannot have passed to another session since.
    ///
    /// The kernel gives numbers in a circle, and none of a session that still has a member. So a
    /// number comes again after about as many starts as there are numbers.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_number_still_its_own(&self) -> bool {
        let (Some(then), Some(now)) = (self.forks, system::forks()) else { return false };
        let Some(numbers) = system::largest_number() else { return false };
        now.checked_sub(then).is_some_and(|started| started < numbers / 2)
    }
}

/// How many processes and threads the machine has started. Nothing where the system does not tell.
pub fn forks() -> Option<u64> {
    #[cfg(target_os = "linux")]
    return system::forks();
    #[cfg(not(target_os = "linux"))]
    None
}

/// What gives the numbers of processes their meaning: this start of the machine, and the namespace of
/// this process. Nothing where the system does not tell.
pub fn pid_space() -> Option<String> {
    #[cfg(target_os = "linux")]
    {
        let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
        Some(format!("{} {}", system::boot_id()?, namespace.display()))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Whether the machine was restarted since this pid space was recorded, which nothing outlives.
pub fn has_restarted_since(pid_space: &str) -> bool {
    #[cfg(target_os = "linux")]
    return system::boot_id().is_some_and(|now| {
        let then = pid_space.split(' ').next().unwrap_or_default();
        !then.is_empty() && then != now
    });
    #[cfg(not(target_os = "linux"))]
    {
        let _ = pid_space;
        false
    }
}

#[cfg(target_os = "linux")]
mod system {
    use crate::proc_file;

    /// A random name that the kernel gives to each start of the machine. No other machine knows it.
    pub(super) fn boot_id() -> Option<String> {
        let id = proc_file::read_text("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned()).filter(|id| !id.is_empty())
    }

    pub(super) fn forks() -> Option<u64> {
        let statistics = proc_file::read_text("/proc/stat").ok()?;
        let line = statistics.lines().find_map(|line| line.strip_prefix("processes "))?;
        // Systems that only imitate this file count nothing.
        line.trim().parse().ok().filter(|count| *count > 0)
    }

    pub(super) fn largest_number() -> Option<u64> {
        proc_file::read_text("/proc/sys/kernel/pid_max").ok()?.trim().parse().ok()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_number_alone_names_no_process() {
        let own = rustix::process::getpid();
        let leader = RecordedLeader::of_child(own).unwrap();
        let here = leader.pid_space.clone();
        assert!(leader.stamp.is_alive_in(&here));
        assert!(!leader.stamp.is_alive_in("another-boot pid:[4026531836]"));
        let later = ProcessStamp { start_time: leader.stamp.start_time + 1, ..leader.stamp };
        assert!(!later.is_alive_in(&here));
        assert!(!has_restarted_since(&here));
        assert!(has_restarted_since("another-boot pid:[4026531836]"));
        assert!(!has_restarted_since(""), "nothing is known");
    }

    #[test]
    fn a_number_without_a_process_is_free() {
        assert!(has_process(rustix::process::getpid().as_raw_nonzero().get()));
        // The first process belongs to another user, unless root asks.
        assert!(has_process(1));
        // No kernel gives numbers that are so large.
        for number in [0, -1, i32::MIN, i32::MAX] {
            assert!(!has_process(number), "{number}");
        }
    }

    #[test]
    fn a_number_is_a_sessions_own_until_all_numbers_were_given() {
        let leader = RecordedLeader::of_child(rustix::process::getpid()).unwrap();
        assert!(RecordedLeader { forks: forks(), ..leader.clone() }.is_number_still_its_own());
        for forks in [None, Some(0), Some(u64::MAX)] {
            let leader = RecordedLeader { forks, ..leader.clone() };
            // As many starts as there are numbers have passed on a machine that was just started.
            let has_wrapped = forks != Some(0) || system::forks() > system::largest_number();
            assert!(!leader.is_number_still_its_own() || !has_wrapped, "{forks:?}");
        }
    }
}
