//! The real pi in both of its modes: RPC where it is named, and JSON where it is given as an array.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::{Ran, kill_and_wait, wait_until};

use crate::{PiWorld, bash, events};

const MODES: [&str; 2] = ["pi", "[\"pi\"]"];
const ENDLESS: &str = "touch working; sleep 100000";

/// A run that has begun its command.
fn in_a_command(agent: &str) -> (PiWorld, test_support::Running) {
    let pi = PiWorld::new(&json!([bash(ENDLESS), {"text": "never"}]));
    let run = pi.start(&["--agent", agent]);
    wait_until(|| pi.world.project().join("working").exists());
    (pi, run)
}

fn outcome(ran: &Ran) -> (Option<i32>, Value) {
    (ran.code, ran.task()["outcome"].clone())
}

#[test]
fn its_last_word_and_its_exit_are_the_same() {
    for agent in MODES {
        let pi = PiWorld::new(&json!([bash("echo hi"), {"text": "done"}]));
        let task = pi.complete(&["--agent", agent]);
        assert_eq!(task["output"], "done");
        let ended = events(&task, "run_ended").pop().unwrap();
        // On a busy machine it lingers so long after its last word that it is stopped.
        if events(&task, "stopping").is_empty() {
            assert_eq!(ended["exitCode"], 0, "{agent}: {ended}");
        }
        let refused = PiWorld::new(&json!([{"error": 400, "error_message": "bad thing"}]));
        let ran = refused.run(&["--agent", agent]);
        assert_eq!(outcome(&ran), (Some(1), json!("provider_error")), "{agent}: {ran:#?}");
        assert!(ran.task()["error"].to_string().contains("bad thing"), "{agent}: {ran:#?}");
    }
}

#[test]
fn a_signal_to_it_is_no_success() {
    for agent in MODES {
        let (pi, run) = in_a_command(agent);
        let log = fs::read_to_string(pi.world.only_run().join("events.jsonl")).unwrap();
        let started: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
        let pid = i32::try_from(started["pid"].as_i64().unwrap()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
        let ran = run.finish();
        assert_eq!(outcome(&ran), (Some(1), json!("non_zero_exit")), "{agent}: {ran:#?}");
        assert!(ran.task()["error"].to_string().contains("143"), "{agent}: {ran:#?}");
        pi.world.wait_until_nothing_is_left();
    }
}

/// A background run has no parent that would clean up, and nothing of ours looks at it.
#[test]
fn the_end_of_its_input_ends_it_and_its_command_when_the_supervisor_is_killed() {
    let pi = PiWorld::new(&json!([bash(ENDLESS), {"text": "never"}]));
    let preset = "---\nname: scout\ndescription: Looks around.\nmodel: fake/fake-1\n---\n";
    pi.agent_file("subagents/scout.md", preset);
    let start = ["bg", "start", "--preset", "scout", "--agent", "pi", "go"];
    let started = Ran::from(pi.command(&start).output().unwrap());
    assert_eq!(started.code, Some(0), "{started:?}");
    wait_until(|| pi.world.project().join("working").exists());
    kill_and_wait(pi.world.supervisor());
    pi.world.wait_until_nothing_is_left();
}
