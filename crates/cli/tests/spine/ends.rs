//! How children end, and what that means.

use serde_json::json;
use test_support::fake_agent::saying;
use test_support::{Ran, World};

use super::events::assert_ended;
use super::world;

#[test]
fn an_answer_and_exit_zero_is_a_success() {
    let world = world();
    let ran = world.play(&saying("done"), &[]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &["run_started", "user \"do it\"", "assistant stop \"done\"", "ended completed code 0"],
    );
    assert_eq!(ran.task()["output"], "done");
    assert_eq!(ran.task()["usage"]["totalTokens"], 120);
    assert_eq!(ran.task()["usage"]["cost"]["total"], 0.003);
}

#[test]
fn exit_zero_without_a_message_is_not_a_success() {
    let world = world();
    let ran = world.play(&json!([{"exit": 0}]), &[]);
    assert_ended(
        &world,
        &ran,
        "no_assistant_message",
        &["run_started", "ended no_assistant_message code 0"],
    );
}

#[test]
fn exit_three_is_an_error_with_the_last_line_of_standard_error() {
    let world = world();
    let script = json!([{"say": "almost"}, {"stderr": "no API key"}, {"exit": 3}]);
    let ran = world.play(&script, &[]);
    assert_eq!(ran.task()["error"], "no API key (exit code 3)");
    assert_eq!(ran.task()["output"], "almost");
    assert_ended_in_any_order(&world, &ran);
}

/// Standard output and standard error are two pipes; their order is not known.
fn assert_ended_in_any_order(world: &test_support::World, ran: &test_support::Ran) {
    world.assert_nothing_left();
    let mut events = super::events::events(&ran.run_dir());
    events[1..3].sort();
    assert_eq!(
        events,
        [
            "run_started",
            "assistant stop \"almost\"",
            "stderr \"no API key\"",
            "ended non_zero_exit code 3"
        ]
    );
}

#[test]
fn death_by_a_signal_is_an_error() {
    let world = world();
    let ran = world.play(&json!([{"say": "bye"}, {"signal": 6}]), &[]);
    assert_ended(
        &world,
        &ran,
        "killed_by_signal",
        &["run_started", "assistant stop \"bye\"", "ended killed_by_signal signal 6"],
    );
}

#[test]
fn a_provider_error_with_exit_zero_is_an_error() {
    let world = world();
    let script = json!([
        {"message": {"stop": "error", "error": "400: bad request"}}, {"end": false}, "settle"
    ]);
    let ran = world.play(&script, &[]);
    assert_ended(
        &world,
        &ran,
        "provider_error",
        &["run_started", "assistant error \"\" (400: bad request)", "ended provider_error code 0"],
    );
    assert_eq!(ran.task()["error"], "400: bad request");
}

#[test]
fn a_provider_error_that_is_retried_is_not_the_end() {
    let world = world();
    let script = json!([
        {"message": {"stop": "error", "error": "500: busy"}},
        {"end": true},
        {"record": {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 1,
                    "errorMessage": "500: busy"}},
        {"record": {"type": "agent_start"}},
        {"say": "better now"},
        {"end": false},
        "settle",
    ]);
    let ran = world.play(&script, &[]);
    assert_ended(
        &world,
        &ran,
        "completed",
        &[
            "run_started",
            "assistant error \"\" (500: busy)",
            "retry 1/3 (500: busy)",
            "assistant stop \"better now\"",
            "ended completed code 0",
        ],
    );
}

#[test]
fn leaving_in_the_middle_of_the_work_is_an_interruption() {
    let world = world();
    let script = json!([
        {"message": {"text": "let me look", "stop": "toolUse"}},
        {"tool_start": {"name": "bash", "args": {"command": "ls"}}},
        {"exit": 0},
    ]);
    let ran = world.play(&script, &[]);
    assert_ended(
        &world,
        &ran,
        "interrupted",
        &[
            "run_started",
            "assistant toolUse \"let me look\"",
            "call bash {\"command\":\"ls\"}",
            "ended interrupted code 0",
        ],
    );
}

