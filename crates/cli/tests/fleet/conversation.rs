//! Messages, questions, sessions and doors of agents on a worker: what the user sees is what a run of this machine shows.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use test_support::{Ran, RpcClient, Running, wait_until, write_file};

use super::machines::{Fleet, await_end_of, await_process, long_turn, shell};

/// The events of a run that are about messages and questions, in a short form.
fn lives(run_dir: &Path) -> Vec<String> {
    let events = fs::read_to_string(run_dir.join("events.jsonl")).unwrap_or_default();
    let life = |line: &str| {
        let record: Value = serde_json::from_str(line).ok()?;
        let (kind, number) = (record["type"].as_str()?, &record["number"]);
        match kind {
            "message_accepted" | "message_delivered" => Some(format!("{number} {}", &kind[8..])),
            "message_refused" => Some(format!("{number} refused: {}", record["reason"].as_str()?)),
            "question_asked" => Some(format!("{number} asked")),
            "question_answered" => Some(format!(
                "{number} {} by {}",
                record["answer"].as_str()?,
                record["by"].as_str()?
            )),
            _ => None,
        }
    };
    events.lines().filter_map(life).collect()
}

/// What the agent was told besides its prompt.
fn heard(run_dir: &Path) -> Vec<String> {
    let events = fs::read_to_string(run_dir.join("events.jsonl")).unwrap();
    let records = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let told = records.filter(|record| record["type"] == "user_message");
    told.skip(1).map(|record| record["text"].as_str().unwrap().to_owned()).collect()
}

/// An agent whose first turn lasts until [`Talk::let_go`].
struct Talk {
    file: PathBuf,
    go: PathBuf,
    task: Value,
}

impl Talk {
    fn new(fleet: &Fleet, turns: &[Value]) -> Talk {
        let (file, go) = (fleet.world.path("working"), fleet.world.path("go"));
        let command = format!(
            "echo $$ > {0}.new; mv {0}.new {0}; until [ -e {1} ]; do sleep 0.02; done",
            file.display(),
            go.display()
        );
        let turns: Vec<Value> =
            [shell(&command)].into_iter().chain(turns.iter().cloned()).collect();
        Talk { task: fleet.task("talk", &json!(turns)), file, go }
    }

    fn let_go(&self) {
        write_file(&self.go, "");
    }
}

fn tell(fleet: &Fleet, arguments: &[&str]) -> Ran {
    fleet.world.run(&[&["tell", "talk"], arguments].concat())
}

#[test]
fn messages_reach_an_agent_on_a_worker_each_once_and_in_its_time() {
    let mut fleet = Fleet::new();
    fleet.worker(&[]);
    let talk = Talk::new(&fleet, &[json!({"text": "first"}), json!({"text": "second"})]);
    let caller = fleet.start_delegation(&talk.task);
    await_process(&talk.file);
    let after = tell(&fleet, &["--after", "Now the changelog."]);
    assert_eq!(
        (after.code, after.stdout.as_str()),
        (Some(0), "Message 1 accepted.\n"),
        "{after:?}"
    );
    let waiting = Running::start(fleet.world.command(["tell", "talk", "--wait", "Hurry."]));
    let run = fleet.world.only_run();
    wait_until(|| lives(&fleet.run_of(0)).len() == 2);
    talk.let_go();
    let waited = waiting.finish();
    assert_eq!(
        (waited.code, waited.stdout.as_str()),
        (Some(0), "Message 2 delivered.\n"),
        "{waited:?}"
    );
    let ran = caller.finish();
    assert_eq!(
        (ran.code, &ran.json()["tasks"][0]["output"]),
        (Some(0), &json!("second")),
        "{ran:?}"
    );
    assert_eq!(lives(&run), ["1 accepted", "2 accepted", "2 delivered", "1 delivered"]);
    assert_eq!(heard(&run), ["Hurry.", "Now the changelog."]);
    fleet.end_all();
}

