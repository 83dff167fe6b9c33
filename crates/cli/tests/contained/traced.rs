//! Runs without a cgroup, whose processes are found by their traces.

use std::fs;

use serde_json::json;
use test_support::{Ran, wait_until};

use crate::scene::{Account, Scene, kill};

const MAY_BE_LEFT: &str =
    "but others may be left, because its supervisor was killed, and it had no cgroup";

/// An agent with a process whose user is root, whoever runs it. Its number is in the file `setuid`.
pub(crate) fn setuid_agent(scene: &Scene) -> String {
    let shell = format!(
        "{} --reuid=0 --regid=0 --clear-groups sleep 1000 &
         echo $! > {}; touch {}; exec sleep 1000",
        scene.setuid_program().display(),
        scene.world.path("setuid").display(),
        scene.world.path("working").display(),
    );
    json!(["sh", "-c", shell]).to_string()
}

#[test]
fn another_users_process_is_named_and_the_stop_fails() {
    let scene = Scene::new(Account::Undelegated);
    let id = scene.start_background(&setuid_agent(&scene));
    let pid: u32 = fs::read_to_string(scene.world.path("setuid")).unwrap().trim().parse().unwrap();
    // Until it has become root, it can be stopped.
    wait_until(|| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap() == "sleep\n");
    let ran = scene.run(&["bg", "stop", &id]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.ends_with(&format!(": 1 process left: {pid}\n")), "{ran:?}");
    let result = scene.result();
    let warning = format!("1 process of the run could not be killed: {pid}");
    assert_eq!((&result["outcome"], &result["warnings"]), (&json!("cancelled"), &json!([warning])));
    assert_eq!(result["leftovers"]["processes"][0]["pid"], json!(pid));
    // Once it is gone, the same command proves it.
    kill(pid);
    scene.world.wait_until_nothing_is_left();
    let ran = scene.run(&["bg", "stop", &id]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.ends_with("(it had ended before): 0 processes left\n"), "{ran:?}");
}

#[test]
fn an_agent_with_capabilities_is_found_by_its_record() {
    let scene = Scene::new(Account::Undelegated);
    let agent = scene.capable_agent(&json!([{"touch": scene.world.path("working")}, "hang"]));
    let id = scene.start_background(&agent);
    scene.kill_supervisor();
    assert_eq!(scene.world.processes().len(), 1, "the death of its supervisor does not reach it");
    let ran = scene.run(&["bg", "stop", &id]);
    scene.assert_nothing_left();
    cannot_prove(&ran);
}

#[test]
fn what_cannot_be_proven_is_said_with_the_processes_that_may_be_left() {
    let scene = Scene::new(Account::RootWithoutCgroups);
    let id = scene.start_background(&scene.world.agent(&scene.hiding(&["setsid"], true)));
    assert_eq!(scene.cgroup(), None);
    let hidden = scene.hidden().unwrap();
    let parent = || {
        let stat = fs::read_to_string(format!("/proc/{hidden}/stat")).unwrap();
        let fields = stat.rsplit(')').next().unwrap().split_whitespace();
        fields.map(str::to_owned).nth(1).unwrap()
    };
    let agent = parent();
    scene.kill_supervisor();
    // As long as the agent is its parent, it is known to belong to the run.
    wait_until(|| parent() != agent);
    for again in [false, true] {
        let ran = scene.run(&["bg", "stop", &id]);
        cannot_prove(&ran);
        // Another test may hide a process at the same time.
        let (_, unsure) = ran.stdout.split_once("; these may be of this run: ").unwrap();
        let is_named =
            |mut pids: std::str::Split<'_, &str>| pids.any(|pid| pid == hidden.to_string());
        assert!(is_named(unsure.trim().split(", ")), "{again}: {ran:?}");
        let json = scene.run(&["bg", "stop", "--json", &id]).json();
        let run = &json["runs"][0];
        assert_eq!((&run["proven"], &run["left"]), (&json!(false), &json!(0)));
        assert!(run["unsurePids"].as_array().unwrap().contains(&json!(hidden)), "{run}");
    }
    assert!(scene.hidden().is_some(), "what may be another's is not touched");
    kill(hidden);
    scene.world.wait_until_nothing_is_left();
}

