//! Panes appear, show what happens, and vanish; and nothing else is different.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use test_support::{Running, wait_until};

use crate::events::{assert_ended, assert_only_known_files, events};
use crate::{CALLER, TmuxWorld};

/// The document of `--json` without what differs between any two runs.
fn comparable(mut task: Value) -> Value {
    for field in ["sessionId", "runId", "runDir", "durationMs"] {
        assert!(!task[field].is_null(), "{field}");
        task[field] = Value::Null;
    }
    task
}

#[test]
fn a_pane_shows_the_transcript_and_the_result_is_the_same() {
    let tmux = TmuxWorld::new();
    let (shown, go) = (tmux.world.path("shown"), tmux.world.path("go"));
    let script = json!([
        "start",
        {"tool": {"name": "read", "args": {"path": "src/lib.rs"}, "result": "fn main() {}"}},
        {"message": {"text": "a thought", "stop": "toolUse"}},
        {"touch": shown},
        {"await": go},
        {"say": "all done"},
        {"end": false},
        "settle",
    ]);
    let running = tmux.start(&script, &["--name", "looker"]);
    wait_until(|| shown.exists());
    let pane = tmux.only_pane();
    wait_until(|| tmux.shown(&pane).contains("a thought"));
    let transcript = fs::read_to_string(tmux.world.only_run().join("transcript.log")).unwrap();
    assert!(transcript.contains("looker (run ") && transcript.contains("Reading src/lib.rs"));
    assert_eq!(tmux.shown(&pane).trim_end(), transcript.trim_end());
    fs::write(&go, "").unwrap();
    let ran = running.finish();
    tmux.assert_nothing_left();
    tmux.end_server();
    assert_ended(
        &tmux.world,
        &ran,
        "completed",
        &[
            "run_started",
            "user \"do it\"",
            "call read {\"path\":\"src/lib.rs\"}",
            "read finished",
            "assistant toolUse \"a thought\"",
            "assistant stop \"all done\"",
            "ended completed code 0",
        ],
    );

    let config = tmux.world.project().join(".pi/subagents.json");
    fs::write(config, json!({"runner": "process"}).to_string()).unwrap();
    let plain = tmux.world.play(&script, &["--name", "looker"]);
    assert_eq!(comparable(plain.task()), comparable(ran.task()));
    assert_eq!(events(&plain.run_dir()), events(&ran.run_dir()));
}

/// Runs `count` tasks at once, and looks at their panes while all of them are there.
fn many(tmux: &TmuxWorld, count: usize, look: impl FnOnce(&[String])) {
    let go = tmux.world.path("go");
    let script = json!(["start", {"message": {"text": "hello", "stop": "toolUse"}}, {"await": go}, {"say": "bye"}]);
    let agent = tmux.world.agent(&script);
    let tasks: Vec<Value> = (0..count)
        .map(|index| json!({"name": format!("task-{index}-"), "prompt": format!("do {index}")}))
        .collect();
    let file = tmux.world.path("tasks.json");
    fs::write(&file, json!({"tasks": tasks}).to_string()).unwrap();
    let file = file.display().to_string();
    let arguments = ["delegate", "--json", "--concurrency", "16", "--agent", &agent, &file];
    let running = Running::start(tmux.inside(tmux.world.command(arguments)));
    wait_until(|| tmux.new_panes().len() == count);
    let panes = tmux.new_panes();
    // What has scrolled out of a small pane counts, too.
    let all = |pane: &str| tmux.tmux(&["capture-pane", "-p", "-J", "-S", "-", "-t", pane]);
    wait_until(|| panes.iter().all(|pane| all(pane).contains("hello")));
    for index in 0..count {
        let name = format!("task-{index}-");
        let of_it = panes.iter().filter(|pane| all(pane).contains(&name));
        assert_eq!(of_it.count(), 1, "{name}");
    }
    look(&panes);
    fs::write(go, "").unwrap();
    let ran = running.finish();
    tmux.assert_nothing_left();
    let document = ran.json();
    let tasks = document["tasks"].as_array().unwrap();
    assert_eq!((ran.code, tasks.len()), (Some(0), count), "{ran:?}");
    for (index, task) in tasks.iter().enumerate() {
        assert_eq!(
            (&task["name"], &task["output"]),
            (&json!(format!("task-{index}-")), &json!("bye"))
        );
    }
    for run in tmux.world.runs() {
        assert_only_known_files(&run);
    }
}

