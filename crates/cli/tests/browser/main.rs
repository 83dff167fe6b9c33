//! Reports in a real browser: `e2e/browser/report.mjs` opens a report in Chromium, uses it with the keyboard and
//! prints what it has seen. `cargo xtask test` installs Chromium and Playwright and says where they are.
//! With `PI_SUBAGENTS_TEST_PICTURES`, a directory, it also leaves pictures there.

#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use test_support::{Program, Ran, World, e2e};

fn world() -> World {
    World::new(Program {
        pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
        fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
    })
}

/// What an agent says to break out of its place. Where it succeeds, `wasRun` is set, an element appears, or
/// something is loaded.
const HOSTILE: &str = "</pre></details></style></script><script>window.wasRun = 1</script>\
    <img src=x onerror='window.wasRun = 2'><iframe src=javascript:window.wasRun=3></iframe>\n\n\
    [click](javascript:window.wasRun=4) ![image](http://127.0.0.1:9/x.png) \
    <style>@import 'http://127.0.0.1:9/y.css';</style> <base href='http://127.0.0.1:9/'>";

/// The script of an agent that speaks Markdown, calls tools at once, fails with one and is retried.
fn script() -> Value {
    let retry = json!({
        "type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 40,
        "errorMessage": format!("529 overloaded {HOSTILE}"),
    });
    json!([
        "start",
        {"sleep_ms": 60},
        {"message": {"text": format!("I **look** at `src`. {HOSTILE}"), "stop": "toolUse"}},
        {"tool_start": {"id": "a", "name": "bash", "args": {"command": "cargo test"}}},
        {"sleep_ms": 60},
        {"tool": {"id": "b", "name": "read", "args": {"path": HOSTILE}, "result": HOSTILE, "is_error": true}},
        {"tool": {"id": "c", "name": "grep", "args": {"pattern": "x"}, "result": "needle in a haystack"}},
        {"tool_start": {"id": "d", "name": "bash", "args": {"command": "make"}}},
        {"sleep_ms": 60},
        {"record": {
            "type": "tool_execution_end", "toolCallId": "d", "toolName": "bash", "isError": false,
            "result": {"content": [{"type": "text", "text": "made"}]},
        }},
        {"record": retry},
        {"sleep_ms": 80},
        {"say": "# Found\n\n| file | line |\n|---|---|\n| `a.rs` | 41 |\n\n[more](https://example.org/a)"},
        {"end": false},
        "settle",
    ])
}

/// Runs so many tasks, and returns the ids of their sessions in the order of the tasks.
fn delegate(world: &World, names: &[String]) -> Vec<String> {
    let tasks: Vec<Value> =
        names.iter().map(|name| json!({"name": name, "prompt": format!("Do {name}.")})).collect();
    let agent = world.agent(&script());
    let command = world.command(["delegate", "--json", "--agent", &agent]);
    let ran = world.feed(command, &json!({ "tasks": tasks }).to_string());
    let document = ran.json();
    let tasks = document["tasks"].as_array().unwrap();
    tasks.iter().map(|task| task["sessionId"].as_str().unwrap().to_owned()).collect()
}

fn names(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("agent-{number:03}")).collect()
}

