//! Calls of tools that run tasks.

use std::time::Instant;

use test_support::wait_until;

use super::*;
use crate::conversation::{self, Talk};
use crate::workspaces;

#[test]
fn an_agent_that_is_not_installed_says_how_to_install_it() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    let mut arguments = tasks(1);
    arguments["tasks"][0]["agent"] = json!("codex");
    let result = bridge.call("delegate_to_subagents", &arguments);
    let error = "✗ task 1: error — Codex is not installed: install it with `npm install -g \
                 @openai/codex`";
    assert!(result["text"].as_str().unwrap().starts_with(error), "{result}");
    assert_eq!(result["isError"], json!(true));
    bridge.close();
    world.assert_nothing_left();
}

#[test]
fn a_call_is_answered_with_everything_about_its_tasks() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    let mut arguments = tasks(2);
    arguments["tasks"][1]["profile"] = json!("nobody");
    let result = bridge.call("delegate_to_subagents", &arguments);
    let details = &result["details"];
    let windows = details["windows"].as_array().unwrap();
    let id = |index: usize| windows[index]["sessionId"].as_str().unwrap();
    assert_eq!(
        result["text"].as_str().unwrap(),
        format!(
            "✓ task 1: completed (session: {})\n✗ task 2: error — Unknown profile: \"nobody\". \
             Available profiles: (none) (session: {}) (nobody)\n\n### task 1\n\nfound it",
            id(0),
            id(1)
        )
    );
    assert_eq!(result["isError"], json!(false), "one of them has completed");
    assert_eq!(result["usage"]["totalTokens"], json!(120), "{result}");
    assert_eq!((&details["status"], &details["maxLines"]), (&json!("done"), &json!(15)));
    assert_eq!(details["sessionIds"], json!([id(0), id(1)]));
    let window = |index: usize| {
        let mut window = windows[index].clone();
        let window = window.as_object_mut().unwrap();
        for field in ["sessionId", "runId", "elapsedMs"] {
            assert!(window.shift_remove(field).is_some(), "{field}: {result}");
        }
        json!(window)
    };
    assert_eq!(
        [window(0), window(1)],
        [
            json!({
                "name": "task 1", "status": "completed", "toolCount": 0, "timeoutMs": 600_000,
                "model": "fake-1",
            }),
            json!({
                "name": "task 2", "status": "error", "toolCount": 0, "timeoutMs": null,
                "profile": "nobody",
                "error": "Unknown profile: \"nobody\". Available profiles: (none)",
            }),
        ]
    );
    let lines = text(&result["details"]["lines"]);
    let rows: Vec<&str> = lines.lines().collect();
    assert!(rows[0].starts_with("2/2 ━━━━━━━━━━━━━━━━━━━━━━━━ 1 done · 1 failed "), "{lines}");
    assert!(rows[1].starts_with("✓ task 1 ") && rows[1].contains(" found it "), "{lines}");
    let failure = "✗ task 2 pi Unknown profile: \"nobody\". Available profiles: (none)";
    assert_eq!(rows[2], failure);
    let sessions = format!("sessions {} {} · Ctrl+O opens", &id(0)[..8], &id(1)[..8]);
    assert_eq!(rows[3..], [sessions]);
    // Both were written to the log at their start and at their end.
    let entries = bridge.entries();
    let kinds: Vec<(&str, &str)> = entries
        .iter()
        .map(|entry| {
            let data = &entry["data"];
            (data["taskName"].as_str().unwrap(), data["status"].as_str().unwrap())
        })
        .collect();
    for kind in
        [("task 1", "running"), ("task 1", "completed"), ("task 2", "running"), ("task 2", "error")]
    {
        assert_eq!(kinds.iter().filter(|known| **known == kind).count(), 1, "{kind:?}: {kinds:?}");
    }
    assert!(entries.iter().all(|entry| entry["customType"] == json!("pi-subagents")));
    bridge.close();
    world.assert_nothing_left();
}

