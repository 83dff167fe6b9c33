//! Linux: processes, their parents and their environments, read from `/proc`.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open, pidfd_send_signal};

use crate::marker::{Marker, MarkerSource};
use crate::proc_file;
use crate::recorded::{ProcessStamp, pid_space};
use crate::remains::{Remains, Traces};
use crate::tree::Signal;

/// Sends the signal to this process and to no other, even if its id has been reused.
pub(crate) fn signal(process: ProcessStamp, signal: Signal) {
    send(process, signal.raw());
}

/// Whether this very process lives.
pub(crate) fn is_alive(process: ProcessStamp) -> bool {
    is_own() && state(process).is_some_and(State::is_alive)
}

/// Nothing if there is no such process.
pub(crate) fn stamp(pid: Pid) -> Option<ProcessStamp> {
    let stat = Stat::read(pid).filter(|_| is_own())?;
    Some(ProcessStamp { pid, start_time: stat.start_time })
}

fn state(process: ProcessStamp) -> Option<State> {
    let stat = Stat::read(process.pid).filter(|stat| stat.start_time == process.start_time)?;
    Some(stat.state)
}

fn send(process: ProcessStamp, signal: rustix::process::Signal) {
    match pidfd_open(process.pid, PidfdFlags::empty()) {
        // The descriptor names one process for good; the check that it is the right one must
        // therefore come after opening it. A failure to send means that it is gone.
        Ok(pidfd) => {
            if state(process).is_some() {
                let _ = pidfd_send_signal(pidfd, signal);
            }
        }
        Err(rustix::io::Errno::NOSYS) => {
            let _ = rustix::process::kill_process(process.pid, signal);
        }
        Err(_) => {}
    }
}

/// Whether `/proc` shows the namespace of this process. That of another one, as after
/// `unshare --pid` without `--mount-proc`, has other numbers: a number from there would be another
/// process here.
pub(crate) fn is_own() -> bool {
    let own = getpid().as_raw_nonzero().get().to_string();
    // It has a number for each namespace, from the one that is shown down to its own.
    let status = proc_file::read_text("/proc/self/status").unwrap_or_default();
    match status.lines().find_map(|line| line.strip_prefix("NSpid:")) {
        Some(numbers) => numbers.split_ascii_whitespace().eq([own.as_str()]),
        // Linux before version 4.1, and systems that imitate it.
        None => fs::read_link("/proc/self").is_ok_and(|link| link.as_os_str() == own.as_str()),
    }
}

/// Every living process below this one, except for the given children and what is below them.
pub(crate) fn descendants(except: &[Pid]) -> io::Result<Vec<ProcessStamp>> {
    below(getpid(), except)
}

