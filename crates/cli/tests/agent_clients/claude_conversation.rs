//! Speaking to the real Claude Code while it works as a sub-agent.

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};
use test_support::fake_llm::FakeLlm;
use test_support::{Program, Running, World, wait_until};

use test_support::client;

struct Talk {
    world: World,
    llm: FakeLlm,
}

impl Talk {
    /// Claude Code, whose first turn runs this command.
    fn new(command: &str, turns: &[Value]) -> Talk {
        let world = World::new(Program {
            pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
            fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
        });
        let claude = client("@anthropic-ai/claude-code-{}/claude");
        world.settings(&json!({"agents": {"claude": {"command": [claude], "protocol": "claude"}}}));
        let args = json!({"command": command, "description": "work"});
        let first = json!({"tools": [{"name": "Bash", "args": args}]});
        let turns: Vec<Value> = [first].into_iter().chain(turns.iter().cloned()).collect();
        Talk { world, llm: FakeLlm::start_with(&json!(turns)).unwrap() }
    }

    /// A run whose command is under way.
    fn start(&self) -> Running {
        let run = self.begin(&[]);
        wait_until(|| self.world.project().join("working").exists());
        run
    }

    fn begin(&self, arguments: &[&str]) -> Running {
        let all = ["run", "--json", "--access", "full", "--agent", "claude", "--name", "talk"];
        let mut command: Command = self.world.command([&all, arguments, &["go"]].concat());
        command
            .env("ANTHROPIC_BASE_URL", self.llm.root_url())
            .env("ANTHROPIC_API_KEY", "a key")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_TELEMETRY", "1")
            // The tests may run as root.
            .env("IS_SANDBOX", "1");
        Running::start(command)
    }

    /// The requests of the agent itself: it also lets its model find a title.
    fn asked(&self) -> Vec<String> {
        let bodies = self.llm.requests().into_iter().map(|request| request.body);
        let with_tools =
            bodies.filter(|body| body["tools"].as_array().is_some_and(|it| !it.is_empty()));
        with_tools.map(|body| body["messages"].to_string()).collect()
    }

    fn lives(&self) -> Vec<String> {
        let events = fs::read_to_string(self.world.only_run().join("events.jsonl"));
        let events = events.unwrap_or_default();
        let records = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let life = |record: Value| {
            let word = record["type"].as_str()?.strip_prefix("message_")?.to_owned();
            Some(format!("{} {word}", record["number"]))
        };
        records.filter_map(life).collect()
    }
}

const MESSAGE: &str = "Not there, look in src.";

#[test]
fn a_message_sent_while_a_command_runs_is_in_the_very_next_request() {
    let wait = "touch working; until [ -e go ]; do read -t 0.05 < <(:); done; echo ready";
    let talk = Talk::new(wait, &[json!({"text": "I looked in src."})]);
    let run = talk.start();
    let telling = Running::start(talk.world.command(["tell", "talk", "--wait", MESSAGE]));
    wait_until(|| talk.lives() == ["1 accepted"]);
    assert!(!talk.asked().iter().any(|request| request.contains(MESSAGE)));
    fs::write(talk.world.project().join("go"), "").unwrap();
    let told = telling.finish();
    // The provider has seen it when the command returns.
    assert!(talk.asked()[1].contains(MESSAGE), "{:#?}", talk.asked());
    assert_eq!(told.stdout, "Message 1 delivered.\n", "{told:?}");
    let ran = run.finish();
    assert_eq!(
        (ran.code, &ran.task()["output"]),
        (Some(0), &json!("I looked in src.")),
        "{ran:#?}"
    );
    assert_eq!(talk.asked().len(), 2);
    assert_eq!(talk.lives(), ["1 accepted", "1 delivered"]);
    let late = talk.world.run(&["tell", "talk", "Are you there?"]);
    assert!(late.code == Some(1) && late.stderr.contains("the run has ended"), "{late:?}");
    talk.world.wait_until_nothing_is_left();
}