#[test]
fn a_call_in_which_nothing_succeeds_is_an_error_that_keeps_its_windows() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &json!(["start", {"exit": 3}]));
    let result = bridge.call("subagent", &json!({"preset": "scout", "task": "look"}));
    assert_eq!(result["isError"], json!(true), "{result}");
    assert!(text(&result["details"]["lines"]).starts_with("✗ scout "), "{result}");
    bridge.close();
}

#[test]
fn calls_run_side_by_side_and_are_cancelled_one_by_one() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &world.working());
    let first = bridge.begin_call("first", "delegate_to_subagents", &tasks(6));
    let second = bridge.begin_call("second", "subagent", &json!({"preset": "scout", "task": "x"}));
    wait_until(|| world.processes().iter().filter(|(_, p)| p.contains("fake-agent")).count() == 5);
    bridge.notify("tools/cancel", &json!({"callId": "first"}));
    let cancelled = bridge.response(first)["result"].clone();
    assert_eq!(cancelled["isError"], json!(true));
    let lines = cancelled["text"].as_str().unwrap();
    assert_eq!(lines.matches("Cancelled before it had finished").count(), 4, "{lines}");
    assert_eq!(lines.matches("Cancelled before it was started").count(), 2, "{lines}");
    // The answer comes when everything of the call is gone, and nothing of the other.
    wait_until(|| world.processes().iter().filter(|(_, p)| p.contains("fake-agent")).count() == 1);
    world.let_go();
    let completed = bridge.response(second)["result"].clone();
    assert_eq!(completed["text"], json!("found it"));
    bridge.close();
    world.assert_nothing_left();
}

#[test]
fn a_screen_is_told_often_enough_and_not_more() {
    let world = world();
    let chatter = json!(["start", {"repeat": {"times": 300, "steps": [
        {"message": {"text": "and then", "stop": "toolUse"}}, {"sleep_ms": 2},
    ]}}, {"say": "found it"}, {"end": false}, "settle"]);
    let mut bridge = Bridge::initialized(&world, &chatter, "tui");
    let started = Instant::now();
    let result = bridge.call("delegate_to_subagents", &tasks(4));
    let most = usize::try_from(started.elapsed().as_millis() / 50).unwrap() + 2;
    let updates = bridge.received("tools/update");
    assert!(!updates.is_empty() && updates.len() <= most, "{} of {most}", updates.len());
    let last = updates.last().unwrap();
    assert_eq!(last["callId"], json!("call"));
    assert!(last["text"].as_str().unwrap().contains("running"), "{last}");
    assert_eq!(result["isError"], json!(false));
    bridge.close();
}

#[test]
fn what_pi_keeps_stays_small_and_the_rest_can_be_looked_at() {
    let world = world();
    let long = "word ".repeat(400);
    let talker = json!(["start", {"repeat": {"times": 600, "steps": [
        {"message": {"text": long, "stop": "toolUse"}},
    ]}}, {"say": "found it"}, {"end": false}, "settle", "hang"]);
    let mut bridge = Bridge::initialized(&world, &talker, "tui");
    let result = bridge.call("delegate_to_subagents", &tasks(2));
    let kept = result["details"].to_string().len();
    assert!(kept < 4 * 1024, "{kept} bytes are kept");
    // Fifteen lines of a thousand characters for each of the two.
    for update in bridge.received("tools/update") {
        assert!(update["details"].to_string().len() < 40 * 1024);
    }
    let windows = result["details"]["windows"].as_array().unwrap();
    let runs: Vec<&Value> = windows.iter().map(|window| &window["runId"]).collect();
    let runs = json!({"runs": runs});
    let opened = bridge.request("view/expand", &runs)["result"]["lines"].clone();
    let expanded = text(&opened);
    let shown = expanded.matches(&format!("{}\n", long.trim_end())).count();
    // Of the last forty entries, two are the answer and that the agent was stopped after it.
    assert_eq!(shown, 2 * 38);
    assert_eq!(expanded.matches("  … 562 earlier; `pi-subagents sessions show ").count(), 2);
    let answers = opened.as_array().unwrap().iter().filter(|part| part["markdown"] == "found it");
    assert_eq!(answers.count(), 2, "{expanded}");
    bridge.close();
}

