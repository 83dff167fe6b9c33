//! Every tool, called by the model of the real pi.

use serde_json::{Value, json};
use test_support::wait_until;

use crate::stream::Stream;
use crate::{Inside, TOOLS, bash, call, delegate, offered, task, task_with};

/// A child that runs a command and tells its output.
fn counting() -> Value {
    json!([bash("echo four"), {"text": "There are {{result:0}}"}])
}

#[test]
fn delegated_tasks_and_what_is_left_of_them() {
    let inside = Inside::new();
    inside.profile("careful", "model: fake/fake-2\nthinkingLevel: low");
    let mut pi = inside.remote(&[]);
    let profiles = pi.call_once(call("list_subagent_profiles", json!({})));
    assert_eq!(profiles.answer(), "profile: careful, model=fake/fake-2, thinking=low");
    assert_eq!(profiles.details["count"], 1);

    let tasks = [
        task("count", &counting()),
        task_with("look", &json!([{"text": "Nothing here."}]), json!({"profile": "careful"})),
    ];
    let delegated = pi.call_once(delegate(&tasks));
    delegated.answer();
    assert_eq!(
        delegated.without_ids(),
        "✓ count: completed (session: ID)\n\
         ✓ look: completed (session: ID) (profile: careful, model=fake/fake-2, thinking=low)\n\n\
         ### count\n\nThere are four\n\n### look\n\nNothing here."
    );
    let ids = delegated.sessions();
    assert_eq!(ids.len(), 2);

    let retrieved = pi.call(&[
        call("get_subagent_output", json!({"sessionId": ids[0]})),
        call("get_subagent_session", json!({"sessionId": ids[0]})),
        call("get_subagent_output", json!({"sessionId": ids[1]})),
    ]);
    assert_eq!(retrieved[0].answer(), "There are four\n");
    let details = &retrieved[0].details;
    assert_eq!(
        (&details["sessionId"], &details["status"], &details["taskName"], &details["runCount"]),
        (&json!(ids[0]), &json!("completed"), &json!("count"), &json!(1))
    );
    let transcript = retrieved[1].answer();
    for part in [r#"→ bash: {"command":"echo four"}"#, "[tool result]: four", "There are four"] {
        assert!(transcript.contains(part), "{part} is not in {transcript}");
    }
    assert_eq!(retrieved[1].details["model"], "fake-1");
    assert_eq!(retrieved[2].answer(), "Nothing here.");
    pi.close();
    inside.world.wait_until_nothing_is_left();

    let first = &inside.asked()[0];
    let ours = offered(first).into_iter().filter(|tool| TOOLS.contains(&tool.as_str()));
    assert_eq!(ours.collect::<Vec<String>>(), TOOLS);
    let child = inside.asked().into_iter().find(|request| request["model"] == "fake-2").unwrap();
    assert_eq!(child["reasoning_effort"], "low");
}

#[test]
fn what_children_have_used_is_counted() {
    let inside = Inside::new();
    let mut pi = inside.remote(&[]);
    let usage = json!({"input": 1000, "output": 70, "cached": 300});
    let script = json!([bash("true"), {"text": "Done.", "usage": usage}]);
    let delegated = pi.call_once(delegate(&[task("one", &script), task("two", &script)]));
    // Twice a turn of a hundred and twenty, and a turn of a thousand.
    let used = |field: &str| delegated.usage[field].as_u64();
    assert_eq!(used("input"), Some(2 * (100 + 700)), "{delegated:#?}");
    assert_eq!((used("output"), used("cacheRead")), (Some(2 * (20 + 70)), Some(2 * 300)));
    let tokens = pi.ask(&json!({"type": "get_session_stats"}))["tokens"].clone();
    // pi itself has asked twice.
    assert_eq!(tokens["input"], 2 * (100 + 700) + 2 * 100, "{tokens}");
    assert_eq!(tokens["output"], 2 * (20 + 70) + 2 * 20, "{tokens}");
    pi.close();
}

#[test]
fn updates_say_what_the_agents_do() {
    let inside = Inside::new();
    inside.scout("model: fake/fake-1");
    let mut pi = inside.remote(&[]);
    let waiting = json!([bash("until [ -e go ]; do sleep 0.02; done"), {"text": "Found it."}]);
    let scout = json!({"preset": "scout", "task": crate::told(&waiting)});
    pi.begin(&[delegate(&[task("slow", &waiting)]), call("subagent", scout)]);
    let words = "until [ -e go ]; do sleep 0.02; done";
    for expected in [format!("1 running\nslow: {words}"), words.to_owned()] {
        let update = pi.wait_for(|record| {
            record["type"] == "tool_execution_update"
                && record["partialResult"]["content"][0]["text"] == expected
        });
        let details = &update["partialResult"]["details"];
        assert_eq!(details["status"], "running", "{update:#}");
        assert_eq!(details["windows"][0]["doing"], words, "{update:#}");
        inside.project_file("go", "");
        pi.wait_for(|record| record["type"] == "tool_execution_end");
        std::fs::remove_file(inside.world.project().join("go")).unwrap();
    }
    pi.wait_for(|record| record["type"] == "agent_settled");
    pi.close();
}

