//! Checks: what they are run with, and what their ends mean.

use std::fs;

use serde_json::json;
use test_support::fake_agent::{quick, saying as says};
use test_support::{Running, wait_until, write_file};

use super::{builtin, findings, outcome, run, saying, told};
use crate::builtin::bash;
use crate::{workspaces, world};

#[test]
fn a_check_that_passes_is_part_of_the_result() {
    let world = world();
    let ran = world.play(&quick(), &["--check", "echo fine; echo odd >&2; pwd"]);
    assert_eq!((ran.code, outcome(&ran).0.as_str()), (Some(0), "completed"), "{ran:?}");
    world.assert_nothing_left();
    let output = format!("fine\nodd\n{}", world.project().canonicalize().unwrap().display());
    let check = json!({
        "command": "echo fine; echo odd >&2; pwd", "passed": true, "exitCode": 0, "signal": null,
        "output": output,
    });
    assert_eq!(ran.task()["check"], check);
    assert_eq!(
        findings(&ran.run_dir()),
        ["said found it", "check echo fine; echo odd >&2; pwd", "passed", "ended completed"]
    );
    let file = |name: &str| fs::read_to_string(ran.run_dir().join(name)).unwrap();
    let result: serde_json::Value = serde_json::from_str(&file("result.json")).unwrap();
    assert_eq!((&result["check"], &result["output"]), (&check, &json!("found it")));
    assert_eq!(file("check.log"), format!("{output}\n"));
    let transcript = file("transcript.log");
    assert!(transcript.contains("Checking: echo fine") && transcript.contains("Check passed"));
}

#[test]
fn a_check_that_fails_after_an_agent_that_is_gone_decides_the_outcome() {
    let world = world();
    let ran = world.play(&quick(), &["--check", "echo one; echo two; exit 3"]);
    let error = "The check `echo one; echo two; exit 3` failed (exit code 3): one | two";
    assert_eq!(outcome(&ran), ("check_failed".into(), error.into()), "{ran:?}");
    assert_eq!((ran.code, &ran.task()["output"]), (Some(1), &json!("found it")));
    assert_eq!(ran.task()["check"]["output"], "one\ntwo");
    assert_eq!(
        findings(&ran.run_dir()),
        [
            "said found it",
            "check echo one; echo two; exit 3",
            "failed 3 one\ntwo",
            "ended check_failed"
        ]
    );
    world.assert_nothing_left();
    let shown = world.run(&["sessions", "show", "@last"]).stdout;
    assert!(shown.contains("[check]: Check failed (exit code 3):\none\ntwo"), "{shown}");
}

#[test]
fn the_agent_is_told_once_and_the_check_runs_again() {
    let builtin = builtin(&json!([
        {"text": "first"}, bash("touch fixed"), {"text": "second"},
    ]));
    let check = "[ -e fixed ] || { echo 'fixed is missing'; exit 1; }";
    let ran = run(&builtin, &["--check", check]);
    assert_eq!(outcome(&ran), ("completed".into(), String::new()), "{ran:?}");
    assert_eq!(
        (&ran.task()["output"], &ran.task()["check"]["passed"]),
        (&json!("second"), &json!(true))
    );
    let started = format!("check {check}");
    assert_eq!(
        findings(&ran.run_dir()),
        [
            "said first",
            started.as_str(),
            "failed 1 fixed is missing",
            "said ",
            "said second",
            started.as_str(),
            "passed",
            "ended completed"
        ]
    );
    let told = told(&builtin);
    assert_eq!((told[0].len(), told[1].len(), told[2].len()), (0, 1, 1), "{told:?}");
    let words = &told[1][0];
    assert!(words.contains(check) && words.contains("fixed is missing"), "{words}");
    assert!(words.contains("exit code 1"), "{words}");
}

#[test]
fn a_check_that_fails_again_ends_the_run() {
    let builtin = builtin(&saying(&["first", "second", "third"]));
    let ran = run(&builtin, &["--check", "echo no; exit 2"]);
    let (outcome, error) = outcome(&ran);
    assert_eq!(outcome, "check_failed", "{ran:?}");
    assert_eq!(error, "The check `echo no; exit 2` failed (exit code 2): no");
    assert_eq!(ran.task()["output"], "second");
    assert_eq!(builtin.asked().len(), 2);
}

