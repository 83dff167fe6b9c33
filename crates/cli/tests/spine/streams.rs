//! What children print, and what it must not cause.

use std::process::Stdio;

use serde_json::json;
use test_support::Ran;

use super::events::{assert_ended, events, records};
use super::world;

#[test]
fn invalid_utf8_is_one_bad_line() {
    let world = world();
    let script = json!([{"bytes": [0x7b, 0xff, 0xfe, 0x0a]}, {"say": "fine"}]);
    let ran = world.play(&script, &[]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &[
            "run_started",
            "unreadable 3 \"{\u{fffd}\u{fffd}\"",
            "assistant stop \"fine\"",
            "ended completed code 0",
        ],
    );
}

#[test]
fn one_bad_byte_does_not_cost_the_answer() {
    let world = world();
    let mut bytes =
        br#"{"type":"message_end","message":{"role":"assistant","content":"caf"#.to_vec();
    bytes.push(0xe9);
    bytes.extend_from_slice(b" answer\",\"stopReason\":\"stop\"}}\n");
    let ran = world.play(&json!([{"bytes": bytes}]), &[]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &["run_started", "assistant stop \"caf\u{fffd} answer\"", "ended completed code 0"],
    );
}

#[test]
fn a_character_split_over_writes_stays_whole() {
    let world = world();
    let record = json!({"type": "message_end", "message": {"role": "assistant",
        "content": [{"type": "text", "text": "zażółć 🦀\u{2028}x"}], "stopReason": "stop"}});
    let ran = world.play(&json!([{"bytes": format!("{record}\n").as_bytes()}]), &[]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &["run_started", "assistant stop \"zażółć 🦀\\u{2028}x\"", "ended completed code 0"],
    );
}

#[test]
fn a_torn_last_line_is_kept_as_what_it_is() {
    let world = world();
    let script = json!([{"say": "whole"}, {"text": "{\"type\":\"turn_end\",\"mess"}]);
    let ran = world.play(&script, &[]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &["run_started", "assistant stop \"whole\"", "ended completed code 0"],
    );
}

#[test]
fn a_last_message_that_is_lost_is_not_a_success() {
    let torn = "{\"type\":\"message_end\",\"message\":{\"role\":\"assist";
    let broken = "{\"type\":\"message_end\",\"message\":{\"role\":\"assistant\",\"content\":5}}\n";
    for (lost, settles) in [(torn, false), (broken, true)] {
        let world = world();
        let mut script = vec![
            json!({"message": {"text": "Let me look.", "stop": "toolUse"}}),
            json!({"text": lost}),
        ];
        if settles {
            script.extend([json!({"end": false}), json!("settle")]);
        }
        let ran = world.play(&json!(script), &[]);
        assert_ended(
            &world,
            &ran,
            "interrupted",
            &[
                "run_started",
                "assistant toolUse \"Let me look.\"",
                &format!("message lost {}", lost.trim_end().len()),
                "ended interrupted code 0",
            ],
        );
        assert_eq!(ran.task()["output"], "Let me look.", "what was said stays");
    }
}

#[test]
fn an_answer_that_is_too_long_is_not_a_success() {
    let world = world();
    let file = world.path("script.json");
    let script =
        json!([{"message": {"text": "Let me look.", "stop": "toolUse"}}, {"say": "big"}, "settle"]);
    std::fs::write(&file, script.to_string().replace("big", &"z".repeat(17 * 1024 * 1024)))
        .unwrap();
    let agent = json!([env!("CARGO_BIN_EXE_fake-agent"), format!("@{}", file.display())]);
    let ran = world.run(&["run", "--json", "--agent", &agent.to_string(), "do it"]);
    world.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["outcome"]), (Some(1), &json!("interrupted")));
    assert_eq!(
        ran.task()["error"],
        "Interrupted: the last message of the sub-agent could not be read"
    );
}

