//! When memory runs out although every agent had room: the largest makes room for the others.

use std::time::{Duration, Instant, SystemTime};

use model::{Admission, RunId, amount};
use process::{Memory, MemoryGauge, MemoryPressure};

use crate::admit::measured_memory;
use crate::shared_dir::{Locked, SharedDir};
use crate::slot::running;

/// Looks, for one supervisor, whether its agent must make room.
#[derive(Debug)]
pub struct Eviction {
    shared: SharedDir,
    /// Found when it is first asked: most short runs end before.
    gauge: Option<MemoryGauge>,
    look_at: Instant,
    /// Held from the decision until this process ends: meanwhile no other agent is evicted.
    held: Option<Locked>,
}

/// The file that is locked by the supervisor of the agent that is evicted.
const LOCK: &str = "eviction.lock";
/// With less than this share of the memory left, an agent is evicted.
const LEAST: f64 = 0.03;
/// The same with less than this share, if all processes together wait for memory in so much of the time, in percent. With more
/// than that, they wait for memory in another cgroup.
const SCARCE: f64 = 0.15;
const FULL_PRESSURE: f64 = 40.0;
/// The kernel's average forgets slowly: for so long after an eviction it says nothing.
const AFTERMATH: Duration = Duration::from_secs(20);

impl Eviction {
    /// Without an admission, no agent is ever evicted.
    pub fn new(admission: Option<&Admission>) -> Option<Eviction> {
        // A user who keeps nothing free does not want memory to be looked at.
        let admission = admission.filter(|admission| admission.memory_reserve != Some(0))?;
        let shared = SharedDir::open(&admission.directories)?;
        // The agent was admitted just now, so memory was looked at.
        let look_at = Instant::now() + SHORTEST;
        Some(Eviction { shared, gauge: None, look_at, held: None })
    }

    /// When to look again.
    pub fn next_look(&self) -> Option<Instant> {
        self.held.is_none().then_some(self.look_at)
    }

    /// Looks, if it is time to. Returns what was seen if this run must make room.
    pub fn look(&mut self, run: &RunId, now: Instant) -> Option<String> {
        if self.held.is_some() || now < self.look_at {
            return None;
        }
        let gauge = self.gauge.get_or_insert_with(MemoryGauge::find);
        let Some(memory) = gauge.look() else {
            self.look_at = now + LONGEST;
            return None;
        };
        self.look_at = now + interval(memory);
        if !is_exhausted(memory, gauge.pressure(), || self.shared.last_use(LOCK)) {
            return None;
        }
        let agents = running(&self.shared, false);
        let sizes = measured_memory(&agents.iter().collect::<Vec<_>>());
        let sizes = sizes.into_iter().zip(agents.iter().map(|agent| &agent.run_id));
        let (size, largest) = sizes.max()?;
        if largest != run {
            return None;
        }
        let locked = self.shared.lock_named(LOCK, 1)?;
        // The lock tells when an agent was evicted last.
        locked.touch();
        self.held = Some(locked);
        let (free, total, size) = (amount(memory.available), amount(memory.total), amount(size));
        Some(format!("{free} of {total} were free, and it took {size}, more than any other agent"))
    }
}

/// So many bytes are gone in a second if a program takes memory and does little else.
const FASTEST: u64 = 1 << 30;
const SHORTEST: Duration = Duration::from_millis(40);
const LONGEST: Duration = Duration::from_secs(2);

/// When to look again: before what is left can be gone.
fn interval(memory: Memory) -> Duration {
    let until_gone = Duration::from_secs_f64(memory.available as f64 / FASTEST as f64);
    until_gone.clamp(SHORTEST, LONGEST)
}

fn share(memory: Memory) -> f64 {
    memory.available as f64 / memory.total.max(1) as f64
}

fn is_exhausted(
    memory: Memory,
    pressure: MemoryPressure,
    last: impl Fn() -> Option<SystemTime>,
) -> bool {
    if share(memory) < LEAST {
        return true;
    }
    let is_settled = || {
        let age = last().and_then(|at| SystemTime::now().duration_since(at).ok());
        age.is_none_or(|age| age > AFTERMATH)
    };
    pressure.full > FULL_PRESSURE && share(memory) < SCARCE && is_settled()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(percent: u64) -> Memory {
        Memory { total: 10_000, available: percent * 100 }
    }

    #[test]
    fn memory_is_exhausted_at_three_percent_or_when_everything_waits_for_it() {
        let full = |full| MemoryPressure { some: full, full };
        let long_ago = || Some(SystemTime::UNIX_EPOCH);
        let just_now = || Some(SystemTime::now());
        assert!(!is_exhausted(left(3), full(0.0), long_ago));
        assert!(is_exhausted(left(2), full(0.0), just_now));
        assert!(is_exhausted(left(10), full(50.0), long_ago));
        assert!(!is_exhausted(left(10), full(50.0), just_now), "the average is of the last one");
        assert!(!is_exhausted(left(10), full(30.0), long_ago));
        assert!(!is_exhausted(left(20), full(50.0), long_ago), "another cgroup is short of memory");
    }

    #[test]
    fn the_less_there_is_the_more_often_it_is_looked_at() {
        let left = |mebibytes: u64| Memory { total: u64::MAX, available: mebibytes << 20 };
        let intervals = [1 << 40, 512, 64, 16, 0].map(|free| interval(left(free)).as_micros());
        assert_eq!(intervals, [2_000_000, 500_000, 62_500, 40_000, 40_000]);
    }

    #[test]
    fn no_agent_is_evicted_while_there_is_memory() {
        let top = tempfile::tempdir().unwrap();
        let admission = Admission {
            directories: vec![top.path().join("locks")],
            machine_concurrency: 1,
            memory_reserve: None,
        };
        assert!(Eviction::new(None).is_none());
        let mut eviction = Eviction::new(Some(&admission)).unwrap();
        let run = RunId::parse("01a1e067-9fdf-74f3-92a0-b653fa59fb30").unwrap();
        let now = eviction.next_look().unwrap();
        assert_eq!(eviction.look(&run, now), None);
        assert!(cfg!(not(target_os = "linux")) || eviction.next_look().unwrap() > now);
    }
}
