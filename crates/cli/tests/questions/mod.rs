//! What agents ask, on real processes: every question has one answer, whoever gives it, and none outlives its run.

mod elicitation;
mod notified;
mod secrets;
mod views;

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use test_support::{Ran, RpcClient, Running, World, kill_and_wait, wait_until};

use crate::live::terminal::Terminal;
use crate::world;

const COMMAND: &str = "rm -rf build && make";

/// A world with an agent that asks whether it may run each of these commands, and then says what it was
/// answered last.
fn asking(commands: &[&str]) -> World {
    let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
    let options = [option("allowed", "allow_once"), option("rejected", "reject_once")];
    let ask = |(number, command): (usize, &&str)| {
        let call = json!({"toolCallId": format!("c{number}"), "title": "run", "kind": "execute",
            "status": "pending", "rawInput": {"command": command}});
        let params = json!({"toolCall": call, "options": options});
        json!({"acp": {"ask": {"method": "session/request_permission", "params": params}}})
    };
    let mut steps = vec![json!({"acp": {"open": {}}})];
    steps.extend(commands.iter().enumerate().map(ask));
    steps.push(json!({"acp": {"say": "{answer}"}}));
    steps.push(json!({"acp": {"answer": {"stopReason": "end_turn"}}}));
    steps.push(json!({"acp": "await_end"}));
    playing(&json!(steps), &json!({}))
}

fn playing(script: &Value, settings: &Value) -> World {
    let world = world();
    let path = world.path("script.json");
    fs::write(&path, script.to_string()).unwrap();
    let command = json!([env!("CARGO_BIN_EXE_fake-agent"), format!("@{}", path.display())]);
    let mut settings = settings.clone();
    settings["agents"] = json!({"oracle": {"command": command, "protocol": "acp"}});
    world.settings(&settings);
    world
}

/// Changes one of the user's settings.
fn set(world: &World, name: &str, value: Value) {
    let path = world.agent_dir().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    settings["subagents"][name] = value;
    fs::write(&path, settings.to_string()).unwrap();
}

const RUN: [&str; 9] =
    ["run", "--json", "--agent", "oracle", "--name", "asker", "--access", "full", "--ask"];

fn start(world: &World) -> Running {
    let run = Running::start(world.command([RUN.as_slice(), &["go"]].concat()));
    wait_for_question(world, 1);
    run
}

fn wait_for_question(world: &World, number: u64) {
    let asked = format!("{number} asked");
    wait_until(|| {
        let runs = world.runs();
        runs.first().is_some_and(|run| lives(run).iter().any(|life| life.starts_with(&asked)))
    });
}

fn answer(world: &World, words: &[&str]) -> Ran {
    world.run(&[&["answer", "asker"], words].concat())
}

/// The events about questions, in a short form, in their order.
fn lives(run_dir: &Path) -> Vec<String> {
    let life = |record: Value| {
        let number = record["number"].as_u64()?;
        match record["type"].as_str()? {
            "question_asked" => Some(format!("{number} asked {}", record["question"]["text"])),
            "question_answered" => {
                let [answer, by] = ["answer", "by"].map(|name| record[name].as_str().unwrap());
                Some(format!("{number} {answer} by {by}"))
            }
            _ => None,
        }
    };
    records(run_dir).into_iter().filter_map(life).collect()
}

/// The events of this type.
fn events(run_dir: &Path, kind: &str) -> Vec<Value> {
    records(run_dir).into_iter().filter(|record| record["type"] == kind).collect()
}

