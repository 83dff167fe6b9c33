//! A machine whose clock is wrong.

use std::fs::File;
use std::time::{Duration, SystemTime};

use serde_json::json;
use test_support::Clock;

use super::*;

#[test]
fn a_clock_before_1970_stops_nothing() {
    let world = world().with_scout();
    let clock = Clock::new(&world.path("")).unwrap();
    // In 1963, or a year or two later.
    clock.set(-63 * 365 * 24 * 60 * 60).unwrap();
    let agent = world.agent(&answers("done"));
    let run = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        clock.offer(&mut command);
        Ran::from(command.output().unwrap())
    };
    let ran = run(&["run", "--json", "--agent", &agent, "do it"]);
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("done")), "{ran:?}");
    let session = ran.task()["sessionId"].as_str().unwrap().to_owned();
    let background =
        run(&["bg", "start", "--json", "--preset", "scout", "--agent", &agent, "do it"]);
    assert_eq!(background.code, Some(0), "{background:?}");
    world.wait_until_nothing_is_left();
    for arguments in [
        &["sessions", "list"][..],
        &["sessions", "show", &session],
        &["sessions", "export", &session],
        &["sessions", "prune"],
        &["bg", "list", "--all"],
        &["watch"],
        &["doctor"],
    ] {
        let ran = run(arguments);
        assert!(!ran.stderr.contains("panicked"), "{arguments:?} {ran:?}");
        assert!(ran.code == Some(0) || arguments == ["doctor"], "{arguments:?} {ran:?}");
    }
    assert_eq!(world.runs().len(), 2, "nothing was pruned");
}

#[test]
fn files_from_before_1970_stop_nothing() {
    let world = world();
    let run = world.play(&answers("done"), &[]).run_dir();
    for name in ["meta.json", "result.json", "events.jsonl"] {
        let file = File::options().write(true).open(run.join(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH - Duration::from_secs(1_000_000)).unwrap();
    }
    for arguments in [&["sessions", "list"][..], &["doctor"], &["sessions", "prune", "--json"]] {
        let ran = world.run(arguments);
        assert!(!ran.stderr.contains("panicked"), "{arguments:?} {ran:?}");
    }
    assert!(world.runs().is_empty(), "it is more than 30 days old");
}
