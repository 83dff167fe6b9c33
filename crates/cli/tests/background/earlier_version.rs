//! A supervisor of an earlier version that runs beside this program.
//!
//! The test plays the supervisor: it holds the lock of a record as the first version wrote it, and has a real agent.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use test_support::{Running, World, wait_until};

use super::{run_dir, status, world};

const ID: &str = "01a1e0c9-9599-7755-a8f9-d5236aca9e54";

struct EarlierSupervisor {
    events: File,
    agent: Agent,
    run: PathBuf,
}

/// It ends with the test, also if that fails.
struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl EarlierSupervisor {
    fn start(world: &World) -> EarlierSupervisor {
        let frozen = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/frozen/format-1");
        let run = run_dir(world, ID);
        fs::create_dir_all(&run).unwrap();
        let script = json!([{"touch": world.path("working")}, "hang"]);
        let mut command = world.command_of(env!("CARGO_BIN_EXE_fake-agent"));
        command.arg(script.to_string()).env("PI_SUBAGENTS_RUN", ID);
        command.env("PI_SUBAGENTS_RUN_DIR", &run).env("PI_SUBAGENTS_CHILD", "1");
        let agent = Agent(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
        wait_until(|| world.path("working").exists());
        let meta = fs::read(frozen.join("meta.json")).unwrap();
        let mut meta: Value = serde_json::from_slice(&meta).unwrap();
        meta["lifetime"] = json!("background");
        meta["cwd"] = json!(world.project());
        meta["environment"]["PI_SUBAGENTS_RUN_DIR"] = json!(run);
        fs::write(run.join("meta.json"), meta.to_string()).unwrap();
        fs::copy(frozen.join("prompt.md"), run.join("prompt.md")).unwrap();
        let mut events = File::create(run.join("events.jsonl")).unwrap();
        events.lock().unwrap();
        let text = fs::read_to_string(frozen.join("events.jsonl")).unwrap();
        for line in text.lines().take(3) {
            let mut record: Value = serde_json::from_str(line).unwrap();
            if record["type"] == "run_started" {
                record["pid"] = json!(agent.0.id());
            }
            writeln!(events, "{record}").unwrap();
        }
        EarlierSupervisor { events, agent, run }
    }

    /// Stops its agent, and ends the run as the first version did.
    fn end(mut self) {
        drop(self.agent);
        let ended = json!({"seq": 4, "at": 1_794_772_669_854_u64, "type": "run_ended", "outcome": "cancelled",
            "error": "Cancelled", "exitCode": null});
        writeln!(self.events, "{ended}").unwrap();
        let frozen = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/frozen/format-1/result.json");
        let mut result: Value = serde_json::from_slice(&fs::read(frozen).unwrap()).unwrap();
        result["outcome"] = json!("cancelled");
        result["error"] = json!("Cancelled");
        result["output"] = json!("I look around.");
        let temporary = self.run.join(".result");
        fs::write(&temporary, result.to_string()).unwrap();
        fs::rename(temporary, self.run.join("result.json")).unwrap();
    }
}

#[test]
fn a_run_of_an_earlier_supervisor_is_listed_and_stopped_by_it() {
    let world = world();
    let supervisor = EarlierSupervisor::start(&world);
    let run = status(&world, ID);
    assert_eq!(run["status"], "running", "{run}");
    let shown = world.run(&["sessions", "show", "b4eb7c3df95a4df6"]);
    assert!(shown.stdout.contains("I look around."), "{shown:?}");
    // Nothing is done that only its supervisor may do.
    assert_eq!(world.run(&["sessions", "prune", "--keep", "0", "--json"]).json()["removed"], 0);
    let stopping = Running::start(world.command(["bg", "stop", ID]));
    wait_until(|| supervisor.run.join("stop-request").exists());
    assert!(!supervisor.run.join("result.json").exists());
    supervisor.end();
    let stopped = stopping.finish();
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    assert!(stopped.stdout.contains("aborted"), "{stopped:?}");
    assert_eq!(status(&world, ID)["outcome"], "cancelled");
    world.assert_nothing_left();
}

#[test]
fn a_run_whose_earlier_supervisor_was_killed_is_ended_with_its_agent() {
    let world = world();
    let EarlierSupervisor { events, mut agent, run } = EarlierSupervisor::start(&world);
    assert_eq!(status(&world, ID)["status"], "running");
    drop(events);
    let listing = Running::start(world.command(["bg", "list", "--all", "--everyone", "--json"]));
    // The agent is a child of the test, which has to reap it.
    wait_until(|| agent.0.try_wait().unwrap().is_some());
    let listed = listing.finish().json();
    assert_eq!(listed["runs"][0]["outcome"], "interrupted", "{listed}");
    let text = fs::read_to_string(run.join("events.jsonl")).unwrap();
    assert!(text.lines().last().unwrap().contains("run_ended"), "{text}");
    world.assert_nothing_left();
}
