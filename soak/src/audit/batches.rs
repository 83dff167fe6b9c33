//! Batches: each task has one result, in the order of submission, which is that of its script or explained by a fault.

use serde_json::Value;

use crate::log::{Batch, Entries, HitKind, Log};
use crate::task::Task;

/// So many workers must die, or be taken for dead, for a task to be lost.
pub(super) const ATTEMPTS: usize = 3;

/// Checks all batches.
pub(super) fn check(entries: &Entries, log: &Log) {
    for batch in &entries.batches {
        let keys: Vec<&str> =
            batch.results.iter().filter_map(|result| result["key"].as_str()).collect();
        if !keys.iter().eq(batch.tasks.iter().map(|task| &task.token)) {
            log.report_violation(&[&batch.name], format!("it has results of {keys:?}"));
            continue;
        }
        for (task, result) in batch.tasks.iter().zip(&batch.results) {
            if let Some(what) = fault_of(task, result, batch, entries) {
                log.report_violation(&[&batch.name, &task.token], what);
            }
        }
    }
}

/// What is wrong with a result, if something is.
fn fault_of(task: &Task, result: &Value, batch: &Batch, entries: &Entries) -> Option<String> {
    let outcome = result["outcome"].as_str().unwrap_or_default();
    if outcome == "completed" && result["output"] != task.answer() {
        return Some(format!("it has completed, but its answer is {}", result["output"]));
    }
    let is_explained = match outcome {
        "killed_by_signal" => entries.is_hit(&task.token, HitKind::AgentKilled),
        "interrupted" => entries.is_hit(&task.token, HitKind::SupervisorKilled),
        "lost" => entries.workers_hit_since(batch.submitted_at) >= ATTEMPTS,
        _ => false,
    };
    (outcome != task.expected() && !is_explained)
        .then(|| format!("it should end as {}, and nothing explains {result}", task.expected()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::agent::Agent;
    use crate::log::Hit;
    use crate::task::Behaviour;

    fn violations(results: &[Value], hit: Option<(&str, HitKind)>) -> usize {
        let task = |token: &str| Task {
            token: token.to_owned(),
            agent: Agent::Fake,
            behaviour: Behaviour::AnswersAtOnce,
            access: None,
            is_isolated: false,
        };
        let batch = Batch {
            name: "b".to_owned(),
            tasks: vec![task("one"), task("two")],
            submitted_at: Duration::from_secs(5),
            results: results.to_vec(),
        };
        let hits = hit.into_iter().map(|(token, kind)| Hit {
            pid: 7,
            at: Duration::from_secs(6),
            run_id: Some(token.to_owned()),
            kind,
        });
        let entries = Entries { batches: vec![batch], hits: hits.collect(), ..Entries::default() };
        let log = Log::new();
        check(&entries, &log);
        log.entries().violations.len()
    }

    #[test]
    fn each_task_has_its_result_in_its_place() {
        let right = |token: &str| json!({"key": token, "outcome": "completed", "output": format!("the answer of {token}")});
        let killed = json!({"key": "two", "outcome": "killed_by_signal"});
        assert_eq!(violations(&[right("one"), right("two")], None), 0);
        assert_eq!(violations(&[right("two"), right("one")], None), 1, "out of order");
        assert_eq!(violations(&[right("one")], None), 1, "one is missing");
        assert_eq!(violations(&[right("one"), right("one"), right("two")], None), 1, "doubled");
        let other = json!({"key": "two", "outcome": "completed", "output": "the answer of one"});
        assert_eq!(violations(&[right("one"), other], None), 1);
        let both = [right("one"), killed];
        assert_eq!(violations(&both, None), 1, "nothing has killed it");
        assert_eq!(violations(&both, Some(("two", HitKind::AgentKilled))), 0);
        assert_eq!(violations(&both, Some(("one", HitKind::AgentKilled))), 1, "another one was");
    }
}
