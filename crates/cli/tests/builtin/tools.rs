//! Every tool with its real effect, and which of them run at the same time.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use serde_json::{Value, json};
use test_support::wait_until;

use super::harness::{
    ANSWER, Api, Asked, Builtin, CALLS, CLOSING, FAILURE, NEXT_TURN, OPENING, RESULT, text_of,
};
use super::{bash, call};

const ALL_TOOLS: &[&str] = &["--tools", "read,bash,edit,write,grep,find,ls"];

#[test]
fn every_tool_does_what_it_says() {
    let edits = json!([
        {"oldText": "one", "newText": "1"},
        {"oldText": "three", "newText": "3"},
    ]);
    let turns = json!([
        call("write", &json!({"path": "src/new/a.txt", "content": "one\ntwo\nthree\n"})),
        call("read", &json!({"path": "src/new/a.txt", "offset": 2, "limit": 1})),
        call("edit", &json!({"path": "src/new/a.txt", "edits": edits})),
        bash("cat src/new/a.txt; echo aside >&2; exit 3"),
        call("grep", &json!({"pattern": "t.o", "path": "src"})),
        call("find", &json!({"pattern": "*.txt"})),
        call("ls", &json!({"path": "src"})),
        {"text": "I have seen: {{result:6}}"},
    ]);
    for builtin in Builtin::everywhere(&turns) {
        builtin.project_file(".gitignore", "ignored.txt\n");
        builtin.project_file("ignored.txt", "two");
        let heard = builtin.ask(&[ALL_TOOLS, &["use them"]].concat());
        assert_eq!(
            heard.results(),
            [
                "Successfully wrote to src/new/a.txt",
                "two\n\n[2 more lines in file. Use offset=3 to continue.]",
                "Successfully replaced 2 block(s) in src/new/a.txt.",
                "1\ntwo\n3\naside\n\n\nCommand exited with code 3",
                "new/a.txt:2: two",
                "src/new/a.txt",
                "new/",
            ]
        );
        assert_eq!(builtin.read("src/new/a.txt"), "1\ntwo\n3\n");
        assert_eq!(heard.answer()["content"][0]["text"], "I have seen: new/");
        let turn = |runs: &[&'static str]| [CALLS, runs, RESULT, NEXT_TURN].concat();
        let story = [
            turn(&["write runs", "write finished"]),
            turn(&["read runs", "read finished"]),
            turn(&["edit runs", "edit finished"]),
            [CALLS, &["bash runs", "bash runs…", "bash failed"], FAILURE, NEXT_TURN].concat(),
            turn(&["grep runs", "grep finished"]),
            turn(&["find runs", "find finished"]),
            turn(&["ls runs", "ls finished"]),
        ];
        heard.assert_story(0, &[OPENING, &story.concat(), ANSWER, CLOSING]);
    }
}

/// Opens a pipe for writing, if another process has it open for reading or waits to open it.
fn open_for_reader(path: &std::path::Path) -> Option<std::fs::File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().write(true).custom_flags(flags).open(path).ok()
}

#[test]
fn calls_that_only_look_run_side_by_side_and_answer_in_their_order() {
    let tools = json!([
        {"name": "find", "args": {"pattern": "*", "path": "one"}},
        {"name": "grep", "args": {"pattern": "x", "path": "two"}},
        {"name": "ls", "args": {"path": "three"}},
    ]);
    let turns = json!([{"tools": tools}, {"text": "done"}]);
    for builtin in Builtin::everywhere(&turns) {
        let pipes = ["one", "two"].map(|name| builtin.hold_walk(name));
        builtin.project_file("three/c", "");
        builtin.project_file("one/a", "");
        builtin.project_file("two/b", "x");
        let live = builtin.start(&[ALL_TOOLS, &["look"]].concat());
        // The last of them ends while the others wait: all three are running.
        live.wait_for("\"tool_execution_end\"");
        for (pipe, name) in pipes.iter().zip(["find", "grep"]) {
            wait_until(|| {
                // A reader that waits for a writer gets one that writes nothing.
                drop(open_for_reader(pipe));
                live.has_said(&format!("\"toolName\":\"{name}\",\"result\""))
            });
        }
        let heard = live.finish();
        assert_eq!(heard.results(), ["a", "b:1: x", "c"]);
        let running =
            ["find runs", "grep runs", "ls runs", "ls finished", "find finished", "grep finished"];
        let turn =
            [CALLS, &running, RESULT, RESULT, RESULT, &["turn ends, 3 results", "turn start"]];
        heard.assert_story(0, &[OPENING, &turn.concat(), ANSWER, CLOSING]);
    }
}

