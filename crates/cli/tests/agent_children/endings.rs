//! Every way in which a task ends: the outcome is right, and the reason is the provider's.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::wait_until;

use crate::{BOTH, Claude, Codex, Scene, outcome, story};

/// Plays a script to both agents. Each must end in this way, for a reason that contains its words.
#[track_caller]
fn assert_ends(script: &Value, expected: &str, reasons: [&str; 2]) {
    for (agent, reason) in BOTH.into_iter().zip(reasons) {
        let ran = Scene::new(agent, script).run(&[]);
        let (outcome, error) = outcome(&ran);
        assert_eq!(outcome, expected, "{agent:?}: {error}\n{ran:#?}");
        assert!(error.contains(reason), "{agent:?}: {error}");
        assert_eq!(ran.code, Some(1), "{agent:?}");
    }
}

#[test]
fn a_refusal_of_the_provider_is_the_reason() {
    let script = json!([{"error": 400, "error_message": "no such luck"}]);
    assert_ends(&script, "provider_error", ["API Error: 400 no such luck", "no such luck"]);
}

#[test]
fn a_rate_limit_is_retried_and_then_it_is_the_reason() {
    let limited = json!({"error": 429, "error_message": "slow down", "retry_after": 0});
    assert_ends(&json!([limited]), "provider_error", ["slow down", "429 Too Many Requests"]);
    let mut once = limited;
    (once["times"], once["text"]) = (json!(1), json!("at last"));
    for agent in BOTH {
        let scene = Scene::new(agent, &json!([once]));
        let ran = scene.run(&[]);
        assert_eq!(outcome(&ran).0, "completed", "{ran:#?}");
        assert_eq!(ran.task()["output"], "at last");
        assert!(story(&ran)[1].starts_with("retry 1/"), "{:#?}", story(&ran));
        assert_eq!(scene.asked().len(), 2);
    }
}

#[test]
fn no_credit_is_the_reason() {
    let low = "Your credit balance is too low to access the Anthropic API.";
    let claude = json!({"error": 400, "error_message": low});
    let codex = json!({"error": 429, "error_type": "insufficient_quota",
        "error_message": "You exceeded your current quota."});
    for (agent, turn, reason) in
        [(Claude, claude, "Credit balance is too low"), (Codex, codex, "Quota exceeded")]
    {
        let ran = Scene::new(agent, &json!([turn])).run(&[]);
        let (outcome, error) = outcome(&ran);
        assert_eq!(outcome, "provider_error", "{ran:#?}");
        assert!(error.contains(reason), "{error}");
        assert_eq!(ran.task()["output"], "", "the reason is no answer");
    }
}

#[test]
fn an_answer_that_is_cut_at_the_limit_of_length_is_no_success() {
    let script = json!(vec![json!({"text": "Half of", "finish": "length"}); 8]);
    let reasons = ["output token maximum", "max_output_tokens"];
    assert_ends(&script, "provider_error", reasons);
}

#[test]
fn no_answer_is_no_success() {
    assert_ends(&json!([{"text": ""}]), "no_assistant_message", ["", ""]);
}

#[test]
fn a_torn_stream_is_retried_and_then_it_is_the_reason() {
    let torn = json!({"text": "one two three four five six", "chunk": 4, "cut": true});
    let script = json!(vec![torn; 8]);
    assert_ends(&script, "provider_error", ["API Error", "stream disconnected"]);
}

#[test]
fn an_agent_that_is_killed_is_told_apart() {
    for agent in BOTH {
        let turns = json!([
            {"text": "I begin.", "tools": [agent.bash("echo $PPID > started; sleep 600")]},
        ]);
        let scene = Scene::new(agent, &turns);
        let running = scene.start(&[]);
        let started = scene.world.project().join("started");
        wait_until(|| fs::read_to_string(&started).is_ok_and(|text| text.ends_with('\n')));
        kill_process(the_agent(&scene), Signal::KILL).unwrap();
        let ran = running.finish();
        scene.world.assert_nothing_left();
        assert_eq!(outcome(&ran).0, "killed_by_signal", "{ran:#?}");
        assert_eq!(ran.task()["output"], "I begin.");
    }
}

/// The process of the agent itself: the child of its supervisor.
fn the_agent(scene: &Scene) -> Pid {
    let supervisor = scene.world.supervisor().as_raw_pid();
    let children = format!("/proc/{supervisor}/task/{supervisor}/children");
    let children = fs::read_to_string(children).unwrap();
    let pids: Vec<i32> = children.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 1, "{:#?}", scene.world.processes());
    Pid::from_raw(pids[0]).unwrap()
}

#[test]
fn an_endless_loop_ends() {
    for agent in BOTH {
        // The fifth one waits to be stopped, so that there is never a sixth question.
        let again = "echo >> calls; [ $(wc -l < calls) -lt 5 ] || sleep 600";
        let scene = Scene::new(agent, &json!(vec![agent.running(again); 8]));
        let ran = scene.run(&[]);
        assert_eq!(outcome(&ran).0, "loop", "{ran:#?}");
        let calls = story(&ran).into_iter().filter(|event| event.starts_with("call bash"));
        assert_eq!(calls.count(), 5);
        assert_eq!(scene.asked().len(), 5);
    }
}