#[test]
fn reports_say_what_the_agents_do() {
    let world = world();
    let reading = json!(["start",
        {"tool_start": {"id": "1", "name": "read", "args": {"path": "src/auth.ts"}}},
        {"await": world.path("go")},
        {"say": "found it"}, {"end": false}, "settle"]);
    for mode in ["json", "tui"] {
        let mut bridge = Bridge::initialized(&world, &reading, mode);
        let delegated = bridge.begin_call("one", "delegate_to_subagents", &tasks(2));
        let until = |bridge: &mut Bridge, text: &str| loop {
            let update = bridge.wait_for("tools/update")["params"].clone();
            if update["text"] == text {
                break update;
            }
        };
        let words = "2 running\ntask 1: Reading src/auth.ts\ntask 2: Reading src/auth.ts";
        let update = until(&mut bridge, words);
        assert_eq!(update["details"]["status"], json!("running"));
        assert_eq!(update["details"]["windows"][1]["doing"], json!("Reading src/auth.ts"));
        let lines = text(&update["details"]["lines"]);
        let is_window =
            lines.contains("read  src/auth.ts ") && lines.contains("┃ read   src/auth.ts\n");
        assert_eq!(is_window, mode == "tui", "{lines}");
        let single = json!({"preset": "scout", "task": "look"});
        let single = bridge.begin_call("two", "subagent", &single);
        until(&mut bridge, "Reading src/auth.ts");
        world.let_go();
        bridge.response(delegated);
        bridge.response(single);
        bridge.close();
        std::fs::remove_file(world.path("go")).unwrap();
    }
}

#[test]
fn bad_arguments_are_refused_and_nothing_is_started() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    let huge = json!({"tasks": [{"name": "a", "prompt": "x".repeat(10 << 20), "timeout": "1"}]});
    for (tool, arguments, expected) in [
        ("delegate_to_subagents", json!({}), "tasks: is missing"),
        ("delegate_to_subagents", tasks(17), "tasks: must hold at most 16 tasks, but holds 17"),
        ("subagent", json!({"preset": "scout"}), "task: is missing"),
        ("get_subagent_output", json!({}), "sessionId: is missing"),
        ("subagent", json!({"preset": "scout", "taks": "x"}), "taks: is unknown"),
        (
            "background_agent",
            json!({"preset": "scout", "task": "x", "tools": []}),
            "tools: is unknown",
        ),
        ("background_agent_status", json!({"runId": 5}), "runId: must be a text"),
        ("delegate_to_subagents", huge, "tasks[0].timeout: must be a number"),
    ] {
        let refusal = bridge.refusal(tool, &arguments);
        assert!(refusal.starts_with(expected), "{refusal}");
    }
    assert!(world.runs().is_empty() && bridge.entries().is_empty());
    bridge.close();
}

#[test]
fn unknown_fields_are_warnings_unless_they_must_not_be_ignored() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    let result = bridge.call(
        "delegate_to_subagents",
        &json!({"reason": "speed", "tasks": [
            {"name": "a", "prompt": "p", "priority": 1},
            {"name": "b", "prompt": "p", "timout": 5},
            {"name": "c", "prompt": "p", "readOnly": true},
            {"name": "d", "prompt": "p", "files": [{"path": "x", "encoding": "utf-8"}]},
        ]}),
    );
    let text = result["text"].as_str().unwrap();
    for expected in [
        "✓ a: completed",
        "✗ b: error — The field \"timout\" is unknown. Did you mean timeout?",
        "✗ c: error — The field \"readOnly\" is unknown, and would restrict the agent.",
        "\nWarning: tasks[0].priority is unknown and was ignored\n",
        "✓ d: completed",
        "\nWarning: tasks[3].files[0].encoding is unknown and was ignored\n",
        "\nWarning: reason is unknown and was ignored\n",
        "\n\n### a\n\nfound it",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in {text}");
    }
    let result = bridge.call("list_subagent_profiles", &json!({"scope": "global"}));
    let text = result["text"].as_str().unwrap();
    assert!(text.ends_with("\nWarning: scope is unknown and was ignored"), "{text}");
    bridge.close();
    world.assert_nothing_left();
}