#[test]
fn an_interruption_ends_what_an_agent_on_a_worker_does_and_the_end_refuses_what_is_late() {
    let mut fleet = Fleet::new();
    fleet.worker(&[]);
    let file = fleet.world.path("process");
    let task = fleet.task("talk", &json!([long_turn(&file), {"text": "stopped it"}]));
    let caller = fleet.start_delegation(&task);
    let process = await_process(&file);
    let told = tell(&fleet, &["--interrupt", "--wait", "Stop that."]);
    assert_eq!(told.code, Some(0), "{told:?}");
    await_end_of(process);
    let ran = caller.finish();
    assert_eq!(ran.json()["tasks"][0]["output"], "stopped it", "{ran:?}");
    let run = fleet.world.only_run();
    assert_eq!(lives(&run), ["1 accepted", "1 delivered"]);
    let late = tell(&fleet, &["Too late."]);
    assert!(late.code == Some(1) && late.stderr.contains("the run has ended"), "{late:?}");
    // A run that is stopped refuses what its agent has not read.
    let talk = Talk::new(&fleet, &[json!({"text": "never"})]);
    let caller = fleet.start_delegation(&talk.task);
    let process = await_process(&talk.file);
    assert_eq!(tell(&fleet, &["Unread."]).code, Some(0));
    caller.signal(rustix::process::Signal::INT);
    await_end_of(process);
    caller.finish();
    let runs = fleet.world.runs();
    let stopped = runs.iter().find(|other| **other != run).unwrap();
    let expected = ["1 accepted", "1 refused: the agent ended before it read the message"];
    assert_eq!(lives(stopped), expected);
    fleet.end_all();
}

#[test]
fn an_agent_that_begins_anew_is_told_again_what_the_lost_one_was_told() {
    let mut fleet = Fleet::new();
    let worker = fleet.worker(&[]);
    let talk = Talk::new(&fleet, &[json!({"text": "done"})]);
    let caller = fleet.start_delegation(&talk.task);
    let process = await_process(&talk.file);
    assert_eq!(tell(&fleet, &["Look in src."]).code, Some(0));
    let run = fleet.world.only_run();
    fleet.kill(worker);
    await_end_of(process);
    fs::remove_file(&talk.file).unwrap();
    fleet.worker(&[]);
    await_process(&talk.file);
    wait_until(|| lives(&fleet.run_of(1)) == ["1 accepted"]);
    assert_eq!(lives(&run), ["1 accepted"]);
    talk.let_go();
    let ran = caller.finish();
    assert_eq!((ran.code, &ran.json()["tasks"][0]["output"]), (Some(0), &json!("done")), "{ran:?}");
    assert_eq!(lives(&run), ["1 accepted", "1 delivered"]);
    assert_eq!(heard(&run).last().map(String::as_str), Some("Look in src."));
    fleet.end_all();
}

/// Makes an agent known that asks whether it may run each of these commands, and then says what it was answered last.
fn know_asking_agent(fleet: &Fleet, commands: &[&str]) {
    let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
    let options = [option("allowed", "allow_once"), option("rejected", "reject_once")];
    let ask = |(number, command): (usize, &&str)| {
        let call = json!({"toolCallId": format!("c{number}"), "title": "run", "kind": "execute",
            "status": "pending", "rawInput": {"command": command}});
        json!({"acp": {"ask": {"method": "session/request_permission",
            "params": {"toolCall": call, "options": options}}}})
    };
    let mut steps = vec![json!({"acp": {"open": {}}})];
    steps.extend(commands.iter().enumerate().map(ask));
    steps.push(json!({"acp": {"say": "{answer}"}}));
    steps.push(json!({"acp": {"answer": {"stopReason": "end_turn"}}}));
    steps.push(json!({"acp": "await_end"}));
    let script = fleet.world.path("asking.json");
    write_file(&script, &json!(steps).to_string());
    let command = json!([env!("CARGO_BIN_EXE_fake-agent"), format!("@{}", script.display())]);
    fleet.world.settings(&json!({"agents": {"oracle": {"command": command, "protocol": "acp"}}}));
}

