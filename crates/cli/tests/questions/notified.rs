//! What a program that waits for background runs says about their questions.

use std::fs;

use test_support::{Running, write_program};

use super::{COMMAND, answer, asking, lives, wait_for_question};

const START: [&str; 10] =
    ["bg", "start", "--agent", "oracle", "--name", "asker", "--access", "full", "--ask", "go"];

#[test]
fn waiting_for_a_background_run_tells_each_question_once_and_how_to_answer_it() {
    let world = asking(&[COMMAND, "make check"]);
    let started = world.run(&START);
    assert_eq!(started.code, Some(0), "{started:?}");
    let id = started.stdout.trim().to_owned();
    let told = world.path("told");
    let script = format!("#!/bin/sh\necho \"$*\" >> {}\n", told.display());
    write_program(&world.path("bin/notify-send"), &script);
    let mut command = world.command(["bg", "wait", "--notify=desktop", &id]);
    command.env("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()));
    command.env("DISPLAY", ":0");
    let waiting = Running::start(command);
    let notified = |count: usize| {
        test_support::wait_until(|| {
            fs::read_to_string(&told).unwrap_or_default().lines().count() == count
        });
    };
    notified(1);
    assert_eq!(answer(&world, &["yes"]).code, Some(0));
    wait_for_question(&world, 2);
    notified(2);
    assert_eq!(answer(&world, &["no"]).code, Some(0));
    let waited = waiting.finish();
    assert_eq!(waited.code, Some(0), "{waited:?}");
    for (number, text) in [(1, COMMAND), (2, "make check")] {
        let asks = format!(
            "asker asks: may it use bash? {text}\nanswer yes, always, no, or why not: \
             `pi-subagents answer {id} {number} ANSWER`\n"
        );
        assert_eq!(waited.stderr.matches(&asks).count(), 1, "{waited:?}");
    }
    let notifications = fs::read_to_string(&told).unwrap();
    let asks = "-- pi-subagents asker: asks something\n";
    assert_eq!(notifications, format!("{asks}{asks}-- pi-subagents asker: completed\n"));
    world.wait_until_nothing_is_left();
}

#[test]
fn a_question_that_has_its_answer_is_not_told_any_more() {
    let world = asking(&[COMMAND, "make check"]);
    let started = world.run(&START);
    assert_eq!(started.code, Some(0), "{started:?}");
    wait_for_question(&world, 1);
    assert_eq!(answer(&world, &["yes"]).code, Some(0));
    wait_for_question(&world, 2);
    let late = world.run(&["bg", "wait", "asker", "--timeout", "0"]);
    assert_eq!(late.code, Some(1), "{late:?}");
    assert!(!late.stderr.contains(COMMAND) && late.stderr.contains("make check"), "{late:?}");
    assert_eq!(answer(&world, &["no"]).code, Some(0));
    assert_eq!(world.run(&["bg", "wait", "asker"]).code, Some(0));
    assert_eq!(lives(&world.only_run()).len(), 4);
    world.wait_until_nothing_is_left();
}