#[test]
fn a_background_run_is_stopped_by_a_tool() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &world.working());
    let started = bridge.call("background_agent", &json!({"preset": "scout", "task": "x"}));
    let id = started["details"]["runId"].as_str().unwrap().to_owned();
    wait_until(|| world.path("working").exists());
    let wrong = json!({"runId": &id[..35], "action": "stop"});
    let refusal = bridge.refusal("background_agent_control", &wrong);
    assert!(refusal.starts_with("No run found for runId: "), "{refusal}");
    let stop = json!({"runId": id, "action": "stop"});
    let stopped = bridge.call("background_agent_control", &stop);
    let text = stopped["text"].as_str().unwrap();
    let expected = format!("Stopped background agent scout (runId: {id}). Status: aborted.");
    assert!(text.starts_with(&expected) && text.contains("working on it"), "{text}");
    assert_eq!(stopped["details"]["status"], json!("aborted"));
    let again = bridge.call("background_agent_control", &stop);
    assert!(again["text"].as_str().unwrap().contains("had ended before"), "{again}");
    bridge.close();
    world.assert_nothing_left();
}

#[test]
fn a_background_run_is_told_something_by_a_tool() {
    let talk = Talk::new(&[json!({"text": "done"})]);
    let preset =
        "---\nname: scout\ndescription: Looks around.\nmodel: fake/fake-1\nagent: builtin\n---\n";
    talk.builtin.agent_file("subagents/scout.md", preset);
    let mut bridge = Bridge::of_pi(talk.world(), &quick());
    let started = bridge.request(
        "tools/call",
        &json!({"callId": "start", "name": "background_agent", "models": ["fake/fake-1"],
            "arguments": {"preset": "scout", "task": "x"}, "allTools": []}),
    );
    let id = started["result"]["details"]["runId"].as_str();
    let id = id.unwrap_or_else(|| panic!("{started}")).to_owned();
    wait_until(|| talk.builtin.project("working").exists());
    let tell = |run: &str, text: &str| json!({"runId": run, "action": "message", "message": text});
    let told = bridge.call("background_agent_control", &tell(&id, "Look in src."));
    assert_eq!(told["text"], format!("Message 1 to run {id}: accepted."), "{told}");
    let message = json!({"number": 1, "state": "accepted"});
    assert_eq!(told["details"]["message"], message, "{told}");
    for (arguments, expected) in [
        (json!({"runId": id, "action": "message"}), "The action \"message\" needs a message."),
        (tell(&id[..35], "Look in src."), "No run found for runId: "),
        (tell(&id, &"x".repeat(65_537)), "The message was refused: "),
    ] {
        let refusal = bridge.refusal("background_agent_control", &arguments);
        assert!(refusal.starts_with(expected), "{refusal}");
    }
    talk.let_go();
    bridge.wait_for("session/message");
    // The model had it in its very next request, and nothing else.
    assert_eq!(talk.asked()[1], ["Look in src."]);
    let too_long = "2 refused: the message has 65537 bytes, and the limit is 65536";
    let lives = conversation::lives(&talk.run_dir());
    assert_eq!(lives, ["1 accepted: Look in src.", too_long, "1 delivered"]);
    let late = bridge.refusal("background_agent_control", &tell(&id, "Still there?"));
    let expected = format!("The message was refused: the run has ended. Run: {id}.");
    assert_eq!(late, expected);
    bridge.close();
    talk.world().wait_until_nothing_is_left();
}

