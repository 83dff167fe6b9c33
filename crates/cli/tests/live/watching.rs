//! `watch`.

use std::process::Stdio;

use serde_json::{Value, json};
use test_support::{Ran, World};

use super::terminal::{Terminal, assert_record};
use super::{delegate, let_go, on_terminal, room, working, world};

fn start(world: &World, number: usize) -> String {
    start_with(world, &working(), number)
}

fn start_with(world: &World, script: &Value, number: usize) -> String {
    let (agent, room) = (world.agent(script), room(world, number));
    let name = format!("agent {number}");
    let arguments = ["bg", "start", "--preset", "scout", "--agent", &agent];
    let more = ["--name", &name, "--cwd", &room, "look around"];
    let ran = Ran::from(world.command(arguments.into_iter().chain(more)).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout.trim().to_owned()
}

fn watch(world: &World, arguments: &[&str]) -> Terminal {
    let all = ["watch"].into_iter().chain(arguments.iter().copied());
    Terminal::start(&on_terminal(world.command(all)), 80, 24)
}

#[test]
fn one_attaches_and_detaches_at_will() {
    let world = world();
    start(&world, 1);
    let mut terminal = watch(&world, &[]);
    terminal.expect("watch-1");
    // What is started later appears.
    start(&world, 2);
    terminal.expect("watch-2");
    terminal.press("q");
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_usable();
    assert_eq!(terminal.record(), "Stopped watching. The runs continue.\n");

    let mut again = watch(&world, &[]);
    again.expect("watch-2");
    let mut other = watch(&world, &[]);
    other.expect("watch-2");
    other.press("\x03");
    assert_eq!(other.finish(), Some(130));
    other.assert_usable();
    let_go(&world, [1, 2]);
    assert_eq!(again.finish(), Some(0), "it ends with the runs");
    again.assert_usable();
    let record = again.record();
    assert!(record.contains("✓ agent 1 "), "{record}");
    assert!(record.contains("✓ agent 2 "), "{record}");
    world.wait_until_nothing_is_left();
}

#[test]
fn a_run_is_stopped_after_a_question() {
    let world = world();
    start(&world, 1);
    let id = start(&world, 2);
    let mut terminal = watch(&world, &[]);
    terminal.expect("watch-2");
    terminal.press("jjs");
    terminal.wait_for("Stop agent 2? y/n");
    terminal.press("n");
    terminal.wait_for("? keys");
    terminal.press("sy");
    terminal.wait_for("✗ agent 2");
    let_go(&world, [1]);
    assert_eq!(terminal.finish(), Some(1));
    terminal.assert_usable();
    world.wait_until_nothing_is_left();
    let status = world.run(&["bg", "status", &id]);
    assert!(status.stdout.contains("aborted"), "{status:?}");
}

#[test]
fn without_a_terminal_there_are_lines_until_the_end() {
    let world = world();
    let id = start(&world, 1);
    let mut command = world.command(["watch", &id[..20]]);
    let watching = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let_go(&world, [1]);
    let ran = Ran::from(watching.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("✓ agent 1: completed (session: "), "{ran:?}");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(
        lines,
        [
            "agent 1: I look around first.",
            "agent 1: Listing src",
            "agent 1: Finished listing src",
            "agent 1: Two files. Now the tests.",
            "agent 1: cargo test",
            "agent 1: cargo test",
            "agent 1: Command finished: cargo test",
            "agent 1: All tests pass.",
        ]
    );
    world.wait_until_nothing_is_left();
    let nothing = world.run(&["watch"]);
    assert_eq!((nothing.code, nothing.stderr.as_str()), (Some(0), "Nothing running.\n"));
    let ended = world.run(&["watch", &id]);
    assert_eq!((ended.code, ended.stdout), (Some(0), ran.stdout), "it can be looked at later");
    let unknown = world.run(&["watch", "nope"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}

#[test]
fn what_another_shell_runs_is_watched_and_stopped_too() {
    let world = world();
    let mut owner = Terminal::start(&delegate(&world, &working(), 2, 2), 80, 24);
    owner.wait_for("cargo test");
    let mut terminal = watch(&world, &[]);
    terminal.wait_for("2 running");
    terminal.wait_for("cargo test");
    terminal.press("jsy");
    terminal.wait_for("1 failed");
    owner.wait_for("1 failed");
    let_go(&world, [1, 2]);
    assert_eq!(terminal.finish(), Some(1));
    assert_eq!(owner.finish(), Some(1));
    terminal.assert_usable();
    owner.assert_usable();
    world.wait_until_nothing_is_left();
}

#[test]
fn a_session_is_read_from_its_prompt_to_its_answer() {
    let world = world();
    let id = start(&world, 1);
    let_go(&world, [1]);
    world.wait_until_nothing_is_left();
    let show = |rows: u16| {
        let command = on_terminal(world.command(["sessions", "show", &id]));
        Terminal::start(&command, 80, rows)
    };
    // What fits into the screen is printed, and stays.
    let mut short = show(40);
    assert_eq!(short.finish(), Some(0));
    assert_record(&short, "session-printed");
    let mut long = show(12);
    long.expect("session-opened");
    long.press("G");
    long.wait_for("All tests pass.");
    long.press("q");
    assert_eq!(long.finish(), Some(0));
    long.assert_usable();
    assert_eq!(long.record(), "\n", "nothing is left of it");
}

/// Everything that can be done in an opened agent, of which the answer so far is "Nine tests."
fn read_it(terminal: &mut Terminal) {
    terminal.press("g");
    terminal.wait_for("▸ 6 more lines");
    terminal.press("o");
    terminal.wait_for("│ test 9 ... ok");
    terminal.press("o");
    terminal.wait_for("▸ 6 more lines");
    // What is found is unfolded.
    terminal.press("/test 8\r");
    terminal.wait_for("│ test 8 ... ok");
    terminal.press("/nowhere\r");
    terminal.wait_for("Not found");
    terminal.press("c");
    terminal.wait_for("Copied 11 characters");
    let bytes = terminal.bytes();
    assert!(bytes.contains("\x1b]52;c;TmluZSB0ZXN0cy4=\x07"), "{bytes:?}");
}

#[test]
fn an_agent_is_searched_unfolded_and_copied_wherever_it_is_opened() {
    let world = world();
    let output: Vec<String> = (1..=9).map(|number| format!("test {number} ... ok")).collect();
    let script = json!([
        "start",
        {"tool": {"id": "1", "name": "bash", "args": {"command": "cargo test"}, "result": output.join("\n")}},
        {"message": {"text": "Nine tests.", "stop": "toolUse"}},
        {"await": "go"},
        {"say": "Nine tests."},
        {"end": false},
        "settle",
    ]);
    let id = start_with(&world, &script, 1);
    let mut watching = watch(&world, &[]);
    watching.wait_for("Nine tests.");
    watching.press("\r");
    read_it(&mut watching);
    let_go(&world, [1]);
    assert_eq!(watching.finish(), Some(0));
    watching.assert_usable();
    world.wait_until_nothing_is_left();
    let command = on_terminal(world.command(["sessions", "show", &id]));
    let mut showing = Terminal::start(&command, 80, 12);
    read_it(&mut showing);
    showing.press("q");
    assert_eq!(showing.finish(), Some(0));
    showing.assert_usable();
    assert_eq!(showing.record(), "\n", "nothing is left of it");
}
