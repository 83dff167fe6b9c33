//! Clients that cannot be told how a call stands.

use test_support::wait_until;

use super::*;

/// A world in which a call without progress is answered after a second.
fn impatient() -> World {
    let world = world();
    world.settings(&json!({"mcpAnswerAfter": 1}));
    world
}

#[test]
fn a_call_is_answered_in_time_and_its_work_goes_on() {
    let world = impatient();
    let mut server = Server::initialized(&world, &world.working());
    let result = server.call("delegate_to_subagents", &tasks(6));
    assert_eq!(result["isError"], json!(false), "{result}");
    let structured = &result["structuredContent"];
    assert_eq!(structured["status"], json!("running"));
    let statuses: Vec<&str> = structured["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["running", "running", "running", "running", "queued", "queued"]);
    let told = text(&result);
    assert!(
        told.starts_with("Still running after 1 s, and going on. get_subagent_output"),
        "{told}"
    );
    assert!(told.contains(&format!("- task 1 (session: {}): running", session(&result, 0))));
    // It goes on although its call was answered, and also a task that had to wait is waited for.
    assert_eq!(agents(&world), 4);
    let last = json!({"sessionId": session(&result, 5)});
    let waited = server.call("get_subagent_output", &last);
    assert_eq!(waited["structuredContent"]["status"], json!("running"), "{waited}");
    assert!(text(&waited).ends_with("Call get_subagent_output again to wait on."), "{waited}");
    world.let_go();
    for index in 0..6 {
        let id = json!({"sessionId": session(&result, index)});
        let output = server.call("get_subagent_output", &id);
        assert_eq!(output["structuredContent"]["output"], json!("found it"), "{output}");
    }
    server.close();
    world.assert_nothing_left();
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_that_listens_is_not_answered_before_the_end() {
    let world = impatient();
    let mut server = Server::initialized(&world, &world.working());
    let heard = server.begin_call("delegate_to_subagents", &tasks(1), Some("token"));
    let unheard = server.begin_call("delegate_to_subagents", &tasks(1), None);
    // The second call begins later, and is answered nevertheless: its time is over.
    assert_eq!(server.result(unheard)["structuredContent"]["status"], json!("running"));
    world.let_go();
    assert_eq!(server.result(heard)["structuredContent"]["status"], json!("done"));
    server.close();
    world.wait_until_nothing_is_left();
}

#[test]
fn what_was_answered_early_ends_with_the_client() {
    let world = impatient();
    let mut server = Server::initialized(&world, &world.working());
    server.call("delegate_to_subagents", &tasks(2));
    assert_eq!(agents(&world), 2);
    server.close();
    world.wait_until_nothing_is_left();
    let outcomes: Vec<Value> = world.run(&["sessions", "list", "--json"]).json()["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["status"].clone())
        .collect();
    assert_eq!(outcomes, [json!("error"), json!("error")]);
}

#[test]
fn waiting_costs_nothing() {
    let world = impatient();
    let mut server = Server::initialized(&world, &world.working());
    let result = server.call("delegate_to_subagents", &tasks(5));
    let before = ticks(server.pid());
    // A second each: a task that runs, and one that waits for its turn.
    for index in [0, 4] {
        let id = json!({"sessionId": session(&result, index)});
        let waited = server.call("get_subagent_output", &id);
        assert_eq!(waited["structuredContent"]["status"], json!("running"), "{waited}");
    }
    let spent = ticks(server.pid()) - before;
    assert!(spent < 20, "{spent} hundredths of a second in two seconds");
    world.let_go();
    server.close();
    world.wait_until_nothing_is_left();
}

/// The processor time of a process, in hundredths of a second.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn waiting_is_given_up_without_stopping_what_is_waited_for() {
    let world = world();
    let mut server = Server::initialized(&world, &world.working());
    let agent = world.agent(&world.working());
    let started =
        world.run(&["bg", "start", "--json", "--agent", &agent, "--preset", "scout", "look"]);
    let id = started.json()["sessionId"].as_str().unwrap().to_owned();
    let arguments = json!({"sessionId": id});
    let waiting = server.begin_call("get_subagent_output", &arguments, Some("token"));
    server.wait_for("notifications/progress");
    server.notify("notifications/cancelled", &json!({"requestId": waiting}));
    // Another call waits on, and hears of the end.
    let again = server.begin_call("get_subagent_output", &arguments, None);
    wait_until(|| world.path("working").exists());
    world.let_go();
    assert_eq!(text(&server.result(again)), "found it");
    server.close();
    world.wait_until_nothing_is_left();
}

#[test]
fn a_call_that_waits_for_its_slot_says_so_in_progress_and_in_structure() {
    const WORDS: &str = "queued: 1 of 1 agents are running";
    let world = world();
    world.settings(&json!({"mcpAnswerAfter": 1, "machineConcurrency": 1}));
    let first = world.start(&world.working(), &[]);
    wait_until(|| world.path("working").exists());
    let mut server = Server::initialized(&world, &quick());
    let heard = server.begin_call("delegate_to_subagents", &tasks(1), Some("token"));
    // The first message may come before the reason is known.
    let mut messages = (0..3).map(|_| server.wait_for("notifications/progress"));
    let says_why = |said: Value| said["params"]["message"].as_str().unwrap().contains(WORDS);
    assert!(messages.any(says_why));
    // A client that hears no progress is answered meanwhile.
    let result = server.call("delegate_to_subagents", &tasks(1));
    let session = &result["structuredContent"]["sessions"][0];
    assert_eq!(session["status"], "queued", "{result}");
    let waiting = &session["waiting"];
    assert_eq!(
        (&waiting["for"], &waiting["running"], &waiting["most"]),
        (&json!("slots"), &json!(1), &json!(1)),
        "{result}"
    );
    assert!(text(&result).contains(WORDS), "{result}");
    world.let_go();
    assert_eq!(first.finish().code, Some(0));
    assert_eq!(server.result(heard)["structuredContent"]["status"], json!("done"));
    server.close();
    world.wait_until_nothing_is_left();
}
