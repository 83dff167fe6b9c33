//! Agents that are told to stop: they end by themselves, with what was said so far, and leave nothing running.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Signal;
use serde_json::{Value, json};
use test_support::{Running, wait_until};

use super::harness::{Api, Builtin, CALLS, CLOSING, FAILURE, OPENING, text_of, wait_for_end};
use super::{bash, call};

/// An answer that was stopped before its first word.
const SILENT: &[&str] = &["assistant starts", "assistant ends: aborted", "turn ends"];
/// An answer that was stopped in its middle.
const CUT: &[&str] =
    &["assistant starts", "assistant writes…", "assistant ends: aborted", "turn ends"];
/// A command that was stopped, and the answer that is not asked for any more.
const STOPPED_COMMAND: &[&str] = &["bash runs", "bash runs…", "bash failed"];
const STOPPED_TURN: &[&str] = &["turn ends, 1 results", "turn start"];

/// A command that starts processes which ignore SIGTERM, and writes their ids into files.
const STUBBORN: &str = "\
    trap '' TERM INT HUP; \
    setsid sh -c 'trap \"\" TERM; echo $$ > one; exec sleep 600' < /dev/null > /dev/null 2>&1 & \
    env -i setsid sh -c 'trap \"\" TERM; echo $$ > two; exec sleep 600' < /dev/null & \
    (trap '' TERM; until [ -s one ] && [ -s two ]; do sleep 0.01; done; echo $$ > all); \
    echo ready; exec sleep 600";

/// Checks that everything that [`STUBBORN`] has started is gone.
#[track_caller]
fn assert_all_gone(builtin: &Builtin) {
    builtin.world.assert_nothing_left();
    for name in ["one", "two", "all"] {
        let pid = builtin.read(name);
        assert!(!pid.is_empty(), "{name} was not started");
        // A dead process may still wait to be reaped.
        let words = fs::read(Path::new("/proc").join(pid.trim()).join("cmdline"));
        assert_eq!(words.unwrap_or_default(), b"", "{name} is left");
    }
}

const SIGNALS: [(Signal, i32); 3] = [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)];

#[test]
fn a_signal_ends_an_answer_with_what_was_said() {
    let turns = json!([{"thinking": "hm", "text": "So far so good", "stall": true}, {"text": "?"}]);
    for (signal, code) in SIGNALS {
        for api in Api::ALL {
            let builtin = Builtin::new(api, &turns);
            let live = builtin.start(&["--thinking", "high", "tell me", "and more"]);
            live.wait_for("so good");
            live.signal(signal);
            let heard = live.finish();
            builtin.world.assert_nothing_left();
            heard.assert_story(code, &[OPENING, CUT, CLOSING]);
            let answer = heard.answer();
            assert_eq!(text_of(&answer), "So far so good");
            assert_eq!(answer["errorMessage"], "Request was aborted");
            let parts = answer["content"].as_array().unwrap();
            let thought = parts.iter().find_map(|part| part["thinking"].as_str());
            assert_eq!(thought.map(str::trim_end), Some("hm"));
            // The same in everything that repeats it.
            assert_eq!(heard.of("turn_end")[0]["message"], answer);
            let end = &heard.of("agent_end")[0];
            assert_eq!(end["messages"].as_array().unwrap().last(), Some(&answer));
            builtin.asked_once();
        }
    }
}

#[test]
fn a_price_that_is_not_known_is_not_zero_in_an_answer_that_was_cut_off() {
    let mut first = bash("true");
    first["usage"] = json!({"input": 100});
    let endless = json!({"text": "So far ".repeat(3000), "chunk": 7, "delay_ms": 100});
    let builtin = Builtin::script(&json!([first, endless]));
    let live = builtin.start(&["do it"]);
    live.wait_for("So far");
    live.signal(Signal::TERM);
    let heard = live.finish();
    let prices: Vec<Value> = heard
        .messages("assistant")
        .iter()
        .map(|message| json!([message["stopReason"], message["usage"]["cost"]]))
        .collect();
    assert_eq!(prices, [json!(["toolUse", null]), json!(["aborted", null])]);
    builtin.world.assert_nothing_left();
}

