//! Who decides what an agent may change, and where it is shown.

use std::fs;

use serde_json::{Value, json};
use test_support::fake_agent::quick;
use test_support::{Ran, SystemCall, forbid, write_file};

use super::Restricted;

/// Delegates tasks to an agent that tries to write outside, and returns what each task had.
fn delegate(restricted: &Restricted, tasks: &Value, arguments: &[&str]) -> (Ran, Vec<String>) {
    let agent = restricted.agent("echo x > $outside/new; rm -f $outside/new");
    let all = [&["delegate", "--json", "--agent", &agent, "-"], arguments].concat();
    let command = restricted.world.command(all);
    let ran = restricted.world.feed(command, &json!({"tasks": tasks}).to_string());
    let document = ran.json();
    let access = |task: &Value| task["access"].as_str().unwrap().to_owned();
    let accesses = document["tasks"].as_array().unwrap().iter().map(access).collect();
    (ran, accesses)
}

#[test]
fn a_task_lowers_what_the_user_allows_and_never_raises_it() {
    let restricted = Restricted::new();
    let tasks = json!([
        {"name": "a", "prompt": "p"},
        {"name": "b", "prompt": "p", "access": "read"},
        {"name": "c", "prompt": "p", "access": "full"},
    ]);
    let (_, accesses) = delegate(&restricted, &tasks, &[]);
    assert_eq!(accesses, ["full", "read", "full"]);
    let (ran, accesses) = delegate(&restricted, &tasks, &["--access", "workspace"]);
    assert_eq!(accesses, ["workspace", "read", "workspace"]);
    assert!(ran.stderr.contains("asks for access \"full\" and gets \"workspace\""), "{ran:#?}");
    restricted.world.settings(&json!({"access": "read"}));
    let (_, accesses) = delegate(&restricted, &tasks, &[]);
    assert_eq!(accesses, ["read", "read", "read"]);
    // The command line is the user's.
    let (_, accesses) = delegate(&restricted, &tasks, &["--access", "full"]);
    assert_eq!(accesses, ["full", "read", "full"]);
}

#[test]
fn a_profile_and_a_preset_have_the_field() {
    let restricted = Restricted::new();
    let text = "---\nname: careful\ndescription: Looks.\nmodel: a/b\naccess: read\n---\n";
    for directory in ["agent-profiles", "subagents"] {
        write_file(&restricted.world.agent_dir().join(directory).join("careful.md"), text);
    }
    for kind in ["--profile", "--preset"] {
        restricted.assert_cannot("echo x > new", &[kind, "careful"]);
    }
    let shown = restricted.world.run(&["profile", "show", "careful"]).stdout;
    assert!(shown.contains("access:            read"), "{shown}");
    // A project's own file can lower it, too, but it raises nothing.
    let raising = text.replace("read", "full");
    write_file(&restricted.project(".pi/agent-profiles/careful.md"), &raising);
    restricted.world.settings(&json!({"access": "workspace"}));
    restricted.assert_cannot("echo x > $outside/new", &["--profile", "careful"]);
    let unknown = text.replace("read", "raed");
    write_file(&restricted.project(".pi/agent-profiles/careful.md"), &unknown);
    let ran = restricted.world.play(&quick(), &["--profile", "careful"]);
    assert!(ran.stderr.contains("\"access\" must be one of read, workspace, full"), "{ran:#?}");
}

#[test]
fn a_resumed_session_gets_no_more_unless_the_user_says_so() {
    let restricted = Restricted::new();
    let first = restricted.assert_can("true", &["--access", "read"]);
    let session = first.ran.task()["sessionId"].as_str().unwrap().to_owned();
    let tasks = json!([{"name": "a", "prompt": "p", "resume": session, "access": "full"}]);
    let (_, accesses) = delegate(&restricted, &tasks, &[]);
    assert_eq!(accesses, ["read"]);
    restricted.assert_cannot("echo x > new", &["--resume", &session]);
    restricted.assert_can("echo x > new", &["--resume", &session, "--access", "workspace"]);
    restricted.assert_cannot("echo x > $outside/new", &["--resume", &session]);
}

/// It is in every document about the run, and in the windows.
#[test]
fn restricted_access_is_shown() {
    let restricted = Restricted::new();
    let attempt = restricted.assert_can("true", &["--access", "read"]);
    let task = attempt.ran.task();
    assert_eq!(task["access"], "read");
    let session = task["sessionId"].as_str().unwrap();
    let shown = restricted.world.run(&["sessions", "show", "--json", session]).json();
    assert_eq!(shown["runs"][0]["access"], "read", "{shown:#}");
    let transcript = fs::read_to_string(attempt.ran.run_dir().join("transcript.log")).unwrap();
    assert!(transcript.contains("\nAccess: read\n"), "{transcript}");
}

/// What cannot be enforced is not attempted.
#[test]
fn without_landlock_nothing_restricted_starts_and_the_task_says_why() {
    let restricted = Restricted::new();
    for access in ["read", "workspace"] {
        let mut command = restricted.command("echo x > $outside/new", &["--access", access]);
        forbid(&mut command, SystemCall::CreateRuleset);
        let ran: Ran = command.output().unwrap().into();
        let task = ran.task();
        assert_eq!((ran.code, &task["outcome"]), (Some(1), &json!("spawn_failure")), "{ran:#?}");
        let expected = format!(
            "Failed to spawn sub-agent process: access \"{access}\" cannot be enforced here: this \
             kernel has no Landlock, which Linux has since version 5.13"
        );
        assert_eq!(task["error"], expected.as_str());
    }
    restricted.assert_outside_untouched();
    let mut command = restricted.command("echo x > new", &["--access", "full"]);
    forbid(&mut command, SystemCall::CreateRuleset);
    assert_eq!(restricted.outcome(command).status, 0);
    let mut doctor = restricted.world.command(["doctor", "--json"]);
    forbid(&mut doctor, SystemCall::CreateRuleset);
    let ran: Ran = doctor.output().unwrap().into();
    let access = &ran.json()["facts"]["access"];
    assert!(access["landlock"].is_null(), "{access:#}");
    assert!(access["landlockProblem"].as_str().unwrap().contains("no Landlock"), "{access:#}");
    let access = &restricted.world.run(&["doctor", "--json"]).json()["facts"]["access"];
    assert!(access["landlock"].as_u64().unwrap() >= 3, "{access:#}");
}

/// A limit that cannot be read must not count as none.
#[test]
fn an_unknown_word_is_an_error_that_names_its_field() {
    let restricted = Restricted::new();
    let ran = restricted.world.play(&quick(), &["--access", "raed"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(
        ran.stderr.contains("'--access <ACCESS>': must be `read`, `workspace` or `full`"),
        "{ran:#?}"
    );
    restricted.world.settings(&json!({"access": "raed"}));
    let ran = restricted.world.play(&quick(), &[]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    let expected = "\"subagents.access\" must be \"read\", \"workspace\"";
    assert!(ran.stderr.contains(expected), "{ran:#?}");
    assert_eq!(restricted.world.play(&quick(), &["--access", "read"]).code, Some(0));
}
