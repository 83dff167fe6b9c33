//! After the faults: what is still running ends by itself, and servers have no more descriptors open than they
//! would have without faults.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::log::{HitKind, Log};
use crate::plan::{Action, ActionKind, Afterwards, Pace, Project, Role};
use crate::server::{Gone, Server};
use crate::shell::Shell;
use crate::targets::{Target, targets};
use crate::task::{Behaviour, Task};
use crate::testbed::Testbed;
use crate::{PATIENCE, batches};

/// Ends everything, and reports what does not end.
pub(crate) fn wind_down(
    testbed: &Testbed,
    log: &Log,
    servers: Vec<Server<'_>>,
    end_fleet: impl FnOnce(),
) {
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
    // What carries out and shows runs ends when there are none.
    let stays = |target: &Target| matches!(target.role, Role::Worker | Role::Tmux);
    wait_until_none(testbed, log, |target| !stays(target));
    batches::collect(testbed, log);
    end_fleet();
    end_tmux(testbed, log);
    wait_until_none(testbed, log, |_| true);
}

/// Waits until no such process is left, and reports each that is.
fn wait_until_none(testbed: &Testbed, log: &Log, is_such: impl Fn(&Target) -> bool) {
    let find = || targets(testbed).into_iter().filter(&is_such).collect::<Vec<Target>>();
    let deadline = log.now() + PATIENCE;
    while !find().is_empty() && log.now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    for target in find() {
        let run_id = target.run_id.as_deref().unwrap_or("no run");
        log.report_violation(&[run_id], format!("a process is left: {target:?}"));
    }
}

/// Ends the server of tmux, which must have closed the panes of all runs.
fn end_tmux(testbed: &Testbed, log: &Log) {
    let Some(panes) = &testbed.panes else { return };
    let deadline = log.now() + PATIENCE;
    let mut opened = panes.opened(&testbed.world);
    while opened.as_ref().is_ok_and(|opened| !opened.is_empty()) && log.now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
        opened = panes.opened(&testbed.world);
    }
    if !opened.as_ref().is_ok_and(Vec::is_empty) {
        log.report_violation(&[], format!("the panes that are left: {opened:?}"));
    }
    panes.kill();
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
