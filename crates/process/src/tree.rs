//! The tree of a contained child: signalling all of it, reaping all of it, knowing that it is gone.

use std::time::Duration;

pub use rustix::process::Pid;
use rustix::process::{WaitOptions, WaitStatus};

use crate::cgroup::Cgroup;
use crate::marker::Marker;
use crate::recorded::ProcessStamp;
use crate::resources::{self, Resources};

/// What holds a tree together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containment {
    /// Everything below this process, which is a child subreaper. Nothing escapes it but work
    /// that is given to a daemon outside of the tree.
    Descendants,
    /// The child's process group. What moves to a group of its own escapes.
    Group,
}

/// The signals that stop a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM, which a process can answer by cleaning up.
    Terminate,
    /// SIGKILL, which no process can resist.
    Kill,
    /// SIGCONT, without which a stopped process acts on no other signal than SIGKILL.
    Continue,
}

impl Signal {
    pub(crate) fn raw(self) -> rustix::process::Signal {
        match self {
            Signal::Terminate => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
            Signal::Continue => rustix::process::Signal::CONT,
        }
    }
}

/// The processes that a signal is meant for. A bare process id is no target: it may have been
/// reused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KillTarget {
    /// Everything below this process, except for these children and what is below them.
    DescendantsExcept(Vec<Pid>),
    /// A process group.
    Group(Pid),
    /// Every process that carries the marker.
    Marked(Marker),
}

impl KillTarget {
    /// Sends the signal to every member and returns how many there were.
    pub fn signal(&self, signal: Signal) -> usize {
        match self {
            KillTarget::Group(group) => {
                usize::from(rustix::process::kill_process_group(*group, signal.raw()).is_ok())
            }
            #[cfg(target_os = "linux")]
            _ => {
                let members = self.members();
                for member in &members {
                    crate::proc_table::signal(*member, signal);
                }
                members.len()
            }
            #[cfg(not(target_os = "linux"))]
            _ => 0,
        }
    }

    /// How many members there are.
    pub fn count(&self) -> usize {
        match self {
            KillTarget::Group(group) => {
                usize::from(rustix::process::test_kill_process_group(*group).is_ok())
            }
            #[cfg(target_os = "linux")]
            _ => self.members().len(),
            #[cfg(not(target_os = "linux"))]
            _ => 0,
        }
    }

    #[cfg(target_os = "linux")]
    fn members(&self) -> Vec<ProcessStamp> {
        use crate::proc_table;
        // Without `/proc` no process can be found. Callers that wait for children still notice
        // when everything is gone; they only cannot hasten it.
        match self {
            KillTarget::DescendantsExcept(children) => proc_table::descendants(children),
            KillTarget::Marked(marker) => proc_table::marked(marker),
            KillTarget::Group(_) => Ok(Vec::new()),
        }
        .unwrap_or_default()
    }
}

/// How a process ended: it exited with this code, or was killed by this signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl Exit {
    /// The code with which it exited, or else the signal that killed it, as events and results have them.
    pub fn code_and_signal(self) -> (Option<i32>, Option<i32>) {
        match self {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(signal)),
        }
    }

    pub(crate) fn from_status(status: WaitStatus) -> Option<Exit> {
        status
            .exit_status()
            .map(Exit::Code)
            .or_else(|| status.terminating_signal().map(Exit::Signal))
    }
}

/// What [`Tree::reap`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaped {
    /// How the child itself ended, once it has.
    pub child: Option<Exit>,
    /// Whether nothing of the tree is left. This is a proof, not an estimate.
    pub gone: bool,
}

/// A contained child and everything that it started.
#[derive(Debug)]
pub struct Tree {
    child: Pid,
    containment: Containment,
    exit: Option<Exit>,
    cgroup: Option<Cgroup>,
    /// Commands that are run beside the child or after it, one after the other.
    commands: Vec<(Pid, Option<Exit>)>,
    /// The most memory that was seen in use, in bytes.
    seen_memory: u64,
}

/// The living processes of a tree, as far as they can be found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Members {
    pub found: Vec<ProcessStamp>,
    /// Whether `/proc` shows this process's own namespace. Otherwise only members of the cgroup are
    /// found, and of these only the numbers are known.
    pub is_proc_own: bool,
}

impl Tree {
    pub(crate) fn new(child: Pid, containment: Containment) -> Tree {
        Tree { child, containment, exit: None, cgroup: None, commands: Vec::new(), seen_memory: 0 }
    }