#[test]
fn a_signal_ends_the_wait_for_a_provider_that_says_nothing() {
    for builtin in Builtin::everywhere(&json!([{"hang": true}, {"text": "?"}])) {
        let live = builtin.start(&["tell me"]);
        if builtin.is_script() {
            live.wait_for("\"role\":\"assistant\"");
        } else {
            builtin.wait_until_asked(1);
        }
        live.signal(Signal::TERM);
        let heard = live.finish();
        builtin.world.assert_nothing_left();
        heard.assert_story(143, &[OPENING, SILENT, CLOSING]);
        assert_eq!(heard.answer()["content"], json!([]));
    }
}

#[test]
fn a_signal_ends_a_command_with_everything_that_it_started() {
    let turns = json!([bash(STUBBORN), {"text": "?"}]);
    for builtin in Builtin::everywhere(&turns) {
        let live = builtin.start(&["run it"]);
        live.wait_for("ready\\n");
        live.signal(Signal::TERM);
        let heard = live.finish();
        assert_all_gone(&builtin);
        let last = [STOPPED_TURN, SILENT].concat();
        heard.assert_story(143, &[OPENING, CALLS, STOPPED_COMMAND, FAILURE, &last, CLOSING]);
        assert_eq!(heard.results(), ["ready\n\n\nCommand aborted"]);
        assert_eq!(builtin.asked().len(), usize::from(!builtin.is_script()), "asked after the end");
    }
}

#[test]
fn commands_that_wait_for_their_turn_are_not_started() {
    let tools = json!([
        {"name": "bash", "args": {"command": "touch began; exec sleep 600"}},
        {"name": "bash", "args": {"command": "touch second"}},
        {"name": "write", "args": {"path": "third", "content": ""}},
    ]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!([{"tools": tools}, {"text": "?"}]));
        let live = builtin.start(&["run it"]);
        wait_until(|| builtin.project("began").exists());
        live.signal(Signal::TERM);
        let heard = live.finish();
        builtin.world.assert_nothing_left();
        let running = ["bash runs", "bash runs", "write runs", "bash runs…", "bash failed"];
        let rest = ["bash failed", "write failed"];
        let turn =
            [CALLS, &running, &rest, &FAILURE.repeat(3), &["turn ends, 3 results", "turn start"]];
        heard.assert_story(143, &[OPENING, &turn.concat(), SILENT, CLOSING]);
        assert!(!builtin.project("second").exists() && !builtin.project("third").exists());
    }
}

#[test]
fn a_tool_that_cannot_be_stopped_does_not_keep_the_agent() {
    let turns = json!([call("find", &json!({"pattern": "*", "path": "one"})), {"text": "?"}]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        builtin.hold_walk("one");
        let live = builtin.start(&["--tools", "find", "look"]);
        live.wait_for("tool_execution_start");
        live.signal(Signal::TERM);
        let heard = live.finish();
        builtin.world.assert_nothing_left();
        let running: &[&str] = &["find runs", "find failed"];
        let last = [STOPPED_TURN, SILENT].concat();
        heard.assert_story(143, &[OPENING, CALLS, running, FAILURE, &last, CLOSING]);
        assert_eq!(heard.results(), ["Operation aborted"]);
    }
}

#[test]
fn a_signal_ends_the_wait_before_the_next_attempt() {
    let turns = json!([{"error": 429, "retry_after": 50}, {"text": "?"}]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        let live = builtin.start(&["tell me"]);
        live.wait_for("auto_retry_start");
        live.signal(Signal::TERM);
        let heard = live.finish();
        builtin.world.assert_nothing_left();
        let failed = ["assistant starts", "assistant ends: error", "turn ends"];
        let end = ["agent ends, will retry", "retry 1/3", "retry failed", "agent settled"];
        heard.assert_story(143, &[OPENING, &failed, &end]);
        assert_eq!(heard.of("auto_retry_end")[0]["finalError"], "Retry cancelled");
        builtin.asked_once();
    }
}