fn records(run_dir: &Path) -> Vec<Value> {
    let events = fs::read_to_string(run_dir.join("events.jsonl")).unwrap_or_default();
    events.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn asked(number: u64) -> String {
    format!("{number} asked {COMMAND:?}")
}

#[test]
fn a_question_waits_for_the_command_answer() {
    for (word, chosen, life) in
        [("yes", "allowed", "yes"), ("no", "rejected", "no"), ("Use git.", "rejected", "no")]
    {
        let world = asking(&[COMMAND]);
        let run = start(&world);
        let answered = answer(&world, &["--json", word]);
        assert_eq!(answered.code, Some(0), "{answered:?}");
        let given = json!({"question": 1, "state": "given"});
        assert_eq!(answered.json()["answer"], given, "{answered:?}");
        let ran = run.finish();
        assert!(ran.task()["output"].as_str().unwrap().contains(chosen), "{ran:?}");
        // How to answer is said where the document comes at the end.
        let how =
            format!("`pi-subagents answer {} 1 ANSWER`", ran.task()["runId"].as_str().unwrap());
        assert!(ran.stderr.contains(&how) && ran.stderr.contains(COMMAND), "{ran:?}");
        assert_eq!(lives(&world.only_run()), [asked(1), format!("1 {life} by shell")]);
        world.wait_until_nothing_is_left();
    }
}

#[test]
fn always_holds_for_the_rest_of_the_run() {
    let world = asking(&[COMMAND, "make test", "make install"]);
    let run = start(&world);
    assert_eq!(answer(&world, &["1", "always"]).code, Some(0));
    let ran = run.finish();
    assert!(ran.task()["output"].as_str().unwrap().contains("allowed"), "{ran:?}");
    let lives = lives(&world.only_run());
    assert_eq!(lives[1], "1 always by shell");
    assert_eq!((&*lives[3], &*lives[5]), ("2 yes by always", "3 yes by always"));
    world.wait_until_nothing_is_left();
}

#[test]
fn without_being_asked_for_nothing_is_asked_and_access_answers_at_once() {
    let world = asking(&[COMMAND]);
    let ran = world.run(&["run", "--json", "--agent", "oracle", "--access", "full", "go"]);
    assert!(ran.task()["output"].as_str().unwrap().contains("allowed"), "{ran:?}");
    assert!(lives(&world.only_run()).is_empty());
    let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
    let call = json!({"toolCallId": "c", "title": "Edit a", "kind": "edit", "status": "pending",
        "rawInput": {"path": "a"}});
    let params = json!({"toolCall": call,
        "options": [option("allowed", "allow_once"), option("rejected", "reject_once")]});
    let script = json!([{"acp": {"open": {}}},
        {"acp": {"ask": {"method": "session/request_permission", "params": params}}},
        {"acp": {"say": "{answer}"}}, {"acp": {"answer": {"stopReason": "end_turn"}}},
        {"acp": "await_end"}]);
    for (access, chosen, life) in
        [("read", "rejected", "1 no by access"), ("workspace", "allowed", "1 yes by access")]
    {
        let world = playing(&script, &json!({"ask": true}));
        let ran = world.run(&["run", "--json", "--agent", "oracle", "--access", access, "go"]);
        assert!(ran.task()["output"].as_str().unwrap().contains(chosen), "{ran:?}");
        assert_eq!(lives(&world.only_run())[1], life);
    }
}

#[test]
fn a_question_without_an_answer_is_denied_and_the_clock_of_the_run_stands_still() {
    let world = asking(&[COMMAND]);
    set(&world, "questionTimeout", json!(3));
    let ran = world.run(&[RUN.as_slice(), &["--timeout", "2", "go"]].concat());
    assert_eq!(ran.task()["outcome"], "completed", "{ran:?}");
    assert!(ran.task()["output"].as_str().unwrap().contains("rejected"), "{ran:?}");
    assert_eq!(lives(&world.only_run()), [asked(1), "1 no by deadline".to_owned()]);
    let late = answer(&world, &["1", "yes"]);
    assert_eq!(late.code, Some(1), "{late:?}");
    assert!(late.stderr.contains("the answer was refused: the run has ended"), "{late:?}");
}

/// Plays Claude Code, which asks once and writes down what it is answered.
#[test]
fn claude_is_told_why_in_its_own_words() {
    let world = world();
    let request = json!({"type": "control_request", "request_id": "r1", "request": {
        "subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": COMMAND}}});
    let said = json!({"type": "assistant", "message": {"model": "m",
        "content": [{"type": "text", "text": "Then not."}]}});
    let result =
        json!({"type": "result", "subtype": "success", "is_error": false, "result": "Then not."});
    let script = format!(
        "echo \"$@\" > arguments; read prompt; echo '{request}'; read reply; echo \"$reply\" > reply; echo '{said}'; echo '{result}'; cat"
    );
    let agents = json!({"clod": {"command": ["sh", "-c", script, "sh"], "protocol": "claude"}});
    world.settings(&json!({"agents": agents, "questionTimeout": 1}));
    let ran = world.run(&[
        "run", "--json", "--agent", "clod", "--access", "full", "--ask", "--name", "asker", "go",
    ]);
    assert_eq!(ran.task()["output"], "Then not.", "{ran:?}");
    let cwd = Path::new(ran.task()["cwd"].as_str().unwrap_or_default()).to_owned();
    let cwd = if cwd.as_os_str().is_empty() { world.project() } else { cwd };
    let reply: Value = serde_json::from_slice(&fs::read(cwd.join("reply")).unwrap()).unwrap();
    let response = &reply["response"]["response"];
    assert_eq!(response["behavior"], "deny", "{reply}");
    let reason = response["message"].as_str().unwrap();
    assert!(reason.starts_with("Denied: the user did not answer within 1 s."), "{reply}");
    let arguments = fs::read_to_string(cwd.join("arguments")).unwrap();
    assert!(arguments.contains("--permission-mode default --permission-prompt-tool stdio"));
    assert_eq!(lives(&world.only_run()), [asked(1), "1 no by deadline".to_owned()]);
}

