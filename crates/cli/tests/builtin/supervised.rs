//! The built-in agent as a child: profiles, presets, sessions, outcomes, many at once.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use test_support::{Ran, Running, wait_until};

use super::bash;
use super::harness::{Api, Asked, Builtin};

/// The events of a run, without times and numbers.
fn kinds(ran: &Ran) -> Vec<String> {
    let text = fs::read_to_string(ran.run_dir().join("events.jsonl")).unwrap();
    let kind = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["type"].as_str().unwrap().to_owned()
    };
    text.lines().map(kind).collect()
}

#[track_caller]
fn assert_task(ran: &Ran, code: i32, outcome: &str, events: &[&str]) {
    let task = ran.task();
    assert_eq!((ran.code, task["outcome"].as_str()), (Some(code), Some(outcome)), "{ran:#?}");
    assert_eq!(task["agent"], "builtin");
    assert_eq!(kinds(ran), events, "{ran:#?}");
    assert_eq!(task["warnings"], json!([]), "{task:#}");
}

#[test]
fn a_task_is_carried_out_and_recorded() {
    let turns = json!([
        {"thinking": "hm", "text": "I look.", "tools": [
            {"name": "read", "args": {"path": "a"}}, {"name": "bash", "args": {"command": "exit 3"}},
        ]},
        {"text": "It says {{result:0}}.", "usage": {"input": 300, "output": 30}},
    ]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        builtin.project_file("a", "hello");
        let ran = builtin.run(&["what does it say?"]);
        assert_task(
            &ran,
            0,
            "completed",
            &[
                "run_started",
                "user_message",
                "assistant_message",
                "tool_call",
                "tool_call",
                "tool_result",
                "tool_result",
                "assistant_message",
                "run_ended",
            ],
        );
        let task = ran.task();
        assert_eq!(task["output"], "It says hello.");
        assert_eq!(task["model"], "fake-1");
        assert_eq!(task["usage"]["input"], 400, "{task:#}");
        assert_eq!(task["usage"]["output"], 50, "{task:#}");
        assert_eq!(fs::read_to_string(ran.run_dir().join("stderr.log")).unwrap(), "");
        let transcript = fs::read_to_string(ran.run_dir().join("transcript.log")).unwrap();
        assert!(transcript.contains("I look.") && transcript.contains("It says hello."));
    }
}

#[test]
fn failures_of_the_provider_are_told_as_such() {
    let refused = json!([{"error": 400, "error_message": "no such thing"}]);
    let overloaded = json!(vec![json!({"error": 529, "error_message": "overloaded"}); 4]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &refused);
        let ran = builtin.run(&["do it"]);
        let events = ["run_started", "user_message", "assistant_message", "run_ended"];
        assert_task(&ran, 1, "provider_error", &events);
        assert!(ran.task()["error"].as_str().unwrap().contains("no such thing"), "{ran:#?}");

        let builtin = Builtin::new(api, &overloaded);
        let ran = builtin.run(&["do it"]);
        let retry = ["assistant_message", "retry_scheduled"].repeat(3);
        let events =
            [&["run_started", "user_message"], &retry[..], &["assistant_message", "run_ended"]];
        assert_task(&ran, 1, "provider_error", &events.concat());
        assert!(ran.task()["error"].as_str().unwrap().contains("overloaded"), "{ran:#?}");
    }
}

#[test]
fn a_task_recovers_with_its_provider() {
    let turns = json!([{"error": 500}, {"text": "a long answer that is cut", "cut": true}, {"text": "here"}]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        let ran = builtin.run(&["do it"]);
        let retry = ["assistant_message", "retry_scheduled"].repeat(2);
        let events =
            [&["run_started", "user_message"], &retry[..], &["assistant_message", "run_ended"]];
        assert_task(&ran, 0, "completed", &events.concat());
        assert_eq!(ran.task()["output"], "here");
    }
}

