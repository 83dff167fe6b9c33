//! What the machines of workers bear, and what they tell each other of providers and money.

use serde_json::{Value, json};
use test_support::fake_agent::quick;
use test_support::{Ran, Running, wait_until};

use super::machines::{Fleet, Machine};

fn refusal(fleet: &Fleet, worker: usize) -> String {
    let workers = fleet.ask(&["workers", "--json"]).json();
    workers["workers"][worker]["refusal"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_worker_takes_no_task_that_its_machine_cannot_bear() {
    let mut fleet = Fleet::new();
    let machine = Machine::new(&fleet.world, "one", &json!({"machineConcurrency": 1}));
    // It is no task of the fleet that has the only slot.
    let mut local = fleet.world.play_command(&fleet.world.working(), &[]);
    machine.hold(&mut local);
    let local = Running::start(local);
    wait_until(|| fleet.world.path("working").exists());
    fleet.worker_on(&machine);
    let waits = fleet.start_delegation(&fleet.task("waits", &json!([{"text": "done"}])));
    wait_until(|| refusal(&fleet, 0).contains("1 of 1 agents are running"));
    let workers = fleet.ask(&["workers", "--json"]).json();
    assert_eq!(workers["workers"][0]["running"], 0, "it has taken none: {workers}");
    fleet.world.let_go();
    assert_eq!(local.finish().code, Some(0));
    let ran = waits.finish();
    assert_eq!((ran.code, ran.json()["tasks"][0]["output"].as_str()), (Some(0), Some("done")));
    fleet.end_all();
}

#[test]
fn what_one_machine_learns_of_a_provider_and_spends_is_known_to_all() {
    let mut fleet = Fleet::new();
    let one = Machine::new(&fleet.world, "one", &json!({}));
    let two = Machine::new(&fleet.world, "two", &json!({"dailyCostUsd": 0.002}));
    fleet.worker_on(&one);
    let second = fleet.worker_on(&two);
    let play = |script: &Value, arguments: &[&str]| {
        let mut command = fleet.world.play_command(script, arguments);
        one.hold(&mut command);
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
    };
    let retry = json!({"record": {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3,
        "delayMs": 50_000, "errorMessage": "429 rate limit"}});
    let refused = json!(["start", retry, {"say": "done"}, {"end": false}, "settle"]);
    play(&refused, &["--model", "anthropic/claude-sonnet-4-5"]);
    let spent = |machine: &Machine| {
        let spent = machine.status(&fleet.world)["spentTodayUsd"].as_f64().unwrap();
        (spent * 1000.0).round() as i64
    };
    wait_until(|| spent(&two) == 3);
    wait_until(|| {
        two.status(&fleet.world)["providers"].as_array().is_some_and(|all| !all.is_empty())
    });
    let known = two.status(&fleet.world)["providers"][0].clone();
    assert_eq!((&known["provider"], &known["atATime"]), (&json!("anthropic"), &json!(1)));
    assert_eq!(known["until"], one.status(&fleet.world)["providers"][0]["until"]);
    // The second machine has a budget for the day, of which nothing is left.
    let is_spent = |worker: usize| refusal(&fleet, worker).contains("of the budget of the day");
    wait_until(|| (0..2).any(is_spent));
    // What was told is not told back.
    play(&quick(), &[]);
    wait_until(|| spent(&two) == 6);
    assert_eq!(spent(&one), 6);
    fleet.end(second);
    fleet.end_all();
}