#[test]
fn of_two_programs_that_answer_one_wins_and_the_other_is_told() {
    let world = asking(&[COMMAND, "second"]);
    let run = start(&world);
    let start = |word| Running::start(world.command(["answer", "asker", "1", word]));
    let answers = [start("yes"), start("no"), start("no")].map(Running::finish);
    let won = answers.iter().filter(|ran| ran.code == Some(0)).count();
    assert_eq!(won, 1, "{answers:?}");
    let told = |ran: &&Ran| ran.stderr.contains("the answer was refused: ");
    assert_eq!(answers.iter().filter(told).count(), 2, "{answers:?}");
    wait_for_question(&world, 2);
    let over = answer(&world, &["1", "yes"]);
    assert!(over.code == Some(1) && over.stderr.contains("question 1 was answered"), "{over:?}");
    let none = answer(&world, &["7", "yes"]);
    assert!(none.code == Some(1) && none.stderr.contains("there is no question 7"), "{none:?}");
    let empty = answer(&world, &["2", ""]);
    assert!(empty.code == Some(1) && empty.stderr.contains("the answer is empty"), "{empty:?}");
    let word = answer(&world, &["second", "yes"]);
    assert_eq!(word.code, Some(2), "{word:?}");
    let hostile = "\u{1b}[2J\u{202e}yes $(reboot)";
    assert_eq!(answer(&world, &["2", hostile]).code, Some(0));
    run.finish();
    let lives = lives(&world.only_run());
    assert_eq!(lives.len(), 4, "{lives:?}");
    assert_eq!(lives[3], "2 no by shell");
    let events = fs::read_to_string(world.only_run().join("events.jsonl")).unwrap();
    assert!(!events.contains("\\u001b") && !events.contains('\u{202e}'), "{events}");
    world.wait_until_nothing_is_left();
}