#[test]
fn a_whole_record_without_a_line_feed_counts() {
    let world = world();
    let script = json!([{"text": "{\"type\":\"message_end\",\"message\":{\"role\":\"assistant\",\"content\":\"last\",\"stopReason\":\"stop\"}}"}]);
    let ran = world.play(&script, &[]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &["run_started", "assistant stop \"last\"", "ended completed code 0"],
    );
}

#[test]
fn bad_json_between_good_lines_loses_nothing_else() {
    let world = world();
    let script = json!([{"say": "one"}, {"line": "{bad"}, {"line": ""}, {"line": "npm warn"},
        {"record": {"type": "from_the_future", "x": 1}}, {"say": "two"}]);
    let ran = world.play(&script, &[]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &[
            "run_started",
            "assistant stop \"one\"",
            "unreadable 4 \"{bad\"",
            "unreadable 8 \"npm warn\"",
            "assistant stop \"two\"",
            "ended completed code 0",
        ],
    );
}

#[test]
fn a_line_of_one_gibibyte_is_one_bad_line() {
    let world = world();
    let gibibyte = 1_u64 << 30;
    let ran = world.play(&json!([{"long_line": gibibyte}, {"say": "after it"}]), &[]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &[
            "run_started",
            "unreadable 1073741824 \"xxxxxxxxxxxxxxxxxxxx\"",
            "assistant stop \"after it\"",
            "ended completed code 0",
        ],
    );
}

#[test]
fn a_flood_of_deltas_is_read_and_not_stored() {
    let world = world();
    let ran = world.play(&json!(["start", {"deltas": 200_000}, {"say": "done"}]), &[]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &["run_started", "user \"do it\"", "assistant stop \"done\"", "ended completed code 0"],
    );
    let stored: u64 = std::fs::read_dir(ran.run_dir())
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(stored < 10_000, "{stored} bytes for one answer");
}

#[test]
fn a_flood_of_200_000_events_fills_the_log_and_still_ends() {
    let world = world();
    let script = json!([
        {"repeat": {"times": 200_000, "steps": [{"line": "a line that is not a record at all"}]}},
        {"say": "done"}
    ]);
    let ran = world.play(&script, &[]);
    world.assert_nothing_left();
    let task = ran.task();
    assert_eq!(
        (task["outcome"].as_str(), task["output"].as_str()),
        (Some("completed"), Some("done"))
    );
    let records = records(&ran.run_dir());
    let [.., full, end] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!((&full["type"], &end["type"]), (&json!("log_full"), &json!("run_ended")));
    assert_eq!(records[0]["type"], "run_started");
    let lines = &records[1..records.len() - 2];
    assert!(lines.iter().all(|record| record["type"] == "unreadable_line"));
    assert_eq!(end["seq"], json!(200_000 + 4), "every event was counted");
    for entry in std::fs::read_dir(ran.run_dir()).unwrap() {
        let entry = entry.unwrap();
        let length = entry.metadata().unwrap().len();
        assert!(length < 8 * 1024 * 1024 + 1024, "{entry:?} has {length} bytes");
    }
    assert!(task["warnings"][0].as_str().unwrap().contains("events.jsonl is full"), "{task}");
}

#[test]
fn both_streams_are_drained_at_once() {
    let world = world();
    let line = "x".repeat(2_000);
    // More than a pipe holds, on either side, without a reader in between.
    let script = json!([
        {"repeat": {"times": 1_000, "steps": [{"stderr": line}, {"deltas": 5}]}},
        {"say": "done"}
    ]);
    let ran = world.play(&script, &[]);
    world.assert_nothing_left();
    assert_eq!(ran.task()["outcome"], "completed");
    assert_eq!(events(&ran.run_dir()).len(), 1_000 + 3);
}

#[test]
fn a_prompt_of_300_kilobytes_arrives_whole() {
    let world = world();
    let prompt = "żółw ".repeat(43_000);
    let command = world.play_command(&json!(["start", {"tell": "prompt"}]), &["-"]);
    let ran = world.feed(command, &prompt);
    assert!(prompt.len() > 300_000);
    assert_ended(
        &world,
        &ran,
        "completed",
        &[
            "run_started",
            &format!("user {prompt:?}"),
            &format!("assistant stop {:?}", format!("You said: {prompt}")),
            "ended completed code 0",
        ],
    );
}