#[test]
fn a_call_in_which_nothing_succeeds_has_failed() {
    let inside = Inside::new();
    let refused = json!([{"error": 400, "error_message": "no such luck"}]);
    let good = json!([{"text": "Done."}]);
    for (tasks, is_error) in [
        (vec![task("bad", &refused)], true),
        (vec![task("bad", &refused), task("good", &good)], false),
    ] {
        let stream = inside.stream(&[], &crate::calling(&[delegate(&tasks)]));
        assert_eq!(stream.results[0].is_error, is_error, "{:#?}", stream.results);
        let ends = stream.of_type("tool_execution_end");
        assert_eq!(ends[0]["isError"], is_error, "{:#}", ends[0]);
        // A failed call keeps its windows.
        let windows = &stream.results[0].details["windows"];
        assert_eq!(windows[0]["status"], "error", "{windows:#}");
        assert_eq!(stream.results[0].details["sessionIds"].as_array().unwrap().len(), tasks.len());
    }
}

#[test]
fn what_cannot_be_loaded_is_told_without_a_screen_too() {
    let inside = Inside::new();
    inside.profile("broken", "model: [");
    let path = inside.world.agent_dir().join("agent-profiles/broken.md");
    let path = path.to_str().unwrap();
    let prompt = crate::calling(&[call("list_subagent_profiles", json!({}))]);
    let stream = inside.stream(&[], &prompt);
    assert_eq!(stream.stderr.matches(path).count(), 1, "{}", stream.stderr);
    let printed = inside.pi(&["-p", &prompt]).stdin(std::process::Stdio::null()).output().unwrap();
    let printed = test_support::Ran::from(printed);
    assert_eq!(printed.code, Some(0), "{printed:#?}");
    assert_eq!(printed.stderr.matches(path).count(), 1, "{printed:#?}");
}

#[test]
fn agents_of_a_preset() {
    let inside = Inside::new();
    inside.scout("model: fake/fake-2\ntools: read,bash");
    let mut pi = inside.remote(&[]);
    let item = |script: &Value| json!({"preset": "scout", "task": crate::told(script)});
    let results = pi.call(&[
        call("subagent", item(&counting())),
        call(
            "subagent",
            json!({"tasks": [
                item(&json!([{"text": "First."}])),
                item(&json!([{"error": 400, "error_message": "no such luck"}])),
            ]}),
        ),
        call("subagent", json!({"preset": "unknown", "task": "do it"})),
    ]);
    assert_eq!(results[0].answer(), "There are four");
    let text = results[1].without_ids();
    assert!(
        text.starts_with("Parallel: 1/2 succeeded\n\n[#1 scout] completed (session: ID):\nFirst.")
    );
    assert!(text.contains("[#2 scout] failed (session: ID): "), "{text}");
    assert!(text.contains("no such luck"), "{text}");
    // pi itself checks the name against the list that it was given.
    assert!(results[2].error().contains("preset"), "{}", results[2].text);
    pi.close();
    let child = inside.asked().into_iter().find(|request| request["model"] == "fake-2").unwrap();
    assert_eq!(offered(&child), ["bash", "read"]);
}

