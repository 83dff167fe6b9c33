//! What a bridge knows of earlier runs of a conversation.

use test_support::fake_agent::saying;
use test_support::wait_until;

use super::*;

/// Starts a session as pi does when it resumes a conversation with these entries.
fn restore(bridge: &mut Bridge, entries: &[Value]) {
    let answer = bridge.request("session/start", &json!({"reason": "resume", "entries": entries}));
    assert!(answer["error"].is_null(), "{answer}");
}

fn session_of(result: &Value, index: usize) -> Value {
    json!({"sessionId": result["details"]["windows"][index]["sessionId"]})
}

#[test]
fn a_session_is_answered_resumed_and_known_after_a_restart() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    let result = bridge.call("delegate_to_subagents", &tasks(1));
    let session = session_of(&result, 0);
    let entries = bridge.entries();
    bridge.close();
    // Another pi, with the log of the first, in a project that has lost its runs.
    fs::remove_dir_all(world.project().join(".pi/subagents/runs")).unwrap();
    let mut bridge =
        Bridge::of_pi(&world, &json!(["start", {"tell": "prompt"}, {"end": false}, "settle"]));
    assert_eq!(
        bridge.refusal("get_subagent_output", &session),
        format!(
            "Session {} not found. The session may have expired or the ID is incorrect.",
            session["sessionId"]
        )
    );
    restore(&mut bridge, &entries);
    let output = bridge.call("get_subagent_output", &session);
    assert_eq!(output["text"], json!("found it"));
    assert_eq!(output["details"]["status"], json!("completed"));
    let mut again = tasks(1);
    again["tasks"][0]["resume"] = session["sessionId"].clone();
    let result = bridge.call("delegate_to_subagents", &again);
    assert_eq!(session_of(&result, 0), session, "{result}");
    let whole = bridge.call("get_subagent_session", &session);
    assert_eq!(whole["details"]["runCount"], json!(2), "{whole}");
    assert!(whole["text"].as_str().unwrap().starts_with("=== Run 1/2 (completed) ==="), "{whole}");
    bridge.close();
}

#[test]
fn what_was_cut_off_is_interrupted_with_what_it_had_said() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &world.working());
    bridge.begin_call("call", "delegate_to_subagents", &tasks(1));
    wait_until(|| world.path("working").exists());
    let mut entries = vec![bridge.wait_for("session/append")["params"].clone()];
    bridge.kill();
    bridge.close();
    world.wait_until_nothing_is_left();
    let mut bridge = Bridge::of_pi(&world, &quick());
    restore(&mut bridge, &entries);
    let told = bridge.entries();
    assert_eq!(told.len(), 1, "its end is written down: {told:?}");
    let data = &told[0]["data"];
    let message = "Session was interrupted (main agent session ended unexpectedly)";
    assert_eq!((&data["status"], &data["errorMessage"]), (&json!("error"), &json!(message)));
    let session = json!({"sessionId": data["sessionId"]});
    let output = bridge.call("get_subagent_output", &session);
    assert_eq!(output["text"], json!("working on it"));
    let whole = bridge.call("get_subagent_session", &session);
    assert!(whole["text"].as_str().unwrap().contains(&format!("[Error: {message}]")), "{whole}");
    // Once it is in the log, it is not written again.
    entries.extend(told);
    restore(&mut bridge, &entries);
    assert!(bridge.entries().is_empty());
    bridge.close();
}

#[test]
fn sessions_of_other_programs_are_found_by_their_ids() {
    let world = world();
    let ran = world.play(&quick(), &["--name", "elsewhere"]);
    let id = ran.task()["sessionId"].clone();
    let mut bridge = Bridge::of_pi(&world, &quick());
    let output = bridge.call("get_subagent_output", &json!({"sessionId": id}));
    assert_eq!(
        (&output["text"], &output["details"]["taskName"]),
        (&json!("found it"), &json!("elsewhere"))
    );
    let whole = bridge.call("get_subagent_session", &json!({"sessionId": id}));
    assert_eq!(whole["details"]["messageCount"], json!(2), "{whole}");
    // A run that another program has continued since replaces the entry in the log.
    let result = bridge.call("delegate_to_subagents", &tasks(1));
    let session = session_of(&result, 0);
    let id = session["sessionId"].as_str().unwrap();
    let later = saying("found more");
    assert_eq!(world.play(&later, &["--resume", id]).code, Some(0));
    let output = bridge.call("get_subagent_output", &session);
    assert_eq!(output["text"], json!("found more"));
    bridge.close();
}

#[test]
fn a_mistyped_id_is_refused_with_the_session_that_may_have_been_meant() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    let result = bridge.call("delegate_to_subagents", &tasks(1));
    let session = session_of(&result, 0);
    let id = session["sessionId"].as_str().unwrap();
    let mut typo = id.to_owned();
    typo.replace_range(0..1, if id.starts_with('0') { "1" } else { "0" });
    let not_found = format!(
        "ession \"{typo}\" not found. The session may have expired or the ID is incorrect. Did you \
         mean {id}?"
    );
    for tool in ["get_subagent_output", "get_subagent_session"] {
        let refusal = bridge.refusal(tool, &json!({"sessionId": typo}));
        assert_eq!(refusal, format!("S{not_found}"));
    }
    let mut again = tasks(1);
    again["tasks"][0]["resume"] = json!(typo);
    let refusal = bridge.refusal("delegate_to_subagents", &again);
    assert_eq!(refusal, format!("Cannot resume: s{not_found}"));
    // A task is also known by its name.
    let refusal = bridge.refusal("get_subagent_output", &json!({"sessionId": "task 1"}));
    assert!(refusal.ends_with(&format!("Did you mean {id}?")), "{refusal}");
    bridge.close();
}

#[test]
fn a_session_that_runs_cannot_be_resumed() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &world.working());
    let call = bridge.begin_call("first", "delegate_to_subagents", &tasks(1));
    wait_until(|| world.path("working").exists());
    let entry = bridge.wait_for("session/append")["params"]["data"].clone();
    let mut again = tasks(1);
    again["tasks"][0]["resume"] = entry["sessionId"].clone();
    assert_eq!(
        bridge.refusal("delegate_to_subagents", &again),
        format!(
            "Cannot resume: session {} is still running. Wait for it to complete before resuming.",
            entry["sessionId"]
        )
    );
    world.let_go();
    bridge.response(call);
    bridge.close();
}

#[test]
fn moving_in_the_tree_forgets_no_run_that_is_under_way() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &world.working());
    let call = bridge.begin_call("first", "delegate_to_subagents", &tasks(1));
    wait_until(|| world.path("working").exists());
    let id = bridge.wait_for("session/append")["params"]["data"]["sessionId"].clone();
    restore(&mut bridge, &[]);
    let output = bridge.call("get_subagent_output", &json!({"sessionId": id}));
    assert_eq!(output["details"]["status"], json!("running"), "{output}");
    world.let_go();
    bridge.response(call);
    let output = bridge.call("get_subagent_output", &json!({"sessionId": id}));
    assert_eq!(output["text"], json!("found it"));
    bridge.close();
}
