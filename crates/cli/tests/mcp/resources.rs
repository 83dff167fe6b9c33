//! Sessions, runs and profiles as resources.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use test_support::{wait_until, write_file};

use super::*;

#[test]
fn sessions_runs_and_profiles_are_listed_and_read() {
    let profile = "---\nname: fast\nmodel: a/one\napiKey: sk-secret\nprovider: a\n---\nBe fast.\n";
    let world = world().with_agent_file("agent-profiles/fast.md", profile);
    let critic = world.project().join(".claude/agents/critic.md");
    write_file(&critic, "---\nname: critic\n---\nYou criticise.\n");
    let mut server = Server::initialized(&world, &quick());
    let done = server.call("delegate_to_subagents", &tasks(1));
    let id = session(&done, 0);
    let listed = server.request("resources/list", &json!({}))["result"].clone();
    let run = world.only_run().file_name().unwrap().to_str().unwrap().to_owned();
    let uris: Vec<&str> = listed["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["uri"].as_str().unwrap())
        .collect();
    let (session, run) = (format!("subagent://session/{id}"), format!("subagent://run/{run}"));
    assert_eq!(
        uris,
        ["subagent://profile/critic", "subagent://profile/fast", session.as_str(), run.as_str()]
    );
    let critic = server.read("subagent://profile/critic");
    assert!(critic.contains("origin") && critic.contains(".claude/agents/critic.md"), "{critic}");
    assert!(listed["nextCursor"].is_null());
    let told = server.read(&session);
    assert!(told.contains("go") && told.contains("found it"), "{told}");
    let report: Value = serde_json::from_str(&server.read(&run)).unwrap();
    assert_eq!(report["status"], json!("completed"));
    assert_eq!(report["output"], json!("found it"));
    let profile = server.read("subagent://profile/fast");
    assert!(profile.contains("a/one") && !profile.contains("sk-secret"), "{profile}");
    for uri in [
        "subagent://session/0123456789abcdef",
        "subagent://run/00000000",
        "subagent://profile/nobody",
        "subagent://session/../..",
        "file:///etc/passwd",
    ] {
        let (code, message) = server.refusal("resources/read", &json!({"uri": uri}));
        assert_eq!(code, -32002, "{uri}: {message}");
    }
    let templates = server.request("resources/templates/list", &json!({}))["result"].clone();
    assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), 3, "{templates}");
    server.close();
}

#[test]
fn many_sessions_are_listed_page_by_page_the_latest_first() {
    let world = world();
    let mut server = Server::initialized(&world, &quick());
    for _ in 0..4 {
        server.call("delegate_to_subagents", &tasks(16));
    }
    let (mut sessions, mut pages) = (Vec::new(), 0);
    let mut params = json!({});
    loop {
        let page = server.request("resources/list", &params)["result"].clone();
        pages += 1;
        let uris =
            page["resources"].as_array().unwrap().iter().map(|resource| resource["uri"].clone());
        sessions.extend(uris.filter(|uri| uri.as_str().unwrap().contains("/session/")));
        if page["nextCursor"].is_null() {
            break;
        }
        params = json!({"cursor": page["nextCursor"]});
    }
    assert_eq!((pages, sessions.len()), (2, 64));
    let newest = fs::read_to_string(world.runs()[63].join("meta.json")).unwrap();
    let newest: Value = serde_json::from_str(&newest).unwrap();
    let newest = format!("subagent://session/{}", newest["sessionId"].as_str().unwrap());
    assert_eq!(sessions[0], json!(newest));
    sessions.sort_by_key(ToString::to_string);
    sessions.dedup();
    assert_eq!(sessions.len(), 64, "each of them once");
    server.close();
}

#[test]
fn ids_and_names_are_completed() {
    let world = world().with_agent_file("agent-profiles/fast.md", "---\nname: fast\n---\n");
    let mut server = Server::initialized(&world, &quick());
    let done = server.call("delegate_to_subagents", &tasks(2));
    let mut complete = |uri: &str, name: &str, value: &str| {
        let params = json!({
            "ref": {"type": "ref/resource", "uri": uri},
            "argument": {"name": name, "value": value},
        });
        server.request("completion/complete", &params)["result"]["completion"].clone()
    };
    let ids = complete("subagent://session/{id}", "id", "");
    assert_eq!((ids["total"].clone(), ids["hasMore"].clone()), (json!(2), json!(false)));
    let first = session(&done, 0);
    assert_eq!(complete("subagent://session/{id}", "id", &first[..15])["values"], json!([first]));
    assert_eq!(complete("subagent://session/{id}", "id", "task 1")["values"], json!([first]));
    assert_eq!(complete("subagent://run/{id}", "id", "")["total"], json!(2));
    assert_eq!(complete("subagent://profile/{name}", "name", "fa")["values"], json!(["fast"]));
    assert_eq!(complete("subagent://profile/{name}", "name", "x")["values"], json!([]));
    let params = json!({
        "ref": {"type": "ref/resource", "uri": "subagent://session/{id}"},
        "argument": {"name": "name", "value": ""},
    });
    let (code, message) = server.refusal("completion/complete", &params);
    assert_eq!(code, -32602);
    assert!(message.starts_with("argument.name: "), "{message}");
    server.close();
}