#[test]
fn a_signal_ends_a_compaction() {
    let turns = json!([
        {"tools": [{"name": "read", "args": {"path": "long"}}], "usage": {"input": 9000, "output": 9}},
        {"text": "a summary", "stall": true},
        {"text": "?"},
    ]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        builtin.models(&json!({}), &json!({"contextWindow": 10_000}));
        builtin.project_file("long", &"a line\n".repeat(1000));
        let live = builtin.start(&["read it"]);
        builtin.wait_until_asked(2);
        live.signal(Signal::TERM);
        let heard = live.finish();
        builtin.world.assert_nothing_left();
        let read = [
            "read runs",
            "read finished",
            "toolResult starts",
            "toolResult ends",
            "turn ends, 1 results",
            "compaction starts: threshold",
            "compaction aborted",
            "turn start",
        ];
        heard.assert_story(143, &[OPENING, CALLS, &read, SILENT, CLOSING]);
    }
}

#[test]
fn an_agent_whose_reader_does_not_read_ends_all_the_same() {
    // More than any pipe holds, from the model and from a command that never ends.
    let talk = json!({"text": "x".repeat(2 * 1024 * 1024), "chunk": 1000});
    let command = bash(&STUBBORN.replace("echo ready; exec sleep 600", "yes"));
    for (turn, has_command) in [(talk, false), (command, true)] {
        for api in Api::ALL {
            let builtin = Builtin::new(api, &json!([turn, {"text": "?"}]));
            let mut command = builtin.agent(&["tell me"]);
            let (reader, writer) = std::io::pipe().unwrap();
            command.stdout(Stdio::from(writer.try_clone().unwrap())).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            drop(command);
            wait_until(|| {
                let mut fds = [PollFd::new(&writer, PollFlags::OUT)];
                let is_full = rustix::event::poll(&mut fds, Some(&Timespec::default())) == Ok(0);
                is_full && (!has_command || !builtin.read("all").is_empty())
            });
            let pid = rustix::process::Pid::from_child(&child);
            rustix::process::kill_process(pid, Signal::TERM).unwrap();
            let status = wait_for_end(&mut child);
            assert_eq!(status.code(), Some(143), "{status:?}");
            builtin.world.assert_nothing_left();
            if has_command {
                assert_all_gone(&builtin);
            }
            drop(reader);
        }
    }
}

#[test]
fn an_agent_whose_reader_goes_away_stops_its_tools_and_ends() {
    // The agent prints what a command prints at once, and so learns that its reader is gone.
    let turns = json!([
        bash(&STUBBORN.replace("exec sleep 600", "while sleep 0.01; do echo more; done")),
        {"text": "?"},
    ]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        let mut command = builtin.agent(&["run it"]);
        let (reader, writer) = std::io::pipe().unwrap();
        command.stdout(Stdio::from(writer)).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(command);
        wait_until(|| builtin.project("all").exists());
        drop(reader);
        wait_for_end(&mut child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("standard output cannot be written"), "{stderr}");
        assert_all_gone(&builtin);
        builtin.asked_once();
    }
}

#[test]
fn an_interrupt_of_the_caller_ends_the_agent_and_its_command() {
    let turns = json!([bash(STUBBORN), {"text": "?"}]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        let running =
            Running::start(builtin.world.command(["run", "--json", "--agent", "builtin", "do it"]));
        wait_until(|| builtin.project("all").exists());
        running.signal(Signal::INT);
        let ran = running.finish();
        assert_all_gone(&builtin);
        let task: Value = ran.task();
        assert_eq!((ran.code, &task["outcome"]), (Some(130), &json!("cancelled")), "{ran:#?}");
        let events = fs::read_to_string(ran.run_dir().join("events.jsonl")).unwrap();
        // It ended by itself, and its output was read to the end.
        assert!(events.contains("\"stopReason\":\"aborted\""), "{events}");
        let end: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
        assert_eq!((&end["type"], &end["exitCode"]), (&json!("run_ended"), &json!(143)), "{end}");
    }
}
