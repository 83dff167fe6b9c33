//! However the program is ended or stopped, the terminal can be used afterwards.

use rustix::process::Signal;
use serde_json::json;
use test_support::wait_until;

use super::terminal::Terminal;
use super::{delegate, let_go, run, working, world};

#[test]
fn ctrl_c_once_stops_all_agents() {
    let world = world();
    let mut terminal = Terminal::start(&delegate(&world, &working(), 6, 4), 80, 24);
    terminal.wait_for("cargo test");
    terminal.press("\x03");
    assert_eq!(terminal.finish(), Some(130));
    terminal.assert_usable();
    world.assert_nothing_left();
    let record = terminal.record();
    let ends = record.lines().filter(|line| line.starts_with("✗ agent "));
    assert_eq!(ends.count(), 6, "{record}");
    assert_eq!(record.lines().next(), Some("Stopping. Interrupt again to stop at once."));
}

#[test]
fn ctrl_c_twice_does_not_wait() {
    let world = world();
    let script = json!(["start", "ignore_sigterm", {"message": {"text": "never", "stop": "toolUse"}}, "hang"]);
    let mut terminal = Terminal::start(&run(&world, &script, &[]), 80, 24);
    terminal.wait_for("never");
    terminal.press("\x03");
    terminal.wait_for("Interrupt again");
    terminal.press("\x03");
    assert_eq!(terminal.finish(), Some(130));
    terminal.assert_usable();
    world.assert_nothing_left();
}

#[test]
fn a_signal_to_end_stops_all_agents() {
    for signal in [Signal::TERM, Signal::HUP] {
        let world = world();
        let mut terminal = Terminal::start(&delegate(&world, &working(), 2, 2), 80, 24);
        terminal.wait_for("cargo test");
        terminal.signal(signal);
        assert_eq!(terminal.finish(), Some(130));
        terminal.assert_usable();
        world.assert_nothing_left();
    }
}

#[test]
fn a_stopped_program_gives_the_terminal_back_and_takes_it_again() {
    let world = world();
    let mut terminal = Terminal::start(&delegate(&world, &working(), 2, 2), 80, 24);
    terminal.expect("stopped-80x24");
    let is_stopped = |terminal: &Terminal| {
        let path = format!("/proc/{}/stat", terminal.pid().as_raw_nonzero());
        let stat = std::fs::read_to_string(path).unwrap();
        stat.rsplit_once(')').unwrap().1.trim_start().starts_with('T')
    };
    terminal.press("\x1a");
    wait_until(|| is_stopped(&terminal));
    terminal.wait_until("empty", |terminal| terminal.text().trim().is_empty());
    terminal.assert_usable();
    terminal.signal(Signal::CONT);
    terminal.expect("stopped-80x24");
    let_go(&world, 1..=2);
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_usable();
    world.assert_nothing_left();
}
