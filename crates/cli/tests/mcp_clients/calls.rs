//! A call while it lasts: what the client hears of it, and what becomes of one that it gives up.

use serde_json::{Value, json};
use test_support::wait_until;

use crate::{
    Client, agents, assert_only_results_are_left, completed, delegation, let_leave, let_play,
    of_role, run_file, world,
};

with_both_clients!(words_arrive_in_growing_numbers, a_cancelled_call_takes_its_whole_tree_down);

fn words_arrive_in_growing_numbers(client: Client) {
    // Words are told twice a second at most, so that the agent has to take its time.
    let tools = ["one", "two", "three", "four"].map(|name| {
        let call = json!({"name": "read", "args": {"path": format!("{name}.txt")}, "result": "x"});
        [json!({ "tool": call }), json!({"sleep_ms": 700})]
    });
    let message = json!({"message": {"text": "I look.", "stop": "toolUse"}});
    let end = [json!({"say": "found it"}), json!({"end": false}), json!("settle")];
    let start = [json!("start"), message];
    let script: Vec<Value> =
        start.into_iter().chain(tools.into_iter().flatten()).chain(end).collect();
    let world = world(&json!(script));

    let mut call = delegation();
    call["progress"] = json!(true);
    let facts = client.play(&world, "call", &json!({"calls": [call]}));
    let seen = &facts["answers"][0];
    completed(seen);
    let words: Vec<(f64, &str)> = seen["words"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| (word[0].as_f64().unwrap(), word[1].as_str().unwrap()))
        .collect();
    assert!(words.len() >= 4, "{words:#?}");
    assert!(words.windows(2).all(|pair| pair[0].0 < pair[1].0), "{words:#?}");
    let last = words.last().unwrap().1;
    assert!(last.starts_with("Sub-agents: 1 running | ⏳ first • "), "{last}");
    assert!(last.contains(" • 4 tools • "), "{last}");
    assert_only_results_are_left(&world);
}

fn a_cancelled_call_takes_its_whole_tree_down(client: Client) {
    let world = world(&json!([]));
    let stubborn = json!(["ignore_sigterm", "setsid", {"touch": world.path("working")}, "hang"]);
    let_play(&world, &json!(["start", {"spawn": {"steps": stubborn}}, "hang"]));

    let options = json!({
        "call": delegation(), "when": world.path("working"), "stay": world.path("leave"),
    });
    let mut playing = client.start(&world, "cancel", &options);
    let facts = playing.facts();
    // The server is still there, and answers.
    assert_eq!(facts["after"]["structuredContent"]["count"], 1, "{facts:#}");
    wait_until(|| agents(&world) == 0 && of_role(&world, "supervise").is_empty());
    assert_eq!(of_role(&world, "mcp").len(), 1);
    let result = run_file(&world.only_run(), "result.json");
    assert_eq!(result["outcome"], "cancelled", "{result:#}");

    let_leave(&world);
    playing.finish();
    assert_only_results_are_left(&world);
}
