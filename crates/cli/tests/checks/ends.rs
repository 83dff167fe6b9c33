//! Stops, deaths and kills while a check runs: nothing is left, and the outcome is true.

use std::fs;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use test_support::fake_agent::quick;
use test_support::{Running, World, kill_and_wait, wait_until};

use super::{builtin, findings, outcome, saying};
use crate::builtin::harness::Builtin;
use crate::world;

/// A check that has begun and does not end, with a part in a session of its own.
const ENDLESS: &str = "setsid sleep 100000 & touch checking; sleep 100000; true";

/// A run whose work is being checked: of an agent that waits, or of one that has exited.
struct Checked {
    builtin: Option<Builtin>,
    own: Option<World>,
}

impl Checked {
    fn both() -> [Checked; 2] {
        let waiting = Checked { builtin: Some(builtin(&saying(&["done"]))), own: None };
        [waiting, Checked { builtin: None, own: Some(world()) }]
    }

    fn world(&self) -> &World {
        self.builtin.as_ref().map_or_else(|| self.own.as_ref().unwrap(), |builtin| &builtin.world)
    }

    fn start(&self) -> Running {
        let running = match &self.builtin {
            Some(builtin) => {
                let all = ["run", "--json", "--agent", "builtin", "--check", ENDLESS, "go"];
                Running::start(builtin.world.command(all))
            }
            None => self.world().start(&quick(), &["--check", ENDLESS]),
        };
        wait_until(|| self.world().project().join("checking").exists());
        running
    }
}

#[test]
fn a_run_can_be_stopped_while_its_work_is_checked() {
    for checked in Checked::both() {
        let running = checked.start();
        running.signal(Signal::INT);
        let ran = running.finish();
        assert_eq!(outcome(&ran).0, "cancelled", "{ran:?}");
        assert!(!ran.task()["output"].as_str().unwrap().is_empty(), "what it said is kept");
        assert_eq!(ran.task()["check"]["problem"], "stopped before it had ended");
        assert!(findings(&ran.run_dir()).ends_with(&["ended cancelled".to_owned()]));
        checked.world().assert_nothing_left();
    }
}

#[test]
fn the_death_of_the_caller_ends_a_check() {
    for checked in Checked::both() {
        let running = checked.start();
        let pid = Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap();
        kill_and_wait(pid);
        checked.world().wait_until_nothing_is_left();
        let run_dir = checked.world().only_run();
        wait_until(|| run_dir.join("result.json").exists());
        let result = fs::read(run_dir.join("result.json")).unwrap();
        let result: Value = serde_json::from_slice(&result).unwrap();
        assert_eq!(result["outcome"], "interrupted", "{result}");
        drop(running.finish());
    }
}

#[test]
fn the_death_of_the_supervisor_ends_a_check() {
    for checked in Checked::both() {
        let running = checked.start();
        kill_and_wait(checked.world().supervisor());
        let ran = running.finish();
        assert_eq!(outcome(&ran).0, "interrupted", "{ran:?}");
        assert!(!ran.task()["output"].as_str().unwrap().is_empty(), "what it said is kept");
        checked.world().wait_until_nothing_is_left();
    }
}

#[test]
fn a_check_killed_by_a_signal_has_failed() {
    let world = world();
    let ran = world.play(&quick(), &["--check", "kill -9 $$"]);
    let error = "The check `kill -9 $$` failed (killed by signal 9)";
    assert_eq!(outcome(&ran), ("check_failed".into(), error.into()), "{ran:?}");
    world.assert_nothing_left();
}

#[test]
fn an_agent_that_dies_while_its_work_is_checked_is_not_told() {
    let builtin = builtin(&saying(&["done", "never"]));
    let check = "touch checking; until [ -e go ]; do sleep 0.02; done; exit 1";
    let arguments = ["run", "--json", "--agent", "builtin", "--check", check, "go"];
    let running = Running::start(builtin.world.command(arguments));
    wait_until(|| builtin.project("checking").exists());
    let is_agent = |(_, words): &(u32, String)| words.contains(" --mode ");
    let agent = builtin.world.processes().into_iter().find(is_agent).unwrap().0;
    kill_and_wait(Pid::from_raw(i32::try_from(agent).unwrap()).unwrap());
    fs::write(builtin.project("go"), "").unwrap();
    let ran = running.finish();
    // It had said all that counts.
    assert_eq!(outcome(&ran).0, "check_failed", "{ran:?}");
    assert_eq!(ran.task()["output"], json!("done"));
    assert_eq!(builtin.asked().len(), 1);
    builtin.world.assert_nothing_left();
}

#[test]
fn a_background_run_is_checked() {
    let builtin = builtin(&saying(&["done"]));
    let all = ["bg", "start", "--agent", "builtin", "--check", "echo fine", "go"];
    assert_eq!(builtin.world.run(&all).code, Some(0));
    let waited = builtin.world.run(&["bg", "wait", "@last"]);
    assert_eq!(waited.code, Some(0), "{waited:?}");
    let status = builtin.world.run(&["bg", "status", "--json", "@last"]).stdout;
    assert!(status.contains("\"passed\": true") || status.contains("\"passed\":true"), "{status}");
    builtin.world.wait_until_nothing_is_left();
}