#[test]
fn a_client_hears_of_new_runs_and_of_what_it_asked_to_hear_of() {
    let world = world();
    let mut server = Server::initialized(&world, &world.working());
    // Answered by the thread that watches, so the watch has begun.
    server.call("list_subagent_profiles", &json!({}));
    // Also if another program has started it: here it is the shell.
    let running = world.start(&world.working(), &["--name", "shell's"]);
    server.wait_for("notifications/resources/list_changed");
    let meta = fs::read_to_string(world.only_run().join("meta.json")).unwrap();
    let meta: Value = serde_json::from_str(&meta).unwrap();
    let uri = format!("subagent://session/{}", meta["sessionId"].as_str().unwrap());
    wait_until(|| world.path("working").exists());
    let subscribed = server.request("resources/subscribe", &json!({"uri": uri}));
    assert!(subscribed["result"].is_object(), "{subscribed}");
    world.let_go();
    let updated = server.wait_for("notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], json!(uri));
    assert_eq!(running.finish().code, Some(0));
    world.play(&quick(), &[]);
    server.wait_for("notifications/resources/list_changed");
    server.request("resources/unsubscribe", &json!({"uri": uri}));
    let (code, _) = server.refusal("resources/subscribe", &json!({"uri": "file:///etc/passwd"}));
    assert_eq!(code, -32002);
    server.close();
    world.assert_nothing_left();
}

#[test]
fn a_change_is_told_once_however_often_a_client_says_that_it_is_ready() {
    let world = world();
    let mut server = Server::initialized(&world, &quick());
    for _ in 0..3 {
        server.notify("notifications/initialized", &json!({}));
    }
    server.call("list_subagent_profiles", &json!({}));
    world.play(&quick(), &[]);
    server.wait_for("notifications/resources/list_changed");
    server.request("ping", &json!({}));
    let more = server.received("notifications/resources/list_changed");
    assert!(more.is_empty(), "{more:?}");
    server.close();
}

#[test]
fn many_changes_at_once_are_all_told() {
    let world = world();
    let mut server = Server::initialized(&world, &quick());
    server.call("delegate_to_subagents", &tasks(1));
    let template = world.only_run();
    let name = template.file_name().unwrap().to_str().unwrap().to_owned();
    let runs: Vec<String> =
        (0..300).map(|n| format!("{}{n:08x}", &name[..name.len() - 8])).collect();
    for run in &runs {
        let copy = template.with_file_name(run);
        fs::create_dir(&copy).unwrap();
        for file in ["meta.json", "result.json"] {
            let text = fs::read_to_string(template.join(file)).unwrap().replace(&name, run);
            fs::write(copy.join(file), text).unwrap();
        }
        server.request("resources/subscribe", &json!({"uri": format!("subagent://run/{run}")}));
    }
    server.call("list_subagent_profiles", &json!({}));
    fs::remove_dir_all(template.parent().unwrap()).unwrap();
    let mut left: BTreeSet<String> =
        runs.iter().map(|run| format!("subagent://run/{run}")).collect();
    while !left.is_empty() {
        let updated = server.wait_for("notifications/resources/updated");
        left.remove(updated["params"]["uri"].as_str().unwrap());
    }
    server.close();
}

#[test]
fn a_client_of_the_newest_protocol_listens() {
    let world = world();
    let mut server = Server::start(&world, &quick());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let notifications = json!({"resourcesListChanged": true});
    let listening = json!({"_meta": meta, "notifications": notifications});
    let id = server.start_request("subscriptions/listen", &listening);
    server.wait_for("notifications/subscriptions/acknowledged");
    let call = json!({"_meta": meta, "name": "delegate_to_subagents", "arguments": tasks(1)});
    let call = server.start_request("tools/call", &call);
    let changed = server.wait_for("notifications/resources/list_changed");
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], json!(id));
    assert_eq!(server.result(call)["isError"], json!(false));
    // A subscriber sends nothing that the server would wait for.
    let closed = Instant::now();
    server.close();
    assert!(closed.elapsed() < Duration::from_secs(4), "{:?}", closed.elapsed());
    world.assert_nothing_left();
}

#[test]
fn a_client_that_says_where_it_works_is_served_there() {
    let world = world();
    let elsewhere = world.path("a project");
    fs::create_dir_all(elsewhere.join(".git")).unwrap();
    let script = json!(["start", {"tell": "cwd"}, {"end": false}, "settle"]);
    let mut server = Server::start(&world, &script);
    server.initialize(&json!({"roots": {}}));
    let asked = server.wait_for("roots/list");
    let uri = format!("file://{}", elsewhere.display()).replace(' ', "%20");
    let roots = json!([{"uri": "file:///nowhere"}, {"uri": uri}]);
    server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}}));
    let result = server.call("subagent", &json!({"preset": "scout", "task": "where"}));
    assert!(text(&result).ends_with("/a project"), "{result}");
    assert!(elsewhere.join(".pi/subagents/runs").is_dir() && world.runs().is_empty());
    server.close();
    world.assert_nothing_left();
}