    /// The child's process id.
    pub fn child(&self) -> Pid {
        self.child
    }

    /// Says that the child was started in this cgroup, so that everything in it is of the tree.
    pub fn hold_in(&mut self, cgroup: Cgroup) {
        self.cgroup = Some(cgroup);
    }

    /// The cgroup that holds the tree, if one does.
    pub fn cgroup(&self) -> Option<&Cgroup> {
        self.cgroup.as_ref()
    }

    /// Takes the cgroup of a tree that is gone, for the tree that comes in its place.
    pub fn release_cgroup(&mut self) -> Option<Cgroup> {
        self.cgroup.take()
    }

    /// Takes in a command that was started beside the child: it is of the same tree, and has a group of its own.
    pub fn add_command(&mut self, command: Pid) {
        self.commands.push((command, None));
    }

    /// How a command of this tree ended, once [`Tree::reap`] has found out.
    pub fn command_exit(&self, command: Pid) -> Option<Exit> {
        self.commands.iter().rev().find(|(pid, _)| *pid == command)?.1
    }

    /// Sends the signal to the whole tree, once to each process.
    pub fn signal(&self, signal: Signal) {
        let held = self.signal_cgroup(signal);
        let found = match self.containment {
            Containment::Descendants => signal_descendants(signal, &held),
            Containment::Group => 0,
        };
        // The group serves systems without a subreaper, and Linux without `/proc`. It must not be
        // used once the child's id may belong to another process.
        let can_use_group = self.exit.is_none() || self.containment == Containment::Group;
        if found == 0 && held.is_empty() && can_use_group {
            for group in self.groups() {
                KillTarget::Group(group).signal(signal);
            }
        }
    }

    /// The groups of the child and of the commands that have not ended. Their ids cannot belong to other
    /// processes.
    fn groups(&self) -> impl Iterator<Item = Pid> {
        let commands = self.commands.iter().filter(|(_, exit)| exit.is_none());
        [self.child].into_iter().chain(commands.map(|(pid, _)| *pid))
    }

    /// Sends the signal to what is in the cgroup, and returns what is in it.
    fn signal_cgroup(&self, signal: Signal) -> Vec<Pid> {
        let Some(cgroup) = &self.cgroup else { return Vec::new() };
        let signalled = match signal {
            Signal::Kill => cgroup.kill(),
            Signal::Terminate | Signal::Continue => cgroup.signal(signal),
        };
        signalled.and_then(|()| cgroup.pids()).unwrap_or_default()
    }

    /// The living processes of the tree.
    pub fn members(&self) -> Members {
        #[cfg(target_os = "linux")]
        {
            use crate::proc_table;
            let mut found = proc_table::descendants(&[]).unwrap_or_default();
            let held = self.cgroup.as_ref().and_then(|cgroup| cgroup.pids().ok());
            for pid in held.unwrap_or_default() {
                let stamp = ProcessStamp::now(pid);
                if !found.contains(&stamp) {
                    found.push(stamp);
                }
            }
            Members { found, is_proc_own: proc_table::is_own() }
        }
        #[cfg(not(target_os = "linux"))]
        Members { found: Vec::new(), is_proc_own: true }
    }

    /// Looks at how much memory the tree uses now. Where the kernel remembers the most itself, it does nothing.
    pub fn look_at_memory(&mut self) {
        #[cfg(target_os = "linux")]
        {
            let members = match &self.cgroup {
                Some(cgroup) if cgroup.memory_peak().is_some() => return,
                Some(cgroup) if crate::proc_table::is_own() => cgroup.pids().unwrap_or_default(),
                Some(_) => return,
                None => self.members().found.into_iter().map(|stamp| stamp.pid).collect(),
            };
            self.seen_memory = self.seen_memory.max(resources::memory_of(members.into_iter()));
        }
    }

    /// What the tree has used, when it is gone. The kernel tells it of a cgroup; of other trees, the memory is
    /// the most that [`Tree::look_at_memory`] has seen, and at least that of the largest process.
    pub fn resources(&self) -> Resources {
        let ended = resources::of_ended_children();
        let cgroup = self.cgroup.as_ref();
        Resources {
            processor_time: cgroup.and_then(Cgroup::processor_time).unwrap_or(ended.processor_time),
            peak_memory: cgroup
                .and_then(Cgroup::memory_peak)
                .unwrap_or_else(|| self.seen_memory.max(ended.peak_memory)),
        }
    }

