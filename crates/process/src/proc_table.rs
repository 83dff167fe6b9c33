//! Linux: who is whose child, read from `/proc`.

use std::collections::HashMap;
use std::fs;
use std::io;

use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open, pidfd_send_signal};

use crate::marker::Marker;
use crate::tree::Signal;

/// A living process, told apart from a later one with the same id by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) pid: Pid,
    start_time: u64,
}

impl Member {
    /// Sends the signal to this process and to no other, even if its id has been reused.
    pub(crate) fn signal(self, signal: Signal) {
        match pidfd_open(self.pid, PidfdFlags::empty()) {
            // The descriptor names one process for good; the check that it is the right one must
            // therefore come after opening it. A failure to send means that it is gone.
            Ok(pidfd) => {
                if Stat::read(self.pid).is_some_and(|stat| stat.start_time == self.start_time) {
                    let _ = pidfd_send_signal(pidfd, signal.raw());
                }
            }
            Err(rustix::io::Errno::NOSYS) => {
                let _ = rustix::process::kill_process(self.pid, signal.raw());
            }
            Err(_) => {}
        }
    }
}

/// Every living process below this one.
pub(crate) fn descendants() -> io::Result<Vec<Member>> {
    below(getpid(), &[])
}

/// Every living process below this one, except for the given children and what is below them.
pub(crate) fn descendants_except(children: &[Pid]) -> io::Result<Vec<Member>> {
    below(getpid(), children)
}

/// The given process, if it lives, and every living process below it.
pub(crate) fn from(root: Pid) -> io::Result<Vec<Member>> {
    let mut members = below(root, &[])?;
    if let Some(stat) = Stat::read(root).filter(|stat| stat.is_alive) {
        members.push(Member { pid: root, start_time: stat.start_time });
    }
    Ok(members)
}

/// Every living process that carries the marker.
pub(crate) fn marked(marker: &Marker) -> io::Result<Vec<Member>> {
    let mut members = Vec::new();
    for pid in pids()?.filter(|pid| *pid != getpid()) {
        // Foreign processes cannot be read, and are not ours to stop.
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if marker.is_in(&environment)
            && let Some(stat) = Stat::read(pid)
            && stat.is_alive
        {
            members.push(Member { pid, start_time: stat.start_time });
        }
    }
    Ok(members)
}

/// All children of this process.
pub(crate) fn children() -> io::Result<Vec<Pid>> {
    let own = getpid().as_raw_nonzero().get();
    Ok(pids()?.filter(|pid| Stat::read(*pid).is_some_and(|stat| stat.parent == own)).collect())
}

/// The children of this process that have ended and were not waited for.
pub(crate) fn dead_children() -> io::Result<Vec<Pid>> {
    let own = getpid().as_raw_nonzero().get();
    let is_dead_child =
        |pid: &Pid| Stat::read(*pid).is_some_and(|stat| stat.parent == own && !stat.is_alive);
    Ok(pids()?.filter(is_dead_child).collect())
}

fn below(root: Pid, except: &[Pid]) -> io::Result<Vec<Member>> {
    let mut children: HashMap<i32, Vec<(Member, bool)>> = HashMap::new();
    for pid in pids()? {
        if let Some(stat) = Stat::read(pid) {
            let member = Member { pid, start_time: stat.start_time };
            children.entry(stat.parent).or_default().push((member, stat.is_alive));
        }
    }
    let mut members = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for (member, is_alive) in
            children.remove(&parent.as_raw_nonzero().get()).unwrap_or_default()
        {
            if parent == root && except.contains(&member.pid) {
                continue;
            }
            parents.push(member.pid);
            if is_alive {
                members.push(member);
            }
        }
    }
    Ok(members)
}

fn pids() -> io::Result<impl Iterator<Item = Pid>> {
    Ok(fs::read_dir("/proc")?.filter_map(|entry| {
        let name = entry.ok()?.file_name();
        Pid::from_raw(name.to_str()?.parse().ok()?)
    }))
}

struct Stat {
    parent: i32,
    start_time: u64,
    is_alive: bool,
}

impl Stat {
    fn read(pid: Pid) -> Option<Stat> {
        Stat::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(line: &[u8]) -> Option<Stat> {
        // The second field is the program's name in parentheses and may itself contain anything.
        let behind_name = memchr::memrchr(b')', line)? + 1;
        let fields = std::str::from_utf8(line.get(behind_name..)?).ok()?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        // The start time is field 22; state and parent were fields 3 and 4.
        let start_time = fields.nth(17)?.parse().ok()?;
        Some(Stat { parent, start_time, is_alive: !matches!(state, "Z" | "X" | "x") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_confuse_the_fields() {
        let line = b"42 (a) b (c) S 7 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.parent, stat.start_time, stat.is_alive), (7, 98765, true));
        assert!(!Stat::parse(b"42 (x) Z 7 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 5").unwrap().is_alive);
        assert!(Stat::parse(b"").is_none());
        assert!(Stat::parse(b"42 (x) S").is_none());
    }
}
