//! Runs, and what crashed ones left.

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
use super::section::{Area, Finding, Section, size};

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

pub(super) fn findings(facts: &StoreFacts) -> Vec<Finding> {
    let mut section = Section::new(Area::Runs);
    let StoreFacts { runs, sessions, path, limits, .. } = facts;
    let text = format!(
        "{runs} runs in {sessions} sessions, {} in {path}; limits: {} runs, {}, {} days",
        size(facts.bytes),
        limits.runs,
        size(limits.bytes),
        limits.days
    );
    if facts.runs > limits.runs || facts.bytes > limits.bytes {
        section.warning(text).remedy("remove old runs with `pi-subagents sessions prune`");
    } else {
        section.fine(text);
    }
    if let Some(problem) = &facts.problem {
        section.problem(format!("runs cannot be saved here: {problem}")).remedy(
            "make the directory writable; until then runs are saved in a temporary directory, and \
             background runs are refused",
        );
    }
    unfinished(&mut section, facts);
    remains(&mut section, facts);
    temporary_stores(&mut section, facts);
    section.findings
}

/// Runs that have not ended.
fn unfinished(section: &mut Section, facts: &StoreFacts) {
    for RunFacts { run_id, name, is_background, .. } in &facts.running {
        if *is_background {
            section
                .fine(format!("{run_id} ({name}) is running in the background"))
                .remedy(format!("stop it with `pi-subagents bg stop {run_id}`"));
        } else {
            section.fine(format!("{run_id} ({name}) is running"));
        }
    }
    for RunFacts { run_id, name, processes, .. } in &facts.abandoned {
        let text = format!("{run_id} ({name}) lost its supervisor and has not ended");
        if processes.is_empty() {
            section.warning(text).remedy("end it with `pi-subagents sessions list`");
        } else {
            section
                .problem(format!("{text}; still running: {}", pids(processes)))
                .remedy("stop its processes and end it with `pi-subagents sessions list`");
        }
    }
}

/// What programs that were killed have left behind.
fn remains(section: &mut Section, facts: &StoreFacts) {
    for ProcessFacts { pid, run_dir } in &facts.leftover_processes {
        section
            .problem(format!("process {pid} is left over from {run_dir}, which has ended"))
            .remedy(format!("stop it with `kill {pid}`"));
    }
    for problem in &facts.damaged {
        section.warning(problem).remedy("remove it, unless you need its content");
    }
    for debris in &facts.debris {
        let text = format!("{} was left by a program that died", debris.path);
        section.warning(text).remedy(if debris.is_removable {
            "remove it with `pi-subagents sessions prune`"
        } else {
            "the program may still be running; after an hour, remove it with `pi-subagents \
             sessions prune`"
        });
    }
    // They do no harm, and the run of each may be another project's, which removes it when it ends the run.
    if let [first, others @ ..] = facts.empty_cgroups.as_slice() {
        let text = match others.len() {
            0 => format!("the empty cgroup {first} was left by a supervisor that was killed"),
            more => {
                format!(
                    "{first} and {more} more empty cgroups were left by supervisors that were killed"
                )
            }
        };
        section.fine(text).remedy("remove what is empty with `pi-subagents sessions prune`");
    }
}

fn temporary_stores(section: &mut Section, facts: &StoreFacts) {
    for TemporaryStoreFacts { path, runs, bytes, is_in_use } in &facts.temporary_stores {
        let text = format!(
            "{runs} runs ({}) are in {path}, because their project could not be written",
            size(*bytes)
        );
        if *is_in_use {
            section.warning(format!("{text}; one of them is running"));
        } else {
            let remedy =
                format!("when you no longer need their answers, remove them with `rm -r {path}`");
            section.warning(text).remedy(remedy);
        }
    }
}

fn pids(processes: &[i32]) -> String {
    let ids: Vec<String> = processes.iter().map(ToString::to_string).collect();
    format!("process{} {}", if ids.len() == 1 { "" } else { "es" }, ids.join(", "))
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