#[test]
fn work_that_only_looks_the_same_is_no_loop() {
    // Codex tells neither what it changes in a file, nor, at first, what it searches for.
    let patch = |line: usize| {
        let text = format!("*** Begin Patch\n*** Add File: f{line}\n+x\n*** End Patch\n");
        json!({"tools": [{"name": "apply_patch", "input": text}]})
    };
    let update = |line: usize| {
        let text = format!(
            "*** Begin Patch\n*** Update File: f0\n@@\n-x{}\n+x{line}\n*** End Patch\n",
            if line == 1 { String::new() } else { (line - 1).to_string() }
        );
        json!({"tools": [{"name": "apply_patch", "input": text}]})
    };
    let mut turns = vec![patch(0)];
    turns.extend((1..=6).map(update));
    turns.push(json!({"text": "done", "garbage": (0..6).map(search).collect::<String>()}));
    let scene = Scene::new(Codex, &json!(turns));
    let ran = scene.run(&[]);
    assert_eq!(outcome(&ran).0, "completed", "{ran:#?}");
    assert_eq!(fs::read_to_string(scene.world.project().join("f0")).unwrap(), "x6\n");
    let story = story(&ran);
    let count = |kind: &str| story.iter().filter(|event| event.starts_with(kind)).count();
    assert_eq!((count("call edit"), count("edit finished")), (7, 7), "{story:#?}");
    assert_eq!(count("call web_search {\"query\":\"word "), 6, "{story:#?}");
}

/// The events of a response in which the provider itself has searched.
fn search(number: usize) -> String {
    let item = |status: &str| json!({"type": "web_search_call", "id": format!("ws_{number}"), "status": status});
    let mut done = item("completed");
    done["action"] = json!({"type": "search", "query": format!("word {number}")});
    let event = |kind: &str, item: Value| {
        let kind = format!("response.output_item.{kind}");
        let data = json!({"type": kind, "output_index": number, "item": item});
        format!("event: {kind}\ndata: {data}\n\n")
    };
    event("added", item("in_progress")) + &event("done", done)
}

#[test]
fn a_model_that_never_answers_is_stopped_at_the_timeout() {
    for agent in BOTH {
        let scene = Scene::new(agent, &json!([{"hang": true}]));
        // Long enough for the agent to start on a busy machine.
        let ran = scene.run(&["--timeout", "10"]);
        assert_eq!(outcome(&ran).0, "timeout", "{ran:#?}");
        assert_eq!(scene.asked().len(), 1);
        assert_eq!(ran.task()["usage"]["cost"], Value::Null, "it never told what that cost");
    }
}

#[test]
fn what_a_command_leaves_behind_is_stopped() {
    for agent in BOTH {
        let leave = "setsid sh -c 'echo $$ > one; exec sleep 600' < /dev/null > /dev/null 2>&1 & \
            env -i setsid sh -c 'echo $$ > two; exec sleep 600' < /dev/null > /dev/null 2>&1 & \
            until [ -s one ] && [ -s two ]; do sleep 0.02; done";
        let scene = Scene::new(agent, &json!([agent.running(leave), {"text": "done"}]));
        assert_eq!(scene.complete(&[])["output"], "done");
        for name in ["one", "two"] {
            let pid = fs::read_to_string(scene.world.project().join(name)).unwrap();
            assert!(!fs::exists(format!("/proc/{}", pid.trim())).unwrap(), "{name} is left");
        }
    }
}

/// Claude Code tells its cost at the end of its work, and keeps the budget of money by itself.
#[test]
fn claude_code_ends_at_its_budget_of_money_and_codex_is_refused_one() {
    let turns: Vec<Value> = (0..20).map(|turn| Claude.running(&format!("echo {turn}"))).collect();
    let scene = Scene::new(Claude, &json!(turns));
    let ran = scene.run(&["--max-cost", "0.0001"]);
    let (outcome_word, error) = outcome(&ran);
    assert_eq!((outcome_word.as_str(), ran.code), ("budget", Some(1)), "{error}\n{ran:#?}");
    assert!(error.contains("stopped at its budget"), "{error}");
    assert!(scene.asked().len() < 20, "it was stopped: {} requests", scene.asked().len());
    assert!(ran.task()["usage"]["cost"]["total"].as_f64() > Some(0.0001), "{ran:#?}");
    let command = fs::read_to_string(ran.run_dir().join("meta.json")).unwrap();
    assert!(command.contains("--max-budget-usd"), "{command}");

    let refused = Scene::new(Codex, &json!([{"text": "done"}])).run(&["--max-cost", "1"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("A budget of money cannot be kept"), "{}", refused.stderr);
}
