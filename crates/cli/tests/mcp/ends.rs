//! What is left when one of the two goes away.

use std::os::unix::process::CommandExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use test_support::wait_until;

use super::*;

#[test]
fn foreground_runs_end_with_the_client_and_background_runs_go_on() {
    let world = world();
    let mut server = Server::initialized(&world, &world.working());
    let scout = json!({"preset": "scout", "task": "look"});
    let started = server.call("background_agent", &scout);
    server.begin_call("delegate_to_subagents", &tasks(4), Some("token"));
    server.begin_call("subagent", &scout, None);
    wait_until(|| agents(&world) == 6);
    let ran = server.close();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    wait_until(|| agents(&world) == 1);
    world.let_go();
    world.wait_until_nothing_is_left();
    let run = started["structuredContent"]["runId"].as_str().unwrap();
    let sessions = world.run(&["sessions", "list", "--json"]).json()["sessions"].clone();
    let completed = sessions.as_array().unwrap().iter().flat_map(|session| {
        let runs = session["runs"].as_array().unwrap().iter();
        runs.filter(|run| run["status"] == json!("completed")).map(|run| run["runId"].clone())
    });
    assert_eq!(completed.collect::<Vec<Value>>(), [json!(run)], "{sessions}");
}

#[test]
fn a_killed_server_leaves_nothing_in_the_foreground() {
    let world = world();
    let mut server = Server::initialized(&world, &world.working());
    server.begin_call("delegate_to_subagents", &tasks(3), None);
    wait_until(|| agents(&world) == 3);
    server.kill();
    world.wait_until_nothing_is_left();
    let listed = world.run(&["sessions", "list", "--json"]).json();
    for session in listed["sessions"].as_array().unwrap() {
        assert_eq!(session["status"], json!("error"), "{session}");
        assert_eq!(session["runs"][0]["outcome"], json!("interrupted"), "{session}");
    }
    server.close();
}

/// A client that is killed cannot shut the server down first.
#[test]
fn a_killed_client_leaves_nothing_in_the_foreground() {
    let world = world();
    let agent = world.agent(&world.working());
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    }});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "delegate_to_subagents", "arguments": tasks(2),
    }});
    let script = format!("( echo '{hello}'; echo '{call}'; exec sleep 600 ) | \"$0\" mcp");
    let mut command = World::behind(&["/bin/sh", "-c", &script], &world.command(["mcp"]));
    command.env("PI_SUBAGENTS_AGENT", agent).process_group(0);
    let mut client = command.stdout(Stdio::null()).spawn().unwrap();
    wait_until(|| agents(&world) == 2);
    let is_client = |command: &str| command.starts_with("sleep") || command.starts_with("/bin/sh");
    for (pid, _) in world.processes().iter().filter(|(_, command)| is_client(command)) {
        let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw).unwrap();
        // The shell can go with what it waits for.
        let _ = kill_process(pid, Signal::KILL);
    }
    client.wait().unwrap();
    world.wait_until_nothing_is_left();
}

#[test]
fn what_was_asked_before_the_end_is_answered() {
    let world = world();
    let mut server = Server::initialized(&world, &quick());
    let listed = server.start_request("tools/list", &json!({}));
    let profiles = server.begin_call("list_subagent_profiles", &json!({}), None);
    let (said, ran) = server.0.close_and_read();
    for id in [listed, profiles] {
        let answer = said.iter().find(|message| message["id"] == json!(id));
        assert!(answer.is_some_and(|answer| answer["result"].is_object()), "{said:?}");
    }
    assert_eq!(ran.code, Some(0));
}

#[test]
fn nothing_is_begun_for_a_client_that_has_left() {
    let world = world();
    let mut server = Server::initialized(&world, &world.working());
    server.begin_call("delegate_to_subagents", &tasks(2), None);
    let (_, ran) = server.0.close_and_read();
    assert_eq!(ran.code, Some(0));
    world.wait_until_nothing_is_left();
}

#[test]
fn two_clients_work_in_one_project_side_by_side() {
    let world = world();
    let (mut one, mut other) =
        (Server::initialized(&world, &world.working()), Server::initialized(&world, &quick()));
    let call = one.begin_call("delegate_to_subagents", &tasks(2), Some("token"));
    wait_until(|| agents(&world) == 2);
    let done = other.call("delegate_to_subagents", &tasks(2));
    assert_eq!(done["isError"], json!(false), "{done}");
    // What one of them runs, the other can wait for.
    let listed = other.request("resources/list", &json!({}))["result"]["resources"].clone();
    let running = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|resource| resource["title"] == json!("task 1 (running)"));
    let id = running.unwrap()["uri"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let waiting = other.begin_call("get_subagent_output", &json!({"sessionId": id}), Some("w"));
    other.wait_for("notifications/progress");
    world.let_go();
    assert_eq!(text(&other.result(waiting)), "found it");
    assert_eq!(one.result(call)["isError"], json!(false));
    // No program can continue a session while another one does.
    one.close();
    other.close();
    world.assert_nothing_left();
}
