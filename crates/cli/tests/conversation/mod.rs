//! Speaking with running agents, on real processes: a message reaches the agent before its next request, once and
//! in its order, or is refused with the reason, whatever is stopped or killed meanwhile.

mod acp;
mod agent_commands;
mod doors;
mod many;
mod refusals;

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};
use test_support::{Ran, Running, World, kill_and_wait, wait_until};

use crate::builtin::bash;
use crate::builtin::harness::{Api, Builtin, text_of};

/// A built-in agent whose first turn runs a command that lasts until [`Talk::let_go`].
pub(crate) struct Talk {
    pub(crate) builtin: Builtin,
}

impl Talk {
    /// The command, and then these turns.
    pub(crate) fn new(turns: &[Value]) -> Talk {
        Talk::with_command("touch working; until [ -e go ]; do sleep 0.02; done; echo ready", turns)
    }

    fn with_command(command: &str, turns: &[Value]) -> Talk {
        let turns: Vec<Value> = [bash(command)].into_iter().chain(turns.iter().cloned()).collect();
        Talk { builtin: Builtin::new(Api::Completions, &json!(turns)) }
    }

    pub(crate) fn world(&self) -> &World {
        &self.builtin.world
    }

    /// `run` with the agent; returns when its command runs.
    pub(crate) fn start(&self) -> Running {
        let run =
            self.world().command(["run", "--json", "--agent", "builtin", "--name", "talk", "go"]);
        let run = Running::start(run);
        wait_until(|| self.builtin.project("working").exists());
        run
    }

    pub(crate) fn let_go(&self) {
        fs::write(self.builtin.project("go"), "").unwrap();
    }

    fn tell(&self, arguments: &[&str]) -> Ran {
        self.world().run(&[&["tell", "talk"], arguments].concat())
    }

    fn start_telling(&self, arguments: &[&str]) -> Running {
        Running::start(self.world().command([&["tell", "talk"], arguments].concat()))
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.world().only_run()
    }

    /// What the model was asked in each request: the messages of the user, without the prompt.
    pub(crate) fn asked(&self) -> Vec<Vec<String>> {
        let asked = self.builtin.asked().into_iter();
        let told = |request: Value| {
            let messages = request["messages"].as_array().cloned().unwrap_or_default();
            let of_user = messages.iter().filter(|message| message["role"] == "user");
            of_user.skip(1).map(text_of).collect()
        };
        asked.map(told).collect()
    }
}

/// The events about messages, in a short form, in their order.
pub(crate) fn lives(run_dir: &Path) -> Vec<String> {
    let events = fs::read_to_string(run_dir.join("events.jsonl")).unwrap_or_default();
    let records = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let life =
        |record: Value| {
            let word = record["type"].as_str()?.strip_prefix("message_")?.to_owned();
            let number = record["number"].as_u64()?;
            let more = record["reason"].as_str().or(record["text"].as_str());
            Some(more.map_or_else(
                || format!("{number} {word}"),
                |more| format!("{number} {word}: {more}"),
            ))
        };
    records.filter_map(life).collect()
}

#[test]
fn a_message_sent_while_a_command_runs_is_in_the_very_next_request() {
    let talk = Talk::new(&[json!({"text": "I looked in src."})]);
    let run = talk.start();
    let telling = talk.start_telling(&["--wait", "Not there, look in src."]);
    wait_until(|| lives(&talk.run_dir()) == ["1 accepted: Not there, look in src."]);
    let is_waiting = talk.world().processes().iter().any(|(_, words)| words.contains(" tell "));
    assert!(is_waiting && talk.builtin.llm.request_count() == 1, "it is not delivered yet");
    talk.let_go();
    let told = telling.finish();
    // The provider has seen it when the command returns.
    assert_eq!(talk.asked()[1], ["Not there, look in src."]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(0), "Message 1 delivered.\n"), "{told:?}");
    let ran = run.finish();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.task()["output"], "I looked in src.");
    assert_eq!(talk.asked().len(), 2);
    let expected = ["1 accepted: Not there, look in src.", "1 delivered"];
    assert_eq!(lives(&ran.run_dir()), expected);
    talk.world().assert_nothing_left();
    let shown = talk.world().run(&["sessions", "show", "talk"]).stdout;
    for words in ["[message 1 accepted]: Not there, look in src.", "[message 1 delivered]"] {
        assert!(shown.contains(words), "{shown}");
    }
    let transcript = fs::read_to_string(ran.run_dir().join("transcript.log")).unwrap();
    assert!(transcript.contains("Message 1 delivered"), "{transcript}");
}

