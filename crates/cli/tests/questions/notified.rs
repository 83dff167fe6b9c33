//! How the user is told that an agent asks something.

use std::fs;
use std::process::Command;

use test_support::{Running, World, wait_until, write_program};

use super::{COMMAND, RUN, answer, asking, lives, wait_for_question};

const START: [&str; 10] =
    ["bg", "start", "--agent", "oracle", "--name", "asker", "--access", "full", "--ask", "go"];

const ASKS: &str = "-- pi-subagents asker: asks something\n";
const COMPLETED: &str = "-- pi-subagents asker: completed\n";

/// A command on a desktop whose notifications are written down.
fn on_desktop(world: &World, arguments: &[&str]) -> Command {
    let script = format!("#!/bin/sh\necho \"$*\" >> {}\n", world.path("told").display());
    write_program(&world.path("bin/notify-send"), &script);
    let mut command = world.command(arguments);
    command.env("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()));
    command.env("DISPLAY", ":0");
    command
}

fn notifications(world: &World) -> String {
    fs::read_to_string(world.path("told")).unwrap_or_default()
}

#[test]
fn waiting_for_a_background_run_tells_each_question_once_and_how_to_answer_it() {
    let world = asking(&[COMMAND, "make check"]);
    let started = world.run(&START);
    assert_eq!(started.code, Some(0), "{started:?}");
    let id = started.stdout.trim().to_owned();
    let command = on_desktop(&world, &["bg", "wait", "--notify=desktop", &id]);
    let waiting = Running::start(command);
    wait_until(|| notifications(&world).lines().count() == 1);
    assert_eq!(answer(&world, &["yes"]).code, Some(0));
    wait_for_question(&world, 2);
    wait_until(|| notifications(&world).lines().count() == 2);
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
    assert_eq!(notifications(&world), format!("{ASKS}{ASKS}{COMPLETED}"));
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
    let late = world.run(&["bg", "wait", "asker", "--timeout", "1"]);
    assert_eq!(late.code, Some(1), "{late:?}");
    assert!(!late.stderr.contains(COMMAND) && late.stderr.contains("make check"), "{late:?}");
    assert_eq!(answer(&world, &["no"]).code, Some(0));
    assert_eq!(world.run(&["bg", "wait", "asker"]).code, Some(0));
    assert_eq!(lives(&world.only_run()).len(), 4);
    world.wait_until_nothing_is_left();
}

/// Also where the results are one document at the end.
#[test]
fn a_run_with_notifications_tells_of_each_question_once() {
    for output in ["--json", "--plain"] {
        let world = asking(&[COMMAND, "make check"]);
        let arguments = RUN
            .iter()
            .map(|word| if *word == "--json" { output } else { word })
            .collect::<Vec<_>>();
        let arguments = [&arguments, &["--notify=desktop", "go"][..]].concat();
        let run = Running::start(on_desktop(&world, &arguments));
        wait_until(|| notifications(&world) == ASKS);
        assert_eq!(answer(&world, &["yes"]).code, Some(0));
        wait_until(|| notifications(&world) == format!("{ASKS}{ASKS}"));
        assert_eq!(answer(&world, &["2", "no"]).code, Some(0));
        let ran = run.finish();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(notifications(&world), format!("{ASKS}{ASKS}{COMPLETED}"));
        world.wait_until_nothing_is_left();
    }
}

/// A question that had its answer before is no news.
#[test]
fn watching_with_notifications_tells_of_the_questions_that_wait() {
    let world = asking(&[COMMAND, "make check", "make install"]);
    let started = world.run(&START);
    assert_eq!(started.code, Some(0), "{started:?}");
    wait_for_question(&world, 1);
    assert_eq!(answer(&world, &["yes"]).code, Some(0));
    wait_for_question(&world, 2);
    let watching = Running::start(on_desktop(&world, &["watch", "--notify=desktop"]));
    wait_until(|| notifications(&world) == ASKS);
    assert_eq!(answer(&world, &["yes"]).code, Some(0));
    wait_until(|| notifications(&world) == format!("{ASKS}{ASKS}"));
    assert_eq!(answer(&world, &["no"]).code, Some(0));
    let watched = watching.finish();
    assert_eq!(watched.code, Some(0), "{watched:?}");
    assert_eq!(notifications(&world), format!("{ASKS}{ASKS}{COMPLETED}"));
    world.wait_until_nothing_is_left();
}

/// What the access answers at once does not disturb the user.
#[test]
fn what_is_answered_at_once_is_not_notified() {
    let world = asking(&[COMMAND, "make check"]);
    let arguments = [&RUN, &["--notify=desktop", "go"][..]].concat();
    let run = Running::start(on_desktop(&world, &arguments));
    wait_until(|| notifications(&world) == ASKS);
    assert_eq!(answer(&world, &["always"]).code, Some(0));
    let ran = run.finish();
    assert_eq!(lives(&world.only_run())[3], "2 yes by always", "{ran:?}");
    assert_eq!(notifications(&world), format!("{ASKS}{COMPLETED}"));
    world.wait_until_nothing_is_left();
}
