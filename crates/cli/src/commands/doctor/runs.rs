//! Facts about runs, and about what crashed ones left.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::SystemTime;

use model::{Lifetime, SessionId, variables};
use store::{Life, Retention, RunDir, Store};
use tools::RunLabel;

use super::facts::{
    DebrisFacts, LimitFacts, ProcessFacts, RunFacts, StoreFacts, TemporaryStoreFacts,
};
use super::gather::shown;

/// Processes by run directory.
type Processes = BTreeMap<String, Vec<i32>>;

pub(super) fn look(store: &Store) -> StoreFacts {
    let retention = Retention::default();
    let mut facts = StoreFacts {
        path: shown(store.path()),
        problem: store.check_writable().err().map(|error| error.to_string()),
        limits: LimitFacts {
            runs: retention.runs,
            bytes: retention.bytes,
            days: retention.age.as_secs() / (24 * 60 * 60),
        },
        debris: debris(store),
        empty_cgroups: empty_cgroups(),
        temporary_stores: Store::temporary_stores().iter().map(temporary).collect(),
        ..StoreFacts::default()
    };
    let runs = store.runs().unwrap_or_else(|error| {
        facts.damaged.push(error.to_string());
        Vec::new()
    });
    let mut processes = processes();
    let mut sessions = BTreeSet::new();
    for run in &runs {
        facts.runs += 1;
        facts.bytes += run.bytes();
        // Processes have the real path of the directory in their environment.
        let of_run = std::fs::canonicalize(run.path()).unwrap_or_else(|_| run.path().to_owned());
        let of_run = processes.remove(&shown(&of_run)).unwrap_or_default();
        if let Err(problem) = look_at_run(run, of_run, &mut sessions, &mut facts) {
            facts.damaged.push(problem);
        }
    }
    facts.sessions = sessions.len();
    // What remains belongs to runs that were removed.
    let root = std::fs::canonicalize(store.path()).unwrap_or_else(|_| store.path().to_owned());
    for (run_dir, pids) in processes {
        if Path::new(&run_dir).starts_with(&root) {
            let left = pids.into_iter().map(|pid| ProcessFacts { pid, run_dir: run_dir.clone() });
            facts.leftover_processes.extend(left);
        }
    }
    facts
}

fn look_at_run(
    run: &RunDir,
    mut processes: Vec<i32>,
    sessions: &mut BTreeSet<SessionId>,
    facts: &mut StoreFacts,
) -> Result<(), String> {
    let meta: RunLabel = run.meta_as().map_err(|error| error.to_string())?;
    sessions.insert(meta.session_id);
    let life = run.life().map_err(|error| error.to_string())?;
    let recorded = match &life {
        Life::Abandoned(_) => Some(None),
        Life::Ended(result) => result.leftovers.as_ref().map(Some),
        Life::Alive => None,
    };
    // Not all of them show by their environment that they belong to a run.
    let hidden = recorded.map(|recorded| runner::processes_left(run, recorded));
    for pid in hidden.into_iter().flatten().filter_map(|pid| i32::try_from(pid).ok()) {
        if !processes.contains(&pid) {
            processes.push(pid);
        }
    }
    let about = |processes| RunFacts {
        run_id: run.run_id().to_string(),
        name: meta.name,
        is_background: meta.lifetime == Lifetime::Background,
        created_at: meta.created_at,
        processes,
    };
    match life {
        Life::Alive => facts.running.push(about(processes)),
        Life::Abandoned(_) => facts.abandoned.push(about(processes)),
        Life::Ended(_) => {
            let run_dir = shown(run.path());
            let left = processes.into_iter();
            facts
                .leftover_processes
                .extend(left.map(|pid| ProcessFacts { pid, run_dir: run_dir.clone() }));
        }
    }
    Ok(())
}

fn processes() -> Processes {
    let mut processes = Processes::new();
    for (pid, run_dir) in process::processes_with_variable(variables::RUN_DIR) {
        processes.entry(run_dir).or_default().push(pid.as_raw_nonzero().get());
    }
    processes
}

fn debris(store: &Store) -> Vec<DebrisFacts> {
    let found = store.debris(SystemTime::now()).into_iter();
    found
        .map(|debris| DebrisFacts { path: shown(&debris.path), is_removable: debris.is_removable })
        .collect()
}

fn empty_cgroups() -> Vec<String> {
    process::Cgroup::all_abandoned().iter().map(|cgroup| shown(cgroup.path())).collect()
}

fn temporary(store: &Store) -> TemporaryStoreFacts {
    let runs = store.runs().unwrap_or_default();
    TemporaryStoreFacts {
        path: shown(store.path()),
        runs: runs.len(),
        bytes: runs.iter().map(RunDir::bytes).sum(),
        is_in_use: runs.iter().any(|run| matches!(run.life(), Ok(Life::Alive))),
    }
}
