//! After the faults: what is still running ends by itself, and servers have no more descriptors open than they
//! would have without faults.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::PATIENCE;
use crate::agent::Agent;
use crate::log::{HitKind, Log};
use crate::plan::{Action, ActionKind, Afterwards, Pace, Project};
use crate::server::{Gone, Server};
use crate::shell::Shell;
use crate::targets::targets;
use crate::task::{Behaviour, Task};
use crate::testbed::Testbed;

/// Ends everything, and reports what does not end.
pub(crate) fn wind_down(testbed: &Testbed, log: &Log, servers: Vec<Server<'_>>) {
    log.note("NO MORE FAULTS");
    for (number, mut server) in servers.into_iter().enumerate() {
        if server.has_project() {
            check_descriptors(testbed, log, &mut server, number);
        }
        server.close();
    }
    let shell = Shell::new(testbed, log);
    // A list finds and ends runs that have lost their supervisor.
    for project in Project::ALL {
        shell.list_all(project);
    }
    for project in Project::ALL {
        follow_doctor(testbed, log, &shell, project);
    }
    let deadline = log.now() + PATIENCE;
    while !targets(testbed).is_empty() && log.now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    for target in targets(testbed) {
        let run_id = target.run_id.as_deref().unwrap_or("no run");
        log.report_violation(&[run_id], format!("a process is left: {target:?}"));
    }
}

/// Kills the processes that `doctor` says to kill. Only `doctor` can find them: they belong to a run whose
/// supervisor was killed and whose directory was deleted, so no list contains it.
fn follow_doctor(testbed: &Testbed, log: &Log, shell: &Shell<'_>, project: Project) {
    let ended = shell.execute(testbed.command(project, ["doctor", "--json"]), Pace::Eager);
    let document = ended.and_then(|ended| serde_json::from_str::<Value>(&ended.stdout).ok());
    let document = document.unwrap_or_default();
    let named = document["facts"]["store"]["leftoverProcesses"].as_array();
    let named: Vec<&Value> = named.into_iter().flatten().map(|process| &process["pid"]).collect();
    let entries = log.entries().clone();
    for target in targets(testbed) {
        let is_lost = target.run_id.as_deref().is_some_and(|run_id| {
            entries.is_hit(run_id, HitKind::SupervisorKilled)
                && entries.is_removed(run_id, Duration::ZERO)
        });
        if is_lost && named.contains(&&json!(target.pid)) {
            log.note(format!("{target:?} is killed, as doctor says"));
            target.signal(Signal::KILL);
        }
    }
}

/// Gives a server and a new one the same work, without faults. Then both must have the same descriptors open.
fn check_descriptors(testbed: &Testbed, log: &Log, server: &mut Server<'_>, number: usize) {
    let session = format!("fresh-{number}");
    let Some(mut fresh) = Server::start(testbed, log, server.kind(), &session) else {
        return log.report_violation(&[&session], "a server cannot be started without faults");
    };
    let worked = work(server, &format!("after-{number}"))
        .and_then(|()| work(&mut fresh, &session))
        .and_then(|()| wait_for_same_descriptors(server, &mut fresh));
    match worked {
        Ok(true) => fresh.close(),
        Ok(false) => {
            let (old, new) = (server.descriptors(), fresh.descriptors());
            let what = format!("{} has open {old:?}, and a new one {new:?}", server.name());
            log.report_violation(&[&server.name()], what);
            fresh.close();
        }
        Err(Gone) => log.report_violation(&[&server.name()], "a server has ended without faults"),
    }
}

/// One action of each kind.
fn work(server: &mut Server<'_>, token: &str) -> Result<(), Gone> {
    let task = |number: usize| Task {
        token: format!("{token}-{number}"),
        agent: Agent::Fake,
        behaviour: Behaviour::AnswersAtOnce,
        access: None,
        is_isolated: false,
    };
    let kinds = [
        ActionKind::Many(vec![task(1), task(2)]),
        ActionKind::Background(task(3), Afterwards::Leave),
        ActionKind::One(task(4)),
        ActionKind::List,
    ];
    for kind in kinds {
        let (_, project) = server.kind();
        let (pace, cancelled_after, resumes) = (Pace::Eager, None, false);
        server.start_action(&Action { project, kind, pace, cancelled_after, resumes })?;
        server.finish_calls()?;
    }
    Ok(())
}

/// Waits until both have the same descriptors open. False if that does not happen.
fn wait_for_same_descriptors(one: &mut Server<'_>, other: &mut Server<'_>) -> Result<bool, Gone> {
    for _ in 0..100 {
        if one.descriptors() == other.descriptors() {
            return Ok(true);
        }
        one.poll(Duration::from_millis(50))?;
        other.poll(Duration::from_millis(50))?;
    }
    Ok(false)
}