#[test]
fn an_agent_that_cannot_be_told_anything_says_why_to_the_tool() {
    let preset = "---\nname: scout\ndescription: Looks around.\nmodel: a/one\nagent: reader\n---\n";
    let world = world().with_agent_file("subagents/scout.md", preset);
    let command = [env!("CARGO_BIN_EXE_fake-agent").to_owned(), world.working().to_string()];
    world.settings(&json!({"agents": {"reader": {"command": command, "protocol": "pi"}}}));
    let mut bridge = Bridge::of_pi(&world, &quick());
    let started = bridge.call("background_agent", &json!({"preset": "scout", "task": "x"}));
    let id = started["details"]["runId"].clone();
    wait_until(|| world.path("working").exists());
    let tell = json!({"runId": id, "action": "message", "message": "Hello?"});
    let refusal = bridge.refusal("background_agent_control", &tell);
    let reason = "The message was refused: this agent reads its prompt and nothing else";
    assert!(refusal.starts_with(reason), "{refusal}");
    world.let_go();
    let message = bridge.wait_for("session/message");
    assert_eq!(message["params"]["details"]["status"], "completed", "{message}");
    bridge.close();
    world.wait_until_nothing_is_left();
}

#[test]
fn a_long_answer_is_cut_in_the_middle_and_says_how_to_read_it() {
    let world = world();
    let said = format!("begin {} end", "x".repeat(30_000));
    let script = json!(["start", {"say": said}, {"end": false}, "settle"]);
    let mut bridge = Bridge::of_pi(&world, &script);
    let result = bridge.call("delegate_to_subagents", &tasks(1));
    let text = result["text"].as_str().unwrap();
    assert!(text.contains("\n\n### task 1\n\nbegin xxx") && text.ends_with("xxx end"), "{text}");
    let id = result["details"]["windows"][0]["sessionId"].as_str().unwrap();
    let gap = format!(
        "\n[6010 of 30010 characters are left out here; get_subagent_output has all of it, session {id}]\n"
    );
    assert!(text.contains(&gap), "{text}");
    let whole = bridge.call("get_subagent_output", &json!({"sessionId": id}));
    assert_eq!(whole["text"].as_str().unwrap(), said);
    fs::create_dir_all(world.project().join(".pi")).unwrap();
    let settings = r#"{"subagents": {"inlineAnswers": false}}"#;
    fs::write(world.project().join(".pi/settings.json"), settings).unwrap();
    let result = bridge.call("delegate_to_subagents", &tasks(1));
    let text = result["text"].as_str().unwrap();
    assert!(text.starts_with("✓ task 1: completed") && text.lines().count() == 1, "{text}");
    bridge.close();
}

#[test]
fn when_pi_goes_away_everything_in_the_foreground_ends() {
    for is_killed in [false, true] {
        let world = world();
        let mut bridge = Bridge::of_pi(&world, &world.working());
        bridge.begin_call("call", "delegate_to_subagents", &tasks(1));
        wait_until(|| world.path("working").exists());
        if is_killed {
            bridge.kill();
        }
        bridge.close();
        world.wait_until_nothing_is_left();
        let result = fs::read_to_string(world.only_run().join("result.json")).unwrap();
        assert!(result.contains("\"interrupted\"") && result.contains("working on it"), "{result}");
    }
}

