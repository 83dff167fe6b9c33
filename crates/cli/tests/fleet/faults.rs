//! Three hundred tasks under way on three workers and three nodes, and what can happen to them. `cargo xtask soak fleet` has more.

use test_support::{FleetFault, Program, suffer};

use super::nats_server;

const TASKS: usize = 300;

fn survives(fault: FleetFault) {
    let program = Program {
        pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
        fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
    };
    let suffered = suffer(program, &nats_server(), fault, TASKS).unwrap();
    assert!(suffered.under_way > 0, "{suffered:?}");
}

#[test]
fn a_killed_worker_loses_nothing() {
    survives(FleetFault::WorkerKilled);
}

#[test]
fn a_killed_leader_loses_nothing() {
    survives(FleetFault::LeaderKilled);
}

#[test]
fn a_worker_that_is_cut_off_loses_nothing() {
    survives(FleetFault::Partition);
}
