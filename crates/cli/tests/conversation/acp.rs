//! Speaking to agents of the Agent Client Protocol, played by a program that takes prompts as they do.

use super::*;
use crate::world;

const AGENT: &str = "oracle";

/// A run of an agent that plays these steps after it has read its prompt.
struct Scene {
    world: World,
    run: Running,
}

impl Scene {
    /// The agent calls itself so, which decides how it is spoken to.
    fn start(title: &str, steps: impl Fn(&World) -> Vec<Value>) -> Scene {
        let world = world();
        let opening = acp("open", &json!({"agentInfo": {"name": title}}));
        let started = json!({"touch": world.path("working")});
        let script = Value::from([vec![opening, started], steps(&world)].concat());
        let command = json!([env!("CARGO_BIN_EXE_fake-agent"), script.to_string()]);
        world.settings(&json!({"agents": {AGENT: {"command": command, "protocol": "acp"}}}));
        let arguments =
            ["run", "--json", "--access", "full", "--agent", AGENT, "--name", "talk", "do it"];
        let run = Running::start(world.command(arguments));
        wait_until(|| world.path("working").exists());
        Scene { world, run }
    }

    fn tell(&self, arguments: &[&str]) -> Ran {
        self.world.run(&[&["tell", "talk"], arguments].concat())
    }

    fn start_telling(&self, arguments: &[&str]) -> Running {
        Running::start(self.world.command([&["tell", "talk"], arguments].concat()))
    }

    fn lives(&self) -> Vec<String> {
        lives(&self.world.only_run())
    }

    /// Waits for the end of the run, and fails unless it completed with this answer.
    #[track_caller]
    fn complete(self, output: &str) -> (World, Value) {
        let ran = self.run.finish();
        let task = ran.task();
        assert_eq!((&task["outcome"], &task["output"]), (&json!("completed"), &json!(output)));
        self.world.assert_nothing_left();
        (self.world, task)
    }
}

fn acp(step: &str, value: &Value) -> Value {
    json!({"acp": {step: value}})
}

fn say(text: &str) -> Value {
    acp("say", &json!(text))
}

/// The end of a turn, for which the agent says that so many tokens were used.
fn answer(stop: &str, tokens: u64) -> Value {
    let usage = json!({"inputTokens": tokens, "outputTokens": 0, "totalTokens": tokens});
    acp("answer", &json!({"stopReason": stop, "usage": usage}))
}

fn call(id: &str, status: &str) -> Value {
    let fields = json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "ls",
        "kind": "execute", "status": status, "rawInput": {"command": "ls"}});
    acp("update", &fields)
}

fn await_prompt() -> Value {
    json!({"acp": "await_prompt"})
}

fn await_cancel() -> Value {
    json!({"acp": "await_cancel"})
}

fn await_end() -> Value {
    json!({"acp": "await_end"})
}

/// Waits for [`World::let_go`].
fn await_go(world: &World) -> Value {
    json!({"await": world.path("go")})
}

const TOLD: [&str; 2] = ["1 accepted: Look in src.", "1 delivered"];

#[test]
fn an_unknown_agent_reads_a_message_when_its_turn_has_ended() {
    let scene = Scene::start("a stranger", |world| {
        vec![
            call("c", "in_progress"),
            await_go(world),
            call("c", "completed"),
            say("first"),
            answer("end_turn", 10),
            await_prompt(),
            json!({"touch": world.path("prompted")}),
            json!({"await": world.path("answer")}),
            say("You said: {prompt}"),
            answer("end_turn", 20),
            await_end(),
        ]
    });
    let telling = scene.start_telling(&["--wait", "Look in src."]);
    wait_until(|| scene.lives() == TOLD[..1]);
    scene.world.let_go();
    wait_until(|| scene.world.path("prompted").exists());
    assert_eq!(scene.lives(), TOLD[..1], "the agent has it, and has not shown that it read it");
    test_support::write_file(&scene.world.path("answer"), "");
    assert_eq!(telling.finish().stdout, "Message 1 delivered.\n");
    let (world, task) = scene.complete("You said: Look in src.");
    assert_eq!(lives(&world.only_run()), TOLD);
    assert_eq!(task["usage"]["totalTokens"], 30, "what both turns used");
    let late = world.run(&["tell", "talk", "Are you there?"]);
    assert!(late.code == Some(1) && late.stderr.contains("the run has ended"), "{late:?}");
}

