//! Finds what is left of a tree whose supervisor is gone.

use std::time::{Duration, Instant};

use crate::tree::{KillTarget, Pid, Signal};

/// What tells the processes that are looked for from all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    words: Vec<String>,
    pub(crate) source: MarkerSource,
}

/// Where the kernel shows the words of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkerSource {
    /// In the environment, which every process of a tree inherits.
    Environment,
    /// Among the arguments, which can be read even if the process has hidden its memory.
    Arguments,
}

impl Marker {
    /// A process carries the marker if it has all these variables with exactly these values.
    pub fn new(variables: &[(&str, &str)]) -> Marker {
        let assignments = variables.iter().map(|(name, value)| format!("{name}={value}"));
        Marker { words: assignments.collect(), source: MarkerSource::Environment }
    }

    /// A process carries the marker if it has all these arguments, its name counted.
    pub fn of_arguments(arguments: &[&str]) -> Marker {
        let words = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Marker { words, source: MarkerSource::Arguments }
    }

    /// Whether this environment or command line, as the kernel shows it, carries the marker.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_in(&self, text: &[u8]) -> bool {
        self.words
            .iter()
            .all(|word| text.split(|byte| *byte == 0).any(|entry| entry == word.as_bytes()))
    }
}

/// Stops every process that carries the marker: SIGTERM, then, after the grace, SIGKILL until none
/// is left.
///
/// Returns the number of processes that could not be stopped, which is zero unless the kernel
/// holds one in an uninterruptible state.
pub fn stop_marked(marker: &Marker, grace: Duration) -> usize {
    stop_blocking(&KillTarget::Marked(marker.clone()), grace)
}

/// Every living process but this one that has this environment variable, with its value. Empty on
/// systems other than Linux.
pub fn processes_with_variable(variable: &str) -> Vec<(Pid, String)> {
    #[cfg(target_os = "linux")]
    return crate::proc_table::with_variable(variable).unwrap_or_default();
    #[cfg(not(target_os = "linux"))]
    {
        let _ = variable;
        Vec::new()
    }
}

/// How long to wait for the end of a process that was sent SIGKILL. What is still there then is held by the kernel, and
/// will not go away.
pub const KILL_PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn stop_blocking(target: &KillTarget, grace: Duration) -> usize {
    let mut remaining = target.signal(Signal::Terminate);
    let asked = Instant::now();
    while remaining > 0 {
        let waited = asked.elapsed();
        if waited > grace + KILL_PATIENCE {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
        remaining = if waited < grace {
            target.count()
        } else {
            // Repeated, because a member may have started another one in the meantime.
            target.signal(Signal::Kill)
        };
    }
    remaining
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_assignments_match() {
        let marker = Marker::new(&[("RUN", "abc"), ("DIR", "/x")]);
        assert!(marker.is_in(b"A=1\0RUN=abc\0B=2\0DIR=/x\0"));
        assert!(!marker.is_in(b"A=1\0RUN=abcd\0DIR=/x\0"));
        assert!(!marker.is_in(b"RUN=abc\0DIR=/x/copy\0"));
        assert!(!marker.is_in(b"XRUN=abc\0DIR=/x\0"));
        assert!(!marker.is_in(b""));
        let marker = Marker::of_arguments(&["supervise", "/x"]);
        assert!(marker.is_in(b"name\0supervise\0--flag\0/x\0"));
        assert!(!marker.is_in(b"name\0supervise\0/x/copy\0"));
    }
}
