//! Processes that another one has stopped: with SIGSTOP, or as a debugger does.

#[cfg(target_os = "linux")]
use crate::proc_table;
use crate::recorded::ProcessStamp;
use crate::tree::Signal;

/// A process that is stopped.
#[derive(Debug)]
pub struct StoppedProcess {
    stamp: ProcessStamp,
    /// Its name, and then its arguments.
    pub arguments: Vec<Vec<u8>>,
}

/// Every stopped process. Empty on systems other than Linux.
pub fn stopped_processes() -> Vec<StoppedProcess> {
    #[cfg(target_os = "linux")]
    {
        let stopped = proc_table::stopped().unwrap_or_default().into_iter();
        let with_arguments = |stamp: ProcessStamp| StoppedProcess {
            arguments: proc_table::arguments(stamp.pid),
            stamp,
        };
        stopped.map(with_arguments).collect()
    }
    #[cfg(not(target_os = "linux"))]
    Vec::new()
}

impl StoppedProcess {
    /// Continues it. A debugger that holds it lets go only when it ends.
    pub fn wake(&self) {
        self.signal(Signal::Continue);
    }

    /// Kills it, also if a debugger holds it.
    pub fn kill(&self) {
        self.signal(Signal::Kill);
    }

    fn signal(&self, signal: Signal) {
        #[cfg(target_os = "linux")]
        proc_table::signal(self.stamp, signal);
        #[cfg(not(target_os = "linux"))]
        let _ = (self.stamp, signal);
    }
}
