//! What is left of a tree whose supervisor is gone, where no cgroup holds it.

use std::time::{Duration, Instant};

use crate::marker::{KILL_PATIENCE, Marker};
use crate::recorded::{ProcessStamp, RecordedLeader};
use crate::tree::Signal;

/// How the processes of a tree can be recognised without its supervisor.
#[derive(Clone, Debug)]
pub struct Traces {
    /// What all of them have inherited, unless they have changed their environment.
    pub marker: Marker,
    /// The child of the supervisor, which is in a session of its own.
    pub leader: Option<RecordedLeader>,
    /// The supervisors of other trees. They and their children may hide their environment, too.
    pub other_supervisors: Option<Marker>,
}

/// The living processes of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remains {
    /// These belong to it.
    pub certain: Vec<ProcessStamp>,
    /// These may belong to it. They are never signalled.
    pub unsure: Vec<ProcessStamp>,
}

impl Traces {
    /// What is left now. Empty on systems other than Linux.
    pub fn find(&self) -> Remains {
        #[cfg(target_os = "linux")]
        return crate::proc_table::remains(self).unwrap_or_default();
        #[cfg(not(target_os = "linux"))]
        Remains::default()
    }

    /// Stops what certainly belongs to the tree: SIGTERM, then, after the grace, SIGKILL until
    /// nothing is left. Returns what is left all the same.
    pub fn stop(&self, grace: Duration) -> Remains {
        let mut remains = self.find();
        signal(&remains, Signal::Terminate);
        let asked = Instant::now();
        while !remains.certain.is_empty() {
            let waited = asked.elapsed();
            if waited > grace + KILL_PATIENCE {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
            remains = self.find();
            if waited >= grace {
                // Repeated, because a member may have started another one in the meantime.
                signal(&remains, Signal::Kill);
            }
        }
        remains
    }
}

fn signal(remains: &Remains, signal: Signal) {
    #[cfg(target_os = "linux")]
    for stamp in &remains.certain {
        crate::proc_table::signal(*stamp, signal);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (remains, signal);
}
