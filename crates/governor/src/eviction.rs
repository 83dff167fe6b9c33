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
/// The same if all processes together wait for memory in so much of the time, in percent.
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
        let look_at = Instant::now() + INTERVALS[INTERVALS.len() - 1].1;
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
            self.look_at = now + INTERVALS[0].1;
            return None;
        };
        self.look_at = now + interval(memory);
        if !is_exhausted(memory, gauge.pressure(), || self.shared.last_use(LOCK)) {
            return None;
        }
        let locked = self.shared.lock_named(LOCK, 1)?;
        let agents = running(&self.shared, false);
        let sizes = agents.iter().map(|agent| (measured_memory(agent), &agent.run_id));
        let (size, largest) = sizes.max()?;
        if largest != run {
            return None;
        }
        // The lock tells when an agent was evicted last.
        locked.touch();
        self.held = Some(locked);
        let (free, total, size) = (amount(memory.available), amount(memory.total), amount(size));
        Some(format!("{free} of {total} were free, and it took {size}, more than any other agent"))
    }
}

/// How often to look, by the share of memory that is left: the less there is, the faster it is gone.
const INTERVALS: [(f64, Duration); 4] = [
    (0.5, Duration::from_secs(2)),
    (0.25, Duration::from_secs(1)),
    (0.12, Duration::from_millis(250)),
    (0.0, Duration::from_millis(40)),
];

fn interval(memory: Memory) -> Duration {
    let share = share(memory);
    let found = INTERVALS.iter().find(|(least, _)| share >= *least);
    found.unwrap_or(&INTERVALS[0]).1
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
    pressure.full > FULL_PRESSURE && is_settled()
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
        assert!(is_exhausted(left(20), full(50.0), long_ago));
        assert!(!is_exhausted(left(20), full(50.0), just_now), "the average is of the last one");
        assert!(!is_exhausted(left(20), full(30.0), long_ago));
    }

    #[test]
    fn the_less_there_is_the_more_often_it_is_looked_at() {
        let intervals = [90, 30, 15, 5, 0].map(|percent| interval(left(percent)).as_millis());
        assert_eq!(intervals, [2000, 1000, 250, 40, 40]);
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
