//! Background runs whose provider gives nothing more until a time: they are parked without a slot, and go on by themselves.

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use test_support::fake_agent::quick;
use test_support::{Clock, Ran, World, kill_and_wait, wait_until, write_file};

use crate::agents::program_in_turn;
use crate::builtin::bash;
use crate::builtin::harness::{Api, Builtin, text_of};
use crate::spine::events::records;
use crate::world;

const HOUR: u64 = 3_600;

/// What an agent says whose allowance comes back in an hour.
fn used_up() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    format!("Claude AI usage limit reached|{}", now + HOUR)
}

fn pass_an_hour(clock: &Clock, world: &World) {
    clock.set(i64::try_from(HOUR).unwrap() + 61).unwrap();
    // It looks at the clock, as it does every minute.
    kill_process(world.supervisor(), Signal::CONT).unwrap();
}

/// A run in a world with one slot, whose agent has done half of its work when its allowance was used up. The agent in its place
/// answers with its prompt.
struct Parked {
    world: World,
    clock: Clock,
    id: String,
}

impl Parked {
    fn new() -> Parked {
        Parked::before(&json!(["start", {"tell": "prompt"}, {"end": false}, "settle"]))
    }

    /// One whose agent is followed by one that plays this script.
    fn before(rest: &Value) -> Parked {
        let world = world();
        let half = json!([
            "start",
            {"message": {"text": "half of it", "stop": "toolUse"}},
            {"tool": {"name": "ls", "args": {"path": "."}, "result": "a.txt"}},
            {"message": {"stop": "error", "error": used_up()}},
            {"end": false},
            "settle",
        ]);
        let program = program_in_turn(&world, &[half, rest.clone()]);
        let agents = json!({"oracle": {"command": [program], "protocol": "pi"}});
        world.settings(&json!({"machineConcurrency": 1, "agents": agents}));
        let clock = Clock::new(&world.path("")).unwrap();
        let arguments = ["bg", "start", "--agent", "oracle", "--max-turns", "9", "find the cause"];
        let mut command = world.command(arguments);
        clock.offer(&mut command);
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let parked = Parked { id: ran.stdout.trim().to_owned(), world, clock };
        wait_until(|| parked.record()["waiting"]["for"] == "quota");
        parked
    }

    /// Lets the hour be over, and the minute for clocks that differ.
    fn let_the_hour_pass(&self) {
        pass_an_hour(&self.clock, &self.world);
    }

    fn record(&self) -> Value {
        self.world.run(&["bg", "status", &self.id, "--json"]).json()["runs"][0].clone()
    }

    fn run_dir(&self) -> PathBuf {
        self.world.project().join(".pi/subagents/runs").join(&self.id)
    }

    fn starts(&self) -> usize {
        records(&self.run_dir()).iter().filter(|record| record["type"] == "run_started").count()
    }
}