#[test]
fn a_check_that_hangs_is_killed_with_all_that_it_started() {
    let builtin = builtin(&saying(&["first", "second"]));
    let check = "setsid sleep 100000 & trap '' TERM; echo waiting; sleep 100000; sleep 100000";
    let ran = run(&builtin, &["--check", check, "--check-timeout", "1s"]);
    let (outcome, error) = outcome(&ran);
    assert_eq!(outcome, "check_failed", "{ran:?}");
    assert!(error.contains("failed (stopped after 1 s, its timeout): waiting"), "{error}");
    assert!(told(&builtin)[1][0].contains("stopped after 1 s"), "{:?}", told(&builtin));
}

#[test]
fn what_a_check_leaves_behind_is_stopped() {
    for agent_lives in [true, false] {
        let check = "setsid sleep 100000 >/dev/null 2>&1 & exit 0";
        if agent_lives {
            let builtin = builtin(&saying(&["done"]));
            assert_eq!(outcome(&run(&builtin, &["--check", check])).0, "completed");
        } else {
            let world = world();
            // It is stopped after its last word, and then its work is checked.
            let script = json!(["start", {"say": "done"}, {"end": false}, "settle", "hang"]);
            let ran = world.play(&script, &["--check", check]);
            assert_eq!(outcome(&ran).0, "completed", "{ran:?}");
            world.assert_nothing_left();
        }
    }
}

#[test]
fn only_good_work_is_checked() {
    let world = world();
    let script = json!([{"say": "almost"}, {"exit": 3}]);
    let ran = world.play(&script, &["--check", "touch checked"]);
    assert_eq!(outcome(&ran).0, "non_zero_exit", "{ran:?}");
    assert!(!world.project().join("checked").exists());
    assert!(ran.task().get("check").is_none());
}

#[test]
fn the_time_of_a_check_is_not_the_agents() {
    let builtin = builtin(&json!([
        {"text": "first"}, bash("touch fixed"), {"text": "second"},
    ]));
    let check = "sleep 4; [ -e fixed ]";
    let ran = run(&builtin, &["--timeout", "3", "--check", check]);
    assert_eq!(outcome(&ran), ("completed".into(), String::new()), "{ran:?}");
}

#[test]
fn a_check_has_the_environment_of_the_agent_without_the_key_of_the_profile() {
    let world = world();
    write_file(
        &world.agent_dir().join("agent-profiles/keyed.md"),
        "---\nname: keyed\napiKey: sk-secret-0123456789\nprovider: anthropic\nmodel: m\n\
         check: env\ncheckTimeout: 60\n---\n",
    );
    let ran = world.play(&says("done"), &["--profile", "keyed"]);
    assert_eq!(outcome(&ran).0, "completed", "{ran:?}");
    let log = fs::read_to_string(ran.run_dir().join("check.log")).unwrap();
    assert!(log.contains("PI_SUBAGENTS_CHECK=1") && log.contains("PI_SUBAGENTS_CHILD=1"), "{log}");
    assert!(!log.contains("PI_API_KEY") && !log.contains("sk-secret"), "{log}");
    world.assert_nothing_left();
}

#[test]
fn what_a_check_prints_is_cleaned_redacted_and_cut() {
    let world = world();
    write_file(
        &world.agent_dir().join("agent-profiles/keyed.md"),
        "---\nname: keyed\napiKey: sk-secret-0123456789\nprovider: anthropic\nmodel: m\n---\n",
    );
    let secret = "\u{1b}[31msk-secret-\u{1b}[0m0123456789\n";
    write_file(&world.project().join("secret"), secret);
    let check =
        "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; cat secret; exit 1";
    let ran = world.play(&quick(), &["--profile", "keyed", "--check", check]);
    let output = ran.task()["check"]["output"].as_str().unwrap().to_owned();
    assert!(output.ends_with("line 19999\n****"), "{}", &output[output.len() - 100..]);
    assert!(output.len() <= 16 * 1024 && !output.contains('\u{1b}'));
    for name in ["check.log", "events.jsonl", "result.json", "transcript.log"] {
        let text = fs::read_to_string(ran.run_dir().join(name)).unwrap();
        assert!(!text.contains("0123456789"), "{name}");
    }
    let log = fs::read_to_string(ran.run_dir().join("check.log")).unwrap();
    assert!(log.starts_with("line 0\n"));
}

