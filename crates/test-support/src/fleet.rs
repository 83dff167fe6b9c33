//! A fleet of three nodes and three workers with many tasks under way, what can happen to it, and the proof that nothing was lost.

#![expect(clippy::unwrap_used, reason = "a harness fails its test by panicking")]

mod audit;
mod fault;
mod testbed;

use std::path::Path;
use std::time::{Duration, Instant};

pub use self::fault::FleetFault;
use self::testbed::Testbed;
use crate::Program;

/// What a fault has cost.
#[derive(Clone, Copy, Debug)]
pub struct Suffered {
    /// Tasks that agents worked on when it happened.
    pub under_way: usize,
    /// Tasks that began more than once.
    pub restarted: usize,
    /// Until all tasks that were under way had their results.
    pub recovery: Duration,
    /// From the submission to the last result.
    pub total: Duration,
}

/// Lets a fault happen while workers carry out so many tasks, and proves that each has one result, in its place, and that
/// nothing is left. `None` if the fault cannot be made here.
pub fn suffer(
    program: Program,
    nats_server: &Path,
    fault: FleetFault,
    tasks: usize,
) -> Option<Suffered> {
    if !fault.is_possible() {
        return None;
    }
    let mut testbed = Testbed::new(program, nats_server, fault, tasks);
    let started = Instant::now();
    testbed.submit(fault);
    testbed.wait_until_under_way();
    let under_way = testbed.under_way();
    let struck = Instant::now();
    fault.strike(&mut testbed);
    let recovery = testbed.wait_until_ended(&under_way, struck);
    let all: Vec<usize> = (0..tasks).collect();
    testbed.wait_until_ended(&all, struck);
    let total = started.elapsed();
    let restarted = audit::audit(&mut testbed, fault);
    Some(Suffered { under_way: under_way.len(), restarted, recovery, total })
}