#[test]
fn what_an_agent_on_a_worker_asks_is_answered_by_the_user_of_the_caller() {
    let mut fleet = Fleet::new();
    know_asking_agent(&fleet, &["make", "make install"]);
    fleet.worker(&[]);
    let arguments = ["run", "--on", "fleet", "--json", "--agent", "oracle", "--name", "asker"];
    let arguments = [&arguments[..], &["--access", "full", "--ask", "go"]].concat();
    let caller = Running::start(fleet.command(&arguments));
    let asked = |number: u64| {
        let last = format!("{number} asked");
        let runs = fleet.world.runs();
        runs.first().is_some_and(|run| lives(run).contains(&last))
    };
    for (number, word) in [(1, "no"), (2, "yes")] {
        wait_until(|| asked(number));
        let answered = fleet.world.run(&["answer", "asker", "--json", word]);
        assert_eq!(answered.json()["answer"], json!({"question": number, "state": "given"}));
    }
    let ran = caller.finish();
    let answer = ran.task()["output"].to_string();
    assert!(ran.code == Some(0) && answer.contains("allowed"), "{ran:?}");
    assert_eq!(ran.task()["warnings"], json!([]), "{ran:?}");
    let expected = ["1 asked", "1 no by shell", "2 asked", "2 yes by shell"];
    assert_eq!(lives(&fleet.world.only_run()), expected);
    fleet.end_all();
}

#[test]
fn a_question_that_waits_too_long_is_denied_by_the_supervisor_of_the_agent() {
    let mut fleet = Fleet::new();
    know_asking_agent(&fleet, &["make"]);
    let mut settings: Value =
        serde_json::from_slice(&fs::read(fleet.world.agent_dir().join("settings.json")).unwrap())
            .unwrap();
    settings["subagents"]["questionTimeout"] = json!(1);
    fleet.world.settings(&settings["subagents"]);
    fleet.worker(&[]);
    let arguments = ["run", "--on", "fleet", "--json", "--agent", "oracle", "--access", "full"];
    let ran = Running::start(fleet.command(&[&arguments[..], &["--ask", "go"]].concat())).finish();
    let answer = ran.task()["output"].to_string();
    assert!(ran.code == Some(0) && answer.contains("rejected"), "{ran:?}");
    assert_eq!(lives(&fleet.world.only_run()), ["1 asked", "1 no by deadline"]);
    fleet.end_all();
}

#[test]
fn a_session_continues_on_another_worker_from_what_its_agent_made() {
    let mut fleet = Fleet::new();
    let first = fleet.worker(&[]);
    let task = fleet.task("author", &json!([shell("echo one > made.txt"), {"text": "made one"}]));
    let ran = fleet.delegate(&json!([task]));
    let document = ran.json();
    let session = document["tasks"][0]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(fleet.end(first).code, Some(0));
    fleet.worker(&[]);
    let command = "cat made.txt a.txt > seen.txt; echo two >> made.txt";
    let mut task = fleet.task("again", &json!([shell(command), {"text": "made two"}]));
    task["resume"] = json!(session);
    let ran = fleet.delegate(&json!([task]));
    let resumed = &ran.json()["tasks"][0];
    assert_eq!((ran.code, &resumed["output"]), (Some(0), &json!("made two")), "{ran:?}");
    assert_eq!(resumed["sessionId"], json!(session));
    let reference = resumed["changes"]["ref"].as_str().unwrap();
    assert_eq!(fleet.git(&["show", &format!("{reference}:seen.txt")]), "one\nnot committed");
    assert_eq!(fleet.git(&["show", &format!("{reference}:made.txt")]), "one\ntwo");
    let prompt = fs::read_to_string(fleet.world.path("project").join("seen.txt"));
    assert!(prompt.is_err(), "nothing is merged without being asked");
    fleet.end_all();
}

