//! Many runs, started and listed by many programs at once.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use model::{Owner, OwnerKind};
use serde_json::Value;
use store::Store;
use test_support::{Ran, World, wait_until};

use super::{LongLivedCaller, quick, start_command, world};

const EACH: usize = 50;

#[test]
fn two_hundred_runs_of_four_programs_are_all_found_counted_and_told_of_once() {
    let world = world();
    let ids: Vec<Vec<String>> = thread::scope(|scope| {
        let shells = (0..2).map(|_| scope.spawn(|| start_from_a_shell(&world)));
        let callers = ["one", "two"].map(|owner| {
            let world = &world;
            scope.spawn(move || start_from_a_door(world, owner))
        });
        let programs: Vec<_> = shells.collect::<Vec<_>>().into_iter().chain(callers).collect();
        programs.into_iter().map(|program| program.join().unwrap()).collect()
    });
    let all: BTreeSet<&String> = ids.iter().flatten().collect();
    assert_eq!(all.len(), 4 * EACH, "none is lost, none is doubled");

    // Eight programs take notifications while the last runs still end.
    let taken = AtomicUsize::new(0);
    let told: Vec<Vec<(usize, String)>> = thread::scope(|scope| {
        let takers: Vec<_> =
            (0..8).map(|_| scope.spawn(|| take(&world, &taken, 4 * EACH))).collect();
        takers.into_iter().map(|taker| taker.join().unwrap()).collect()
    });
    let told: Vec<(usize, String)> = told.into_iter().flatten().collect();
    assert_eq!(told.len(), 4 * EACH, "each once");
    let of = |owner: usize| -> BTreeSet<&String> {
        told.iter().filter(|(whose, _)| *whose == owner).map(|(_, id)| id).collect()
    };
    assert_eq!(of(0), ids[0].iter().chain(&ids[1]).collect(), "the shell's");
    assert_eq!((of(1), of(2)), (ids[2].iter().collect(), ids[3].iter().collect()));

    world.wait_until_nothing_is_left();
    let everyone = world.run(&["bg", "list", "--all", "--everyone", "--json"]).json();
    let listed = |document: &Value| -> Vec<String> {
        let runs = document["runs"].as_array().unwrap().iter();
        runs.map(|run| run["runId"].as_str().unwrap().to_owned()).collect()
    };
    let found = listed(&everyone);
    assert!(found.is_sorted(), "oldest first");
    assert_eq!(found.iter().collect::<BTreeSet<_>>(), all);
    assert_eq!(counts(&everyone), [0, 4 * EACH, 0, 0, 4 * EACH]);
    let own = world.run(&["bg", "list", "--all", "--json"]).json();
    assert_eq!((listed(&own).len(), counts(&own)), (2 * EACH, [0, 2 * EACH, 0, 0, 2 * EACH]));
    assert_eq!(own["notifications"].as_array().map(Vec::len), Some(0));
}

fn start_from_a_shell(world: &World) -> Vec<String> {
    let line = format!("for number in $(seq {EACH}); do \"$@\" || exit; done");
    let start = start_command(world, &quick(), &[]);
    let mut shell = World::behind(&["sh", "-c", &line, "sh"], &start);
    let ran = Ran::from(shell.stderr(Stdio::piped()).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout.lines().map(str::to_owned).collect()
}

fn start_from_a_door(world: &World, owner: &str) -> Vec<String> {
    let mut caller = LongLivedCaller::open(world, owner, &quick());
    let ids = (0..EACH).map(|_| caller.ask("background look around")).collect();
    caller.close();
    ids
}

/// Takes the notifications of the shell (0) and of both callers (1 and 2) until each has been taken once.
fn take(world: &World, taken: &AtomicUsize, all: usize) -> Vec<(usize, String)> {
    let store = Store::in_project(&world.project());
    let mut told = Vec::new();
    wait_until(|| {
        let before = told.len();
        let shell = world.run(&["bg", "list", "--json"]).json();
        let shell = shell["notifications"].as_array().unwrap().iter();
        told.extend(shell.map(|one| (0, one["runId"].as_str().unwrap().to_owned())));
        for (number, owner) in [(1, "one"), (2, "two")] {
            let owner = Owner { kind: OwnerKind::Pi, id: Some(owner.to_owned()) };
            let mut loaded = tools::load_background(&store, Some(&owner)).unwrap();
            let notifications = loaded.take_notifications(&owner);
            assert_eq!(loaded.warnings, [""; 0]);
            told.extend(notifications.into_iter().map(|one| (number, one.run_id.to_string())));
        }
        let fresh = told.len() - before;
        taken.fetch_add(fresh, Ordering::Relaxed) + fresh >= all
    });
    told
}

fn counts(document: &Value) -> [usize; 5] {
    ["running", "completed", "failed", "aborted", "total"].map(|word| {
        let count = document["counts"][word].as_u64().unwrap();
        usize::try_from(count).unwrap()
    })
}