#[test]
fn a_message_for_the_end_is_a_further_turn_of_the_same_run() {
    let wait = "touch working; until [ -e go ]; do read -t 0.05 < <(:); done; echo ready";
    let talk = Talk::new(wait, &[json!({"text": "first"}), json!({"text": "second"})]);
    let run = talk.start();
    let telling =
        Running::start(talk.world.command(["tell", "talk", "--after", "--wait", MESSAGE]));
    wait_until(|| talk.lives() == ["1 accepted"]);
    fs::write(talk.world.project().join("go"), "").unwrap();
    let told = telling.finish();
    let asked = talk.asked();
    assert!(!asked[1].contains(MESSAGE) && asked[2].contains(MESSAGE), "{asked:#?}");
    assert!(asked[2].contains("first"), "the turn had ended: {asked:#?}");
    assert_eq!(told.stdout, "Message 1 delivered.\n", "{told:?}");
    let ran = run.finish();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("second")), "{ran:#?}");
    assert_eq!(talk.asked().len(), 3);
    assert_eq!(talk.lives(), ["1 accepted", "1 delivered"]);
    talk.world.wait_until_nothing_is_left();
}

#[test]
fn an_interruption_ends_the_command_and_the_run_goes_on() {
    let endless = "touch working; tail -f /dev/null";
    let talk = Talk::new(endless, &[json!({"text": "Then not."})]);
    let run = talk.start();
    let told = talk.world.run(&["tell", "talk", "--interrupt", "--wait", MESSAGE]);
    assert_eq!(told.stdout, "Message 1 delivered.\n", "{told:?}");
    let ran = run.finish();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("Then not.")), "{ran:#?}");
    assert_eq!(talk.lives(), ["1 accepted", "1 delivered"]);
    talk.world.wait_until_nothing_is_left();
}

/// Claude Code asks whether it may run a command. It runs it only if it may, and its model reads why not.
#[test]
fn a_command_that_is_asked_about_runs_only_if_the_user_allows_it() {
    for (word, is_run) in [("yes", true), ("Use git clean instead.", false)] {
        let talk = Talk::new("touch working", &[json!({"text": "Done."})]);
        let run = talk.begin(&["--ask"]);
        let asks = |kind: &str| {
            let runs = talk.world.runs();
            let events = runs.first().map(|run| fs::read_to_string(run.join("events.jsonl")));
            events.is_some_and(|events| events.unwrap_or_default().contains(kind))
        };
        wait_until(|| asks("question_asked"));
        assert!(!talk.world.project().join("working").exists());
        let answered = talk.world.run(&["answer", "talk", word]);
        assert_eq!(answered.code, Some(0), "{answered:?}");
        let ran = run.finish();
        assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("Done.")), "{ran:#?}");
        assert_eq!(talk.world.project().join("working").exists(), is_run);
        assert_eq!(talk.asked()[1].contains(word), !is_run, "{:#?}", talk.asked());
        talk.world.wait_until_nothing_is_left();
    }
}

/// A question without an answer is denied, which the model reads, and nothing runs.
#[test]
fn a_command_whose_question_has_no_answer_is_denied_and_the_model_reads_why() {
    let talk = Talk::new("touch working", &[json!({"text": "Then not."})]);
    let claude = client("@anthropic-ai/claude-code-{}/claude");
    talk.world.settings(&json!({
        "agents": {"claude": {"command": [claude], "protocol": "claude"}}, "questionTimeout": 1,
    }));
    let ran = talk.begin(&["--ask"]).finish();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("Then not.")), "{ran:#?}");
    assert!(!talk.world.project().join("working").exists());
    let asked = talk.asked();
    assert!(asked[1].contains("the user did not answer within 1 s"), "{asked:#?}");
    talk.world.wait_until_nothing_is_left();
}

/// The program that started the run is killed while its agent asks: the command never runs, and the record says why.
#[test]
fn a_question_ends_with_the_program_that_started_the_run() {
    let talk = Talk::new("touch working", &[json!({"text": "Done."})]);
    let run = talk.begin(&["--ask"]);
    let record = || {
        let runs = talk.world.runs();
        let path = runs.first().map(|run| run.join("events.jsonl"));
        path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default()
    };
    wait_until(|| record().contains("question_asked"));
    run.signal(Signal::KILL);
    talk.world.wait_until_nothing_is_left();
    let events = record();
    let records = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let answered: Vec<Value> =
        records.filter(|record| record["type"] == "question_answered").collect();
    assert_eq!(answered.len(), 1, "{events}");
    assert_eq!((&answered[0]["answer"], &answered[0]["by"]), (&json!("no"), &json!("end")));
    assert!(!talk.world.project().join("working").exists());
}
