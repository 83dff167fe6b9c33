//! Every tool once, several at once, cancelled, and with progress.

use std::fs;

use test_support::wait_until;

use super::*;
use crate::workspaces;

#[test]
fn an_agent_that_is_not_installed_says_how_to_install_it() {
    let world = world();
    let mut server = Server::initialized(&world, &quick());
    let task = json!({"name": "one", "prompt": "look", "agent": "claude"});
    let result = server.call("delegate_to_subagents", &json!({"tasks": [task]}));
    let error = "✗ one: error — Claude Code is not installed: install it with `npm install -g \
                 @anthropic-ai/claude-code`";
    assert!(text(&result).starts_with(error), "{result}");
    server.close();
    world.assert_nothing_left();
}

#[test]
fn a_server_without_a_key_says_that_its_client_may_have_withheld_it() {
    let world = world();
    let ask = |variable: Option<(&str, &str)>| {
        let mut command = world.command(["mcp"]);
        command.env("PI_SUBAGENTS_AGENT", "builtin").envs(variable);
        let mut server = Server(RpcClient::start(command));
        server.initialize(&json!({}));
        let result = server.call("delegate_to_subagents", &tasks(1));
        assert_eq!(server.close().code, Some(0));
        assert_eq!(result["isError"], json!(true), "{result}");
        result
    };
    let words = "The client may have withheld its environment";
    let result = ask(None);
    assert!(text(&result).contains("there is no API key"), "{result}");
    assert!(text(&result).contains(words), "{result}");
    // Some clients show their model nothing else.
    let warnings = &result["structuredContent"]["warnings"];
    assert!(warnings[0].as_str().unwrap().contains(words), "{result}");

    // A key that is of no use has come from somewhere.
    let result = ask(Some(("GROQ_API_KEY", "no\nkey")));
    assert!(!result.to_string().contains(words), "{result}");
    fs::write(world.agent_dir().join("auth.json"), "{}").unwrap();
    let result = ask(None);
    assert!(!result.to_string().contains(words), "{result}");
}

#[test]
fn delegated_tasks_are_answered_with_their_sessions() {
    let world = world();
    let mut server = Server::initialized(&world, &quick());
    let mut arguments = tasks(2);
    arguments["tasks"][1]["profile"] = json!("nobody");
    let result = server.call("delegate_to_subagents", &arguments);
    let (first, second) = (session(&result, 0), session(&result, 1));
    assert_eq!(
        text(&result),
        format!(
            "✓ task 1: completed (session: {first})\n✗ task 2: error — Unknown profile: \"nobody\". \
             Available profiles: (none) (session: {second}) (nobody)\n\n### task 1\n\nfound it"
        )
    );
    assert_eq!(result["isError"], json!(false), "one of them has completed");
    let structured = &result["structuredContent"];
    assert_eq!(structured["status"], json!("done"));
    assert_eq!(structured["sessions"][0]["name"], json!("task 1"));
    assert_eq!(structured["sessions"][0]["status"], json!("completed"));
    assert_eq!(structured["sessions"][0]["output"], json!("found it"));
    assert_eq!(structured["sessions"][0]["truncated"], json!(false));
    assert_eq!(structured["sessions"][1]["status"], json!("error"));
    assert!(structured["sessions"][1]["error"].as_str().unwrap().contains("Unknown profile"));
    // Other programs find the run.
    let listed = world.run(&["sessions", "list", "--json"]).json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2, "{listed}");
    let meta = world.runs()[0].join("meta.json");
    let meta: Value = serde_json::from_slice(&fs::read(meta).unwrap()).unwrap();
    assert_eq!(meta["owner"], json!({"kind": "mcp", "id": "a test"}));
    let ran = server.close();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    world.assert_nothing_left();
}

#[test]
fn a_subagent_answers_in_text_and_in_structure() {
    let world = world();
    let mut server = Server::initialized(&world, &quick());
    let result = server.call("subagent", &json!({"preset": "scout", "task": "look"}));
    assert_eq!(text(&result), "found it");
    assert_eq!(result["structuredContent"]["sessions"][0]["output"], json!("found it"));
    let id = session(&result, 0);
    let output = server.call("get_subagent_output", &json!({"sessionId": id}));
    assert_eq!(text(&output), "found it");
    assert_eq!(output["structuredContent"]["output"], json!("found it"));
    assert_eq!(output["structuredContent"]["status"], json!("completed"));
    let transcript = server.call("get_subagent_session", &json!({"sessionId": id}));
    assert!(text(&transcript).contains("found it"), "{transcript}");
    assert_eq!(transcript["structuredContent"]["transcript"], json!(text(&transcript)));
    server.close();
}