#[test]
fn a_process_that_has_rewritten_its_environment_is_found_by_its_session() {
    let scene = Scene::new(Account::RootWithoutCgroups);
    let running = scene.start(&scene.world.agent(&scene.hiding(&["hide_environment"], false)));
    wait_until(|| scene.world.path("working").exists());
    scene.kill_both(running);
    let hidden = scene.hidden().unwrap();
    scene.run(&["sessions", "list"]);
    scene.assert_nothing_left();
    let run = scene.result();
    assert_eq!(run["outcome"], "interrupted");
    assert!(!run["warnings"].to_string().contains(&hidden.to_string()), "{run}");
    let doubt = "its supervisor was killed, and it had no cgroup";
    assert_eq!(run["leftovers"]["doubt"], doubt, "something else may have hidden better");
}

/// The caller adopts everything, so that nothing can hide from it.
#[test]
fn a_caller_that_cleans_up_after_its_supervisor_proves_the_end() {
    let scene = Scene::new(Account::RootWithoutCgroups);
    let agent = scene.world.agent(&scene.hiding(&["setsid", "hide_environment"], true));
    let running = scene.start(&agent);
    wait_until(|| scene.world.path("working").exists());
    scene.kill_supervisor();
    let ran = running.finish();
    scene.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["outcome"]), (Some(1), &json!("interrupted")));
    assert_eq!(scene.result().get("leftovers"), None);
}

#[test]
fn a_proc_of_another_namespace_is_noticed_and_said() {
    let scene = Scene::new(Account::RootWithoutCgroups);
    let agent = scene.world.agent(&scene.hiding(&["setsid", "ignore_sigterm"], false));
    let program = scene.world.command([""; 0]).get_program().to_str().unwrap().to_owned();
    // The first process of the namespace takes everything with it when it ends.
    let shell = format!(
        "id=$({program} bg start --preset scout --agent \"$0\" go)
         while [ ! -e {} ]; do sleep 0.01; done
         {program} bg stop $id; echo code $?",
        scene.world.path("working").display()
    );
    let mut script = scene.world.command_of("unshare");
    script.args(["--pid", "--fork", "sh", "-c", &shell, &agent]);
    let ran = Ran::from(scene.behind_wrapper(script).output().unwrap());
    scene.world.wait_until_nothing_is_left();
    assert!(ran.stdout.ends_with("code 1\n"), "{ran:?}");
    let doubt = "/proc shows the processes of another pid namespace";
    assert!(ran.stdout.contains(&format!("others may be left, because {doubt}")), "{ran:?}");
    let warning = scene.result()["warnings"][0].as_str().unwrap().to_owned();
    assert!(warning.contains(doubt) && !warning.contains("0 processes"), "{warning}");
}

#[test]
fn the_doctor_says_what_holds_here() {
    let containment = |scene: &Scene| {
        let facts = scene.run(&["doctor", "--json"]).json()["facts"]["environment"].clone();
        facts["containment"].clone()
    };
    let root = containment(&Scene::new(Account::Root));
    let parent = process::Cgroup::parent().unwrap();
    assert_eq!(root["cgroup"], json!(parent));
    assert_eq!((&root["cgroupProblem"], &root["isProcOwn"]), (&json!(null), &json!(true)));
    let scene = Scene::new(Account::Undelegated);
    let user = containment(&scene);
    let problem = user["cgroupProblem"].as_str().unwrap();
    assert!(problem.contains("is not delegated to this user"), "{problem}");
    let page = scene.run(&["doctor"]).stdout;
    assert!(page.contains("✓ runs have no cgroup (the cgroup "), "{page}");
    let scene = Scene::new(Account::RootWithoutCgroups).in_another_pid_namespace();
    let page = scene.run(&["doctor"]).stdout;
    assert!(page.contains("(no cgroup hierarchy of version 2 is mounted)"), "{page}");
    assert!(page.contains("! /proc shows the processes of another pid namespace"), "{page}");
}

#[track_caller]
fn cannot_prove(ran: &Ran) {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains(&format!(": no process was found, {MAY_BE_LEFT}")), "{ran:?}");
}
