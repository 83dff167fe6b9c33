//! The files on which the programs of a user agree: slots, notices of those that wait, turns, and what was learned.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use governor::{
    Provider, SpendingRecorder, day_is_spent, machine_memory, running_agents, spent_today,
    waiting_calls,
};
use model::{Admission, Ledger};
use rustix::fs::{FlockOperation, flock};

use crate::scratch::{Scratch, parts};

thread_local! {
    static SCRATCH: Scratch = Scratch::new();
}

/// The longest time that a provider's limit holds a request up.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

const SLOT: &str = "locks/running/01a1e067-9fdf-74f3-92a0-b653fa59fb30";
const NOTICE: &str = "locks/waiting/17-1";

/// The parts are a slot and a notice that processes hold, the money of the day, the memory of agents, the limits of a
/// provider, and the name of a turn.
pub(super) fn check(data: &[u8]) {
    SCRATCH.with(|scratch| check_files(scratch, data));
}

fn check_files(scratch: &Scratch, data: &[u8]) {
    let mut parts: Vec<&[u8]> = parts(data).take(6).collect();
    parts.resize(6, b"");
    let admission = admission(scratch.path());
    // Makes the directories, which only this user may enter.
    assert!(running_agents(&admission).is_empty());
    let held =
        [(SLOT, parts[0]), (NOTICE, parts[1])].map(|(name, bytes)| hold(scratch, name, bytes));
    check_state(&admission);
    drop(held);
    assert!(running_agents(&admission).is_empty() && waiting_calls(&admission).is_empty());
    check_what_lasts(scratch, [parts[2], parts[3], parts[4]]);
    for name in [SLOT, NOTICE] {
        let _ = fs::remove_file(scratch.path().join(name));
    }
}

fn admission(top: &Path) -> Admission {
    Admission { directories: vec![top.join("locks")], machine_concurrency: 2, memory_reserve: None }
}

/// A file that counts, because a process has it.
fn hold(scratch: &Scratch, name: &str, bytes: &[u8]) -> File {
    let path = scratch.write(name, bytes);
    let file = File::open(path);
    assert!(file.is_ok(), "{file:?}");
    let file = file.unwrap_or_else(|_| unreachable!("it was asserted"));
    assert!(flock(&file, FlockOperation::LockShared).is_ok());
    file
}

fn check_state(admission: &Admission) {
    let running = running_agents(admission);
    assert_eq!(running.len(), 1, "a slot counts, whatever is written in it");
    assert!(waiting_calls(admission).len() <= 1);
    let memory = machine_memory(admission);
    assert!(memory.is_none_or(|memory| memory.available <= memory.total));
}

fn check_what_lasts(scratch: &Scratch, [money, memory, provider]: [&[u8]; 3]) {
    let learned = scratch.path().join("learned");
    scratch.write("learned/money.json", money);
    scratch.write("learned/memory.json", memory);
    let limits = Provider::new(&learned, "any", None);
    // Where its state is, is its own affair: what it has written is replaced.
    let request = limits.begin();
    limits.refused(&request, Some(Duration::ZERO));
    drop(request);
    for entry in fs::read_dir(learned.join("providers")).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "json") {
            let _ = fs::write(entry.path(), provider);
        }
    }
    assert!(limits.wait() <= LONGEST_WAIT);
    if limits.wait() == Duration::ZERO {
        let request = limits.begin();
        limits.refused(&request, Some(Duration::from_millis(1)));
        assert!(limits.wait() <= LONGEST_WAIT);
    }
    for entry in fs::read_dir(learned.join("providers")).into_iter().flatten().flatten() {
        let _ = fs::remove_file(entry.path());
    }
    let ledger = Ledger { directory: learned, daily_cost_usd: Some(1.0) };
    let before = spent_today(&ledger);
    let mut recorder = SpendingRecorder::new(ledger.clone());
    recorder.add(0.25);
    let after = spent_today(&ledger);
    assert!(after >= before && after.is_finite(), "{before} and a quarter are {after}");
    assert_eq!(day_is_spent(&ledger).is_some(), after >= 1.0);
}
