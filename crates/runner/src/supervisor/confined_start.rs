//! Starting the agent, and what prepares its worktree, within everything that bounds it.

use model::{AgentProcess, Meta};
use process::{Cgroup, Child, ChildSpec, Confinement, Containment, SpawnError, spawn_confined};
use store::RunDir;

use super::access::Bounds;
use crate::leftovers::agent_process;

pub(super) struct Started {
    pub(super) child: Child,
    /// What is recorded of it.
    pub(super) process: Option<AgentProcess>,
}

impl Started {
    pub(super) fn pid(&self) -> u32 {
        self.child.tree.child().as_raw_nonzero().get().unsigned_abs()
    }
}

/// A process could not be started.
pub(super) struct NotStarted {
    pub(super) reason: String,
    /// Whether it may be possible when other work has ended.
    pub(super) is_shortage: bool,
}

/// What bounds the processes of a run.
pub(super) struct Confines {
    pub(super) dir: RunDir,
    pub(super) containment: Containment,
    pub(super) bounds: Option<Bounds>,
    /// The cgroup of an agent that is gone, in whose place another one is started.
    pub(super) cgroup: Option<Cgroup>,
}

impl Confines {
    /// Starts a process of this run, without mounts if the system permits none.
    pub(super) fn start(
        &mut self,
        meta: &Meta,
        spec: ChildSpec<'_>,
    ) -> Result<Started, NotStarted> {
        let error = match self.attempt(meta, spec) {
            Ok(started) => return Ok(started),
            Err(error) => error,
        };
        let given_up = self.bounds.as_mut().map(|bounds| bounds.give_up_mounts(meta, &self.dir));
        let error = match given_up {
            Some(Ok(true)) => match self.attempt(meta, spec) {
                Ok(started) => return Ok(started),
                Err(error) => error,
            },
            Some(Err(error)) => {
                return Err(NotStarted { reason: error.to_string(), is_shortage: false });
            }
            Some(Ok(false)) | None => error,
        };
        Err(NotStarted { reason: error.to_string(), is_shortage: error.is_shortage() })
    }

    /// In a cgroup of its own if one can be had. A run without one is better than none.
    fn attempt(&mut self, meta: &Meta, spec: ChildSpec<'_>) -> Result<Started, SpawnError> {
        let bounds = self.bounds.as_ref().map(Bounds::confinement).unwrap_or_default();
        let cgroup = self.cgroup.take().or_else(|| {
            // The one that the record names: what is in it must be found by the record.
            Cgroup::create_at(meta.cgroup.as_ref()?, meta.run_id.as_str()).ok()
        });
        if let Some(cgroup) = cgroup {
            let confinement = Confinement { cgroup: Some(&cgroup), ..bounds };
            if let Ok(mut child) = spawn_confined(spec, self.containment, confinement) {
                let process = agent_process(child.tree.child(), true);
                child.tree.hold_in(cgroup);
                return Ok(Started { child, process });
            }
            // Why it failed is told without the cgroup, if it fails again.
            let _ = cgroup.remove();
        }
        let child = spawn_confined(spec, self.containment, bounds)?;
        let process = agent_process(child.tree.child(), false);
        Ok(Started { child, process })
    }
}