#[test]
fn agents_in_the_background() {
    let inside = Inside::new();
    inside.scout("model: fake/fake-1");
    let mut pi = inside.remote(&[]);
    let script = json!([bash("until [ -e go ]; do sleep 0.02; done"), {"text": "Found it."}]);
    let task = crate::told(&script);
    let results = pi.call(&[
        call("background_agent", json!({"preset": "scout", "task": task})),
        call("background_agent_status", json!({})),
    ]);
    let run_id = results[0].details["runId"].as_str().unwrap().to_owned();
    let started = format!("Started background agent scout (runId: {run_id}, model: fake/fake-1).");
    assert!(results[0].answer().starts_with(&started), "{results:#?}");
    assert_eq!(results[0].details["counts"]["running"], 1);
    let list = "Active runs: 1. Counts: running=1 completed=0 failed=0 aborted=0 total=1";
    assert!(results[1].answer().starts_with(list), "{results:#?}");
    assert_eq!(results[1].details["runs"][0]["runId"], run_id);

    inside.project_file("go", "");
    let result = inside.world.only_run().join("result.json");
    wait_until(|| result.exists());
    let results = pi.call(&[
        call("background_agent_status", json!({"runId": run_id})),
        call("background_agent_status", json!({})),
        call("background_agent_status", json!({"includeCompleted": true})),
        call("background_agent_status", json!({"runId": "0123456789abcdef"})),
    ]);
    let line = results[0].answer();
    assert!(line.starts_with(&format!("Run {run_id}: status=completed, task=Do it.")), "{line}");
    assert!(line.ends_with(r#"final="Found it.""#), "{line}");
    let counts = "Active runs: 0. Counts: running=0 completed=1 failed=0 aborted=0 total=1";
    assert_eq!(results[1].answer(), counts);
    assert!(results[2].answer().starts_with(&format!("{counts}\n{run_id} completed [scout]: ")));
    assert_eq!(results[3].answer(), "No run found for runId: 0123456789abcdef");
    pi.close();
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn children_that_are_the_same_pi() {
    let inside = Inside::with_pi_children();
    inside.profile("plain", "model: fake/fake-2\ntools: [bash]");
    let tasks = [
        task("count", &counting()),
        task_with(
            "plain",
            &counting(),
            json!({
                "profile": "plain",
            }),
        ),
    ];
    let stream = inside.stream(&[], &crate::calling(&[delegate(&tasks)]));
    assert_eq!(stream.stderr, "");
    assert_eq!(
        stream.results[0].without_ids(),
        "✓ count: completed (session: ID)\n\
         ✓ plain: completed (session: ID) (profile: plain, model=fake/fake-2, tools=[bash])\n\n\
         ### count\n\nThere are four\n\n### plain\n\nThere are four"
    );
    // What is stored stays small, and what is said on the way too.
    let details = stream.results[0].details.to_string();
    assert!(details.len() < 8 * 1024, "{details}");
    assert!(!stream.of_type("tool_execution_update").is_empty());
    for run in inside.world.runs() {
        let meta = std::fs::read_to_string(run.join("meta.json")).unwrap();
        let meta: Value = serde_json::from_str(&meta).unwrap();
        let program = meta["command"][0].as_str().unwrap_or_default();
        assert!(program.ends_with("/node"), "{meta:#}");
    }
}

#[test]
fn every_tool_in_a_stream() {
    let inside = Inside::new();
    inside.scout("model: fake/fake-1");
    let short = json!([{"text": "Done."}]);
    let scout = json!({"preset": "scout", "task": crate::told(&short)});
    let waiting = json!([bash("until [ -e go ]; do sleep 0.02; done"), {"text": "Found it."}]);
    let in_background = json!({"preset": "scout", "task": crate::told(&waiting)});
    let unknown = json!({"sessionId": "0123456789abcdef"});
    let prompt = crate::calling(&[
        call("list_subagent_profiles", json!({})),
        delegate(&[task("short", &short)]),
        call("subagent", scout),
        call("background_agent", in_background),
        call("background_agent_status", json!({})),
        call("get_subagent_output", unknown.clone()),
        call("get_subagent_session", unknown),
    ]);
    let stream = Stream::of(inside.start_stream(&[], &prompt));
    assert_eq!(stream.stderr, "");
    let results = &stream.results;
    assert_eq!(
        results[0].answer(),
        "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or \
         .pi/agent-profiles/."
    );
    let expected = "✓ short: completed (session: ID)\n\n### short\n\nDone.";
    assert_eq!(results[1].without_ids(), expected);
    assert_eq!(results[2].answer(), "Done.");
    assert!(results[3].answer().starts_with("Started background agent scout (runId: "));
    assert!(results[4].answer().starts_with("Active runs: 1. "));
    for result in &results[5..] {
        assert!(result.error().starts_with("Session \"0123456789abcdef\" not found."));
    }
    // pi is gone, and the run in the background is not.
    assert_eq!(inside.of_role("supervise").len(), 1);
    inside.project_file("go", "");
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn what_is_kept_of_a_long_run_is_short() {
    let inside = Inside::new();
    let long = |turn: usize| {
        let lines: Vec<String> = (0..400).map(|line| format!("Turn {turn}, line {line}")).collect();
        let mut said = bash(&format!("echo {turn}"));
        said["text"] = lines.join("\n").into();
        said["chunk"] = 2000.into();
        said
    };
    let turns: Vec<Value> = (0..8).map(long).chain([json!({"text": "Done."})]).collect();
    let stream = inside.stream(&[], &crate::calling(&[delegate(&[task("long", &json!(turns))])]));
    let expected = "✓ long: completed (session: ID)\n\n### long\n\nDone.";
    assert_eq!(stream.results[0].without_ids(), expected);
    let details = stream.results[0].details.to_string();
    assert!(details.len() < 4 * 1024, "{details}");
    for update in stream.of_type("tool_execution_update") {
        let told = update["partialResult"].to_string();
        assert!(told.len() < 4 * 1024, "{told}");
    }
}