#[test]
fn escape_sequences_of_an_agent_reach_nobody() {
    let world = world();
    let rude = json!(["start", {"say": "\u{1b}]0;title\u{7}red \u{1b}[31mtext"}, {"end": false}, "settle"]);
    let mut bridge = Bridge::initialized(&world, &rude, "tui");
    let result = bridge.call("subagent", &json!({"preset": "scout", "task": "x"}));
    assert!(result["text"].as_str().unwrap().contains("red text"), "{result}");
    let id = result["details"]["windows"][0]["sessionId"].clone();
    let output = bridge.call("get_subagent_output", &json!({"sessionId": id}));
    let started = bridge.call("background_agent", &json!({"preset": "scout", "task": "x"}));
    let notified = bridge.wait_for("ui/notify");
    let message = bridge.wait_for("session/message");
    assert!(message.to_string().contains("red text"), "{message}");
    let refused = json!(bridge.refusal("subagent", &json!({"preset": "\u{1b}[31m", "task": ""})));
    let unknown = json!(bridge.refusal("\u{1b}[2J", &json!({})));
    let asked = json!({"name": "profile", "arguments": "show \u{1b}[31mx\u{7}"});
    bridge.request("command/run", &asked);
    let shown = bridge.wait_for("ui/notify");
    for said in [result, output, started, notified, message, refused, unknown, shown] {
        let text = said.to_string();
        assert!(!text.contains("\\u001b") && !text.contains("\\u0007"), "{said}");
    }
    bridge.close();
    world.wait_until_nothing_is_left();
}

#[test]
fn all_calls_of_an_id_are_cancelled_together() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &world.working());
    let calls = [(); 2].map(|()| bridge.begin_call("same", "delegate_to_subagents", &tasks(1)));
    wait_until(|| world.processes().iter().filter(|(_, p)| p.contains("fake-agent")).count() == 2);
    bridge.notify("tools/cancel", &json!({"callId": "same"}));
    for call in calls {
        assert_eq!(bridge.response(call)["result"]["isError"], json!(true));
    }
    bridge.close();
    world.assert_nothing_left();
}

#[test]
fn nothing_is_started_in_a_project_that_is_gone() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    // With an answer to this, the bridge knows where it is.
    bridge.request("tools/list", &json!({"models": []}));
    fs::remove_dir_all(world.project()).unwrap();
    let refusal = bridge.refusal("delegate_to_subagents", &tasks(1));
    assert!(refusal.ends_with("is gone"), "{refusal}");
    assert!(!world.project().exists(), "it was made anew");
    bridge.close();
}

#[test]
fn a_task_that_waits_for_its_slot_says_so_in_its_window() {
    let world = world();
    world.settings(&json!({"machineConcurrency": 1}));
    let first = world.start(&world.working(), &[]);
    wait_until(|| world.path("working").exists());
    let mut bridge = Bridge::initialized(&world, &quick(), "tui");
    let call = bridge.begin_call("call", "delegate_to_subagents", &tasks(1));
    let waits = loop {
        let update = bridge.wait_for("tools/update")["params"].clone();
        if update["details"]["windows"][0]["waiting"].is_object() {
            break update;
        }
    };
    let window = &waits["details"]["windows"][0];
    assert_eq!(window["status"], "queued", "{waits}");
    let waiting = &window["waiting"];
    assert_eq!(
        (&waiting["for"], &waiting["running"], &waiting["most"]),
        (&json!("slots"), &json!(1), &json!(1)),
        "{waits}"
    );
    assert!(waits.to_string().contains("queued: 1 of 1 agents are running"), "{waits}");
    world.let_go();
    assert_eq!(first.finish().code, Some(0));
    assert_eq!(bridge.response(call)["result"]["details"]["status"], json!("done"));
    bridge.close();
    world.wait_until_nothing_is_left();
}

#[test]
fn tasks_that_got_into_each_others_way_are_named_in_the_answer() {
    let world = workspaces::repository().with_scout();
    let (script, call) = workspaces::rivals();
    let mut bridge = Bridge::of_pi(&world, &script);
    let result = bridge.call("delegate_to_subagents", &call);
    workspaces::assert_rivals_are_named(result["text"].as_str().unwrap());
    // The window says what each has changed.
    let lines = text(&result["details"]["lines"]);
    assert_eq!(lines.matches(" 1 file +1 −").count(), 2, "{lines}");
    bridge.close();
}