/// Kills a child that was not waited for, and everything below it, and waits for their end as long
/// as `patience` lasts.
///
/// All of them are stopped first, parents before children: then none can start another process
/// that would be missed, or report the death of a child.
pub(crate) fn kill_from(root: Pid, patience: Duration) {
    let mut stopped: Vec<ProcessStamp> = Vec::new();
    let started = Instant::now();
    loop {
        let members = from(root).unwrap_or_default();
        let new: Vec<ProcessStamp> =
            members.into_iter().filter(|member| !stopped.contains(member)).collect();
        if new.is_empty() {
            break;
        }
        for member in &new {
            send(*member, rustix::process::Signal::STOP);
        }
        // A process that is starting another one stops only when that one can be found. A process
        // in `vfork` waits for its child, which is stopped itself, and would never stop.
        wait_while(STOP_PATIENCE.saturating_sub(started.elapsed()), || {
            new.iter().any(|member| state(*member) == Some(State::Running))
        });
        stopped.extend(new);
    }
    for member in &stopped {
        signal(*member, Signal::Kill);
    }
    wait_while(patience, || {
        stopped.iter().any(|member| state(*member).is_some_and(State::is_alive))
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
pub(crate) fn from(root: Pid) -> io::Result<Vec<ProcessStamp>> {
    let below = below(root, &[])?;
    let mut members = Vec::new();
    if let Some(stat) = Stat::read(root).filter(|stat| stat.state.is_alive()) {
        members.push(ProcessStamp { pid: root, start_time: stat.start_time });
    }
    members.extend(below);
    Ok(members)
}

/// Whether the process carries the marker; not if this user may not look.
fn carries(pid: Pid, marker: &Marker) -> bool {
    match marker.source {
        MarkerSource::Environment => environment(pid).is_ok_and(|text| marker.is_in(&text)),
        MarkerSource::Arguments => marker.is_in(&command_line(pid)),
    }
}

pub(crate) fn marked(marker: &Marker) -> io::Result<Vec<ProcessStamp>> {
    let mut members = Vec::new();
    for pid in pids()?.filter(|pid| *pid != getpid()) {
        if carries(pid, marker)
            && let Some(stat) = Stat::read(pid)
            && stat.state.is_alive()
        {
            members.push(ProcessStamp { pid, start_time: stat.start_time });
        }
    }
    Ok(members)
}

/// Every process that another one has stopped, by a signal or as a debugger does.
pub(crate) fn stopped() -> io::Result<Vec<ProcessStamp>> {
    let stopped = |pid| {
        let stat = Stat::read(pid).filter(|stat| stat.state == State::Stopped)?;
        Some(ProcessStamp { pid, start_time: stat.start_time })
    };
    Ok(pids()?.filter_map(stopped).collect())
}

/// Whether another process has stopped this one.
pub(crate) fn is_stopped(pid: Pid) -> bool {
    Stat::read(pid).is_some_and(|stat| stat.state == State::Stopped)
}

/// The arguments of a process, its name first; none if it has ended.
pub(crate) fn arguments(pid: Pid) -> Vec<Vec<u8>> {
    let line = command_line(pid);
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// Unlike an environment, it can be read by everyone.
fn command_line(pid: Pid) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// What the traces of a tree lead to.
pub(crate) fn remains(traces: &Traces) -> io::Result<Remains> {
    let processes: Vec<(ProcessStamp, Stat)> = pids()?
        .filter(|pid| *pid != getpid())
        .filter_map(|pid| {
            let stat = Stat::read(pid)?;
            Some((ProcessStamp { pid, start_time: stat.start_time }, stat))
        })
        .collect();
    let leader = traces.leader.as_ref();
    let leader = leader.filter(|leader| pid_space().is_some_and(|here| here == leader.pid_space));
    let number = |pid: Pid| pid.as_raw_nonzero().get();
    // While its leader is there, even as a zombie, a session is its own.
    let leads = leader.and_then(|leader| {
        processes.iter().map(|(stamp, _)| stamp).find(|stamp| stamp.pid == leader.stamp.pid)
    });
    let mut found = Remains::default();
    for (stamp, stat) in &processes {
        let in_session = leader.filter(|leader| stat.session == number(leader.stamp.pid));
        if carries(stamp.pid, &traces.marker) {
            found.certain.push(*stamp);
        } else if let Some(leader) = in_session {
            match leads {
                Some(leads) if *leads == leader.stamp => found.certain.push(*stamp),
                // The number belongs to another session by now.
                Some(_) => {}
                None if leader.is_number_still_its_own() => found.certain.push(*stamp),
                None => found.unsure.push(*stamp),
            }
        } else if let Some(leader) = leader
            && stat.state.is_alive()
            && stamp.start_time >= leader.stamp.start_time
            && is_orphan(stat, &processes)
            && environment(stamp.pid).map_or(true, |environment| environment.is_empty())
            && is_program_of_this_user(stamp.pid)
            && !is_in_cgroup_of_ours(stamp.pid)
            && !is_of_another_tree(stamp.pid, stat, traces)
        {
            // It hides its environment and its descent, as an ordinary process does not.
            found.unsure.push(*stamp);
        }
    }
    // What these have started belongs to the tree, whatever it looks like.
    let mut index = 0;
    while let Some(parent) = found.certain.get(index).map(|stamp| number(stamp.pid)) {
        index += 1;
        let children = processes.iter().filter(|(_, stat)| stat.parent == parent);
        for (child, _) in children {
            if !found.certain.contains(child) {
                found.certain.push(*child);
            }
        }
    }
    let certain = found.certain.clone();
    found.certain.retain(|stamp| state(*stamp).is_some_and(State::is_alive));
    found.unsure.retain(|stamp| !certain.contains(stamp));
    Ok(found)
}

/// Whether the process was handed to another parent: that is the first one of the namespace, or a
/// subreaper, which is in another session.
fn is_orphan(stat: &Stat, processes: &[(ProcessStamp, Stat)]) -> bool {
    let parent =
        processes.iter().find(|(stamp, _)| stamp.pid.as_raw_nonzero().get() == stat.parent);
    stat.parent == 1 || parent.is_none_or(|(_, parent)| parent.session != stat.session)
}

/// Whether it is a program, and not a thread of the kernel, that this user has started.
fn is_program_of_this_user(pid: Pid) -> bool {
    let Ok(status) = proc_file::read_text(&format!("/proc/{pid}/status")) else { return false };
    let field = |name: &str| {
        let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_ascii_whitespace().next()?.parse::<u32>().ok()
    };
    field("Uid:") == Some(rustix::process::getuid().as_raw()) && field("VmSize:").is_some()
}

/// Whether it supervises another tree, or is the child of such a process, which adopts nothing but what
/// belongs to its own tree.
fn is_of_another_tree(pid: Pid, stat: &Stat, traces: &Traces) -> bool {
    let Some(marker) = &traces.other_supervisors else { return false };
    let parent = Pid::from_raw(stat.parent);
    carries(pid, marker) || parent.is_some_and(|parent| carries(parent, marker))
}

/// Whether a cgroup says that it belongs to a tree, which is another one then.
fn is_in_cgroup_of_ours(pid: Pid) -> bool {
    let membership = proc_file::read(&format!("/proc/{pid}/cgroup")).unwrap_or_default();
    memchr::memmem::find(&membership, format!("/{}", crate::cgroup::PREFIX).as_bytes()).is_some()
}

/// Every living process that has this variable, with its value.
pub(crate) fn with_variable(variable: &str) -> io::Result<Vec<(Pid, String)>> {
    let mut found = Vec::new();
    for pid in pids()?.filter(|pid| *pid != getpid()) {
        let environment = environment(pid).unwrap_or_default();
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

/// The environment of the process; an error if this user may not read it.
fn environment(pid: Pid) -> io::Result<Vec<u8>> {
    let read = |name: &str| proc_file::read(&format!("/proc/{pid}/{name}"));
    let mut environment = read("environ")?;
    // A process that is just executing another program has, for a moment, a program but neither
    // arguments nor an environment. No other process looks like this: threads of the kernel have
    // no program either. The wait is bounded all the same.
    let mut patience = 100;
    while environment.is_empty()
        && patience > 0
        && fs::read_link(format!("/proc/{pid}/exe")).is_ok()
        && read("cmdline")?.is_empty()
    {
        patience -= 1;
        std::thread::sleep(Duration::from_millis(1));
        environment = read("environ")?;
    }
    Ok(environment)
}

/// All children of this process, and whether each of them lives or was only not reaped.
pub(crate) fn children() -> io::Result<Vec<(Pid, bool)>> {
    let own = getpid().as_raw_nonzero().get();
    let child = |pid| {
        let stat = Stat::read(pid).filter(|stat| stat.parent == own)?;
        Some((pid, stat.state.is_alive()))
    };
    Ok(pids()?.filter_map(child).collect())
}

fn below(root: Pid, except: &[Pid]) -> io::Result<Vec<ProcessStamp>> {
    Ok(descend(&mut by_parent()?, root, except))
}

/// Every living process below each of these, which are not below each other. `/proc` is read once for all.
pub(crate) fn below_each(roots: &[Pid]) -> io::Result<Vec<Vec<ProcessStamp>>> {
    let mut children = by_parent()?;
    Ok(roots.iter().map(|root| descend(&mut children, *root, &[])).collect())
}

/// By the number of their parent, all processes, with whether they live.
type Children = HashMap<i32, Vec<(ProcessStamp, bool)>>;

fn by_parent() -> io::Result<Children> {
    let mut children = Children::new();
    for pid in pids()? {
        if let Some(stat) = Stat::read(pid) {
            let member = ProcessStamp { pid, start_time: stat.start_time };
            children.entry(stat.parent).or_default().push((member, stat.state.is_alive()));
        }
    }
    Ok(children)
}

fn descend(children: &mut Children, root: Pid, except: &[Pid]) -> Vec<ProcessStamp> {
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
    members
}

fn pids() -> io::Result<impl Iterator<Item = Pid>> {
    if !is_own() {
        return Err(io::Error::other("/proc shows another namespace"));
    }
    Ok(fs::read_dir("/proc")?.filter_map(|entry| {
        let name = entry.ok()?.file_name();
        Pid::from_raw(name.to_str()?.parse().ok()?)
    }))
}

struct Stat {
    parent: i32,
    session: i32,
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
        Stat::parse(&proc_file::read(&format!("/proc/{pid}/stat")).ok()?)
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
        // State and parent were the fields 3 and 4; the session is field 6, the start time 22.
        let session = fields.nth(1)?.parse().ok()?;
        let start_time = fields.nth(15)?.parse().ok()?;
        Some(Stat { parent, session, start_time, state })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_confuse_the_fields() {
        let line = b"42 (a) b (c) S 7 42 41 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.parent, stat.session, stat.start_time), (7, 41, 98765));
        assert_eq!(stat.state, State::Running);
        for (letter, state) in [("Z", State::Dead), ("T", State::Stopped), ("D", State::Running)] {
            let line = format!("42 (x) {letter} 7 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 5");
            assert_eq!(Stat::parse(line.as_bytes()).unwrap().state, state);
        }
        assert!(Stat::parse(b"").is_none());
        assert!(Stat::parse(b"42 (x) S").is_none());
    }
}