    /// Removes the cgroup of a tree that is gone. One in which processes are left stays.
    pub fn remove_cgroup(&mut self) {
        if let Some(cgroup) = self.cgroup.take() {
            let _ = cgroup.remove();
        }
    }

    /// Waits, without blocking, for whatever has ended. Call it after every [`Notice::ChildEnded`]
    /// and whenever the answer matters: the signal can come once for many children.
    ///
    /// [`Notice::ChildEnded`]: crate::Notice::ChildEnded
    pub fn reap(&mut self) -> Reaped {
        let mut no_child_left = false;
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    let mut commands = self.commands.iter_mut().rev();
                    if pid == self.child && self.exit.is_none() {
                        self.exit = Exit::from_status(status);
                    } else if let Some((_, exit)) = commands.find(|(command, _)| *command == pid) {
                        *exit = Exit::from_status(status);
                    }
                }
                Ok(None) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => {
                    no_child_left = true;
                    break;
                }
            }
        }
        let gone = no_child_left
            && match self.containment {
                Containment::Descendants => true,
                Containment::Group => {
                    self.groups().all(|group| KillTarget::Group(group).count() == 0)
                }
            }
            // Another program may have put a process there. What cannot be read proves nothing else.
            && self.cgroup.as_ref().is_none_or(|cgroup| cgroup.is_empty().unwrap_or(true));
        Reaped { child: self.exit, gone }
    }
}

/// Waits for one child without blocking, and remembers how it ended: the system tells it once.
pub(crate) fn try_wait(child: Pid, exit: &mut Option<Exit>) -> Option<Exit> {
    while exit.is_none() {
        match rustix::process::waitpid(Some(child), WaitOptions::NOHANG) {
            Ok(Some((_, status))) => *exit = Exit::from_status(status),
            Ok(None) => break,
            Err(rustix::io::Errno::INTR) => {}
            // It was reaped elsewhere; that it is gone is all that can be known.
            Err(_) => *exit = Some(Exit::Code(0)),
        }
    }
    *exit
}

/// Makes this process adopt every descendant that loses its parent, where the system can.
pub fn become_subreaper() -> Containment {
    #[cfg(target_os = "linux")]
    if rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok() {
        return Containment::Descendants;
    }
    Containment::Group
}

/// Whether this process has a living child, perhaps from before it executed this program. Nothing
/// where that cannot be known.
pub fn has_children() -> Option<bool> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{WaitId, WaitIdOptions, waitid};

        // Almost always there is none, and the kernel says so without a look at every process.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if waitid(WaitId::All, look).is_err_and(|error| error == rustix::io::Errno::CHILD) {
            return Some(false);
        }
        Some(crate::proc_table::children().ok()?.iter().any(|(_, is_alive)| *is_alive))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Whether `/proc` shows the processes of this process's own namespace, so that processes can be
/// found there. Always so on systems other than Linux, where it is not used.
pub fn is_proc_own() -> bool {
    #[cfg(target_os = "linux")]
    return crate::proc_table::is_own();
    #[cfg(not(target_os = "linux"))]
    true
}

/// Stops whatever this process, a subreaper, has adopted: every descendant but the known children
/// and what is below them. Needed when a child that was itself a subreaper has died.
///
/// Returns the number of processes that could not be stopped, or nothing where processes cannot be
/// found.
pub fn stop_adopted(known_children: &[Pid], grace: Duration) -> Option<usize> {
    #[cfg(target_os = "linux")]
    {
        let target = KillTarget::DescendantsExcept(known_children.to_vec());
        let remaining = crate::marker::stop_blocking(&target, grace);
        // The known children are left to those who wait for them.
        for (pid, _) in crate::proc_table::children().ok()? {
            if !known_children.contains(&pid) {
                let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
        Some(remaining)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (known_children, grace);
        None
    }
}

/// Sends the signal to every descendant but these, and returns how many there were.
fn signal_descendants(signal: Signal, except: &[Pid]) -> usize {
    #[cfg(target_os = "linux")]
    {
        let mut members = crate::proc_table::descendants(&[]).unwrap_or_default();
        members.retain(|member| !except.contains(&member.pid));
        for member in &members {
            crate::proc_table::signal(*member, signal);
        }
        members.len()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (signal, except);
        0
    }
}