#[test]
fn background_runs_profiles_presets_and_tasks_choose_the_fleet_from_every_door() {
    let mut fleet = Fleet::new();
    fleet.worker(&["--slots", "4"]);
    let task = fleet.task("elsewhere", &json!([shell("pwd > where.txt"), {"text": "done"}]));
    let model = task["model"].as_str().unwrap().to_owned();
    let definition = |body: &str| {
        format!(
            "---\nname: far\ndescription: Far away\nagent: builtin\non: fleet\nmodel: {model}\n---\n{body}"
        )
    };
    let agent_dir = fleet.world.agent_dir();
    write_file(&agent_dir.join("agent-profiles/far.md"), &definition(""));
    write_file(&agent_dir.join("subagents/far.md"), &definition("Work."));
    let is_remote = |run: &Path| {
        let meta: Value =
            serde_json::from_slice(&fs::read(run.join("meta.json")).unwrap()).unwrap();
        meta["protocol"] == "events"
    };
    let mut seen = 0;
    let mut expect_one_more = |ran: &dyn std::fmt::Debug| {
        wait_until(|| {
            let runs = fleet.world.runs();
            runs.len() == seen + 1 && runs.iter().all(|run| run.join("result.json").exists())
        });
        seen += 1;
        for run in fleet.world.runs() {
            let result: Value =
                serde_json::from_slice(&fs::read(run.join("result.json")).unwrap()).unwrap();
            assert!(is_remote(&run) && result["output"] == "done", "{ran:?} {result}");
        }
    };
    let bg = fleet
        .command(&["bg", "start", "--on", "fleet", "--agent", "builtin", "--model", &model, "Go."])
        .output()
        .unwrap();
    expect_one_more(&bg);
    let profile = fleet.command(&["run", "--profile", "far", "Go."]).output().unwrap();
    expect_one_more(&profile);
    let preset = fleet.command(&["run", "--preset", "far", "Go."]).output().unwrap();
    expect_one_more(&preset);
    let mut of_task = task.clone();
    of_task["on"] = json!("fleet");
    let ran =
        fleet.world.feed(fleet.command(&["delegate", "--json"]), &json!([of_task]).to_string());
    expect_one_more(&ran);
    let mut mcp = RpcClient::start(fleet.command(&["mcp"]));
    mcp.request("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}));
    mcp.notify("notifications/initialized", &json!({}));
    let call = json!({"name": "delegate_to_subagents",
        "arguments": {"tasks": [{"name": "m", "prompt": "Go.", "profile": "far"}]}});
    let answer = mcp.request("tools/call", &call);
    mcp.close();
    expect_one_more(&answer);
    // A model cannot send a task anywhere by itself.
    let mut of_model = json!({"name": "delegate_to_subagents",
        "arguments": {"tasks": [{"name": "m", "prompt": "Go.", "on": "fleet", "agent": "builtin", "model": model}]}});
    let mut mcp = RpcClient::start(fleet.command(&["mcp"]));
    mcp.request("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}));
    mcp.notify("notifications/initialized", &json!({}));
    let answer = mcp.request("tools/call", &of_model.take());
    mcp.close();
    assert!(
        answer.to_string().contains("\\\"on\\\"") || answer.to_string().contains("on: "),
        "{answer}"
    );
    let locals = fleet.world.runs().iter().filter(|run| !is_remote(run)).count();
    assert!(locals <= 1, "{locals}");
    fleet.end_all();
}

#[test]
fn the_limits_of_a_task_hold_on_its_worker() {
    let mut fleet = Fleet::new();
    fleet.worker(&[]);
    let file = fleet.world.path("process");
    let mut task = fleet.task("slow", &json!([long_turn(&file), {"text": "late"}]));
    task["timeout"] = json!(1);
    fleet.world.settings(&json!({"extendTimeoutDebounce": 0.5}));
    let ran = fleet.delegate(&json!([task]));
    let task = &ran.json()["tasks"][0];
    assert_eq!((ran.code, &task["outcome"]), (Some(1), &json!("timeout")), "{task}");
    await_end_of(await_process(&file));
    fleet.end_all();
}
