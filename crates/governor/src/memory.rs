//! Whether there is memory for one more agent. Pure.

use model::WaitReason;
use process::{Memory, MemoryPressure};

use crate::slot::RunningAgent;

/// An agent takes what it needs within this time, in milliseconds; from then on, what the system says is all there is to know.
const GROWING_MS: u64 = 60_000;

/// The share of time in which some process waits for memory, in percent, from which on nothing is started.
const PRESSURE: f64 = 20.0;

/// How much memory is kept free if the user does not say: a tenth, at least 1 GiB, at most a quarter.
pub(crate) fn usual_reserve(total: u64) -> u64 {
    (total / 10).max(1 << 30).min(total / 4)
}

/// What there is to wait for, if there is too little memory for one more agent. `look` tells how much memory there is;
/// nothing is to wait for where that is not known. `measure` tells how much each agent takes now; it costs time, and is
/// asked only where that matters.
pub(crate) fn shortage(
    look: impl Fn() -> Option<Memory>,
    pressure: MemoryPressure,
    reserve: Option<u64>,
    running: &[RunningAgent],
    now: u64,
    measure: impl Fn(&[&RunningAgent]) -> Vec<u64>,
) -> Option<WaitReason> {
    // One may always run.
    if running.is_empty() {
        return None;
    }
    if pressure.some > PRESSURE {
        return Some(WaitReason::MemoryPressure);
    }
    let memory = look()?;
    let kept = reserve.unwrap_or_else(|| usual_reserve(memory.total));
    let is_growing = |agent: &&RunningAgent| now.saturating_sub(agent.admitted_at) < GROWING_MS;
    let growing: Vec<&RunningAgent> = running.iter().filter(is_growing).collect();
    // What a file says can be anything.
    let sum = |all: &mut dyn Iterator<Item = u64>| all.fold(0, u64::saturating_add);
    let most = sum(&mut growing.iter().map(|agent| agent.expected_memory));
    if memory.available.saturating_sub(most) >= kept {
        return None;
    }
    // Agents grow meanwhile. What is measured first and looked at last counts what they take in between twice; the other way
    // round it would not count at all.
    let measured = measure(&growing);
    let available = look()?.available;
    let expected = sum(&mut growing
        .iter()
        .zip(measured)
        .map(|(agent, measured)| agent.expected_memory.saturating_sub(measured)));
    let free = available.saturating_sub(expected);
    (free < kept).then_some(WaitReason::Memory { free, kept })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use model::RunId;

    use super::*;

    const GIGABYTE: u64 = 1 << 30;

    fn agent(expected_memory: u64, admitted_at: u64) -> RunningAgent {
        let run_id = RunId::parse("01a1e067-9fdf-74f3-92a0-b653fa59fb30").unwrap();
        RunningAgent { expected_memory, admitted_at, ..RunningAgent::unknown(run_id) }
    }

    #[test]
    fn a_tenth_is_kept_but_never_more_than_a_quarter() {
        for (total, kept) in [(64, 6.4), (24, 2.4), (8, 1.0), (4, 1.0), (2, 0.5), (1, 0.25)] {
            let expected = (kept * GIGABYTE as f64) as u64;
            assert_eq!(usual_reserve(total * GIGABYTE), expected, "{total}");
        }
    }

    #[test]
    fn an_agent_starts_while_what_is_left_is_more_than_what_is_kept() {
        let now = 1_000_000;
        let (young, old) = (now - 1, now - GROWING_MS);
        let calm = MemoryPressure::default();
        let ask = |available, running: &[RunningAgent], measured| {
            let look = || Some(Memory { total: 16 * GIGABYTE, available });
            shortage(look, calm, Some(2 * GIGABYTE), running, now, |agents| {
                vec![measured; agents.len()]
            })
        };
        let short = |free| Some(WaitReason::Memory { free, kept: 2 * GIGABYTE });
        let one = [agent(GIGABYTE, young)];
        assert_eq!(ask(0, &[], 0), None, "one may always run");
        assert_eq!(ask(4 * GIGABYTE, &one, 0), None);
        assert_eq!(ask(3 * GIGABYTE, &one, 0), None);
        assert_eq!(ask(3 * GIGABYTE - 1, &one, 0), short(2 * GIGABYTE - 1));
        assert_eq!(ask(3 * GIGABYTE - 1, &one, GIGABYTE / 2), None, "it has taken half of it");
        assert_eq!(ask(3 * GIGABYTE - 1, &[agent(GIGABYTE, old)], 0), None, "it takes no more");
        assert_eq!(ask(GIGABYTE, &[agent(GIGABYTE, old)], 0), short(GIGABYTE));
        let nonsense = [agent(u64::MAX, young), agent(u64::MAX, young)];
        assert_eq!(ask(3 * GIGABYTE, &nonsense, 0), short(0));
    }

    #[test]
    fn what_an_agent_takes_while_it_is_measured_counts() {
        let taken = Cell::new(0);
        let look = || Some(Memory { total: 16 * GIGABYTE, available: 5 * GIGABYTE - taken.get() });
        let measure = |_: &[&RunningAgent]| {
            taken.set(2 * GIGABYTE);
            vec![taken.get()]
        };
        let one = [agent(2 * GIGABYTE, 0)];
        let ask =
            |reserve| shortage(look, MemoryPressure::default(), Some(reserve), &one, 1, measure);
        let short = WaitReason::Memory { free: 3 * GIGABYTE, kept: 4 * GIGABYTE };
        assert_eq!(ask(4 * GIGABYTE), Some(short));
        assert_eq!(ask(3 * GIGABYTE), None);
    }

    #[test]
    fn nothing_starts_while_processes_wait_for_memory() {
        let look = || Some(Memory { total: 16 * GIGABYTE, available: 9 * GIGABYTE });
        let ask = |some, running: &[RunningAgent]| {
            let pressure = MemoryPressure { some, full: 0.0 };
            shortage(look, pressure, None, running, 0, |agents| vec![0; agents.len()])
        };
        let one = [agent(1, 0)];
        assert_eq!(ask(30.0, &one), Some(WaitReason::MemoryPressure));
        assert_eq!(ask(10.0, &one), None);
        assert_eq!(ask(30.0, &[]), None);
    }
}