#[test]
fn a_prompt_that_is_never_read_blocks_nothing() {
    let world = world();
    let prompt = "x".repeat(300_000);
    let command = world.play_command(&json!([{"say": "I do not listen"}]), &["-"]);
    let ran = world.feed(command, &prompt);
    assert_ended(
        &world,
        &ran,
        "completed",
        &["run_started", "assistant stop \"I do not listen\"", "ended completed code 0"],
    );
}

#[test]
fn a_prompt_that_looks_like_an_option_or_a_file_is_a_prompt() {
    for prompt in ["--help", "-x", "@/etc/passwd", "- item\n- item"] {
        let world = world();
        let ran = world.play(&json!(["start", {"tell": "prompt"}]), &["--", prompt]);
        assert_ended(
            &world,
            &ran,
            "completed",
            &[
                "run_started",
                &format!("user {prompt:?}"),
                &format!("assistant stop {:?}", format!("You said: {prompt}")),
                "ended completed code 0",
            ],
        );
    }
}

#[test]
fn closing_standard_output_early_is_not_the_end() {
    let world = world();
    let done = world.path("done");
    let script = json!([{"say": "said"}, "close_stdout", {"sleep_ms": 300}, {"touch": done}]);
    let ran = world.play(&script, &[]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &["run_started", "assistant stop \"said\"", "ended completed code 0"],
    );
    assert!(done.exists(), "the child was stopped although it was still at work");
}

#[test]
fn large_messages_do_not_overfill_the_logs() {
    let world = world();
    let text = "x".repeat(3 * 1024 * 1024);
    let script = json!([{"repeat": {"times": 5, "steps": [{"message": {"text": "big", "stop": "toolUse"}}]}},
        {"say": "end"}]);
    // Too long for an argument, so the message is put in by the shell that starts the agent.
    let file = world.path("script.json");
    std::fs::write(&file, script.to_string().replace("big", &text)).unwrap();
    let agent = json!([
        "sh",
        "-c",
        format!("exec {} @{}", env!("CARGO_BIN_EXE_fake-agent"), file.display())
    ]);
    let ran = world.run(&["run", "--json", "--agent", &agent.to_string(), "do it"]);
    world.assert_nothing_left();
    assert_eq!(
        (&ran.task()["outcome"], &ran.task()["output"]),
        (&json!("completed"), &json!("end"))
    );
    for entry in std::fs::read_dir(ran.run_dir()).unwrap() {
        let entry = entry.unwrap();
        let length = entry.metadata().unwrap().len();
        assert!(length < 8 * 1024 * 1024 + 1024, "{entry:?} has {length} bytes");
    }
}

/// The answer is as large as possible, and the lifeline is the only way to the parent.
#[test]
fn the_largest_answer_reaches_the_parent_also_without_a_directory() {
    let world = world();
    let text = "y".repeat(15 * 1024 * 1024);
    let file = world.path("script.json");
    let script = json!([{"touch": world.path("working")}, {"await": world.path("go")},
        {"message": {"text": "big", "stop": "error", "error": "e".repeat(100_000)}}]);
    std::fs::write(&file, script.to_string().replace("big", &text)).unwrap();
    let agent = json!([env!("CARGO_BIN_EXE_fake-agent"), format!("@{}", file.display())]);
    let mut command = world.command(["run", "--json", "--agent", &agent.to_string(), "do it"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    test_support::wait_until(|| world.path("working").exists());
    std::fs::remove_dir_all(world.only_run()).unwrap();
    std::fs::write(world.path("go"), "").unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    world.assert_nothing_left();
    let task = ran.task();
    assert_eq!((ran.code, &task["outcome"]), (Some(1), &json!("provider_error")));
    assert_eq!(task["output"].as_str().unwrap().len(), text.len());
    assert_eq!(task["error"].as_str().unwrap().len(), 4096);
}
