//! Agents that have to be stopped, and what they leave.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::json;
use test_support::wait_until;

use crate::{PiWorld, bash, events};

#[test]
fn a_model_that_hangs_is_stopped_at_the_timeout() {
    let pi = PiWorld::new(&json!([{"hang": true}]));
    // Long enough for pi to start on a busy machine.
    let ran = pi.run(&["--timeout", "10"]);
    assert_eq!((ran.code, &ran.task()["outcome"]), (Some(1), &json!("timeout")), "{ran:#?}");
    pi.asked_once();
}

#[test]
fn the_fifth_identical_call_is_a_loop() {
    // The fifth one waits to be stopped, so that there is never a sixth question.
    let again = "echo >> calls; [ $(wc -l < calls) -lt 5 ] || sleep 600";
    let pi = PiWorld::new(&json!(vec![bash(again); 8]));
    let ran = pi.run(&[]);
    let task = ran.task();
    assert_eq!((ran.code, &task["outcome"]), (Some(1), &json!("loop")), "{ran:#?}");
    assert_eq!(events(&task, "tool_call").len(), 5);
    assert_eq!(pi.asked().len(), 5);
}

#[test]
fn an_interrupt_ends_the_command_that_is_under_way() {
    let pi = PiWorld::new(&json!([bash("echo $$ > started; sleep 600"), {"text": "never"}]));
    let running = pi.start(&[]);
    let started = pi.world.project().join("started");
    let read_pid = || fs::read_to_string(&started).unwrap_or_default();
    wait_until(|| read_pid().ends_with('\n'));
    // The session is the sixth field, the fourth after the name.
    let stat = fs::read_to_string(format!("/proc/{}/stat", read_pid().trim())).unwrap();
    let session = stat.rsplit_once(") ").unwrap().1.split(' ').nth(3);
    assert_eq!(session, Some(read_pid().trim()), "the command is not in a session of its own");
    running.signal(Signal::INT);
    let ran = running.finish();
    pi.world.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["outcome"]), (Some(130), &json!("cancelled")), "{ran:#?}");
    pi.asked_once();
}

#[test]
fn what_a_command_leaves_in_a_session_of_its_own_is_stopped() {
    let leave = "setsid sh -c 'echo $$ > one; exec sleep 600' < /dev/null > /dev/null 2>&1 & \
        env -i setsid sh -c 'echo $$ > two; exec sleep 600' < /dev/null > /dev/null 2>&1 & \
        until [ -s one ] && [ -s two ]; do sleep 0.02; done";
    let pi = PiWorld::new(&json!([bash(leave), {"text": "done"}]));
    let task = pi.complete(&[]);
    assert_eq!(task["output"], "done");
    for name in ["one", "two"] {
        let pid = fs::read_to_string(pi.world.project().join(name)).unwrap();
        assert!(!Path::new("/proc").join(pid.trim()).exists(), "{name} is left");
    }
    // On a busy machine pi lingers so long after its last word that it is stopped with the rest.
    let stopping = events(&task, "stopping");
    assert_eq!(stopping.len(), 1);
    assert!(stopping[0]["cause"] == "leftovers" || stopping[0]["cause"] == "last_word");
}
