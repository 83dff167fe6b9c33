//! The tree of a contained child: signalling all of it, reaping all of it, knowing that it is gone.

use std::time::Duration;

pub use rustix::process::Pid;
use rustix::process::{WaitOptions, WaitStatus};

use crate::marker::{Marker, stop_blocking};

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
    /// Everything below this process.
    Descendants,
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
                    member.signal(signal);
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
    fn members(&self) -> Vec<crate::proc_table::Member> {
        use crate::proc_table;
        // Without `/proc` no process can be found. Callers that wait for children still notice
        // when everything is gone; they only cannot hasten it.
        match self {
            KillTarget::Descendants => proc_table::descendants(&[]),
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
}

impl Tree {
    pub(crate) fn new(child: Pid, containment: Containment) -> Tree {
        Tree { child, containment, exit: None }
    }

    /// The child's process id.
    pub fn child(&self) -> Pid {
        self.child
    }

    /// Sends the signal to the whole tree.
    pub fn signal(&self, signal: Signal) {
        let found = match self.containment {
            Containment::Descendants => KillTarget::Descendants.signal(signal),
            Containment::Group => 0,
        };
        // The group serves systems without a subreaper, and Linux without `/proc`. It must not be
        // used once the child's id may belong to another process.
        if found == 0 && (self.exit.is_none() || self.containment == Containment::Group) {
            KillTarget::Group(self.child).signal(signal);
        }
    }

    /// How many living processes the tree has.
    pub fn count(&self) -> usize {
        match self.containment {
            Containment::Descendants => KillTarget::Descendants.count(),
            Containment::Group => KillTarget::Group(self.child).count(),
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
                    if pid == self.child {
                        self.exit = Exit::from_status(status);
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
                Containment::Group => KillTarget::Group(self.child).count() == 0,
            };
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

/// The children of this process, including those that it had before it executed this program.
pub fn children() -> Vec<Pid> {
    #[cfg(target_os = "linux")]
    return crate::proc_table::children().unwrap_or_default();
    #[cfg(not(target_os = "linux"))]
    Vec::new()
}

/// Stops whatever this process, a subreaper, has adopted: every descendant but the known children
/// and what is below them. Needed when a child that was itself a subreaper has died.
///
/// Returns the number of processes that could not be stopped.
pub fn stop_adopted(known_children: &[Pid], grace: Duration) -> usize {
    let remaining = stop_blocking(&KillTarget::DescendantsExcept(known_children.to_vec()), grace);
    // The known children are left to those who wait for them.
    for pid in children().into_iter().filter(|pid| !known_children.contains(pid)) {
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
    remaining
}
