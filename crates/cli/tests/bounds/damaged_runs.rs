//! Files of run directories that are larger than any that this program writes.

use std::fs;
use std::io::Write;

use rustix::process::Signal;
use serde_json::{Value, json};
use test_support::{RpcClient, Running, wait_until};

use super::*;

const MEMORY: u32 = 600;

/// A world with a session of two runs. The name of one of the first run's files says what is damaged.
fn two_runs(name: &str) -> (World, String) {
    let world = world();
    let first = world.play(&answers("first answer"), &[]).task();
    let session = first["sessionId"].as_str().unwrap().to_owned();
    let second = world.play(&answers("second answer"), &["--resume", &session]).task();
    assert_eq!(second["output"], "second answer", "{second}");
    inflate(&world.runs()[0].join(name));
    (world, session)
}

#[test]
fn a_huge_file_of_events_holds_no_reader_up_and_hides_no_other_run() {
    let (world, session) = two_runs("events.jsonl");
    let run = |arguments: &[&str]| run_within(&world, MEMORY, arguments);
    let listed = run(&["sessions", "list"]);
    assert!(listed.code == Some(0) && listed.stdout.contains("second answer"), "{listed:?}");
    let listed = run(&["sessions", "list", "--json"]).json();
    assert_eq!(listed["sessions"][0]["runs"][0]["output"], "first answer", "{listed}");
    let damage = "events.jsonl is damaged: it has 64424509440 bytes";
    let shown = run(&["sessions", "show", &session]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stdout.contains(damage) && shown.stdout.contains("second answer"), "{shown:?}");
    for format in ["md", "html", "json"] {
        let exported = run(&["sessions", "export", &session, "--format", format]);
        assert_eq!(exported.code, Some(0), "{exported:?}");
        assert!(exported.stdout.contains("is damaged"), "{exported:?}");
        assert!(exported.stdout.contains("second answer"), "{exported:?}");
    }
    // An agent must not go on from a part of what was said.
    let resumed = run(&["run", "--resume", &session, "--agent", "[\"true\"]", "go on"]);
    assert!(resumed.code != Some(0) && resumed.stderr.contains(damage), "{resumed:?}");
    assert_eq!(run(&["bg", "list", "--all", "--everyone"]).code, Some(0));
    assert!(run(&["doctor"]).stdout.contains("2 runs in 1 sessions"));
    // What it takes from the disk is next to nothing, so that nothing is pruned for it.
    assert_eq!(run(&["sessions", "prune", "--json"]).json()["removed"], 0);
    assert_eq!(world.runs().len(), 2);
}

#[test]
fn a_huge_result_is_named_and_hides_no_other_run() {
    for name in ["result.json", "meta.json", "prompt.md"] {
        let (world, session) = two_runs(name);
        let listed = run_within(&world, MEMORY, &["sessions", "list"]);
        assert_eq!(listed.code, Some(0), "{listed:?}");
        assert!(listed.stdout.contains("second answer"), "{listed:?}");
        let is_named =
            listed.stderr.contains(&format!("{name} is damaged: it has 64424509440 bytes"));
        assert_eq!(is_named, name != "prompt.md", "{listed:?}");
        let shown = run_within(&world, MEMORY, &["sessions", "show", &session]);
        assert!(shown.stdout.contains("second answer"), "{shown:?}");
    }
}

#[test]
fn the_largest_numbers_in_a_record_stop_no_reader() {
    let world = world();
    let session = world.play(&answers("an answer"), &[]).task()["sessionId"].clone();
    let run = world.runs()[0].clone();
    // As if its supervisor had died.
    fs::remove_file(run.join("result.json")).unwrap();
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    let mut lines: Vec<String> =
        events.lines().filter(|line| !line.contains("run_ended")).map(str::to_owned).collect();
    for number in [1, u64::MAX] {
        let question = json!({"kind": "permission", "text": "May I?"});
        let asked = json!({"seq": u64::MAX, "at": 0, "type": "question_asked", "number": number, "question": question});
        let answered = json!({"seq": u64::MAX, "at": u64::MAX, "type": "question_answered", "number": number, "answer": "no", "by": "shell"});
        lines.extend([asked.to_string(), answered.to_string()]);
    }
    fs::write(run.join("events.jsonl"), lines.join("\n") + "\n").unwrap();
    let session = session.as_str().unwrap();
    for arguments in [
        &["sessions", "list"][..],
        &["sessions", "list", "--json"],
        &["sessions", "show", session],
        &["sessions", "export", session, "--format", "html"],
        &["doctor"],
    ] {
        let ran = world.run(arguments);
        assert!(matches!(ran.code, Some(0 | 1)) && !ran.stderr.contains("panicked"), "{ran:?}");
    }
    let result = fs::read_to_string(run.join("result.json")).unwrap();
    assert!(result.contains("\"interrupted\""), "{result}");
}

