//! The agents that run, over all programs of the user.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use model::{Admission, AgentKind, Meta, RunId};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::provider::account_name;
use crate::queue::ring;
use crate::shared_dir::{Access, SharedDir, names, open_file, read_file, remove, rewrite};

/// An agent that runs, or is about to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct RunningAgent {
    pub run_id: RunId,
    pub name: String,
    /// The word for what carries it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    pub cwd: PathBuf,
    /// Where the run is recorded, once its supervisor has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_dir: Option<PathBuf>,
    /// The process id of its supervisor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<PathBuf>,
    /// The provider and the account that bound it, unless it asks before each request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// How much memory it is expected to take, in bytes.
    pub expected_memory: u64,
    /// When it got its slot, in milliseconds since 1970.
    pub admitted_at: u64,
}

impl RunningAgent {
    /// An agent of which nothing else is known.
    pub(crate) fn unknown(run_id: RunId) -> RunningAgent {
        RunningAgent {
            name: run_id.to_string(),
            run_id,
            agent: None,
            profile: None,
            cwd: PathBuf::new(),
            run_dir: None,
            supervisor: None,
            cgroup: None,
            account: None,
            expected_memory: 0,
            admitted_at: 0,
        }
    }

    pub(crate) fn of(meta: &Meta, expected_memory: u64, now: u64) -> RunningAgent {
        RunningAgent {
            run_id: meta.run_id.clone(),
            name: meta.name.clone(),
            agent: meta.agent.as_ref().map(|agent| AgentKind::word(agent).to_owned()),
            profile: meta.profile.clone().or_else(|| meta.preset.clone()),
            cwd: meta.cwd.clone(),
            run_dir: None,
            supervisor: None,
            cgroup: meta.cgroup.clone(),
            account: account_name(meta),
            expected_memory,
            admitted_at: now,
        }
    }
}

/// The right of one run to have an agent. It is free again when neither the program that started the run nor the run's
/// supervisor has it any more.
#[derive(Debug)]
pub struct Slot {
    /// Absent where nothing is agreed on.
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    shared: SharedDir,
    path: PathBuf,
    /// Locked, together with others that hold the same slot.
    file: File,
}

impl Slot {
    /// Where nothing is agreed on, every agent may start.
    pub fn ungoverned() -> Slot {
        Slot { held: None }
    }

    /// Makes a slot. To be called under the lock.
    pub(crate) fn make(shared: &SharedDir, agent: &RunningAgent) -> std::io::Result<Slot> {
        let path = shared.running().join(agent.run_id.as_str());
        let file = open_file(&path, Access::Make)?;
        flock(&file, FlockOperation::LockShared)?;
        let held = Held { shared: shared.clone(), path, file };
        rewrite(&held.file, &serde_json::to_vec(agent).unwrap_or_default())?;
        Ok(Slot { held: Some(held) })
    }

    /// Holds the slot of a run that its starter has, too. For its supervisor.
    pub fn take_over(admission: &Admission, run: &RunId) -> Slot {
        let held = SharedDir::open(&admission.directories).and_then(|shared| {
            let path = shared.running().join(run.as_str());
            let file = open_file(&path, Access::Write).ok()?;
            flock(&file, FlockOperation::LockShared).ok()?;
            // Its starter may have died meanwhile.
            let is_there = file.metadata().is_ok_and(|metadata| metadata.nlink() > 0);
            is_there.then_some(Held { shared, path, file })
        });
        Slot { held }
    }

    /// Says more about the run that has the slot.
    pub fn describe(&self, about: impl FnOnce(&mut RunningAgent)) {
        let Some(held) = &self.held else { return };
        let Some(mut agent) = read(&held.path) else { return };
        about(&mut agent);
        let _ = rewrite(&held.file, &serde_json::to_vec(&agent).unwrap_or_default());
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(held) = &self.held else { return };
        // The last one that has it lets go of it.
        if flock(&held.file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove(&held.path);
            let _ = flock(&held.file, FlockOperation::Unlock);
            ring(&held.shared);
        } else {
            let _ = flock(&held.file, FlockOperation::Unlock);
        }
    }
}

/// All agents that run now, by this admission.
pub fn running_agents(admission: &Admission) -> Vec<RunningAgent> {
    let shared = SharedDir::open(&admission.directories);
    let mut agents = shared.map(|shared| running(&shared, false)).unwrap_or_default();
    agents.sort_by_key(|agent| agent.admitted_at);
    agents
}

/// The agents that run. Slots that no process holds are removed under the lock, and passed over without it.
pub(crate) fn running(shared: &SharedDir, is_locked: bool) -> Vec<RunningAgent> {
    let directory = shared.running();
    let held = names(&directory).into_iter().filter_map(|name| {
        let run_id = RunId::parse(&name).ok()?;
        let path = directory.join(&name);
        let file = open_file(&path, Access::Read).ok()?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            if is_locked {
                remove(&path);
            }
            let _ = flock(&file, FlockOperation::Unlock);
            return None;
        }
        // A slot counts also while its description is being written.
        Some(read(&path).unwrap_or_else(|| RunningAgent::unknown(run_id)))
    });
    held.collect()
}

fn read(path: &std::path::Path) -> Option<RunningAgent> {
    serde_json::from_slice(&read_file(path)?).ok()
}