#[test]
fn panes_are_stacked_beside_the_caller() {
    let tmux = TmuxWorld::new();
    many(&tmux, 4, |panes| {
        let format = "#{pane_id} #{pane_left} #{pane_height} #{pane_active}";
        let listed = tmux.tmux(&["list-panes", "-t", CALLER, "-F", format]);
        let rows: Vec<Vec<&str>> = listed.lines().map(|row| row.split(' ').collect()).collect();
        assert_eq!(rows.len(), panes.len() + 1, "all in one window");
        let (callers, ours): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row[0] == CALLER);
        assert_eq!(callers[0][1..], ["0", "48", "1"], "it has its height and the focus");
        assert!(ours.iter().all(|row| row[1] == ours[0][1] && row[1] != "0"), "{rows:?}");
        let heights: Vec<u32> = ours.iter().map(|row| row[2].parse().unwrap()).collect();
        assert!(heights.iter().all(|height| (10..=12).contains(height)), "{heights:?}");
    });
}

#[test]
fn sixteen_at_once_get_windows_where_one_is_too_small() {
    let tmux = TmuxWorld::sized(80, 24);
    many(&tmux, 16, |_| {
        let windows = tmux.tmux(&["list-windows", "-F", "#{window_name} #{window_active}"]);
        let ours = windows.lines().filter(|window| *window == "pi-subagents 0").count();
        assert_eq!(ours, 3, "the user still looks at his own: {windows}");
        let heights = tmux.tmux(&["list-panes", "-s", "-F", "#{pane_height}"]);
        assert!(heights.lines().all(|height| height.parse::<u32>().unwrap() >= 4), "{heights}");
    });
}

#[test]
fn a_terminal_without_room_for_another_pane_gets_a_window() {
    let tmux = TmuxWorld::sized(2, 2);
    many(&tmux, 2, |panes| {
        let in_first = tmux.tmux(&["list-panes", "-t", CALLER]).lines().count();
        assert_eq!((in_first, panes.len()), (1, 2));
    });
}

#[test]
fn panes_that_come_and_go_do_not_get_in_each_others_way() {
    let tmux = TmuxWorld::new();
    let agent = tmux.world.agent(&json!([{"say": "hello"}]));
    let tasks: Vec<Value> = (0..60).map(|_| json!({"name": "quick", "prompt": "do it"})).collect();
    let file = tmux.world.path("tasks.json");
    fs::write(&file, json!({"tasks": tasks}).to_string()).unwrap();
    let file = file.display().to_string();
    let command = tmux.world.command(["delegate", "--json", "--agent", &agent, &file]);
    let ran = Running::start(tmux.inside(command)).finish();
    tmux.assert_nothing_left();
    let document = ran.json();
    let tasks = document["tasks"].as_array().unwrap();
    let failed: Vec<&Value> = tasks.iter().filter(|task| task["output"] != "hello").collect();
    assert!(tasks.len() == 60 && failed.is_empty(), "{failed:#?}");
}

#[test]
fn panes_close_also_where_the_user_keeps_those_of_dead_programs() {
    let tmux = TmuxWorld::new();
    tmux.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
    let ran = tmux.play(&json!([{"say": "hello"}]), &[]);
    tmux.assert_nothing_left();
    assert_eq!(ran.task()["output"], "hello");
    assert_eq!(tmux.tmux(&["show-options", "-gv", "remain-on-exit"]), "on\n", "it is the user's");
}

#[test]
fn escape_sequences_of_a_child_do_not_reach_the_pane() {
    let tmux = TmuxWorld::new();
    let (shown, go) = (tmux.world.path("shown"), tmux.world.path("go"));
    let evil = "\u{1b}]2;stolen title\u{7}\u{1b}[31mred\u{1b}[2J\u{1b}c\u{9b}7mflipped\rover";
    let script = json!([
        {"message": {"text": evil, "stop": "toolUse"}},
        {"stderr": evil},
        {"tool": {"name": "bash", "args": {"command": evil}, "result": evil}},
        {"touch": shown},
        {"await": go},
        {"say": "done"},
    ]);
    let running = tmux.start(&script, &["--name", "evil"]);
    wait_until(|| shown.exists());
    let pane = tmux.only_pane();
    wait_until(|| tmux.shown(&pane).matches("redflippedover").count() >= 3);
    // With `-e`, attributes are shown as the sequences that would make them.
    let raw = tmux.tmux(&["capture-pane", "-p", "-e", "-t", &pane]);
    assert!(!raw.contains('\u{1b}'), "{raw:?}");
    assert!(raw.starts_with("evil (run "), "nothing was wiped: {raw:?}");
    let title = tmux.tmux(&["display-message", "-p", "-t", &pane, "#{pane_title}"]);
    assert!(!title.contains("stolen"), "{title}");
    fs::write(go, "").unwrap();
    assert_eq!(running.finish().code, Some(0));
    tmux.assert_nothing_left();
}

/// What a child prints that the terminal does not take: two million letters.
fn flood() -> Value {
    json!({"repeat": {"times": 2_000, "steps": [{"stderr": "x".repeat(1_000)}]}})
}