#[test]
fn a_list_needs_no_more_memory_for_long_answers() {
    let world = world();
    let run = world.play(&answers("an answer"), &[]).run_dir();
    let long = format!("begin {}", "x".repeat(24 << 20));
    rewrite(&run.join("result.json"), |result| result["output"] = json!(long));
    rewrite(&run.join("meta.json"), |meta| {
        meta["lifetime"] = json!("background");
        meta["task"] = json!(long);
    });
    let id = run.file_name().unwrap().to_str().unwrap();
    for number in 0..7 {
        let copy = run.with_file_name(format!("{}{number}", &id[..id.len() - 1]));
        if copy != run {
            fs::create_dir(&copy).unwrap();
            for entry in fs::read_dir(&run).unwrap() {
                let entry = entry.unwrap();
                fs::hard_link(entry.path(), copy.join(entry.file_name())).unwrap();
            }
        }
    }
    for arguments in [
        &["sessions", "list"][..],
        &["sessions", "list", "--json"],
        &["bg", "list", "--all", "--everyone", "--json"],
        &["doctor"],
    ] {
        let ran = run_within(&world, 350, arguments);
        assert!(ran.code.is_some() && !ran.stderr.contains("memory allocation"), "{}", ran.stderr);
        assert!(ran.stdout.len() < 2_000_000, "{arguments:?}: {}", ran.stdout.len());
    }
    let listed = run_within(&world, 350, &["sessions", "list", "--json"]).json();
    let output = listed["sessions"][0]["runs"][0]["output"].as_str().unwrap();
    assert!(output.starts_with("begin xxx") && output.len() == 16 * 1024, "{}", output.len());
    // One of them can be read whole.
    let output = world.run(&["sessions", "output", id]);
    assert!(output.stdout.len() > 24 << 20, "{}", output.stdout.len());
}

/// With all their bytes on the disk, so that no rule about holes helps. They share them, because a test must not fill it.
#[test]
fn eight_results_of_250_megabytes_cost_no_memory() {
    let (world, session) = two_runs("prompt.md");
    let run = world.runs()[0].clone();
    let mut result = fs::File::create(run.join("result.json")).unwrap();
    result.write_all(b"{\"outcome\":\"completed\",\"output\":\"").unwrap();
    let part = vec![b'x'; 1 << 20];
    (0..250).for_each(|_| result.write_all(&part).unwrap());
    result.write_all(b"\"}").unwrap();
    let id = run.file_name().unwrap().to_str().unwrap();
    for number in 0..7 {
        let name = format!("00000000-{}{number}", &id[9..id.len() - 1]);
        let copy = run.with_file_name(&name);
        fs::create_dir(&copy).unwrap();
        for file in ["meta.json", "events.jsonl"] {
            fs::copy(run.join(file), copy.join(file)).unwrap();
        }
        rewrite(&copy.join("meta.json"), |meta| meta["runId"] = json!(name));
        fs::hard_link(run.join("result.json"), copy.join("result.json")).unwrap();
    }
    for arguments in [
        &["sessions", "list"][..],
        &["sessions", "list", "--json"],
        &["sessions", "show", &session],
        &["sessions", "export", &session],
        &["bg", "list", "--all", "--everyone"],
        &["doctor"],
    ] {
        // Less than one of them, and what a program takes that does nothing.
        let ran = run_within(&world, 240, arguments);
        assert!(ran.code.is_some() && !ran.stderr.contains("memory allocation"), "{ran:?}");
        assert!(ran.stdout.len() < 100_000, "{arguments:?}: {}", ran.stdout.len());
    }
    let listed = run_within(&world, 240, &["sessions", "list"]);
    assert!(listed.code == Some(0) && listed.stdout.contains("second answer"), "{listed:?}");
    assert_eq!(listed.stderr.matches("result.json is damaged").count(), 8, "{listed:?}");
}