#[test]
fn a_background_run_is_parked_for_an_hour_and_goes_on_by_itself() {
    let parked = Parked::new();
    let Parked { world, clock, id } = &parked;
    let record = parked.record();
    assert_eq!(record["status"], "running", "{record}");
    assert!(record["waiting"]["until"].as_u64() > record["startTime"].as_u64());
    let words = "parked: Claude AI usage limit reached. Come again at ";
    let status = world.run(&["bg", "status", id]).stdout;
    assert!(status.contains(words), "{status}");
    let machine = world.run(&["status", "--json"]).json();
    assert_eq!(machine["running"], json!([]), "its slot is free: {machine}");
    assert_eq!(machine["waiting"][0]["runId"], json!(id), "{machine}");
    assert!(machine["waiting"][0]["words"].as_str().unwrap().starts_with(words), "{machine}");
    // The only slot of this machine.
    assert_eq!(world.play(&quick(), &[]).code, Some(0));
    assert_eq!(parked.record()["waiting"]["for"], "quota", "it was not disturbed");
    // Not before its time, whatever wakes it.
    clock.set(i64::try_from(HOUR).unwrap() - 60).unwrap();
    kill_process(world.supervisor(), Signal::CONT).unwrap();
    assert_eq!(parked.starts(), 1);

    parked.let_the_hour_pass();
    let ran = world.run(&["bg", "wait", id]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ended = parked.record();
    assert_eq!((&ended["outcome"], &ended["waiting"]), (&json!("completed"), &Value::Null));
    let told = ended["finalText"].as_str().unwrap();
    for part in ["find the cause", "half of it", "a.txt", "do the rest of the task"] {
        assert!(told.contains(part), "the agent that goes on knows of {part:?}: {told}");
    }
    assert_eq!(parked.starts(), 2);
    let transcript = fs::read_to_string(parked.run_dir().join("transcript.log")).unwrap();
    let shown = world.run(&["sessions", "show", id]).stdout;
    for text in [&transcript, &shown] {
        assert!(text.contains(words), "{text}");
    }
    let result = fs::read(parked.run_dir().join("result.json")).unwrap();
    let result: Value = serde_json::from_slice(&result).unwrap();
    assert_eq!(result["usage"]["totalTokens"], 360, "of both agents: {result}");
    world.wait_until_nothing_is_left();
}

#[test]
fn a_parked_run_is_stopped_at_once_and_ended_like_any_other_if_its_supervisor_dies() {
    let stopped = Parked::new();
    let ran = stopped.world.run(&["bg", "stop", &stopped.id]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let record = stopped.record();
    let expected = (&json!("aborted"), &json!("cancelled"), &Value::Null);
    assert_eq!((&record["status"], &record["outcome"], &record["waiting"]), expected);
    assert_eq!(stopped.starts(), 1);
    stopped.world.assert_nothing_left();

    let killed = Parked::new();
    kill_and_wait(killed.world.supervisor());
    let record = killed.record();
    assert_eq!((&record["outcome"], &record["waiting"]), (&json!("interrupted"), &Value::Null));
    killed.world.assert_nothing_left();
}

#[test]
fn a_provider_that_names_the_same_time_again_is_not_asked_for_ever() {
    let again = json!({"message": {"stop": "error", "error": used_up()}});
    let parked = Parked::before(&json!(["start", again, {"end": false}, "settle"]));
    parked.let_the_hour_pass();
    assert_eq!(parked.world.run(&["bg", "wait", &parked.id]).code, Some(1));
    assert_eq!((parked.record()["outcome"].as_str(), parked.starts()), (Some("quota"), 2));
    parked.world.wait_until_nothing_is_left();
}

/// Where the agent keeps its conversation, it is told no more than to go on.
#[test]
fn an_agent_that_has_kept_its_conversation_is_not_told_it_again() {
    let refused = json!({"error": 403, "error_message": used_up()});
    let turns = json!([bash("echo marked"), refused, {"text": "done"}]);
    let builtin = Builtin::new(Api::Completions, &turns);
    let world = &builtin.world;
    let clock = Clock::new(&world.path("")).unwrap();
    let preset = "---\nname: scout\ndescription: Looks around.\nmodel: fake/fake-1\n---\n";
    write_file(&world.agent_dir().join("subagents/scout.md"), preset);
    let start = ["bg", "start", "--preset", "scout", "--agent", "builtin", "find the cause"];
    let mut command = world.command(start);
    clock.offer(&mut command);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let id = ran.stdout.trim();
    let record = || world.run(&["bg", "status", id, "--json"]).json()["runs"][0].clone();
    wait_until(|| record()["waiting"]["for"] == "quota");
    pass_an_hour(&clock, world);
    assert_eq!(world.run(&["bg", "wait", id]).code, Some(0), "{}", record());
    assert_eq!(record()["finalText"], "done");
    let last = builtin.asked().pop().unwrap();
    let messages: Vec<String> = last["messages"].as_array().unwrap().iter().map(text_of).collect();
    let has = |words: &str| messages.iter().filter(|text| text.contains(words)).count();
    assert_eq!((has("find the cause"), has("marked"), has("Previously:")), (1, 1, 0), "{last}");
    assert!(messages.last().unwrap().contains("do the rest of the task"), "{last}");
    world.wait_until_nothing_is_left();
}