const FLOOD_BYTES: usize = 2_000 * 1_001;

/// Stops the terminal of the run, as Ctrl-S does, lets the child print its flood, and returns when
/// all of it is in the run directory.
fn flood_a_stopped_terminal(tmux: &TmuxWorld) -> String {
    wait_until(|| tmux.world.path("ready").exists());
    let pane = tmux.only_pane();
    wait_until(|| tmux.shown(&pane).contains("the beginning"));
    tmux.tmux(&["send-keys", "-t", &pane, "C-s"]);
    fs::write(tmux.world.path("go"), "").unwrap();
    let log = tmux.world.only_run().join("stderr.log");
    wait_until(|| fs::metadata(&log).is_ok_and(|log| log.len() == FLOOD_BYTES as u64));
    assert!(!tmux.shown(&pane).contains("xxxx"), "the terminal was stopped");
    pane
}

#[test]
fn a_terminal_that_takes_nothing_does_not_hold_up_the_run() {
    let tmux = TmuxWorld::new();
    let script = json!([
        {"message": {"text": "the beginning", "stop": "toolUse"}},
        {"touch": tmux.world.path("ready")},
        {"await": tmux.world.path("go")},
        flood(),
        {"await": tmux.world.path("end")},
        {"say": "done"},
    ]);
    let running = tmux.start(&script, &[]);
    flood_a_stopped_terminal(&tmux);
    fs::write(tmux.world.path("end"), "").unwrap();
    let ran = running.finish();
    tmux.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("done")));
}

#[test]
fn a_terminal_that_goes_on_says_what_it_has_left_out() {
    let tmux = TmuxWorld::new();
    let script = json!([
        {"message": {"text": "the beginning", "stop": "toolUse"}},
        {"touch": tmux.world.path("ready")},
        {"await": tmux.world.path("go")},
        flood(),
        {"await": tmux.world.path("more")},
        {"message": {"text": "the middle", "stop": "toolUse"}},
        {"await": tmux.world.path("end")},
        {"say": "done"},
    ]);
    let running = tmux.start(&script, &[]);
    let pane = flood_a_stopped_terminal(&tmux);
    tmux.tmux(&["send-keys", "-t", &pane, "C-q"]);
    wait_until(|| tmux.shown(&pane).contains("lines are not shown here]"));
    fs::write(tmux.world.path("more"), "").unwrap();
    wait_until(|| tmux.shown(&pane).contains("the middle"));
    let shown = tmux.shown(&pane);
    assert!(shown.contains("lines are not shown here]\nthe middle"), "{shown}");
    fs::write(tmux.world.path("end"), "").unwrap();
    let ran = running.finish();
    tmux.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("done")));
}

#[test]
fn a_program_that_is_replaced_while_it_runs_still_opens_panes() {
    let tmux = TmuxWorld::new();
    // A link beside it: a copy could still be open in a process that another test is starting, and
    // would then be refused as busy.
    let name = format!("replaced-{}", std::process::id());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&name);
    let go = tmux.world.path("go");
    let script =
        json!([{"message": {"text": "hello", "stop": "toolUse"}}, {"await": go}, {"say": "bye"}]);
    let agent = tmux.world.agent(&script);
    let tasks = json!({"tasks": [{"name": "one", "prompt": "a"}, {"name": "two", "prompt": "b"}]});
    fs::write(tmux.world.path("tasks.json"), tasks.to_string()).unwrap();
    let file = tmux.world.path("tasks.json").display().to_string();
    let arguments = ["delegate", "--json", "--concurrency", "1", "--agent", &agent, &file];
    fs::hard_link(env!("CARGO_BIN_EXE_pi-subagents"), &program).unwrap();
    let mut linked = tmux.world.command_of(&program);
    linked.args(arguments);
    let running = Running::start(tmux.inside(linked));
    wait_until(|| tmux.new_panes().iter().any(|pane| tmux.shown(pane).contains("hello")));
    let named = tmux.tmux(&["list-panes", "-s", "-F", "#{pane_current_command}"]);
    assert!(named.contains(&name), "people know it by its name: {named}");
    fs::remove_file(&program).unwrap();
    fs::write(go, "").unwrap();
    let ran = running.finish();
    tmux.assert_nothing_left();
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn the_child_works_where_it_should() {
    let tmux = TmuxWorld::new();
    let elsewhere = fs::canonicalize(tmux.world.home()).unwrap().display().to_string();
    let project = fs::canonicalize(tmux.world.project()).unwrap().display().to_string();
    let script = json!([{"tell": "cwd"}]);
    assert_eq!(tmux.play(&script, &[]).task()["output"], project);
    assert_eq!(tmux.play(&script, &["--cwd", &elsewhere]).task()["output"], elsewhere);
    tmux.assert_nothing_left();
}
