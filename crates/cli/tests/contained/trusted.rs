//! Records that name processes and cgroups of others.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use test_support::fake_agent::quick;
use test_support::wait_until;

use crate::scene::{Account, Scene};

/// A process that is no run's, the leader of a session, in a cgroup that is named like one of ours.
struct Stranger {
    child: std::process::Child,
    cgroup: PathBuf,
}

impl Stranger {
    fn new(scene: &Scene) -> Stranger {
        let name = format!("pi-subagents-stranger-{}", std::process::id());
        let cgroup = process::Cgroup::parent().unwrap().join(name);
        fs::create_dir(&cgroup).unwrap();
        let mut command = scene.world.command_of("setsid");
        let shell = format!("echo $$ > {}/cgroup.procs; exec sleep 1000", cgroup.display());
        let child = command.args(["sh", "-c", &shell]).spawn().unwrap();
        let stranger = Stranger { child, cgroup };
        wait_until(|| stranger.read("comm") == "sleep\n");
        stranger
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap()
    }

    fn start_time(&self) -> u64 {
        let stat = self.read("stat");
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[19].parse().unwrap()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        wait_until(|| fs::remove_dir(&self.cgroup).is_ok());
    }
}

/// Makes the record of a finished run one of a run that has lost its supervisor.
fn plant(run_dir: &Path, change: impl FnOnce(&mut Value, &mut Value)) {
    let read = |name: &str| fs::read_to_string(run_dir.join(name)).unwrap();
    let mut meta: Value = serde_json::from_str(&read("meta.json")).unwrap();
    let events = read("events.jsonl");
    let mut started: Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    change(&mut meta, &mut started);
    fs::write(run_dir.join("meta.json"), meta.to_string()).unwrap();
    fs::write(run_dir.join("events.jsonl"), format!("{started}\n")).unwrap();
    let _ = fs::remove_file(run_dir.join("result.json"));
}

#[test]
fn a_record_cannot_end_a_process_or_a_cgroup_of_others() {
    let scene = Scene::new(Account::Root);
    let mut stranger = Stranger::new(&scene);
    let (pid, start_time) = (stranger.child.id(), stranger.start_time());
    scene.start(&scene.world.agent(&quick())).finish();
    let run_dir = scene.world.only_run();
    let here = json!(process::pid_space());
    let above = stranger.cgroup.parent().unwrap().to_owned();
    let cgroups = [None, Some(stranger.cgroup.clone()), Some(above)];
    for (number, cgroup) in cgroups.iter().enumerate() {
        for (start_time, is_here) in [(start_time + 1, true), (start_time, false)] {
            plant(&run_dir, |meta, started| {
                meta["cgroup"] = json!(cgroup);
                started["pid"] = json!(pid);
                started["agent"]["startTime"] = json!(start_time);
                let elsewhere = json!("another-boot pid:[4026531836]");
                started["agent"]["pidSpace"] = if is_here { here.clone() } else { elsewhere };
            });
            let listed = scene.run(&["sessions", "list", "--json"]);
            let run = &listed.json()["sessions"][0]["runs"][0];
            assert_eq!(run["outcome"], "interrupted", "{number}: {listed:?}");
            assert!(stranger.child.try_wait().unwrap().is_none(), "{number}: it was ended");
            assert!(stranger.cgroup.exists());
        }
    }
    // With everything right it is the agent.
    plant(&run_dir, |meta, started| {
        meta["cgroup"] = json!(null);
        started["pid"] = json!(pid);
        started["agent"]["startTime"] = json!(start_time);
        started["agent"]["pidSpace"] = here;
        started["agent"]["inCgroup"] = json!(false);
    });
    scene.run(&["sessions", "list"]);
    wait_until(|| stranger.child.try_wait().unwrap().is_some());
}

/// A record of an earlier version names neither a cgroup nor when the agent was started.
#[test]
fn a_run_of_an_earlier_version_is_still_recovered() {
    let scene = Scene::new(Account::Root);
    let running = scene.start(&scene.world.agent(&scene.hiding(&["setsid"], false)));
    wait_until(|| scene.world.path("working").exists());
    scene.kill_both(running);
    let cgroup = scene.cgroup().unwrap();
    plant(&scene.world.only_run(), |meta, started| {
        meta.as_object_mut().unwrap().remove("cgroup");
        started.as_object_mut().unwrap().remove("agent");
    });
    scene.run(&["sessions", "list"]);
    scene.world.assert_nothing_left();
    assert_eq!(scene.result()["outcome"], "interrupted");
    assert_eq!(scene.result().get("leftovers"), None);
    fs::remove_dir(cgroup).unwrap();
}