#[test]
fn a_provider_that_hangs_is_stopped_at_the_timeout() {
    // Both at once, with time enough to start on a busy machine.
    let running = Api::ALL.map(|api| {
        let builtin = Builtin::new(api, &json!([{"text": "So far", "stall": true}]));
        let arguments = ["run", "--json", "--agent", "builtin", "--timeout", "5", "do it"];
        let running = Running::start(builtin.world.command(arguments));
        (builtin, running)
    });
    for (builtin, running) in running {
        let ran = running.finish();
        builtin.world.assert_nothing_left();
        let events = ["run_started", "user_message", "stopping", "assistant_message", "run_ended"];
        assert_task(&ran, 1, "timeout", &events);
        // It ended by itself, with what it had said.
        let records = fs::read_to_string(ran.run_dir().join("events.jsonl")).unwrap();
        let end: Value = serde_json::from_str(records.lines().last().unwrap()).unwrap();
        // By the signal, or by the end of its input, whichever it met first.
        assert!([json!(143), json!(0)].contains(&end["exitCode"]), "{end}");
        assert!(records.contains("\"text\":\"So far\",") && records.contains("\"aborted\""));
    }
}

#[test]
fn what_a_command_leaves_behind_is_stopped_with_the_run() {
    let leave = "setsid sh -c 'echo $$ > one; exec sleep 600' < /dev/null > /dev/null 2>&1 & \
        env -i setsid sh -c 'echo $$ > two; exec sleep 600' < /dev/null > /dev/null 2>&1 & \
        until [ -s one ] && [ -s two ]; do sleep 0.01; done";
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!([bash(leave), {"text": "done"}]));
        let ran = builtin.run(&["do it"]);
        let task = ran.task();
        assert_eq!((&task["outcome"], &task["output"]), (&json!("completed"), &json!("done")));
        for name in ["one", "two"] {
            let pid = builtin.read(name);
            assert!(!Path::new("/proc").join(pid.trim()).exists(), "{name} is left");
        }
    }
}

#[test]
fn a_profile_reaches_the_provider() {
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!([{"text": "done"}]));
        builtin.agent_file("skills/knots/SKILL.md", "---\nname: knots\ndescription: Ties.\n---\n");
        builtin.project_file("AGENTS.md", "the project's rules");
        let profile = "---\nname: worker\nmodel: fake/fake-1\nthinkingLevel: high\n\
            tools: read,ls\nnoContextFiles: true\nappendSystemPrompt: Mind the gap.\n---\n\
            You are a worker.\n";
        builtin.agent_file("agent-profiles/worker.md", profile);
        let ran = builtin.run(&["--profile", "worker", "do it"]);
        assert_task(
            &ran,
            0,
            "completed",
            &["run_started", "user_message", "assistant_message", "run_ended"],
        );
        let asked = builtin.asked_once();
        let request = Asked(&asked);
        assert_eq!(request.tools(), ["read", "ls"]);
        let system = request.system();
        assert!(system.starts_with("You are a worker."), "{system}");
        assert!(system.contains("Mind the gap."), "{system}");
        assert!(!system.contains("the project's rules"), "{system}");
        match api {
            Api::Completions => assert_eq!(asked["reasoning_effort"], "high"),
            Api::Messages => assert!(asked["thinking"].is_object(), "{asked:#}"),
            Api::Responses => assert_eq!(asked["reasoning"]["effort"], "high"),
            Api::Gemini => {
                let thinking = &asked["generationConfig"]["thinkingConfig"];
                assert!(thinking.is_object(), "{asked:#}");
            }
        }
    }
}

