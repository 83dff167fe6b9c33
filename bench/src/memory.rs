//! How much memory the processes of a program need together.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const INTERVAL: Duration = Duration::from_millis(5);

/// A thread that samples the memory of processes until it is stopped.
pub(crate) struct Sampler {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

/// Samples the descendants of `ancestor` that run `program` with one of these as its
/// first argument. What pages they share with each other is counted once (PSS).
pub(crate) fn peak_pss_kib(ancestor: u32, program: &Path, roles: &'static [&str]) -> Sampler {
    let program = program.to_owned();
    Sampler::start(INTERVAL, move || sum_of_pss_kib(ancestor, &program, roles))
}

/// Samples all descendants of this process, except for one.
pub(crate) fn peak_pss_kib_of_all(except: u32) -> Sampler {
    // Sampling large processes costs the kernel time, which the contenders must not lose.
    Sampler::start(2 * INTERVAL, move || {
        let mut all = descendants(std::process::id());
        all.remove(&except);
        all.iter().map(pss_kib).sum()
    })
}

impl Sampler {
    fn start(interval: Duration, look: impl Fn() -> u64 + Send + 'static) -> Sampler {
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let is_over = Arc::clone(&is_over);
            move || {
                let mut peak = 0;
                while !is_over.load(Ordering::Relaxed) {
                    peak = peak.max(look());
                    thread::sleep(interval);
                }
                peak
            }
        });
        Sampler { is_over, thread }
    }

    /// The most that was seen, in KiB.
    pub(crate) fn finish(self) -> Result<u64, String> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| "the sampler has panicked".to_owned())
    }
}

fn sum_of_pss_kib(ancestor: u32, program: &Path, roles: &[&str]) -> u64 {
    // A process that ends during the sample counts as gone.
    let is_ours = |pid: &&u32| {
        let process = process_directory(**pid);
        let command_line = fs::read_to_string(process.join("cmdline")).unwrap_or_default();
        let role = command_line.split('\0').nth(1).unwrap_or_default();
        roles.contains(&role) && fs::read_link(process.join("exe")).is_ok_and(|exe| exe == program)
    };
    descendants(ancestor).iter().filter(is_ours).map(pss_kib).sum()
}

/// A process that ends during the sample has no memory.
fn pss_kib(pid: &u32) -> u64 {
    let text = fs::read_to_string(process_directory(*pid).join("smaps_rollup"));
    text.ok().and_then(|text| pss_of(&text)).unwrap_or(0)
}

fn pss_of(smaps_rollup: &str) -> Option<u64> {
    let rest = smaps_rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    rest.trim().strip_suffix(" kB")?.parse().ok()
}

fn process_directory(pid: u32) -> PathBuf {
    Path::new("/proc").join(pid.to_string())
}

/// The children of this process, dead or alive.
pub(crate) fn children_of_this_process() -> Vec<i32> {
    let children = children_by_parent().remove(&std::process::id()).unwrap_or_default();
    children.into_iter().filter_map(|pid| i32::try_from(pid).ok()).collect()
}

fn descendants(ancestor: u32) -> HashSet<u32> {
    let children = children_by_parent();
    let mut found = HashSet::new();
    let mut next = vec![ancestor];
    while let Some(pid) = next.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            if found.insert(*child) {
                next.push(*child);
            }
        }
    }
    found
}

fn children_by_parent() -> HashMap<u32, Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let (Some(pid), Some(parent)) = (pid, parent_of(&stat)) {
            children.entry(parent).or_default().push(pid);
        }
    }
    children
}

/// The parent in a line of `/proc/PID/stat`, whose second field, a name, may hold anything.
fn parent_of(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_in_what_the_system_says() {
        let rollup =
            "55d-7ff ---p 0 00:00 0 [rollup]\nRss:  4000 kB\nPss:     1234 kB\nPss_Anon: 5 kB";
        assert_eq!(pss_of(rollup), Some(1234));
        assert_eq!(pss_of("nothing"), None);
        assert_eq!(parent_of("12 (a) b) (c) S 7 12 12 0"), Some(7));
        assert_eq!(parent_of(""), None);
    }
}
