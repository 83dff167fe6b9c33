//! The processes of a run without its supervisor: finding them, stopping them, and knowing whether
//! that was all.
//!
//! A cgroup of the run's own holds all of them, and the kernel says when it is empty. Without one
//! they are found by their environment, and by the agent's session, which is in the record. A process
//! that has left both cannot be found, so the end of such a run is not proven.

use std::path::PathBuf;

use model::{AgentProcess, Event, LeftProcess, Leftovers, Meta, RunId, variables};
use process::{
    Cgroup, Marker, Members, Pid, ProcessStamp, RecordedLeader, Remains, Traces,
    has_restarted_since, is_proc_own, pid_space,
};
use store::{RunDir, TemporaryDir};

use crate::durations::STOP_GRACE;
use crate::stopped::SUPERVISE;

/// What is known of the processes of a run that has no supervisor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remaining {
    /// Processes of the run that could not be stopped.
    pub(crate) certain: Vec<ProcessStamp>,
    /// Processes that may be of the run, and were not touched.
    pub(crate) unsure: Vec<ProcessStamp>,
    /// Why there may be others; nothing if it is proven that there are none.
    pub(crate) doubt: Option<&'static str>,
}

/// The end of this run is not proven for want of a cgroup.
pub(crate) const NO_CGROUP: &str = "its supervisor was killed, and it had no cgroup";
/// The end of this run is not proven because its cgroup is out of sight.
const CGROUP_OUT_OF_SIGHT: &str = "its supervisor was killed, and its cgroup cannot be seen here";
/// The end of this run is not proven because processes cannot be found.
pub(crate) const FOREIGN_PROC: &str = "/proc shows the processes of another pid namespace";

/// Where the cgroup of a run would be, if one can be had.
pub(crate) fn cgroup_path(run_id: &RunId) -> Option<PathBuf> {
    Cgroup::path_for(run_id.as_str()).ok()
}

/// Stops what is left of a run whose supervisor is gone. `is_all_adopted` says that this process has
/// adopted whatever the supervisor left, and stopped it.
pub(crate) fn stop_leftovers(dir: &RunDir, meta: &Meta, is_all_adopted: bool) -> Remaining {
    let agent = recorded_agent(dir, meta);
    let (in_cgroup, cgroup) = stop_cgroup(meta);
    let remains = traces(meta, agent.as_ref()).stop(STOP_GRACE);
    // If it cannot be removed, that does not change how the run ended.
    let _ = TemporaryDir::left_by(meta).map(TemporaryDir::remove);
    let is_proven = is_all_adopted && is_proc_own();
    let doubt = doubt(agent.as_ref().map(|(_, agent)| agent), &cgroup).filter(|_| !is_proven);
    remaining(in_cgroup, remains, doubt)
}

/// What is left of a run that has ended, according to its record and to what can be seen.
pub(crate) fn look_for_leftovers(
    dir: &RunDir,
    meta: &Meta,
    recorded: Option<&Leftovers>,
) -> Remaining {
    let agent = recorded_agent(dir, meta);
    let in_cgroup = match open_cgroup(meta) {
        // What its supervisor could not remove may have ended since.
        CgroupState::Open(cgroup) if matches!(cgroup.is_empty(), Ok(true)) => {
            let _ = cgroup.remove();
            Vec::new()
        }
        CgroupState::Open(cgroup) => stamps(cgroup.pids().unwrap_or_default()),
        CgroupState::Gone | CgroupState::OutOfSight => Vec::new(),
    };
    // Without a doubt in the record, the end of everything was seen.
    let doubted = recorded.filter(|recorded| {
        let space = recorded.pid_space.as_deref().unwrap_or_default();
        recorded.doubt.is_some() && !has_restarted_since(space)
    });
    let doubt = doubted.map(|_| if is_proc_own() { NO_CGROUP } else { FOREIGN_PROC });
    let mut remaining = remaining(in_cgroup, traces(meta, agent.as_ref()).find(), doubt);
    remaining.add_recorded(recorded);
    remaining
}