#[test]
fn leaving_in_the_middle_after_an_earlier_answer_is_an_interruption() {
    let world = world();
    let script = json!([
        {"say": "answer one"},
        {"record": {"type": "agent_start"}},
        {"tool_start": {"name": "bash", "args": {"command": "ls"}}},
        {"exit": 0},
    ]);
    let ran = world.play(&script, &[]);
    assert_ended(
        &world,
        &ran,
        "interrupted",
        &[
            "run_started",
            "assistant stop \"answer one\"",
            "call bash {\"command\":\"ls\"}",
            "ended interrupted code 0",
        ],
    );
}

#[test]
fn a_complaint_of_the_provider_counts_whatever_the_message_ends_with() {
    let world = world();
    let script =
        json!([{"message": {"text": "partial", "stop": "stop", "error": "boom"}}, "settle"]);
    let ran = world.play(&script, &[]);
    assert_ended(
        &world,
        &ran,
        "provider_error",
        &["run_started", "assistant stop \"partial\" (boom)", "ended provider_error code 0"],
    );
}

#[test]
fn a_missing_program_is_a_spawn_failure_with_a_hint() {
    let world = world();
    let ran = world.run(&["run", "--json", "--agent", r#"["no-such-program-anywhere"]"#, "hello"]);
    assert_ended(&world, &ran, "spawn_failure", &["ended spawn_failure"]);
    assert_eq!(
        ran.task()["error"],
        "Failed to spawn sub-agent process: the program \"no-such-program-anywhere\" was not found on PATH"
    );
}

#[test]
fn a_file_that_is_not_executable_is_a_spawn_failure() {
    let world = world();
    let file = world.path("plain.txt");
    std::fs::write(&file, "no program").unwrap();
    let agent = json!([file]).to_string();
    let ran = world.run(&["run", "--json", "--agent", &agent, "hello"]);
    assert_ended(&world, &ran, "spawn_failure", &["ended spawn_failure"]);
    assert!(ran.task()["error"].as_str().unwrap().ends_with("is not executable"), "{ran:?}");
}

#[test]
fn a_missing_working_directory_is_a_spawn_failure() {
    let world = world();
    let ran = delegate_in(&world, "/no/such/directory");
    assert_ended(&world, &ran, "spawn_failure", &["ended spawn_failure"]);
    assert_eq!(
        ran.task()["error"],
        "Failed to spawn sub-agent process: the working directory /no/such/directory does not exist"
    );
}

#[test]
fn a_relative_working_directory_is_refused() {
    let world = world();
    for (cwd, error) in [
        ("src", "cwd must be an absolute path"),
        ("/a/../b", "cwd must not contain '..' path segments"),
    ] {
        let ran = delegate_in(&world, cwd);
        assert_ended(&world, &ran, "spawn_failure", &["ended spawn_failure"]);
        assert_eq!(ran.task()["error"], error);
    }
}

/// A task that asks to work there. On the command line such a directory is refused before.
fn delegate_in(world: &World, cwd: &str) -> Ran {
    let agent = world.agent(&json!([]));
    let command = world.command(["delegate", "--json", "--agent", &agent]);
    world.feed(command, &json!([{"name": "a", "prompt": "p", "cwd": cwd}]).to_string())
}

#[test]
fn an_answer_that_was_cut_off_is_a_success_with_a_warning() {
    let world = world();
    let script = json!(["start", {"message": {"text": "First,", "stop": "length"}},
        {"end": false}, "settle"]);
    let ran = world.play(&script, &[]);
    let warning = "The answer was cut off at the model's limit of length";
    assert_eq!(ran.task()["status"], "completed");
    assert_eq!(ran.task()["warnings"], json!([warning]));
    world.assert_nothing_left();
}
