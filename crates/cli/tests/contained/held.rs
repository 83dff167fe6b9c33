//! Runs that have a cgroup.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use test_support::fake_agent::quick;
use test_support::wait_until;

use crate::scene::{Account, Scene};

const WITH_CGROUP: [Account; 2] = [Account::Root, Account::Delegated];

#[test]
fn every_run_has_its_own_cgroup_and_leaves_none() {
    for account in WITH_CGROUP {
        let scene = Scene::new(account);
        let id = scene.start_background(&scene.world.agent(&scene.world.working()));
        let cgroup = scene.cgroup().unwrap();
        assert!(cgroup.ends_with(format!("pi-subagents-{id}")), "{}", cgroup.display());
        let members = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap();
        let supervisor = scene.world.supervisor().as_raw_nonzero().to_string();
        assert_eq!(members.lines().count(), 1, "the agent: {members}");
        assert_ne!(members.trim(), supervisor);
        scene.world.let_go();
        let waited = scene.run(&["bg", "wait", &id]);
        assert_eq!((waited.code, waited.stdout.as_str()), (Some(0), "found it\n"), "{waited:?}");
        scene.world.wait_until_nothing_is_left();
        scene.assert_nothing_left();
        assert_eq!(scene.result().get("leftovers"), None);
    }
}

#[test]
fn a_foreground_run_leaves_no_cgroup_however_it_ends() {
    for (script, code) in [
        (quick(), Some(0)),
        (json!([{"exit": 3}]), Some(1)),
        (json!([{"spawn": {"steps": ["setsid", "hang"]}}, {"say": "done"}]), Some(0)),
    ] {
        let scene = Scene::new(Account::Root);
        let ran = scene.start(&scene.world.agent(&script)).finish();
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(scene.cgroup().is_some());
        scene.assert_nothing_left();
    }
    let scene = Scene::new(Account::Root);
    let ran = scene.start(r#"["/no/such/program"]"#).finish();
    assert_eq!(ran.task()["outcome"], "spawn_failure", "{ran:?}");
    assert!(ran.task()["error"].as_str().unwrap().contains("does not exist"), "{ran:?}");
    scene.assert_nothing_left();
}

/// SIGTERM reaches each process once: a second one means more to some programs.
#[test]
fn everything_in_the_cgroup_is_asked_before_it_is_killed() {
    let scene = Scene::new(Account::Root);
    let said = scene.world.path("said");
    let shell = format!(
        "trap 'echo asked >> {said}' TERM
         setsid sh -c 'trap \"echo asked >> {said}; exit\" TERM; touch {ready}; while :; do sleep 0.1; done' &
         while [ ! -e {ready} ]; do sleep 0.01; done
         touch {working}
         wait; wait",
        said = said.display(),
        ready = scene.world.path("ready").display(),
        working = scene.world.path("working").display(),
    );
    let id = scene.start_background(&json!(["sh", "-c", shell]).to_string());
    let ran = scene.run(&["bg", "stop", &id]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.ends_with(": 0 processes left\n"), "{ran:?}");
    assert_eq!(fs::read_to_string(said).unwrap(), "asked\nasked\n");
    scene.assert_nothing_left();
}

/// Neither its environment, nor its session, nor its parent says where it belongs.
#[test]
fn a_process_that_hides_is_stopped_after_its_supervisor_was_killed() {
    for account in WITH_CGROUP {
        let scene = Scene::new(account);
        let agent = scene.world.agent(&scene.hiding(&["setsid", "ignore_sigterm"], true));
        let id = scene.start_background(&agent);
        scene.kill_supervisor();
        let ran = scene.run(&["bg", "stop", &id]);
        scene.assert_nothing_left();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.ends_with(": 0 processes left\n"), "{ran:?}");
        assert_eq!(scene.result()["error"], "Interrupted: the supervisor of this run died");
        assert_eq!(scene.result().get("leftovers"), None);
        assert_eq!(scene.result()["warnings"], json!([]));
    }
}

#[test]
fn a_process_that_hides_is_stopped_after_parent_and_supervisor_were_killed() {
    for steps in [["setsid", "hide_environment"].as_slice(), &["hide_environment"]] {
        for is_empty in [false, true] {
            let scene = Scene::new(Account::Root);
            let running = scene.start(&scene.world.agent(&scene.hiding(steps, is_empty)));
            wait_until(|| scene.world.path("working").exists());
            scene.kill_both(running);
            assert!(scene.cgroup().unwrap().exists());
            scene.run(&["sessions", "list"]);
            scene.assert_nothing_left();
            let run = scene.result();
            assert_eq!((&run["outcome"], &run["warnings"]), (&json!("interrupted"), &json!([])));
        }
    }
}