/// The processes of a run that has lost its supervisor, or of which its record says that something
/// may be left. Changes nothing.
pub fn processes_left(dir: &RunDir, recorded: Option<&Leftovers>) -> Vec<u32> {
    let Ok(meta) = dir.meta() else { return Vec::new() };
    if !dir.is_original(&meta) {
        return Vec::new();
    }
    let in_cgroup = match open_cgroup(&meta) {
        CgroupState::Open(cgroup) => stamps(cgroup.pids().unwrap_or_default()),
        CgroupState::Gone | CgroupState::OutOfSight => Vec::new(),
    };
    let traces = traces(&meta, recorded_agent(dir, &meta).as_ref());
    let mut remaining = remaining(in_cgroup, traces.find(), None);
    remaining.add_recorded(recorded);
    remaining.certain.iter().map(number).collect()
}

/// Removes the empty cgroups of runs whose supervisor was killed. Where the record is gone as well, nothing else
/// leads to them.
pub fn remove_abandoned_cgroups() {
    for cgroup in Cgroup::all_abandoned() {
        // What cannot be removed now is tried again next time.
        let _ = cgroup.remove();
    }
}

impl Remaining {
    /// Adds the processes of the record that still live.
    fn add_recorded(&mut self, recorded: Option<&Leftovers>) {
        let Some(recorded) = recorded else { return };
        let space = recorded.pid_space.as_deref().unwrap_or_default();
        let stamps = recorded.processes.iter().filter_map(stamp_of);
        for stamp in stamps.filter(|stamp| stamp.is_alive_in(space)) {
            if !self.certain.contains(&stamp) && !self.unsure.contains(&stamp) {
                self.certain.push(stamp);
            }
        }
    }

    /// What to keep in the record; nothing if it is proven that nothing is left.
    pub(crate) fn to_record(&self) -> Option<Leftovers> {
        let processes: Vec<LeftProcess> = self.certain.iter().map(left_process).collect();
        let doubt = self.doubt.map(str::to_owned);
        (!processes.is_empty() || doubt.is_some()).then(|| Leftovers {
            processes,
            pid_space: pid_space(),
            doubt,
        })
    }

    /// What to say about processes that live on.
    pub(crate) fn warnings(&self) -> Vec<Event> {
        let mut messages = Vec::new();
        if !self.certain.is_empty() {
            messages.push(format!(
                "{} of the run could not be killed: {}",
                counted(self.certain.len()),
                numbers(&self.certain)
            ));
        }
        if !self.unsure.is_empty() {
            messages.push(format!(
                "{} may belong to the run, because {} environment and parent are hidden: {}",
                counted(self.unsure.len()),
                if self.unsure.len() == 1 { "its" } else { "their" },
                numbers(&self.unsure)
            ));
        }
        messages.into_iter().map(|message| Event::Warning { message }).collect()
    }
}

/// What a supervisor says, and records, of processes that do not go away.
pub(crate) fn survivors(members: &Members) -> (Event, Leftovers) {
    let count = members.found.len();
    let mut message = if count == 0 {
        "Processes of the run could not be killed, and cannot be found".to_owned()
    } else {
        format!("{} of the run could not be killed: {}", counted(count), numbers(&members.found))
    };
    let doubt = (!members.is_proc_own).then(|| FOREIGN_PROC.to_owned());
    if let Some(doubt) = &doubt {
        message = format!("{message}; {doubt}, so that there may be others");
    }
    let processes = members.found.iter().map(left_process).collect();
    (Event::Warning { message }, Leftovers { processes, pid_space: pid_space(), doubt })
}

/// What is recorded of an agent that was just started.
pub(crate) fn agent_process(child: Pid, in_cgroup: bool) -> Option<AgentProcess> {
    let leader = RecordedLeader::of_child(child)?;
    // Counting takes time on a large machine, and a cgroup needs no session to be found by.
    let forks = if in_cgroup { None } else { process::forks() };
    let RecordedLeader { stamp, pid_space, .. } = leader;
    Some(AgentProcess { start_time: stamp.start_time, pid_space, forks, in_cgroup })
}

/// The agent as its supervisor has recorded it.
fn recorded_agent(dir: &RunDir, meta: &Meta) -> Option<(u32, AgentProcess)> {
    // It is the first event, unless its log was damaged, or the agent was started once more with another model.
    let count = if meta.fallback_starts.is_empty() { FIRST_EVENTS } else { usize::MAX };
    let started = dir.events().ok()?.take(count).filter_map(|record| match record.event {
        Event::RunStarted { pid, agent } => Some((pid, agent?)),
        _ => None,
    });
    started.last()
}