#[test]
fn a_project_has_its_check_run_only_if_it_is_trusted() {
    let world = world();
    write_file(
        &world.project().join(".pi/agent-profiles/own.md"),
        "---\nname: own\ncheck: touch checked\n---\n",
    );
    let refused = world.play(&quick(), &["--profile", "own"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("sets \"check\", which can run any program"), "{refused:?}");
    assert!(!world.project().join("checked").exists());
    let ran = world.play(&quick(), &["--profile", "own", "--approve"]);
    assert_eq!(outcome(&ran).0, "completed", "{ran:?}");
    assert!(world.project().join("checked").exists());
    world.assert_nothing_left();
}

#[test]
fn a_check_that_cannot_be_understood_is_not_left_out() {
    for wrong in ["check: [a, b]", "checkTimeout: soon"] {
        let world = world();
        let text = format!("---\nname: strict\n{wrong}\n---\n");
        write_file(&world.agent_dir().join("agent-profiles/strict.md"), &text);
        let ran = world.play(&quick(), &["--profile", "strict"]);
        assert_eq!(ran.code, Some(2), "{wrong}: {ran:?}");
        assert!(world.runs().is_empty());
    }
    let empty = world().run(&["run", "--check", " ", "go"]);
    assert_eq!(empty.code, Some(2), "{empty:?}");
    assert!(empty.stderr.contains("the check is empty"), "{empty:?}");
}

#[test]
fn a_message_during_a_check_waits_for_it_and_the_work_is_checked_again() {
    let builtin = builtin(&saying(&["first", "second"]));
    let check = "touch checking; until [ -e go ]; do sleep 0.02; done";
    let arguments =
        ["run", "--json", "--agent", "builtin", "--name", "work", "--check", check, "go"];
    let running = Running::start(builtin.world.command(arguments));
    wait_until(|| builtin.project("checking").exists());
    let said = builtin.world.run(&["tell", "work", "One more thing."]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(builtin.asked().len(), 1, "the agent waits");
    fs::write(builtin.project("go"), "").unwrap();
    let ran = running.finish();
    assert_eq!((outcome(&ran).0.as_str(), &ran.task()["output"]), ("completed", &json!("second")));
    assert_eq!(told(&builtin)[1], ["One more thing."]);
    let checks = findings(&ran.run_dir()).iter().filter(|event| *event == "passed").count();
    assert_eq!(checks, 2);
    builtin.world.assert_nothing_left();
}

#[test]
fn a_check_that_fails_in_a_worktree_keeps_the_changes() {
    let world = workspaces::repository();
    let script = workspaces::shell("echo made > made.txt");
    // The check is run where the agent has worked.
    let check = "test -e made.txt && echo checked > by-check.txt; exit 3";
    let ran = world.play(&script, &["--worktree", "--name", "t", "--check", check]);
    let task = ran.task();
    assert_eq!((ran.code, &task["outcome"]), (Some(1), &json!("check_failed")), "{ran:?}");
    assert_eq!((&task["changes"]["files"], &task["check"]["exitCode"]), (&json!(2), &json!(3)));
    assert_eq!(task["changes"].get("directory"), None, "{task}");
    let listed = world.run(&["changes", "list"]);
    assert!(listed.stdout.trim_end().ends_with("2 files +2 −0 (the run failed)"), "{listed:?}");
    assert!(!world.project().join("made.txt").exists());
    assert_eq!(world.run(&["changes", "apply", "t"]).code, Some(0));
    let read = |name: &str| fs::read_to_string(world.project().join(name)).unwrap();
    assert_eq!((read("made.txt"), read("by-check.txt")), ("made\n".into(), "checked\n".into()));
    world.assert_nothing_left();
}
