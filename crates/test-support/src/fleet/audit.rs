//! The proof that nothing was lost, doubled or left.

use serde_json::Value;

use super::fault::FleetFault;
use super::testbed::{BATCH, Testbed, answer, key};

/// Looks at everything that the fleet has left. Returns how many tasks began more than once.
pub(super) fn audit(testbed: &mut Testbed, fault: FleetFault) -> usize {
    let status = testbed.run(&["fleet", "status", BATCH, "--json"]).json();
    assert_eq!(status["tasks"], testbed.tasks, "{status}");
    assert_eq!((&status["queued"], &status["running"]), (&0.into(), &0.into()), "{status}");
    let results = testbed.results();
    assert_eq!(results.len(), testbed.tasks, "each task has one result");
    let mut restarted = 0;
    for (task, result) in results.iter().enumerate() {
        assert_eq!(result["key"], key(task), "in the order of submission");
        let outcome = if fault.kills_worker(task, testbed.tasks) {
            "lost"
        } else {
            assert_eq!(result["output"], answer(task), "{result}");
            "completed"
        };
        assert_eq!(result["outcome"], outcome, "{result}");
        restarted += usize::from(result["attempt"].as_u64() > Some(1));
        check_record(testbed, task, result);
    }
    testbed.end_workers();
    testbed.world.wait_until_nothing_is_left();
    restarted
}

/// The record of a task, of which a few are looked at, has the events of the attempt that counts, and one end.
fn check_record(testbed: &Testbed, task: usize, result: &Value) {
    if !task.is_multiple_of(testbed.tasks / 6) || result["outcome"] == "lost" {
        return;
    }
    let shown = testbed.run(&["fleet", "show", BATCH, &key(task), "--json"]).json();
    let records = shown["events"].as_array().unwrap().iter();
    let kinds: Vec<&str> = records.map(|record| record["type"].as_str().unwrap()).collect();
    let ends = kinds.iter().filter(|kind| **kind == "run_ended").count();
    assert_eq!((ends, kinds.last()), (1, Some(&"run_ended")), "{kinds:?}");
    assert!(kinds.contains(&"assistant_message"), "{kinds:?}");
}