#[test]
fn opencode_is_told_at_once_and_the_first_end_of_a_turn_is_not_the_last() {
    let scene = Scene::start("OpenCode", |world| {
        vec![
            call("c", "in_progress"),
            await_prompt(),
            json!({"touch": world.path("prompted")}),
            await_go(world),
            call("c", "completed"),
            say("looked in src"),
            answer("end_turn", 10),
            json!({"await": world.path("answer")}),
            answer("end_turn", 10),
            await_end(),
        ]
    });
    let telling = scene.start_telling(&["--wait", "Look in src."]);
    wait_until(|| scene.world.path("prompted").exists());
    scene.world.let_go();
    // The words that follow could answer a request that was on its way.
    wait_until(|| {
        let log = fs::read_to_string(scene.world.only_run().join("stdout.log"));
        log.unwrap_or_default().contains("end_turn")
    });
    assert_eq!(scene.lives(), TOLD[..1]);
    test_support::write_file(&scene.world.path("answer"), "");
    assert_eq!(telling.finish().stdout, "Message 1 delivered.\n");
    let (world, task) = scene.complete("looked in src");
    assert_eq!(lives(&world.only_run()), TOLD);
    assert_eq!(task["usage"]["totalTokens"], 0, "it tells less than all");
}

#[test]
fn copilot_is_told_between_two_calls_and_its_sums_are_counted_once() {
    let scene = Scene::start("Copilot", |world| {
        vec![
            call("c", "in_progress"),
            await_go(world),
            call("c", "completed"),
            await_cancel(),
            answer("cancelled", 10),
            await_prompt(),
            say("{prompt}"),
            answer("end_turn", 25),
            await_end(),
        ]
    });
    assert_eq!(scene.tell(&["Look in src."]).stdout, "Message 1 accepted.\n");
    assert_eq!(scene.tell(&["And in lib."]).stdout, "Message 2 accepted.\n");
    scene.world.let_go();
    let (world, task) = scene.complete("Look in src.\n\nAnd in lib.");
    assert_eq!(task["usage"]["totalTokens"], 25);
    let expected =
        ["1 accepted: Look in src.", "2 accepted: And in lib.", "1 delivered", "2 delivered"];
    assert_eq!(lives(&world.only_run()), expected);
}

#[test]
fn an_interruption_cancels_the_turn_and_the_run_goes_on() {
    // Gemini CLI forgets a turn that was cancelled.
    for (title, prompt) in [("a stranger", "Look in src."), ("gemini-cli", "do it\n\nLook in src.")]
    {
        let scene = Scene::start(title, |_| {
            vec![
                call("c", "in_progress"),
                await_cancel(),
                say("Half of"),
                answer("cancelled", 10),
                await_prompt(),
                say("You said: {prompt}"),
                answer("end_turn", 20),
                await_end(),
            ]
        });
        let told = scene.tell(&["--interrupt", "--wait", "Look in src."]);
        assert_eq!(told.stdout, "Message 1 delivered.\n", "{told:?}");
        let (world, task) = scene.complete(&format!("You said: {prompt}"));
        assert_eq!(task["usage"]["totalTokens"], 30);
        assert_eq!(lives(&world.only_run()), TOLD);
    }
}

