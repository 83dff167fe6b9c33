//! `bg wait`.

use rustix::process::Signal;
use serde_json::{Value, json};
use test_support::{Running, wait_until};

use super::{quick, start, start_working, status, wait_for_result, world};

#[test]
fn several_runs_are_waited_for_and_the_exit_code_says_whether_all_completed() {
    let world = world();
    let finished = start(&world, &quick());
    wait_for_result(&world, &finished);
    let failing = start(&world, &json!(["start", {"stderr": "oops"}, {"exit": 3}]));
    let running = start_working(&world);
    let all = Running::start(world.command(["bg", "wait", &finished, &failing, &running]));
    let good = Running::start(world.command(["bg", "wait", "--json", &running, &finished]));
    world.let_go();
    let good = good.finish();
    assert_eq!(good.code, Some(0), "{good:?}");
    let document = good.json();
    let rows: Vec<(&Value, &Value)> = document["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (&run["runId"], &run["status"]))
        .collect();
    let completed = json!("completed");
    assert_eq!(rows, [(&json!(running), &completed), (&json!(finished), &completed)]);
    assert_eq!(document["timedOut"], false);
    let all = all.finish();
    assert_eq!(all.code, Some(1), "{all:?}");
    let mut lines: Vec<&str> = all.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 3, "{all:?}");
    assert_eq!(lines[0], format!("{finished}  completed  scout"));
    assert!(lines[1].starts_with(&format!("{failing}  failed     scout — ")), "{all:?}");
    assert_eq!(lines[2], format!("{running}  completed  scout"));
    world.wait_until_nothing_is_left();
}

#[test]
fn when_the_time_is_over_the_runs_go_on() {
    let world = world();
    let id = start_working(&world);
    let finished = start(&world, &quick());
    wait_for_result(&world, &finished);
    let ran = world.run(&["bg", "wait", "--timeout", "0.2", &id, &finished]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains(&format!("error: the time is over after 0.2s; still running: {id}\n")),
        "{ran:?}"
    );
    let ran = world.run(&["bg", "wait", "--timeout", "0.2", "--json", &id]);
    assert_eq!((ran.code, &ran.json()["timedOut"]), (Some(1), &json!(true)));
    assert_eq!(ran.json()["runs"][0]["status"], "running");
    world.let_go();
    let ran = world.run(&["bg", "wait", "--timeout", "60", &id]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "found it\n"), "{ran:?}");
    assert_eq!(ran.stderr, format!("{id}  completed  scout\n"));
    world.wait_until_nothing_is_left();
}

#[test]
fn an_interrupt_ends_the_waiting_and_not_the_run() {
    let world = world();
    let id = start_working(&world);
    for signal in [Signal::INT, Signal::TERM] {
        let waiting = Running::start(world.command(["bg", "wait", &id]));
        let caught = format!("/proc/{}/status", waiting.pid());
        // SIGINT and SIGTERM are caught: their bits are 1 and 14.
        wait_until(|| {
            let status = std::fs::read_to_string(&caught).unwrap_or_default();
            let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t"));
            let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            mask.is_some_and(|mask| mask & (1 << 1) != 0 && mask & (1 << 14) != 0)
        });
        waiting.signal(signal);
        let ran = waiting.finish();
        assert_eq!(ran.code, Some(130), "{ran:?}");
        assert!(ran.stderr.contains("The runs go on."), "{ran:?}");
    }
    assert_eq!(status(&world, &id)["status"], "running");
    world.let_go();
    wait_for_result(&world, &id);
    world.wait_until_nothing_is_left();
}
