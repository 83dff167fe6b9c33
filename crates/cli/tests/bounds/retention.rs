//! Which runs go by themselves, and which only if the user says so.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::json;
use store::Store;
use test_support::{Running, wait_until};

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

/// The same with a real call, and with pruning as it comes about by itself.
#[test]
fn a_call_keeps_its_runs_while_other_calls_prune() {
    let world = world();
    let agent = json!([env!("CARGO_BIN_EXE_fake-agent"), "-"]).to_string();
    let delegate = |scripts: &[Value], name: &str| {
        let prompt = |script: &Value| format!("<<SCRIPT>>{script}<<END>>");
        let task = |script: &Value| json!({"name": name, "prompt": prompt(script)});
        let file = world.path(&format!("{name}.json"));
        let tasks: Vec<Value> = scripts.iter().map(task).collect();
        fs::write(&file, json!({ "tasks": tasks }).to_string()).unwrap();
        world.command(["delegate", "--json", "--agent", &agent, file.to_str().unwrap()])
    };
    let mut scripts = vec![answers("early"); 7];
    scripts.push(world.working());
    let running = Running::start(delegate(&scripts, "large"));
    let has_ended = |run: &&PathBuf| run.join("result.json").exists();
    wait_until(|| world.runs().iter().filter(has_ended).count() == 7);
    let of_call: Vec<PathBuf> = world.runs().into_iter().filter(|run| has_ended(&run)).collect();
    // As if the call had been going on for days, so that its runs would be the first to go.
    for run in &of_call {
        let result = File::options().write(true).open(run.join("result.json")).unwrap();
        result.set_modified(SystemTime::now() - 40 * DAY).unwrap();
    }
    plant(&of_call[0], 10, 40 * DAY, "old-call");
    let mut others = 0;
    // About one run in 256 prunes when it ends.
    while count(&world, "old-call") > 0 {
        assert!(others < 5_000, "nothing was pruned");
        let ran = Ran::from(delegate(&vec![answers("quick"); 64], "other").output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        others += 64;
    }
    assert_eq!(world.runs().len(), 8 + others, "no run of the call, and none of today");
    assert!(of_call.iter().all(|run| run.exists()));
    world.let_go();
    let ran = running.finish();
    assert_eq!((ran.code, ran.json()["tasks"].as_array().map(Vec::len)), (Some(0), Some(8)));
    world.assert_nothing_left();
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