#[test]
fn an_agent_that_has_said_nothing_yet_can_be_interrupted_again_and_again() {
    let round = [await_cancel(), answer("cancelled", 1), await_prompt()];
    let scene = Scene::start("a stranger", |_| {
        let end = [say("{prompt}"), answer("end_turn", 1), await_end()];
        [&round[..], &round[..], &end[..]].concat()
    });
    assert_eq!(scene.tell(&["--interrupt", "one"]).code, Some(0));
    wait_until(|| scene.lives().len() == 1);
    assert_eq!(scene.tell(&["--interrupt", "--wait", "two"]).code, Some(0));
    let (world, _) = scene.complete("two");
    assert_eq!(
        lives(&world.only_run()),
        ["1 accepted: one", "2 accepted: two", "1 delivered", "2 delivered"]
    );
}

#[test]
fn a_message_for_the_end_is_a_further_turn_and_comes_behind_the_others() {
    let scene = Scene::start("a stranger", |world| {
        vec![
            await_go(world),
            say("first"),
            answer("end_turn", 1),
            await_prompt(),
            say("{prompt}"),
            answer("end_turn", 1),
            await_prompt(),
            say("{prompt}"),
            answer("end_turn", 1),
            await_end(),
        ]
    });
    assert_eq!(scene.tell(&["--after", "later"]).code, Some(0));
    assert_eq!(scene.tell(&["sooner"]).code, Some(0));
    scene.world.let_go();
    let (world, _) = scene.complete("later");
    let ends = lives(&world.only_run()).split_off(2);
    assert_eq!(ends, ["2 delivered", "1 delivered"]);
}

#[test]
fn a_prompt_that_the_agent_fails_refuses_the_message_with_its_reason() {
    let scene = Scene::start("a stranger", |world| {
        let error = json!({"code": 402, "message": "no credit left"});
        vec![
            await_go(world),
            say("first"),
            answer("end_turn", 1),
            await_prompt(),
            acp("fail", &error),
            await_end(),
        ]
    });
    let telling = scene.start_telling(&["--wait", "Go on."]);
    wait_until(|| scene.lives().len() == 1);
    scene.world.let_go();
    let told = telling.finish();
    assert!(told.code == Some(1) && told.stderr.contains("no credit left"), "{told:?}");
    let ran = scene.run.finish();
    let task = ran.task();
    assert_eq!(
        (&task["outcome"], &task["error"]),
        (&json!("provider_error"), &json!("no credit left"))
    );
    assert_eq!(lives(&ran.run_dir()), ["1 accepted: Go on.", "1 refused: no credit left"]);
    scene.world.assert_nothing_left();
}

#[test]
fn a_further_turn_without_an_answer_is_no_success() {
    let scene = Scene::start("a stranger", |world| {
        vec![
            await_go(world),
            say("first"),
            answer("end_turn", 1),
            await_prompt(),
            answer("end_turn", 1),
            await_end(),
        ]
    });
    assert_eq!(scene.tell(&["Go on."]).code, Some(0));
    scene.world.let_go();
    let ran = scene.run.finish();
    assert_eq!(ran.task()["outcome"], "no_assistant_message", "{ran:#?}");
    scene.world.assert_nothing_left();
}

#[test]
fn what_waits_when_the_supervisor_or_the_agent_dies_is_refused() {
    let unread = "1 refused: the agent ended before it read the message";
    let unknown =
        "1 refused: the supervisor died before it was known whether the agent read the message";
    for (dies, reason) in [("agent", unread), ("supervisor", unknown)] {
        let scene = Scene::start("a stranger", |world| vec![await_go(world), json!({"exit": 3})]);
        let telling = scene.start_telling(&["--wait", "Look in src."]);
        wait_until(|| scene.lives() == TOLD[..1]);
        if dies == "agent" {
            scene.world.let_go();
        } else {
            kill_and_wait(scene.world.supervisor());
        }
        assert_eq!(telling.finish().code, Some(1), "{dies}");
        let ran = scene.run.finish();
        assert_ne!(ran.code, Some(0));
        assert_eq!(lives(&ran.run_dir()), [TOLD[0], reason]);
        scene.world.wait_until_nothing_is_left();
    }
}