const FIRST_EVENTS: usize = 8;

fn traces(meta: &Meta, agent: Option<&(u32, AgentProcess)>) -> Traces {
    let run_dir = meta.environment.get(variables::RUN_DIR).cloned().flatten().unwrap_or_default();
    let leader = agent.and_then(|(pid, agent)| {
        let stamp = stamp_of(&LeftProcess { pid: *pid, start_time: agent.start_time })?;
        let AgentProcess { pid_space, forks, .. } = agent.clone();
        Some(RecordedLeader { stamp, pid_space, forks })
    });
    Traces {
        // The directory too: a copy of a project has copies of its runs, which must not end the
        // originals.
        marker: Marker::new(&[
            (variables::RUN, meta.run_id.as_str()),
            (variables::RUN_DIR, &run_dir),
        ]),
        leader,
        other_supervisors: Some(Marker::of_arguments(&SUPERVISE)),
    }
}

enum CgroupState {
    Open(Cgroup),
    /// It is empty, or there never was one.
    Gone,
    OutOfSight,
}

fn open_cgroup(meta: &Meta) -> CgroupState {
    let Some(path) = &meta.cgroup else { return CgroupState::Gone };
    match Cgroup::open(path, meta.run_id.as_str()) {
        Ok(Some(cgroup)) => CgroupState::Open(cgroup),
        Ok(None) => CgroupState::Gone,
        Err(_) => CgroupState::OutOfSight,
    }
}

/// Stops what is in the cgroup and removes it. Returns what is left in it.
fn stop_cgroup(meta: &Meta) -> (Vec<ProcessStamp>, CgroupState) {
    let cgroup = match open_cgroup(meta) {
        CgroupState::Open(cgroup) => cgroup,
        state => return (Vec::new(), state),
    };
    match cgroup.stop(STOP_GRACE) {
        Ok(true) => {
            let _ = cgroup.remove();
            (Vec::new(), CgroupState::Gone)
        }
        _ => (stamps(cgroup.pids().unwrap_or_default()), CgroupState::Open(cgroup)),
    }
}

/// Why processes may be left that were not found.
fn doubt(agent: Option<&AgentProcess>, cgroup: &CgroupState) -> Option<&'static str> {
    // Without an agent there was nothing to leave any.
    let agent = agent?;
    if has_restarted_since(&agent.pid_space) {
        return None;
    }
    match cgroup {
        CgroupState::Gone | CgroupState::Open(_) if agent.in_cgroup => None,
        _ if agent.in_cgroup => Some(CGROUP_OUT_OF_SIGHT),
        _ if !is_proc_own() => Some(FOREIGN_PROC),
        _ => Some(NO_CGROUP),
    }
}

fn remaining(
    in_cgroup: Vec<ProcessStamp>,
    remains: Remains,
    doubt: Option<&'static str>,
) -> Remaining {
    let mut certain = in_cgroup;
    certain.extend(
        remains.certain.into_iter().filter(|stamp| !certain.contains(stamp)).collect::<Vec<_>>(),
    );
    // Where the end is proven, nothing else can belong to the run.
    let unsure = if doubt.is_some() { remains.unsure } else { Vec::new() };
    Remaining { certain, unsure, doubt }
}

fn stamps(pids: Vec<Pid>) -> Vec<ProcessStamp> {
    pids.into_iter().map(ProcessStamp::now).collect()
}

fn stamp_of(process: &LeftProcess) -> Option<ProcessStamp> {
    let pid = Pid::from_raw(i32::try_from(process.pid).ok()?)?;
    Some(ProcessStamp { pid, start_time: process.start_time })
}

fn left_process(stamp: &ProcessStamp) -> LeftProcess {
    LeftProcess { pid: number(stamp), start_time: stamp.start_time }
}

/// The process id as a number.
pub(crate) fn number(stamp: &ProcessStamp) -> u32 {
    stamp.pid.as_raw_nonzero().get().unsigned_abs()
}

fn numbers(stamps: &[ProcessStamp]) -> String {
    let numbers: Vec<String> = stamps.iter().map(|stamp| number(stamp).to_string()).collect();
    numbers.join(", ")
}

fn counted(count: usize) -> String {
    format!("{count} process{}", if count == 1 { "" } else { "es" })
}
