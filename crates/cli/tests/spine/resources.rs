//! What a run has used.

use std::fs;

use serde_json::{Value, json};
use test_support::World;

use super::world;

fn resources(world: &World) -> Value {
    let result = fs::read_to_string(world.only_run().join("result.json")).unwrap();
    serde_json::from_str::<Value>(&result).unwrap()["resources"].clone()
}

#[test]
fn processor_time_and_memory_of_the_whole_tree_are_in_the_result() {
    let world = world();
    // A grandchild that keeps 64 MiB, and one that counts.
    let keep = "head --bytes=64M /dev/zero | tail --bytes=64M > /dev/null";
    let count = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done";
    let ran = world.play(&json!([{"shell": keep}, {"shell": count}, {"say": "done"}]), &[]);
    assert_eq!(ran.task()["status"], "completed", "{ran:?}");
    let used = resources(&world);
    let number = |name: &str| used[name].as_u64().unwrap_or_else(|| panic!("no {name}: {used}"));
    assert!((64 << 20..1 << 30).contains(&number("peakMemory")), "{used}");
    assert!((50..60_000).contains(&number("processorMs")), "{used}");
    world.assert_nothing_left();
}

#[test]
fn an_agent_that_never_ran_has_used_nothing() {
    let world = world();
    let ran = world.run(&["run", "--json", "--agent", r#"["/no/such/agent"]"#, "do it"]);
    assert_eq!(ran.task()["outcome"], "spawn_failure", "{ran:?}");
    assert_eq!(resources(&world), Value::Null);
}
