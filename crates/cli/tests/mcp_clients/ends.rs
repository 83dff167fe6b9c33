//! One of the two ends is killed in the middle of a call.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use test_support::wait_until;

use crate::{
    Client, agents, assert_only_results_are_left, delegation, of_role, run_file, working_world,
};

with_both_clients!(
    a_killed_client_leaves_only_what_works_in_the_background,
    a_killed_server_is_an_error_and_leaves_nothing,
);

fn a_killed_client_leaves_only_what_works_in_the_background(client: Client) {
    let world = working_world();
    let task = json!({"preset": "scout", "task": "look"});
    let background = json!({"tool": "background_agent", "arguments": task});
    let playing = client.start(&world, "call", &json!({"calls": [background, delegation()]}));
    wait_until(|| agents(&world) == 2);
    playing.kill();

    // An agent and its supervisor.
    wait_until(|| world.processes().len() == 2);
    assert_eq!((agents(&world), of_role(&world, "supervise").len()), (1, 1));
    let runs = world.runs();
    assert_eq!(runs.len(), 2, "{runs:?}");
    let (background, foreground) = (&runs[0], &runs[1]);
    assert_eq!(run_file(foreground, "meta.json")["name"], "first");
    assert_eq!(run_file(foreground, "result.json")["outcome"], "interrupted");
    assert!(!background.join("result.json").exists());

    world.let_go();
    let id = background.file_name().unwrap().to_str().unwrap();
    let waited = world.run(&["bg", "wait", id]);
    assert_eq!((waited.code, waited.stdout.trim()), (Some(0), "found it"), "{waited:?}");
    world.wait_until_nothing_is_left();
    assert_only_results_are_left(&world);
}

fn a_killed_server_is_an_error_and_leaves_nothing(client: Client) {
    let world = working_world();
    let mut playing = client.start(&world, "call", &json!({"calls": [delegation()]}));
    wait_until(|| world.path("working").exists());
    let servers = of_role(&world, "mcp");
    assert_eq!(servers.len(), 1, "{:?}", world.processes());
    let server = Pid::from_raw(i32::try_from(servers[0]).unwrap()).unwrap();
    kill_process(server, Signal::KILL).unwrap();

    let facts = playing.facts();
    let error = &facts["answers"][0]["error"];
    assert_eq!(error["code"], -32000, "{facts:#}");
    assert!(error["message"].as_str().unwrap().contains("onnection closed"), "{facts:#}");
    playing.finish();
    world.wait_until_nothing_is_left();
    assert_eq!(run_file(&world.only_run(), "result.json")["outcome"], "interrupted");
    assert_only_results_are_left(&world);
}
