//! Which runs go by themselves, and which only if the user says so.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::json;
use store::Store;
use test_support::wait_until;

use super::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Makes runs that ended so long ago, from one that has ended.
fn plant(run: &Path, count: usize, age: Duration, call: &str) {
    let ended = SystemTime::now() - age;
    for number in 0..count {
        let name = format!("00000000-{call}-{number:06}");
        let copy = run.with_file_name(&name);
        fs::create_dir(&copy).unwrap();
        for file in ["meta.json", "result.json", "events.jsonl", "prompt.md"] {
            fs::copy(run.join(file), copy.join(file)).unwrap();
        }
        rewrite(&copy.join("meta.json"), |meta| {
            meta["runId"] = json!(name);
            meta["callId"] = json!(call);
        });
        let result = File::options().write(true).open(copy.join("result.json")).unwrap();
        result.set_modified(ended).unwrap();
    }
}

fn count(world: &World, call: &str) -> usize {
    let is_of_call = |run: &&PathBuf| run.to_string_lossy().contains(&format!("-{call}-"));
    world.runs().iter().filter(is_of_call).count()
}

#[test]
fn nothing_of_a_call_that_runs_and_nothing_of_the_last_day_goes_by_itself() {
    let world = world();
    let done = world.play(&answers("done"), &[]).run_dir();
    let running = world.start(&world.working(), &[]);
    wait_until(|| world.path("working").exists());
    let alive = world.runs().into_iter().find(|run| *run != done).unwrap();
    let meta: serde_json::Value =
        serde_json::from_slice(&fs::read(alive.join("meta.json")).unwrap()).unwrap();
    let call = meta["callId"].as_str().unwrap().to_owned();
    plant(&done, 900, 3 * DAY, &call);
    plant(&done, 900, 3 * DAY, "old-call");
    plant(&done, 900, DAY / 2, "fresh-call");
    plant(&done, 2, 3 * DAY, "mixed-call");
    let mixed = world.runs().into_iter().find(|run| run.ends_with("00000000-mixed-call-000000"));
    let mixed = File::options().write(true).open(mixed.unwrap().join("result.json")).unwrap();
    mixed.set_modified(SystemTime::now()).unwrap();
    let store = Store::in_project(&world.project());
    let pruned = store.prune_by_itself(SystemTime::now(), &|_| true).unwrap();
    assert_eq!(count(&world, &call), 900, "the call runs");
    assert_eq!(count(&world, "fresh-call"), 900, "they ended today");
    assert_eq!(count(&world, "mixed-call"), 2, "one of them ended today");
    // Of the others, as many as are within the 2,000: 900, 900, 2 and one that just ended stay anyway.
    assert_eq!((pruned.removed, count(&world, "old-call")), (703, 197));
    // The user is obeyed.
    let told = world.run(&["sessions", "prune", "--keep", "100", "--json"]).json();
    assert_eq!((&told["removed"], &told["kept"]), (&json!(1900), &json!(101)), "{told}");
    world.let_go();
    assert_eq!(running.finish().code, Some(0));
}

#[test]
fn a_huge_run_costs_no_small_one() {
    let world = world();
    let done = world.play(&answers("done"), &[]).run_dir();
    plant(&done, 20, 3 * DAY, "small-call");
    plant(&done, 1, 2 * DAY, "towering-call");
    let huge = world.runs().into_iter().find(|run| run.ends_with("00000000-towering-call-000000"));
    let huge = huge.unwrap().join("pi-bash-0123456789abcdef.log");
    fs::write(huge, vec![b'x'; 9 << 20]).unwrap();
    let told = world.run(&["sessions", "prune", "--mebibytes", "8", "--json"]).json();
    assert_eq!((&told["removed"], &told["kept"]), (&json!(1), &json!(21)), "{told}");
    assert_eq!(count(&world, "small-call"), 20);
}