#[test]
fn a_caller_cleans_up_after_its_supervisor_by_the_cgroup() {
    for account in WITH_CGROUP {
        let scene = Scene::new(account);
        let agent = scene.world.agent(&scene.hiding(&["setsid", "hide_environment"], true));
        let running = scene.start(&agent);
        wait_until(|| scene.world.path("working").exists());
        scene.kill_supervisor();
        let ran = running.finish();
        scene.assert_nothing_left();
        assert_eq!((ran.code, &ran.task()["outcome"]), (Some(1), &json!("interrupted")));
        assert_eq!(ran.task()["warnings"], json!([]));
    }
}

#[test]
fn another_users_process_is_stopped_in_a_delegated_cgroup() {
    let scene = Scene::new(Account::Delegated);
    let id = scene.start_background(&crate::traced::setuid_agent(&scene));
    let ran = scene.run(&["bg", "stop", &id]);
    scene.assert_nothing_left();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.ends_with(": 0 processes left\n"), "{ran:?}");
}

#[test]
fn an_agent_with_capabilities_is_stopped_in_a_delegated_cgroup() {
    let scene = Scene::new(Account::Delegated);
    let agent = scene.capable_agent(&json!([{"touch": scene.world.path("working")}, "hang"]));
    let id = scene.start_background(&agent);
    scene.kill_supervisor();
    assert_eq!(scene.world.processes().len(), 1, "the death of its supervisor does not reach it");
    let ran = scene.run(&["bg", "stop", &id]);
    scene.assert_nothing_left();
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// The members of a cgroup are told in the numbers of the namespace that asks.
#[test]
fn in_another_pid_namespace_without_its_proc_the_cgroup_is_enough() {
    let scene = Scene::new(Account::Root).in_another_pid_namespace();
    let script = json!([
        {"spawn": {"steps": ["setsid", {"touch": scene.world.path("hidden")}, "hang"]}},
        {"await": scene.world.path("hidden")},
        {"say": "done"},
    ]);
    let ran = scene.start(&scene.world.agent(&script)).finish();
    scene.assert_nothing_left();
    let task = ran.task();
    assert_eq!(
        (ran.code, &task["output"], &task["warnings"]),
        (Some(0), &json!("done"), &json!([]))
    );
    assert_eq!(scene.result().get("leftovers"), None);
    let took = task["durationMs"].as_u64().unwrap();
    assert!(took < 5_000, "SIGTERM reached what it left: {took} ms");
}

#[test]
fn where_no_cgroup_can_be_made_the_run_goes_on_without() {
    let scene = Scene::where_no_cgroup_can_be_made();
    let ran = scene.start(&scene.world.agent(&quick())).finish();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("found it")), "{ran:?}");
    assert_eq!(started(&scene)["agent"]["inCgroup"], json!(false));
    scene.assert_nothing_left();
    let scene = Scene::new(Account::Root);
    let ran = scene.start(&scene.world.agent(&quick())).finish();
    assert_eq!((ran.code, &started(&scene)["agent"]["inCgroup"]), (Some(0), &json!(true)));
}

/// Also a process that was put there by another program, and is no descendant of the supervisor.
#[test]
fn a_stranger_that_joins_the_cgroup_belongs_to_the_run() {
    let scene = Scene::new(Account::Root);
    let id = scene.start_background(&scene.world.agent(&scene.world.working()));
    let cgroup = scene.cgroup().unwrap();
    let mut joining = scene.world.command_of("sh");
    joining.args(["-c", &format!("echo $$ > {}/cgroup.procs; exec sleep 1000", cgroup.display())]);
    let mut joining = joining.spawn().unwrap();
    wait_until(|| {
        let members = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap();
        members.lines().count() == 2
    });
    assert_eq!(scene.run(&["bg", "stop", &id]).code, Some(0));
    let ended = joining.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(Signal::TERM.as_raw()));
    scene.assert_nothing_left();
}

/// Nothing but its name and the missing lock of its supervisor tells that it is of no use.
#[test]
fn a_cgroup_whose_record_is_gone_is_found_and_removed() {
    for account in WITH_CGROUP {
        let scene = Scene::new(account);
        let running = scene.start(&scene.world.agent(&scene.world.working()));
        wait_until(|| scene.world.path("working").exists());
        let cgroup = scene.cgroup().unwrap();
        let is_told = || {
            let doctor = scene.run(&["doctor", "--json"]).json();
            let told = doctor["facts"]["store"]["emptyCgroups"].as_array().unwrap().clone();
            told.contains(&json!(cgroup))
        };
        let prune = || assert_eq!(scene.run(&["sessions", "prune"]).code, Some(0));
        prune();
        assert!(cgroup.exists() && !is_told(), "a cgroup that is in use was taken for another");
        let run = scene.world.only_run();
        scene.kill_both(running);
        fs::remove_dir_all(run).unwrap();
        scene.world.wait_until_nothing_is_left();
        assert!(cgroup.exists() && is_told(), "{}", cgroup.display());
        prune();
        assert!(!cgroup.exists() && !is_told(), "{}", cgroup.display());
    }
}

fn started(scene: &Scene) -> Value {
    let events = fs::read_to_string(scene.world.only_run().join("events.jsonl")).unwrap();
    serde_json::from_str(events.lines().next().unwrap()).unwrap()
}