#[test]
fn a_call_in_which_nothing_succeeds_is_an_error() {
    let world = world();
    let mut server = Server::initialized(&world, &json!(["start", {"exit": 3}]));
    let result = server.call("subagent", &json!({"preset": "scout", "task": "look"}));
    assert_eq!(result["isError"], json!(true), "{result}");
    assert_eq!(result["structuredContent"]["sessions"][0]["status"], json!("error"));
    server.close();
}

#[test]
fn a_call_that_cannot_be_carried_out_says_why() {
    let world = world();
    let mut server = Server::initialized(&world, &quick());
    let mut resuming = tasks(1);
    resuming["tasks"][0]["resume"] = json!("0123456789abcdef");
    let result = server.call("delegate_to_subagents", &resuming);
    assert_eq!(result["isError"], json!(true));
    assert!(text(&result).starts_with("Cannot resume: session \"0123456789abcdef\" not found"));
    let done = server.call("delegate_to_subagents", &tasks(1));
    let mut typo = session(&done, 0);
    typo.replace_range(0..1, if typo.starts_with('0') { "1" } else { "0" });
    let result = server.call("get_subagent_output", &json!({"sessionId": typo}));
    assert_eq!(result["isError"], json!(true));
    let meant = format!("Did you mean {}?", session(&done, 0));
    assert!(text(&result).contains(&meant), "{result}");
    resuming["tasks"][0]["resume"] = json!(typo);
    let result = server.call("delegate_to_subagents", &resuming);
    assert!(text(&result).ends_with(&meant), "{result}");
    server.close();
}