#[test]
fn calls_that_change_something_wait_for_one_another() {
    let edit = |old: &str, new: &str| {
        let edits = json!([{"oldText": old, "newText": new}]);
        json!({"name": "edit", "args": {"path": "a", "edits": edits}})
    };
    let command = |command: &str| json!({"name": "bash", "args": {"command": command}});
    let tools = json!([
        {"name": "write", "args": {"path": "a", "content": "first"}},
        edit("first", "second"),
        command("cat a; touch began; until [ -e go ]; do sleep 0.01; done; printf third > a"),
        edit("third", "fourth"),
        {"name": "read", "args": {"path": "a"}},
        command("cat a; printf fifth > a"),
        {"name": "read", "args": {"path": "a"}},
    ]);
    for builtin in Builtin::everywhere(&json!([{"tools": tools}, {"text": "done"}])) {
        let live = builtin.start(&["change it"]);
        wait_until(|| builtin.project("began").exists());
        builtin.project_file("go", "");
        let heard = live.finish();
        let replaced = "Successfully replaced 1 block(s) in a.";
        let results = heard.results();
        assert_eq!(
            results,
            ["Successfully wrote to a", replaced, "second", replaced, "fourth", "fourth", "fifth"]
        );
        let started = [
            "write runs",
            "edit runs",
            "bash runs",
            "edit runs",
            "read runs",
            "bash runs",
            "read runs",
        ];
        let ended = [
            "write finished",
            "edit finished",
            "bash runs…",
            "bash finished",
            "edit finished",
            "read finished",
            "bash runs…",
            "bash finished",
            "read finished",
        ];
        let turn =
            [CALLS, &started, &ended, &RESULT.repeat(7), &["turn ends, 7 results", "turn start"]];
        heard.assert_story(0, &[OPENING, &turn.concat(), ANSWER, CLOSING]);
        assert_eq!(builtin.read("a"), "fifth");
    }
}

#[test]
fn what_a_command_prints_is_shown_while_it_runs() {
    let turns = json!([
        bash("echo early; until [ -e go ]; do sleep 0.01; done; echo late"),
        {"text": "done"},
    ]);
    for builtin in Builtin::everywhere(&turns) {
        let live = builtin.start(&["run it"]);
        live.wait_for("\"partialResult\":{\"content\":[{\"type\":\"text\",\"text\":\"early\\n\"}]");
        builtin.project_file("go", "");
        let heard = live.finish();
        assert_eq!(heard.results(), ["early\nlate\n"]);
        let running: &[&str] = &["bash runs", "bash runs…", "bash finished"];
        heard.assert_story(0, &[OPENING, CALLS, running, RESULT, NEXT_TURN, ANSWER, CLOSING]);
    }
}