/// Writes the report of these sessions.
fn report(world: &World, ids: &[String]) -> PathBuf {
    let page = world.path("report.html");
    let mut command = world.command(["sessions", "export", "--format", "html", "--output"]);
    let ran = Ran::from(command.arg(&page).args(ids).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    page
}

/// What the browser has seen.
fn look(world: &World, page: &Path, words: &str, pictures: &str) -> Value {
    let browser = e2e().join("browser");
    let mut options = json!({"page": page, "profiles": world.path("profiles"), "words": words});
    if let Some(directory) = std::env::var_os("PI_SUBAGENTS_TEST_PICTURES") {
        let directory = Path::new(&directory).join(pictures);
        fs::create_dir_all(&directory).unwrap();
        options["pictures"] = json!(directory);
    }
    let mut command = world.command_of(browser.join("node_modules/.bin/node"));
    command.arg(browser.join("report.mjs")).arg(options.to_string());
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    world.wait_until_nothing_is_left();
    ran.json()
}

/// What must be true of every report.
fn assert_sound(seen: &Value) {
    assert_eq!(seen["problems"], json!([]), "{seen:#}");
    assert_eq!(seen["requests"], json!([]), "{seen:#}");
    let inert = &seen["inert"];
    assert_eq!(inert["wasRun"], false, "{seen:#}");
    assert_eq!((&inert["scripts"], &inert["styles"]), (&json!(1), &json!(1)), "{seen:#}");
    assert_eq!(inert["foreign"], 0, "{seen:#}");
    let links = inert["links"].as_array().unwrap();
    let is_known =
        |link: &Value| link == "https://example.org/a" || link == "http://127.0.0.1:9/x.png";
    assert!(links.iter().all(is_known), "{links:?}");
    for scheme in ["light", "dark"] {
        let text = seen[scheme]["text"]["contrast"].as_f64().unwrap();
        assert!(text >= 4.5, "{scheme}: {seen:#}");
        let bars = seen[scheme]["bars"].as_f64().unwrap();
        assert!(bars >= 1.8, "{scheme}: {seen:#}");
    }
    assert_eq!(seen["fits"], json!([true, true]), "{seen:#}");
}

#[test]
fn one_agent_is_a_report_that_is_open() {
    let world = world();
    let ids = delegate(&world, &names(1));
    let seen = look(&world, &report(&world, &ids), "haystack", "1");
    assert_sound(&seen);
    assert_eq!((&seen["title"], &seen["rows"]), (&json!("agent-001"), &json!(1)), "{seen:#}");
    let opened = seen["opened"][0].as_str().unwrap();
    assert!(opened.contains("agent-001 completed, "), "{seen:#}");
    assert_eq!(seen["first"], "agent-001", "{seen:#}");
    assert_eq!(seen["selected"], "haystack", "{seen:#}");
    assert_eq!(seen["withoutScript"], json!({"rows": 1, "opened": 1}), "{seen:#}");
}

#[test]
fn sixteen_agents_are_selected_searched_and_sorted_with_the_keyboard() {
    let world = world();
    let ids = delegate(&world, &names(16));
    check_many(&world, &ids, "16");
}

#[test]
fn two_hundred_agents_are_one_report() {
    let world = world();
    delegate(&world, &names(4));
    let runs = world.runs();
    let directory = runs[0].parent().unwrap().to_owned();
    let meta = fs::read(runs[0].join("meta.json")).unwrap();
    let created_at = serde_json::from_slice::<Value>(&meta).unwrap()["createdAt"].clone();
    // Copies of real runs, with names and ids of their own.
    let ids: Vec<String> = names(200)
        .into_iter()
        .zip(1..)
        .map(|(name, number)| {
            let session = format!("{number:016x}");
            let run = format!("019a0000-0000-7000-8000-{number:012x}");
            copy_run(
                &runs[number % runs.len()],
                &directory.join(run),
                &created_at,
                &session,
                &name,
            );
            session
        })
        .collect();
    let page = report(&world, &ids);
    let bytes = fs::metadata(&page).unwrap().len();
    assert!(bytes < 4 * 1024 * 1024, "{bytes}");
    check_many(&world, &ids, "200");
}

fn copy_run(from: &Path, to: &Path, created_at: &Value, session: &str, name: &str) {
    let run = to.file_name().unwrap().to_str().unwrap();
    fs::create_dir(to).unwrap();
    for file in ["meta.json", "result.json"] {
        let mut document: Value =
            serde_json::from_slice(&fs::read(from.join(file)).unwrap()).unwrap();
        document["runId"] = json!(run);
        document["sessionId"] = json!(session);
        document["name"] = json!(name);
        if document.get("task").is_some() {
            document["task"] = json!(format!("Do {name}."));
        }
        // The order of the page is that of the numbers.
        document["createdAt"] = json!(created_at);
        document.as_object_mut().unwrap().remove("cgroup");
        fs::write(to.join(file), document.to_string()).unwrap();
    }
    fs::copy(from.join("events.jsonl"), to.join("events.jsonl")).unwrap();
    fs::write(to.join("prompt.md"), format!("Do {name}.")).unwrap();
}

fn check_many(world: &World, ids: &[String], pictures: &str) {
    let count = ids.len();
    let seen = look(world, &report(world, ids), "AGENT-002", pictures);
    assert_sound(&seen);
    assert_eq!(seen["title"], format!("{count} agents in project"), "{seen:#}");
    assert_eq!(seen["rows"], count, "{seen:#}");
    assert_eq!(seen["opened"], json!([]), "{seen:#}");
    let names = names(count);
    let focused = [&seen["first"], &seen["second"], &seen["focusedAfterEscape"]];
    assert_eq!(focused, [&names[0], &names[1], &names[1]], "{seen:#}");
    let tips: Vec<&str> =
        seen["tips"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(tips[0].starts_with("waiting for its turn · "), "{tips:?}");
    assert!(tips[1].starts_with("starting · ") || tips[1].starts_with("model"), "{tips:?}");
    let opened = seen["openedByEnter"][0].as_str().unwrap();
    assert!(opened.contains("agent-002 completed, "), "{seen:#}");
    assert_eq!(seen["openedAfterEscape"], json!([]), "{seen:#}");
    assert_eq!(seen["rowsFound"], 1, "{seen:#}");
    assert_eq!((&seen["selected"], &seen["openedBySearch"]), (&json!("agent-002"), &json!(1)));
    assert_eq!(seen["rowsAfterSearch"], count, "{seen:#}");
    assert_eq!(seen["sort"], "descending", "{seen:#}");
    assert_eq!(&seen["firstSorted"], &names[count - 1], "{seen:#}");
    assert_eq!(seen["withoutScript"], json!({"rows": count, "opened": 1}), "{seen:#}");
}
