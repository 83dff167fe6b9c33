//! Linux: processes, their parents and their environments, read from `/proc`.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

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
        self.send(signal.raw());
    }

    fn state(self) -> Option<State> {
        let stat = Stat::read(self.pid).filter(|stat| stat.start_time == self.start_time)?;
        Some(stat.state)
    }

    fn send(self, signal: rustix::process::Signal) {
        match pidfd_open(self.pid, PidfdFlags::empty()) {
            // The descriptor names one process for good; the check that it is the right one must
            // therefore come after opening it. A failure to send means that it is gone.
            Ok(pidfd) => {
                if Stat::read(self.pid).is_some_and(|stat| stat.start_time == self.start_time) {
                    let _ = pidfd_send_signal(pidfd, signal);
                }
            }
            Err(rustix::io::Errno::NOSYS) => {
                let _ = rustix::process::kill_process(self.pid, signal);
            }
            Err(_) => {}
        }
    }
}

/// Every living process below this one, except for the given children and what is below them.
pub(crate) fn descendants(except: &[Pid]) -> io::Result<Vec<Member>> {
    below(getpid(), except)
}

/// Kills a child that was not waited for, and everything below it, and waits for their end as long
/// as `patience` lasts.
///
/// All of them are stopped first, parents before children: then none can start another process
/// that would be missed, or report the death of a child.
pub(crate) fn kill_from(root: Pid, patience: Duration) {
    let mut stopped: Vec<Member> = Vec::new();
    let started = Instant::now();
    loop {
        let members = from(root).unwrap_or_default();
        let new: Vec<Member> =
            members.into_iter().filter(|member| !stopped.contains(member)).collect();
        if new.is_empty() {
            break;
        }
        for member in &new {
            member.send(rustix::process::Signal::STOP);
        }
        // A process that is starting another one stops only when that one can be found. A process
        // in `vfork` waits for its child, which is stopped itself, and would never stop.
        wait_while(STOP_PATIENCE.saturating_sub(started.elapsed()), || {
            new.iter().any(|member| member.state() == Some(State::Running))
        });
        stopped.extend(new);
    }
    for member in &stopped {
        member.signal(Signal::Kill);
    }
    wait_while(patience, || {
        stopped.iter().any(|member| member.state().is_some_and(State::is_alive))
    });
}

/// How long processes may take to stop before they are killed anyway.
const STOP_PATIENCE: Duration = Duration::from_millis(200);

fn wait_while(patience: Duration, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while condition() && started.elapsed() < patience {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The given process, if it lives, and every living process below it, parents first.
fn from(root: Pid) -> io::Result<Vec<Member>> {
    let mut members = Vec::new();
    if let Some(stat) = Stat::read(root).filter(|stat| stat.state.is_alive()) {
        members.push(Member { pid: root, start_time: stat.start_time });
    }
    members.extend(below(root, &[])?);
    Ok(members)
}

pub(crate) fn marked(marker: &Marker) -> io::Result<Vec<Member>> {
    let mut members = Vec::new();
    for pid in pids()?.filter(|pid| *pid != getpid()) {
        if marker.is_in(&environment(pid))
            && let Some(stat) = Stat::read(pid)
            && stat.state.is_alive()
        {
            members.push(Member { pid, start_time: stat.start_time });
        }
    }
    Ok(members)
}

/// Every living process that has this variable, with its value.
pub(crate) fn with_variable(variable: &str) -> io::Result<Vec<(Pid, String)>> {
    let mut found = Vec::new();
    for pid in pids()?.filter(|pid| *pid != getpid()) {
        let environment = environment(pid);
        let value = environment.split(|byte| *byte == 0).find_map(|entry| {
            let rest = entry.strip_prefix(variable.as_bytes())?;
            rest.strip_prefix(b"=")
        });
        if let Some(value) = value
            && Stat::read(pid).is_some_and(|stat| stat.state.is_alive())
        {
            found.push((pid, String::from_utf8_lossy(value).into_owned()));
        }
    }
    Ok(found)
}

/// The environment of the process; empty if we may not read it, and then we may not stop it either.
fn environment(pid: Pid) -> Vec<u8> {
    let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let mut environment = read("environ");
    // A process that is just executing another program has, for a moment, a program but neither
    // arguments nor an environment. No other process looks like this: threads of the kernel have
    // no program either. The wait is bounded all the same.
    let mut patience = 100;
    while environment.is_empty()
        && patience > 0
        && fs::read_link(format!("/proc/{pid}/exe")).is_ok()
        && read("cmdline").is_empty()
    {
        patience -= 1;
        std::thread::sleep(Duration::from_millis(1));
        environment = read("environ");
    }
    environment
}

/// All children of this process, also those that have ended and were not reaped.
pub(crate) fn children() -> io::Result<Vec<Pid>> {
    let own = getpid().as_raw_nonzero().get();
    Ok(pids()?.filter(|pid| Stat::read(*pid).is_some_and(|stat| stat.parent == own)).collect())
}

fn below(root: Pid, except: &[Pid]) -> io::Result<Vec<Member>> {
    let mut children: HashMap<i32, Vec<(Member, bool)>> = HashMap::new();
    for pid in pids()? {
        if let Some(stat) = Stat::read(pid) {
            let member = Member { pid, start_time: stat.start_time };
            children.entry(stat.parent).or_default().push((member, stat.state.is_alive()));
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
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It runs, or waits for something.
    Running,
    Stopped,
    /// It has ended, and was perhaps not reaped yet.
    Dead,
}

impl State {
    fn is_alive(self) -> bool {
        self != State::Dead
    }
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
        let state = match fields.next()? {
            "Z" | "X" | "x" => State::Dead,
            "T" | "t" => State::Stopped,
            _ => State::Running,
        };
        let parent = fields.next()?.parse().ok()?;
        // The start time is field 22; state and parent were fields 3 and 4.
        let start_time = fields.nth(17)?.parse().ok()?;
        Some(Stat { parent, start_time, state })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_confuse_the_fields() {
        let line = b"42 (a) b (c) S 7 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.parent, stat.start_time, stat.state), (7, 98765, State::Running));
        for (letter, state) in [("Z", State::Dead), ("T", State::Stopped), ("D", State::Running)] {
            let line = format!("42 (x) {letter} 7 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 5");
            assert_eq!(Stat::parse(line.as_bytes()).unwrap().state, state);
        }
        assert!(Stat::parse(b"").is_none());
        assert!(Stat::parse(b"42 (x) S").is_none());
    }
}