#[test]
fn a_preset_reaches_the_provider_and_is_resumed_with_its_conversation() {
    let turns = json!([bash("echo hi"), {"text": "It says hi."}, {"text": "I said so."}]);
    for api in Api::ALL {
        let builtin = Builtin::new(api, &turns);
        let preset = "---\nname: scout\ndescription: D.\nmodel: fake/fake-1\ntools: read,bash\n---\n\
            You are a scout.\n";
        builtin.agent_file("subagents/scout.md", preset);
        let first = builtin.run(&["--preset", "scout", "what does it say?"]);
        assert_eq!(first.task()["output"], "It says hi.", "{first:#?}");
        let session = first.task()["sessionId"].as_str().unwrap().to_owned();
        let second = builtin.run(&["--preset", "scout", "--resume", &session, "are you sure?"]);
        assert_eq!(second.task()["output"], "I said so.", "{second:#?}");
        let asked = builtin.asked();
        assert!(Asked(&asked[0]).system().contains("You are a scout."));
        let roles = Asked(&asked[2]).roles();
        assert_eq!(roles.last().map(String::as_str), Some("user"), "{roles:?}");
        assert!(Asked(&asked[2]).conversation().last().unwrap().1.contains("are you sure?"));
        assert!(asked[2].to_string().contains("It says hi."), "{:#}", asked[2]);
    }
}

#[test]
fn many_tasks_run_at_once_without_knowing_of_one_another() {
    for api in Api::ALL {
        let builtin = Builtin::of_prompts(api);
        let task = |number: usize| {
            // All of them wait until all of them run.
            let command = format!(
                "touch there-{number}; until [ $(ls | grep -c there-) = 8 ]; do sleep 0.01; done; \
                 echo {number}"
            );
            let script = json!([bash(&command), {"text": "I am {{result:0}}"}]);
            let prompt = format!("Who are you? <<SCRIPT>>{script}<<END>>");
            json!({"name": format!("t{number}"), "prompt": prompt})
        };
        let call = json!({"tasks": (0..8).map(task).collect::<Vec<_>>()});
        let command = builtin.world.command([
            "delegate",
            "--json",
            "--agent",
            "builtin",
            "--concurrency",
            "8",
            "-",
        ]);
        let ran = builtin.world.feed(command, &call.to_string());
        builtin.world.assert_nothing_left();
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        for (number, task) in ran.json()["tasks"].as_array().unwrap().iter().enumerate() {
            assert_eq!(task["output"], format!("I am {number}\n"), "{task:#}");
            assert_eq!(task["agent"], "builtin");
        }
        assert_eq!(builtin.asked().len(), 16);
    }
}

#[test]
fn the_agent_is_called_by_its_name_in_lists_of_processes() {
    let command = "tr '\\0' '\\n' < /proc/$PPID/cmdline; cat /proc/$PPID/comm; touch looked; \
        until [ -e go ]; do sleep 0.01; done";
    let builtin = Builtin::new(Api::Completions, &json!([bash(command), {"text": "{{result:0}}"}]));
    let arguments = ["run", "--json", "--agent", "builtin", "do it"];
    let running = Running::start(builtin.world.command(arguments));
    wait_until(|| builtin.project("looked").exists());
    builtin.project_file("go", "");
    let ran = running.finish();
    builtin.world.assert_nothing_left();
    assert_eq!(
        ran.task()["output"],
        "pi-subagents\nagent\n--mode\nrpc\n--no-session\npi-subagents\n"
    );
}

/// Everything that a run has written is removed with the run, so all of it must be in one directory.
#[test]
fn what_is_too_long_for_the_model_is_kept_in_the_run_directory() {
    let turns = json!([bash("seq 5000"), {"text": "{{result:0}}"}]);
    let builtin = Builtin::new(Api::ALL[0], &turns);
    let ran = builtin.run(&["count"]);
    let kept = |directory: &Path| -> Vec<String> {
        let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap());
        names.filter(|name| name.starts_with("pi-bash-")).collect()
    };
    let [name] = &kept(&ran.run_dir())[..] else { panic!("{ran:#?}") };
    let path = ran.run_dir().join(name);
    let output = ran.task()["output"].as_str().unwrap().to_owned();
    assert!(output.contains(&format!("Full output: {}]", path.display())), "{output}");
    assert!(fs::read_to_string(path).unwrap().starts_with("1\n2\n"));
    assert!(kept(&builtin.world.path("")).is_empty());
}
