//! Every row of the table of errors.

use std::fs;

use serde_json::{Value, json};
use test_support::wait_until;

use crate::{Inside, bash, call, delegate, task, task_with};

/// The id of a session that does not exist.
const NOBODYS: &str = "0123456789abcdef";

fn done() -> Value {
    json!([{"text": "Done."}])
}

#[test]
fn problems_of_single_tasks() {
    let inside = Inside::new();
    inside.profile("unskilled", "suggestedSkills: bad-name");
    inside.profile("sly", "tools: read\nextraArgs: --tools=bash");
    let looping: Vec<Value> = (0..9).map(|_| bash("true")).collect();
    let tasks = [
        task("good", &done()),
        task_with("profile", &done(), json!({"profile": "nobody"})),
        task_with("relative", &done(), json!({"cwd": "src"})),
        task_with("upwards", &done(), json!({"cwd": "/usr/../etc"})),
        task_with("skill", &done(), json!({"profile": "unskilled"})),
        task_with("arguments", &done(), json!({"profile": "sly"})),
        task("loop", &json!(looping)),
        task_with("hang", &json!([{"hang": true}]), json!({"timeout": 1})),
        task("refused", &json!([{"error": 400, "error_message": "no such luck"}])),
    ];
    let mut pi = inside.remote(&[]);
    let result = pi.call_once(delegate(&tasks));
    let text = result.without_ids();
    let lines: Vec<&str> = text.lines().collect();
    let expected = [
        "✓ good: completed (session: ID)",
        "✗ profile: error — Unknown profile: \"nobody\". Available profiles: sly, unskilled \
         (session: ID) (nobody)",
        "✗ relative: error — cwd must be an absolute path (session: ID)",
        "✗ upwards: error — cwd must not contain '..' path segments (session: ID)",
        "✗ skill: error — Unknown skills: \"bad-name\". Available skills: (none) (session: ID) \
         (profile: unskilled, suggestedSkills=[bad-name])",
        "✗ arguments: error — Refusing extraArg \"--tools=bash\" which would override profile tool \
         restrictions. Use the dedicated profile fields instead. (session: ID) \
         (profile: sly, tools=[read])",
        "✗ loop: error — Loop detected: sub-agent is repeating the same tool calls: bash → true, 5 times (session: ID)",
        "✗ hang: error — Timed out after 1s. Consider resuming with a longer timeout. (session: ID)",
    ];
    assert_eq!(lines[..expected.len()], expected);
    let refused = lines[expected.len()];
    assert!(refused.starts_with("✗ refused: error — ") && refused.contains("no such luck"));
    // Below them is what was said before the failures.
    let said = lines.iter().position(|line| line.is_empty()).unwrap_or(lines.len());
    assert_eq!(said, tasks.len());
    // Each of them is a session, and can be read.
    let calls = result
        .sessions()
        .into_iter()
        .map(|id| call("get_subagent_output", json!({"sessionId": id})));
    let outputs = pi.call(&calls.collect::<Vec<Value>>());
    assert_eq!(outputs[0].answer(), "Done.");
    assert_eq!(outputs[1].details["status"], "error");
    assert_eq!(outputs[1].answer(), "(no text output from sub-agent)");
    pi.close();
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn files_that_cannot_be_read() {
    let inside = Inside::new();
    inside.project_file("large.txt", &"x".repeat(1_048_577));
    inside.project_file("directory/file.txt", "");
    inside.project_file("lines.txt", "one\ntwo\nthree\n");
    let files = json!(["missing.txt", "directory", "large.txt", {"path": "lines.txt", "head": 2}]);
    let tasks = [task_with("read", &done(), json!({"files": files}))];
    let mut pi = inside.remote(&[]);
    pi.call_once(delegate(&tasks)).answer();
    pi.close();
    let asked = inside.asked();
    let prompts = asked.iter().map(|request| request["messages"].to_string());
    let prompt = prompts.into_iter().find(|prompt| prompt.contains("=== lines.txt ===")).unwrap();
    for part in [
        "[file not found: missing.txt]",
        "[could not read file: directory]",
        "[file too large: large.txt (1024KB, limit 1024KB)]",
        "=== lines.txt ===\\none\\ntwo\\n\\nDo it.",
    ] {
        assert!(prompt.contains(part), "{part} is not in {prompt}");
    }
}

#[test]
fn calls_that_are_refused_as_a_whole() {
    let inside = Inside::new();
    inside.profile("torn", "suggestedSkills: a\nnoSkills: true");
    inside.profile("split", "loadSkills: a\nnoSkills: true");
    inside.profile("both", "tools: read\nexcludeTools: bash");
    let with =
        |fields: Value| delegate(&[task("good", &done()), task_with("bad", &done(), fields)]);
    let unknown = |name: &str| call(name, json!({"sessionId": NOBODYS}));
    let mut pi = inside.remote(&[]);
    let results = pi.call(&[
        unknown("get_subagent_output"),
        unknown("get_subagent_session"),
        with(json!({"resume": NOBODYS})),
        with(json!({"profile": "torn"})),
        with(json!({"profile": "split"})),
        with(json!({"profile": "both"})),
    ]);
    let not_found = format!(
        "ession \"{NOBODYS}\" not found. The session may have expired or the ID is incorrect."
    );
    let expected = [
        format!("S{not_found}"),
        format!("S{not_found}"),
        format!("Cannot resume: s{not_found}"),
        "Profile \"torn\" has both \"suggestedSkills\" and \"noSkills\" set. These are mutually \
         exclusive — --no-skills would override --skill flags."
            .to_owned(),
        "Profile \"split\" has both \"loadSkills\" and \"noSkills\" set. These are mutually \
         exclusive — --no-skills disables skill discovery."
            .to_owned(),
        "Profile \"both\" has both \"tools\" (allowlist) and \"excludeTools\" (blacklist) set. \
         These are mutually exclusive — choose one or the other."
            .to_owned(),
    ];
    let errors: Vec<&str> = results.iter().map(|result| result.error()).collect();
    assert_eq!(errors, expected);
    assert_eq!(inside.world.runs(), [""; 0].map(std::path::PathBuf::from), "nothing was started");
    pi.close();
}

#[test]
fn a_session_that_is_still_running() {
    let inside = Inside::new();
    let other = inside.world.start(&json!([{"touch": inside.world.path("working")}, "hang"]), &[]);
    wait_until(|| inside.world.path("working").exists());
    let meta = fs::read_to_string(inside.world.only_run().join("meta.json")).unwrap();
    let id = serde_json::from_str::<Value>(&meta).unwrap()["sessionId"].clone();
    let id = id.as_str().unwrap();
    let mut pi = inside.remote(&[]);
    let result = pi.call_once(delegate(&[task_with("more", &done(), json!({"resume": id}))]));
    assert_eq!(
        result.error(),
        format!(
            "Cannot resume: session \"{id}\" is still running. Wait for it to complete before \
             resuming."
        )
    );
    other.signal(rustix::process::Signal::TERM);
    other.finish();
    pi.close();
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn an_agent_that_cannot_be_started() {
    let inside = Inside::with_settings(json!({"agent": ["/nonexistent/agent"]}));
    let mut pi = inside.remote(&[]);
    let result = pi.call_once(delegate(&[task("unlucky", &done())]));
    let text = result.without_ids();
    assert!(text.starts_with("✗ unlucky: error — Failed to spawn sub-agent process"), "{text}");
    pi.close();
    inside.world.wait_until_nothing_is_left();
}