#[test]
fn a_session_is_continued() {
    let world = world();
    let script = json!(["start", {"tell": "prompt"}, {"end": false}, "settle"]);
    let mut server = Server::initialized(&world, &script);
    let first = server.call("delegate_to_subagents", &tasks(1));
    let id = session(&first, 0);
    let again = json!({"tasks": [{"name": "again", "prompt": "and now", "resume": id}]});
    let second = server.call("delegate_to_subagents", &again);
    assert_eq!(session(&second, 0), id);
    let output = server.call("get_subagent_output", &json!({"sessionId": id}));
    assert!(text(&output).contains("Previously:") && text(&output).contains("and now"), "{output}");
    // The shell can go on where the client stopped, and the other way round.
    let agent = world.agent(&script);
    let ran = world.run(&["run", "--agent", &agent, "--resume", &id, "once more"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let output = server.call("get_subagent_output", &json!({"sessionId": id}));
    assert!(text(&output).contains("once more"), "{output}");
    server.close();
}

#[test]
fn profiles_are_listed() {
    let profile = "---\nname: fast\nmodel: a/one\n---\nBe fast.\n";
    let world = world().with_agent_file("agent-profiles/fast.md", profile);
    let mut server = Server::initialized(&world, &quick());
    let result = server.call("list_subagent_profiles", &json!({}));
    assert!(text(&result).contains("fast"), "{result}");
    let summary = &result["structuredContent"]["profiles"]["fast"];
    assert!(summary.as_str().unwrap().contains("a/one"), "{result}");
    server.close();
}

#[test]
fn background_runs_are_started_and_asked_after() {
    let world = world();
    let mut server = Server::initialized(&world, &world.working());
    let started = server.call("background_agent", &json!({"preset": "scout", "task": "look"}));
    let structured = &started["structuredContent"];
    let run = structured["runId"].as_str().unwrap().to_owned();
    assert_eq!(structured["status"], json!("running"), "{started}");
    assert!(text(&started).contains(&run), "{started}");
    let id = structured["sessionId"].as_str().unwrap().to_owned();
    assert!(text(&started).contains(&id), "it can be waited for: {started}");
    let status = server.call("background_agent_status", &json!({}));
    assert_eq!(status["structuredContent"]["counts"]["running"], json!(1), "{status}");
    // Reading the output of a session waits for its end, whichever program runs it.
    let waiting = server.begin_call("get_subagent_output", &json!({"sessionId": id}), Some("w"));
    let word = server.wait_for("notifications/progress")["params"].clone();
    assert!(word["message"].as_str().unwrap().contains("scout"), "{word}");
    world.let_go();
    assert_eq!(text(&server.result(waiting)), "found it");
    let status = server.call("background_agent_status", &json!({"runId": run}));
    assert_eq!(status["structuredContent"]["runs"][0]["status"], json!("completed"));
    server.close();
    world.wait_until_nothing_is_left();
}

#[test]
fn calls_run_side_by_side_and_are_cancelled_one_by_one() {
    let world = world();
    let mut server = Server::initialized(&world, &world.working());
    let first = server.begin_call("delegate_to_subagents", &tasks(6), None);
    let scout = json!({"preset": "scout", "task": "x"});
    let second = server.begin_call("subagent", &scout, None);
    wait_until(|| agents(&world) == 5);
    let cancel = json!({"requestId": first, "reason": "the user pressed Escape"});
    server.notify("notifications/cancelled", &cancel);
    // Everything of the call is gone, and nothing of the other.
    wait_until(|| agents(&world) == 1);
    // Meanwhile everything else is answered.
    assert!(server.request("tools/list", &json!({}))["result"]["tools"].is_array());
    world.let_go();
    assert_eq!(text(&server.result(second)), "found it");
    let (said, _) = server.0.close_and_read();
    assert!(said.iter().all(|message| message["id"] != json!(first)), "{said:?}");
    let results: Vec<Value> =
        world.runs().iter().map(|run| read_json(run, "result.json")).collect();
    let cancelled = results.iter().filter(|result| result["outcome"] == json!("cancelled")).count();
    assert_eq!((cancelled, results.len()), (6, 7));
    world.assert_nothing_left();
}

#[test]
fn a_client_that_listens_hears_what_happens_in_growing_numbers() {
    let world = world();
    let mut server = Server::initialized(&world, &world.working());
    let call = server.begin_call("delegate_to_subagents", &tasks(2), Some("token"));
    let mut words = Vec::new();
    loop {
        let params = server.wait_for("notifications/progress")["params"].clone();
        assert_eq!(params["progressToken"], json!("token"));
        words.push((params["progress"].as_f64().unwrap(), params["message"].clone()));
        if words.last().unwrap().1.as_str().unwrap().starts_with("Sub-agents: 2 running | ") {
            break;
        }
    }
    world.let_go();
    let result = server.result(call);
    assert_eq!(result["structuredContent"]["status"], json!("done"));
    let later = server.received("notifications/progress");
    words.extend(
        later
            .into_iter()
            .map(|params| (params["progress"].as_f64().unwrap(), params["message"].clone())),
    );
    assert!(words.is_sorted_by(|one, other| one.0 < other.0), "{words:?}");
    server.close();
    world.assert_nothing_left();
}

#[test]
fn what_people_should_know_goes_to_standard_error_once() {
    let world = world().with_agent_file("agent-profiles/broken.md", "---\nname: [\n---\n");
    let mut server = Server::initialized(&world, &quick());
    server.call("list_subagent_profiles", &json!({}));
    server.call("list_subagent_profiles", &json!({}));
    let ran = server.close();
    assert_eq!(ran.stderr.matches("broken.md").count(), 1, "{}", ran.stderr);
}

fn read_json(run: &std::path::Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(run.join(name)).unwrap()).unwrap()
}

#[test]
fn a_client_can_stop_a_background_run() {
    let world = world();
    let mut server = Server::initialized(&world, &world.working());
    let started = server.call("background_agent", &json!({"preset": "scout", "task": "x"}));
    let id = started["structuredContent"]["runId"].clone();
    wait_until(|| world.path("working").exists());
    let stop = json!({"runId": id, "action": "stop"});
    let stopped = server.call("background_agent_control", &stop);
    assert_eq!(stopped["structuredContent"]["status"], json!("aborted"), "{stopped}");
    assert_eq!(stopped["structuredContent"]["runId"], id);
    let wrong =
        json!({"name": "background_agent_control", "arguments": {"runId": id, "action": "x"}});
    let (_, message) = server.refusal("tools/call", &wrong);
    assert_eq!(message, "action: must be stop or message");
    server.close();
    world.assert_nothing_left();
}

#[test]
fn presets_are_offered_and_a_client_is_told_when_they_change() {
    let world = world();
    let mut server = Server::initialized(&world, &quick());
    let offered = |server: &mut Server| {
        let tools = server.request("tools/list", &json!({}))["result"]["tools"].clone();
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "subagent");
        let tool = tool.unwrap();
        let listed = tool["inputSchema"]["properties"]["preset"]["enum"].clone();
        (tool["description"].as_str().unwrap().to_owned(), listed)
    };
    let (_, listed) = offered(&mut server);
    assert_eq!(listed, json!(["scout"]));
    let preset = "---\nname: reviewer\ndescription: Reviews a change.\nmodel: a/one\n---\n";
    fs::write(world.agent_dir().join("subagents/reviewer.md"), preset).unwrap();
    server.wait_for("notifications/tools/list_changed");
    let (description, listed) = offered(&mut server);
    assert!(description.contains("\nreviewer: Reviews a change."), "{description}");
    assert_eq!(listed, json!(["reviewer", "scout"]));
    server.close();
}

#[test]
fn tasks_that_got_into_each_others_way_are_named_in_text_and_in_structure() {
    let world = workspaces::repository();
    let (script, call) = workspaces::rivals();
    let mut server = Server::initialized(&world, &script);
    let result = server.call("delegate_to_subagents", &call);
    workspaces::assert_rivals_are_named(text(&result));
    let warnings = result["structuredContent"]["warnings"].as_array().unwrap();
    let warnings: Vec<&str> = warnings.iter().map(|one| one.as_str().unwrap()).collect();
    workspaces::assert_rivals_are_named(&warnings.join("\n"));
    server.close();
}
