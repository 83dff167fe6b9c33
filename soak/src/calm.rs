//! After the weather: what is still under way ends by itself, and servers have nothing open that they
//! would not have without it.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::PATIENCE;
use crate::ledger::{BlowKind, Ledger};
use crate::place::Place;
use crate::plan::{Action, ActionKind, Afterwards, Pace, Project};
use crate::server::{Gone, Server};
use crate::shell::Shell;
use crate::task::{Agent, Behaviour, Task};
use crate::victims::victims;

/// Brings everything to its end, and complains about what does not come to it.
pub(crate) fn calm_down(place: &Place, ledger: &Ledger, servers: Vec<Server<'_>>) {
    ledger.note("CALM");
    for (number, mut server) in servers.into_iter().enumerate() {
        if server.is_there() {
            check_descriptors(place, ledger, &mut server, number);
        }
        server.close();
    }
    let mut shell = Shell::new(place, ledger);
    // Whatever lost its supervisor is found by whoever looks, and both lists are a look.
    for project in Project::ALL.into_iter().chain(Project::ALL) {
        shell.look(project, Pace::Eager);
        shell.look(project, Pace::Eager);
    }
    for project in Project::ALL {
        follow_doctor(place, ledger, &shell, project);
    }
    let deadline = ledger.now() + PATIENCE;
    while !victims(place).is_empty() && ledger.now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    for victim in victims(place) {
        let run_id = victim.run_id.as_deref().unwrap_or("no run");
        ledger.complain(&[run_id], format!("a process is left: {victim:?}"));
    }
}

/// Ends what nobody can find out about but `doctor`: what an agent has started whose supervisor was killed
/// and whose run directory was deleted, so that there is no run to be looked at any more. It tells the ids,
/// and to kill them.
fn follow_doctor(place: &Place, ledger: &Ledger, shell: &Shell<'_>, project: Project) {
    let ended = shell.execute(place.command(project, ["doctor", "--json"]), Pace::Eager);
    let document = ended.and_then(|ended| serde_json::from_str::<Value>(&ended.stdout).ok());
    let document = document.unwrap_or_default();
    let named = document["facts"]["store"]["leftoverProcesses"].as_array();
    let named: Vec<&Value> = named.into_iter().flatten().map(|process| &process["pid"]).collect();
    let pages = ledger.pages().clone();
    for victim in victims(place) {
        let is_lost = victim.run_id.as_deref().is_some_and(|run_id| {
            pages.is_struck(run_id, BlowKind::SupervisorKilled)
                && pages.is_removed(run_id, Duration::ZERO)
        });
        if is_lost && named.contains(&&json!(victim.pid)) {
            ledger.note(format!("as doctor says, {victim:?} is killed"));
            victim.signal(Signal::KILL);
        }
    }
}

/// Lets a server work in peace: afterwards it has open what it had open before, and what a new one
/// has open that has done the same.
fn check_descriptors(place: &Place, ledger: &Ledger, server: &mut Server<'_>, number: usize) {
    let session = format!("fresh-{number}");
    let Some(mut fresh) = Server::start(place, ledger, server.kind(), &session) else {
        return ledger.complain(&[&session], "a server cannot be started in peace");
    };
    let worked = work(server, &format!("calm-{number}"))
        .and_then(|()| work(&mut fresh, &session))
        .and_then(|()| await_same(server, &mut fresh));
    match worked {
        Ok(true) => fresh.close(),
        Ok(false) => {
            let (old, new) = (server.descriptors(), fresh.descriptors());
            let what = format!("{} has open {old:?}, and a new one {new:?}", server.name());
            ledger.complain(&[&server.name()], what);
            fresh.close();
        }
        Err(Gone) => ledger.complain(&[&server.name()], "a server has gone in peace"),
    }
}

/// A little of everything.
fn work(server: &mut Server<'_>, token: &str) -> Result<(), Gone> {
    let task = |number: usize| Task {
        token: format!("{token}-{number}"),
        agent: Agent::Fake,
        behaviour: Behaviour::Quick,
    };
    let kinds = [
        ActionKind::Many(vec![task(1), task(2)]),
        ActionKind::Background(task(3), Afterwards::Leave),
        ActionKind::One(task(4)),
        ActionKind::Look,
    ];
    for kind in kinds {
        let (_, project) = server.kind();
        server.begin(&Action { project, kind, pace: Pace::Eager, cancelled_after: None })?;
        server.settle()?;
    }
    Ok(())
}

/// Waits until both have the same open. False if that does not come to be.
fn await_same(one: &mut Server<'_>, other: &mut Server<'_>) -> Result<bool, Gone> {
    for _ in 0..100 {
        if one.descriptors() == other.descriptors() {
            return Ok(true);
        }
        one.attend(Duration::from_millis(50))?;
        other.attend(Duration::from_millis(50))?;
    }
    Ok(false)
}