#[test]
fn a_planted_name_is_shown_in_part() {
    let world = world();
    let run = world.play(&answers("an answer"), &[]).run_dir();
    let long = "n".repeat(3 << 20);
    rewrite(&run.join("meta.json"), |meta| {
        meta["name"] = json!(long);
        meta["resolvedModel"] = json!(long);
        meta["profile"] = json!(long);
        meta["cwd"] = json!(format!("/{long}"));
        meta["tools"] = json!([long]);
        meta["lifetime"] = json!("background");
    });
    rewrite(&run.join("result.json"), |result| {
        result["name"] = json!(long);
        result["model"] = json!(long);
        result["error"] = json!(long);
        result["stopReason"] = json!(long);
    });
    let id = run.file_name().unwrap().to_str().unwrap();
    for arguments in [
        &["sessions", "list"][..],
        &["sessions", "list", "--json"],
        &["sessions", "show", id],
        &["sessions", "export", id, "--format", "md"],
        &["bg", "list", "--all", "--everyone"],
        &["bg", "list", "--all", "--everyone", "--json"],
        &["bg", "status", id],
        &["watch", id],
        &["doctor"],
    ] {
        let ran = run_within(&world, MEMORY, arguments);
        let length = ran.stdout.len() + ran.stderr.len();
        assert!((1..100_000).contains(&length), "{arguments:?}: {length}");
    }
    assert!(world.run(&["sessions", "list"]).stdout.contains("nnn…  nnn"));
}

#[test]
fn watch_hears_a_signal_whatever_the_files_are() {
    let world = world();
    let script = world.working();
    let runs = [world.start(&script, &[]), world.start(&script, &[])];
    wait_until(|| world.runs().len() == 2 && world.path("working").exists());
    let is_begun = |run: &std::path::PathBuf| {
        fs::read_to_string(run.join("events.jsonl"))
            .is_ok_and(|text| text.contains("working on it"))
    };
    wait_until(|| world.runs().iter().all(is_begun));
    // Both the file that is there already and the one that grows while it is watched.
    inflate(&world.runs()[0].join("events.jsonl"));
    let watching = Running::start(world.command(["watch"]));
    wait_until(|| {
        let inotify = format!("/proc/{}/fdinfo", watching.pid());
        let files = fs::read_dir(inotify).into_iter().flatten().flatten();
        let watches = files.filter_map(|file| fs::read_to_string(file.path()).ok());
        watches.map(|text| text.matches("inotify wd").count()).sum::<usize>() >= 3
    });
    inflate(&world.runs()[1].join("events.jsonl"));
    watching.signal(Signal::TERM);
    let watched = watching.finish();
    assert!(matches!(watched.code, Some(1 | 130 | 143)), "{watched:?}");
    world.let_go();
    for run in runs {
        assert_eq!(run.finish().code, Some(0));
    }
    // Of a run that has ended, too.
    let id = world.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    let watched = run_within(&world, MEMORY, &["watch", &id]);
    assert!(watched.stderr.contains("is damaged"), "{watched:?}");
    world.assert_nothing_left();
}

#[test]
fn resources_of_damaged_runs_are_read_as_far_as_they_go() {
    let (world, session) = two_runs("events.jsonl");
    let mut command = world.command(["mcp"]);
    command.env("PI_SUBAGENTS_AGENT", world.agent(&answers("unused")));
    let mut client = RpcClient::start(command);
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"}});
    client.request("initialize", &hello);
    client.notify("notifications/initialized", &json!({}));
    let listed = client.request("resources/list", &json!({}));
    assert_eq!(listed["result"]["resources"].as_array().map(Vec::len), Some(3), "{listed}");
    let uri = format!("subagent://session/{session}");
    let read = client.request("resources/read", &json!({"uri": uri}));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("is damaged") && text.contains("second answer"), "{text}");
    let arguments = json!({"name": "get_subagent_session", "arguments": {"sessionId": session}});
    let told: Value = client.request("tools/call", &arguments);
    assert!(
        told["result"]["content"][0]["text"].as_str().unwrap().contains("is damaged"),
        "{told}"
    );
    client.close();
}
