//! May this agent start now? Asked in one place, with every reason why not.

use model::{Admission, Ledger, Meta, WaitReason};
use process::{Memory, MemoryGauge};

use crate::learned::expected_memory;
use crate::memory::{shortage, usual_reserve};
use crate::money::day_is_spent;
use crate::now_ms;
use crate::provider::asked_to_wait;
use crate::shared_dir::SharedDir;
use crate::slot::{RunningAgent, Slot, running};

/// The rules of one admission, and what they look at.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) admission: Admission,
    gauge: MemoryGauge,
}

impl Gate {
    pub(crate) fn new(admission: Admission) -> Gate {
        Gate { admission, gauge: MemoryGauge::find() }
    }

    /// What keeps this task from starting that is no matter of the machine, so that it takes no turn in the queue: other
    /// calls pass it meanwhile.
    #[expect(clippy::unused_self, reason = "what it looks at is named by the run")]
    pub(crate) fn own_reason(
        &self,
        shared: &SharedDir,
        meta: &Meta,
        now: u64,
    ) -> Option<WaitReason> {
        asked_to_wait(meta, shared, now)
    }

    /// What keeps any agent from starting now. Without the lock it is only an opinion.
    pub(crate) fn common_reason(
        &self,
        shared: &SharedDir,
        is_locked: bool,
        now: u64,
    ) -> Option<WaitReason> {
        let agents = running(shared, is_locked);
        let most = self.admission.machine_concurrency;
        if agents.len() >= most {
            return Some(WaitReason::Slots { running: agents.len(), most });
        }
        if self.admission.memory_reserve == Some(0) {
            return None;
        }
        let (pressure, reserve) = (self.gauge.pressure(), self.admission.memory_reserve);
        shortage(|| self.gauge.look(), pressure, reserve, &agents, now, measured_memory)
    }

    /// Makes a slot, under the lock.
    pub(crate) fn grant(&self, shared: &SharedDir, meta: &Meta, now: u64) -> Slot {
        let expected = expected_memory(meta);
        // Where there is no slot to be had (the disk is full), work goes on.
        Slot::make(shared, &RunningAgent::of(meta, expected, now))
            .unwrap_or_else(|_| Slot::ungoverned())
    }
}

/// How many agents this machine bears besides those that run, by its slots; or why none may start now.
pub fn room(admission: &Admission, ledger: &Ledger) -> Result<usize, String> {
    if let Some(words) = day_is_spent(ledger) {
        return Err(words);
    }
    let most = admission.machine_concurrency;
    let Some(shared) = SharedDir::open(&admission.directories) else { return Ok(most) };
    let gate = Gate::new(admission.clone());
    match gate.common_reason(&shared, false, now_ms()) {
        Some(reason) => Err(reason.words(now_ms())),
        None => Ok(most.saturating_sub(running(&shared, false).len())),
    }
}

/// The memory of this machine, or of what bounds this process. In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct MachineMemory {
    pub total: u64,
    pub available: u64,
    /// Nothing is started while less than this is free.
    pub kept: u64,
}

/// How much memory there is, if the system tells.
pub fn machine_memory(admission: &Admission) -> Option<MachineMemory> {
    let Memory { total, available } = MemoryGauge::find().look()?;
    let kept = admission.memory_reserve.unwrap_or_else(|| usual_reserve(total));
    Some(MachineMemory { total, available, kept })
}

/// How much memory each agent takes now, with all that it has started. In bytes.
pub fn measured_memory(agents: &[&RunningAgent]) -> Vec<u64> {
    // No process has the number 0.
    let processes =
        agents.iter().map(|agent| (agent.supervisor.unwrap_or(0), agent.cgroup.as_deref()));
    process::memory_below_each(&processes.collect::<Vec<_>>())
}