#[test]
fn what_asks_ends_with_its_parent_and_with_its_supervisor() {
    let world = asking(&[COMMAND]);
    let run = start(&world);
    run.signal(Signal::KILL);
    wait_until(|| world.only_run().join("result.json").exists());
    assert_eq!(lives(&world.only_run()), [asked(1), "1 no by end".to_owned()]);
    world.wait_until_nothing_is_left();

    let world = asking(&[COMMAND]);
    let started = world.run(&[
        "bg", "start", "--agent", "oracle", "--name", "asker", "--access", "full", "--ask", "go",
    ]);
    assert_eq!(started.code, Some(0), "{started:?}");
    wait_for_question(&world, 1);
    let (supervisor, _) =
        world.processes().into_iter().find(|(_, words)| words.contains(" supervise ")).unwrap();
    kill_and_wait(rustix::process::Pid::from_raw(supervisor.cast_signed()).unwrap());
    let listed = world.run(&["bg", "list", "--all"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert_eq!(lives(&world.only_run()), [asked(1), "1 no by end".to_owned()]);
    world.wait_until_nothing_is_left();
}

#[test]
fn a_background_run_shows_what_it_asks() {
    let world = asking(&[COMMAND]);
    let started = world.run(&[
        "bg", "start", "--agent", "oracle", "--name", "asker", "--access", "full", "--ask", "go",
    ]);
    assert_eq!(started.code, Some(0), "{started:?}");
    let id = started.stdout.trim().to_owned();
    wait_for_question(&world, 1);
    let listed = world.run(&["bg", "list"]);
    assert!(listed.stdout.contains(&format!("asks: may it use bash? {COMMAND}")), "{listed:?}");
    assert!(listed.stderr.contains(&format!("`pi-subagents answer {id} 1 ANSWER`")), "{listed:?}");
    for command in [["bg", "list", "--json"].as_slice(), &["bg", "status", "--json", &id]] {
        let question = &world.run(command).json()["runs"][0]["questions"][0];
        assert_eq!((&question["number"], &question["text"]), (&json!(1), &json!(COMMAND)));
    }
    let sessions = world.run(&["sessions", "list", "--json"]).json().to_string();
    assert!(sessions.contains("\"questions\":[{\"number\":1"), "{sessions}");
    assert_eq!(world.run(&["answer", &id, "yes"]).code, Some(0));
    wait_until(|| world.only_run().join("result.json").exists());
    assert_eq!(lives(&world.only_run()), [asked(1), "1 yes by shell".to_owned()]);
    world.wait_until_nothing_is_left();
}

#[test]
fn an_answer_that_was_there_before_its_question_or_is_none_denies() {
    let world = asking(&[COMMAND, "second", "third"]);
    let run = start(&world);
    let left = |number: u64, text: &str| {
        fs::write(world.only_run().join(format!("answer-{number}.json")), text).unwrap();
    };
    left(2, "{\"text\":\"yes\",\"by\":\"shell\"}");
    left(1, "no JSON");
    wait_for_question(&world, 3);
    std::os::unix::fs::symlink("/etc/passwd", world.only_run().join("answer-3.json")).unwrap();
    let ran = run.finish();
    assert!(ran.task()["output"].as_str().unwrap().contains("rejected"), "{ran:?}");
    let lives = lives(&world.only_run());
    let answers = [&lives[1], &lives[3], &lives[5]];
    assert_eq!(answers, ["1 no by shell", "2 no by limit", "3 no by shell"]);
}

#[test]
fn the_live_view_asks_with_the_command_in_full() {
    for (key, chosen, life) in [
        ("y", "allowed", "1 yes by view"),
        ("n", "rejected", "1 no by view"),
        ("a", "allowed", "1 always by view"),
    ] {
        let world = asking(&[COMMAND]);
        let run =
            ["run", "--agent", "oracle", "--name", "asker", "--access", "full", "--ask", "go"];
        let mut command = world.command(run);
        command.env("TERM", "xterm-256color");
        let mut terminal = Terminal::start(&command, 90, 24);
        terminal.wait_for("asker asks whether it may use bash:");
        terminal.wait_for(COMMAND);
        terminal.wait_for("y allow once   a allow bash for this run   n deny");
        terminal.press(key);
        wait_until(|| world.only_run().join("result.json").exists());
        assert_eq!(lives(&world.only_run()), [asked(1), life.to_owned()], "{chosen}");
        terminal.finish();
        world.wait_until_nothing_is_left();
    }
}

/// A preset of the agent that asks.
const SCOUT: &str = "---\nname: scout\ndescription: Looks\nagent: oracle\naccess: full\n---\n";

/// The bridge of a pi that can show dialogs.
fn start_bridge(world: &World) -> RpcClient {
    let mut bridge = RpcClient::start(world.command(["bridge"]));
    bridge.request(
        "initialize",
        &json!({"protocol": bridge::PROTOCOL, "extensionVersion": "0.0.0", "mode": "rpc",
            "sessionId": "the-session", "trusted": true, "columns": 100}),
    );
    bridge
}

fn start_call(bridge: &mut RpcClient, tool: &str, arguments: &Value) -> u64 {
    bridge.start_request(
        "tools/call",
        &json!({"callId": "call", "name": tool, "arguments": arguments, "models": [],
            "allTools": []}),
    )
}

#[test]
fn pi_asks_by_its_dialogs() {
    for (chosen, life) in [
        (json!("Allow bash for this run"), "1 always by pi"),
        (json!("Deny"), "1 no by pi"),
        // A dialog that was closed is no answer: the question waits for another.
        (Value::Null, "1 no by shell"),
    ] {
        let world = asking(&[COMMAND]);
        set(&world, "ask", json!(true));
        let mut bridge = start_bridge(&world);
        let task = json!({"name": "asker", "prompt": "go", "agent": "oracle"});
        let arguments = json!({"tasks": [task]});
        let call = start_call(&mut bridge, "delegate_to_subagents", &arguments);
        let dialog = bridge.wait_for("ui/select");
        let title = dialog["params"]["title"].as_str().unwrap();
        assert_eq!(title, format!("asker asks whether it may use bash:\n{COMMAND}"));
        bridge.send(&json!({"jsonrpc": "2.0", "id": dialog["id"], "result": {"value": chosen}}));
        if chosen.is_null() {
            assert_eq!(answer(&world, &["no"]).code, Some(0));
        }
        let answered = bridge.response(call);
        assert!(answered["error"].is_null(), "{answered}");
        assert_eq!(lives(&world.only_run()), [asked(1), life.to_owned()]);
        bridge.close();
        world.wait_until_nothing_is_left();
    }
}

/// pi asks about its background runs as well, and closes a dialog whose question has its answer.
#[test]
fn pi_asks_for_background_runs_until_another_program_has_answered() {
    for (is_answered_in_pi, life) in [(true, "1 yes by pi"), (false, "1 no by shell")] {
        let world = asking(&[COMMAND]);
        set(&world, "ask", json!(true));
        let world = world.with_agent_file("subagents/scout.md", SCOUT);
        let mut bridge = start_bridge(&world);
        let arguments = json!({"preset": "scout", "task": "go"});
        let started = start_call(&mut bridge, "background_agent", &arguments);
        let started = bridge.response(started);
        let dialog = bridge.wait_for("ui/select");
        let title = dialog["params"]["title"].as_str().unwrap();
        let asks = format!("scout asks whether it may use bash:\n{COMMAND}");
        assert_eq!(title, asks, "{started}");
        if is_answered_in_pi {
            let allowed = json!({"value": "Allow once"});
            bridge.send(&json!({"jsonrpc": "2.0", "id": dialog["id"], "result": allowed}));
        } else {
            assert_eq!(world.run(&["answer", "scout", "no"]).code, Some(0));
            let closed = bridge.wait_for("ui/cancel");
            assert_eq!(closed["params"]["id"], dialog["id"], "{closed}");
            // Too late.
            let allowed = json!({"value": "Allow once"});
            bridge.send(&json!({"jsonrpc": "2.0", "id": dialog["id"], "result": allowed}));
        }
        bridge.wait_for("session/message");
        assert_eq!(lives(&world.only_run()), [asked(1), life.to_owned()]);
        bridge.close();
        world.wait_until_nothing_is_left();
    }
}

/// A foreground run ends with its bridge, and its question is denied. A background run goes on, and its question can
/// still be answered.
#[test]
fn a_question_does_not_depend_on_the_bridge_that_was_killed_while_its_dialog_was_open() {
    let task = json!({"name": "asker", "prompt": "go", "agent": "oracle"});
    let foreground = ("delegate_to_subagents", json!({"tasks": [task]}));
    let background = ("background_agent", json!({"preset": "scout", "task": "go"}));
    for ((tool, arguments), outcome, life) in
        [(foreground, "interrupted", "1 no by end"), (background, "completed", "1 yes by shell")]
    {
        let world = asking(&[COMMAND]).with_agent_file("subagents/scout.md", SCOUT);
        set(&world, "ask", json!(true));
        let mut bridge = start_bridge(&world);
        start_call(&mut bridge, tool, &arguments);
        bridge.wait_for("ui/select");
        bridge.kill();
        assert_eq!(bridge.close().code, None, "it was killed");
        if outcome == "completed" {
            let answered = world.run(&["answer", "scout", "yes"]);
            assert_eq!(answered.code, Some(0), "{answered:?}");
        }
        world.wait_until_nothing_is_left();
        let result = fs::read(world.only_run().join("result.json")).unwrap();
        let result: Value = serde_json::from_slice(&result).unwrap();
        assert_eq!(result["outcome"], outcome, "{result}");
        assert_eq!(lives(&world.only_run()), [asked(1), life.to_owned()]);
        assert!(world.run(&["bg", "list", "--json"]).json()["runs"].as_array().unwrap().is_empty());
    }
}

/// More than can wait, and more than a screen shows: nothing is allowed, and nothing grows.
#[test]
fn a_flood_of_questions_is_bounded() {
    let request = |number: usize, command: &str| {
        json!({"jsonrpc": "2.0", "id": number, "method": "session/request_permission", "params": {
            "sessionId": "session-1", "options": [],
            "toolCall": {"toolCallId": format!("c{number}"), "kind": "execute", "rawInput": {"command": command}}}})
        .to_string()
    };
    let mut steps = vec![json!({"acp": {"open": {}}})];
    let long = "x".repeat(20_000);
    steps.push(json!({"line": request(0, &long)}));
    steps.extend((1..=1_000).map(|number| json!({"line": request(number, "make")})));
    steps.push(json!({"acp": {"say": "done"}}));
    steps.push(json!({"acp": {"answer": {"stopReason": "end_turn"}}}));
    steps.push(json!({"acp": "await_end"}));
    let world = playing(&json!(steps), &json!({"looping_tool_count": 0}));
    let ran = world.run(&[RUN.as_slice(), &["go"]].concat());
    assert_eq!(ran.task()["outcome"], "completed", "{}", ran.stdout);
    let lives = lives(&world.only_run());
    let count = |end: &str| lives.iter().filter(|life| life.ends_with(end)).count();
    assert_eq!(count(" no by limit"), 1 + 1_000 - 16);
    assert_eq!(count(" no by agent"), 16, "the turn ended before they were answered");
    assert_eq!(lives.len(), 2 * 1_001);
}