#[test]
fn a_command_that_takes_too_long_is_killed_with_everything_that_it_started() {
    let command =
        "setsid sh -c 'echo $$ > grandchild; trap \"\" TERM; exec sleep 600' & exec sleep 600";
    let turns = json!([
        call("bash", &json!({"command": command, "timeout": 2})),
        {"text": "done"},
    ]);
    // All at once: the time is the command's.
    let running = Builtin::everywhere(&turns).into_iter().map(|builtin| {
        let live = builtin.start(&["run it"]);
        (builtin, live)
    });
    let running: Vec<_> = running.collect();
    for (builtin, live) in running {
        let heard = live.finish();
        builtin.world.assert_nothing_left();
        assert_eq!(heard.results(), ["Command timed out after 2 seconds"]);
        let running: &[&str] = &["bash runs", "bash runs…", "bash failed"];
        heard.assert_story(0, &[OPENING, CALLS, running, FAILURE, NEXT_TURN, ANSWER, CLOSING]);
        assert!(!builtin.read("grandchild").is_empty());
    }
}

#[test]
fn thoughts_are_shown_and_go_back_to_the_provider() {
    let turns = json!([
        {"thinking": "I had better look first.", "text": "I look.",
            "tools": [{"name": "read", "args": {"path": "a"}}]},
        {"thinking": "That is it.", "text": "It says: {{result:0}}"},
    ]);
    for builtin in Builtin::everywhere(&turns) {
        builtin.project_file("a", "hello");
        let heard = builtin.ask(&["--thinking", "high", "what does it say?"]);
        let running: &[&str] = &["read runs", "read finished"];
        heard.assert_story(0, &[OPENING, CALLS, running, RESULT, NEXT_TURN, ANSWER, CLOSING]);
        let kinds = |message: &Value| {
            let parts = message["content"].as_array().unwrap().iter();
            // The records of Gemini have empty texts, which pi keeps as well.
            parts
                .filter(|part| part["text"] != "")
                .map(|part| part["type"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let answers = heard.messages("assistant");
        assert_eq!(kinds(&answers[0]), ["thinking", "text", "toolCall"]);
        let thoughts = answers[0]["content"].as_array().unwrap().iter();
        let thoughts: Vec<&str> = thoughts.filter_map(|part| part["thinking"].as_str()).collect();
        assert_eq!(thoughts, ["I had better look first."]);
        assert_eq!(kinds(&answers[1]), ["thinking", "text"]);
        assert_eq!(text_of(&answers[1]), "It says: hello");
        let updates = heard.of("message_update");
        let thought: String = updates
            .iter()
            .map(|record| &record["assistantMessageEvent"])
            .filter(|update| update["type"] == "thinking_delta")
            .map(|update| update["delta"].as_str().unwrap())
            .collect();
        // With the responses API, a summary has paragraphs.
        assert_eq!(thought.replace("\n\n", ""), "I had better look first.That is it.");
        let asked = builtin.asked();
        if asked.is_empty() {
            continue;
        }
        match builtin.api {
            Api::Completions => {
                assert_eq!(asked[0]["reasoning_effort"], "high");
                let answer = &asked[1]["messages"][2];
                assert_eq!(answer["reasoning_content"], "I had better look first.", "{answer:#}");
            }
            Api::Messages => {
                assert!(asked[0]["thinking"].is_object(), "{:#}", asked[0]);
                let thought = &asked[1]["messages"][1]["content"][0];
                assert_eq!(thought["thinking"], "I had better look first.");
                assert_eq!(thought["signature"], "signature_0");
            }
            Api::Responses => {
                assert_eq!(asked[0]["reasoning"]["effort"], "high");
                let items = Asked(&asked[1]).messages();
                let thought = items.iter().find(|item| item["type"] == "reasoning").unwrap();
                assert!(thought["encrypted_content"].is_string(), "{thought:#}");
            }
            Api::Gemini => {
                let thinking = &asked[0]["generationConfig"]["thinkingConfig"];
                assert_eq!(thinking["includeThoughts"], true, "{:#}", asked[0]);
                let answer = &Asked(&asked[1]).messages()[1];
                assert!(answer.to_string().contains("thoughtSignature"), "{answer:#}");
            }
        }
        assert_eq!(Asked(&asked[1]).roles(), ["user", "assistant", "tool"]);
    }
}