#[test]
fn a_message_for_the_end_is_a_further_turn_of_the_same_run() {
    let talk = Talk::new(&[json!({"text": "first"}), json!({"text": "second"})]);
    let run = talk.start();
    let told = talk.tell(&["--after", "Now the changelog."]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(0), "Message 1 accepted.\n"), "{told:?}");
    let steered = talk.tell(&["--json", "Hurry."]);
    assert_eq!(steered.json()["message"], json!({"number": 2, "state": "accepted"}));
    talk.let_go();
    let ran = run.finish();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("second")), "{ran:?}");
    let none: Vec<String> = Vec::new();
    let asked =
        [none, vec!["Hurry.".to_owned()], vec!["Hurry.".into(), "Now the changelog.".into()]];
    assert_eq!(talk.asked(), asked);
    assert_eq!(
        lives(&ran.run_dir()),
        ["1 accepted: Now the changelog.", "2 accepted: Hurry.", "2 delivered", "1 delivered"]
    );
    talk.world().assert_nothing_left();
}

#[test]
fn an_interruption_ends_the_command_and_the_run_goes_on() {
    let endless = "touch working; sleep 100000";
    let talk = Talk::with_command(endless, &[json!({"text": "Then not."})]);
    let run = talk.start();
    let told = talk.tell(&["--interrupt", "--wait", "That takes too long."]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(0), "Message 1 delivered.\n"), "{told:?}");
    let ran = run.finish();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("Then not.")), "{ran:?}");
    assert_eq!(talk.asked()[1], ["That takes too long."]);
    assert_eq!(lives(&ran.run_dir()), ["1 accepted: That takes too long.", "1 delivered"]);
    talk.world().assert_nothing_left();
}

#[test]
fn an_answer_that_never_ends_can_be_interrupted() {
    let turns = [json!({"hang": true}), json!({"text": "Here I am."})];
    let talk = Talk { builtin: Builtin::new(Api::Completions, &json!(turns)) };
    let command =
        talk.world().command(["run", "--json", "--agent", "builtin", "--name", "talk", "go"]);
    let run = Running::start(command);
    talk.builtin.wait_until_asked(1);
    let told = talk.tell(&["--interrupt", "--wait", "Say something."]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let ran = run.finish();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("Here I am.")), "{ran:?}");
    talk.world().assert_nothing_left();
}

#[test]
fn a_message_reaches_a_supervisor_that_another_program_has_stopped() {
    let talk = Talk::new(&[json!({"text": "done"})]);
    let run = talk.start();
    rustix::process::kill_process(talk.world().supervisor(), Signal::STOP).unwrap();
    let told = talk.tell(&["Wake up."]);
    assert_eq!(told.stdout, "Message 1 accepted.\n", "{told:?}");
    talk.let_go();
    let ran = run.finish();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(lives(&ran.run_dir()), ["1 accepted: Wake up.", "1 delivered"]);
    assert_eq!(talk.asked()[1], ["Wake up."]);
    talk.world().assert_nothing_left();
}

#[test]
fn a_message_whose_supervisor_dies_is_refused_and_the_record_says_so() {
    let talk = Talk::new(&[]);
    let run = talk.start();
    let telling = talk.start_telling(&["--wait", "Too late."]);
    wait_until(|| lives(&talk.run_dir()).len() == 1);
    kill_and_wait(talk.world().supervisor());
    let told = telling.finish();
    assert_eq!(told.code, Some(1), "{told:?}");
    let reason = "the supervisor died before it was known whether the agent read the message";
    assert!(told.stderr.contains(reason), "{told:?}");
    let ran = run.finish();
    assert_eq!(ran.task()["outcome"], "interrupted");
    assert_eq!(
        lives(&ran.run_dir()),
        ["1 accepted: Too late.".to_owned(), format!("1 refused: {reason}")]
    );
    talk.world().wait_until_nothing_is_left();
}
