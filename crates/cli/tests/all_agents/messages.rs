//! Messages to the agents while they work. When each reads them stands in a table of `docs/use/conversation.md`.

use super::{Agent, Duration, Instant, Running, Scene, Value, cell_of, fs, json, wait_until};

const MESSAGE: &str = "Not there, look in src.";

/// A run of the agent, and its messages.
struct Talk {
    scene: Scene,
    run: Running,
}

impl Talk {
    fn start(agent: &'static Agent, script: &Value) -> Talk {
        let scene = Scene::new(agent, script);
        let run = Running::start(scene.command(&["--name", "talk"]));
        Talk { scene, run }
    }

    /// One whose first turn runs this command, which has begun.
    fn in_a_command(agent: &'static Agent, command: &str, turns: &[Value]) -> Talk {
        let command = format!("touch working; {command}");
        let script = [&[Scene::bash(agent, &command)], turns].concat();
        let talk = Talk::start(agent, &Value::from(script));
        wait_until(|| talk.scene.world.project().join("working").exists());
        talk
    }

    fn start_telling(&self, arguments: &[&str]) -> Running {
        let words = [&["tell", "talk", "--wait"], arguments, &[MESSAGE]].concat();
        Running::start(self.scene.world.command(words))
    }

    /// What became of the messages.
    fn lives(&self) -> Vec<String> {
        let events = fs::read_to_string(self.scene.world.only_run().join("events.jsonl"));
        let events = events.unwrap_or_default();
        let records = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let life = |record: Value| {
            let word = record["type"].as_str()?.strip_prefix("message_")?.to_owned();
            Some(format!("{} {word}", record["number"]))
        };
        records.filter_map(life).collect()
    }

    /// The first request of the task that has the message, and its index.
    fn request(&self) -> Option<(usize, String)> {
        let requests = self.scene.asked().into_iter().map(|request| request.to_string());
        requests.enumerate().find(|(_, request)| request.contains(MESSAGE))
    }

    /// The message was delivered, once the provider had seen it, and the run completes. Returns the index of the
    /// request, the request, and the answer.
    #[track_caller]
    fn complete(self, telling: Running) -> (usize, String, String) {
        let told = telling.finish();
        let (index, request) = self.request().unwrap_or_else(|| {
            panic!("the provider has not seen it: {told:?}\n{:#?}", self.scene.asked())
        });
        assert_eq!(told.stdout, "Message 1 delivered.\n", "{told:?}");
        assert_eq!(self.lives(), ["1 accepted", "1 delivered"]);
        let ran = self.run.finish();
        assert_eq!(ran.task()["outcome"], "completed", "{ran:#?}");
        let output = ran.task()["output"].as_str().unwrap_or_default().to_owned();
        self.scene.world.wait_until_nothing_is_left();
        (index, request, output)
    }
}

/// Fails unless the request that brings the message, counted from the one before it was sent, is as the table says.
#[track_caller]
fn assert_request(agent: &Agent, row: &str, index: usize) {
    let expected =
        cell_of("conversation.md", "## When agents that speak ACP read it", row, agent.title);
    let is_expected = match expected.as_str() {
        "in the very next request" => index == 1,
        // The request that the agent makes when the command has ended can be on its way.
        "when the command has ended" => (1..=2).contains(&index),
        "when the turn has ended" => index == 2,
        other => panic!("{row}: {other:?}"),
    };
    assert!(is_expected, "{row}: {expected}, and it was in request {index}");
}

/// It goes on for a while when it is let go: an agent does not show that it has read a message, and needs a moment for it.
const WAIT: &str = "until [ -e go ]; do sleep 0.05; done; sleep 3; echo rea''dy";

pub(super) fn reads_a_message_sent_while_a_command_runs(agent: &'static Agent) {
    let turns = [json!({"text": "first"}), json!({"text": "second"})];
    let talk = Talk::in_a_command(agent, WAIT, &turns);
    let telling = talk.start_telling(&[]);
    wait_until(|| talk.lives() == ["1 accepted"]);
    assert_eq!(talk.request(), None);
    fs::write(talk.scene.world.project().join("go"), "").unwrap();
    let (index, request, _) = talk.complete(telling);
    assert_request(agent, "a message while a command runs", index);
    assert!(request.contains("ready"), "the command was not disturbed: {request}");
}

pub(super) fn reads_a_message_for_the_end(agent: &'static Agent) {
    let turns = [json!({"text": "first"}), json!({"text": "second"})];
    let talk = Talk::in_a_command(agent, WAIT, &turns);
    let telling = talk.start_telling(&["--after"]);
    wait_until(|| talk.lives() == ["1 accepted"]);
    fs::write(talk.scene.world.project().join("go"), "").unwrap();
    let (index, _, output) = talk.complete(telling);
    assert_request(agent, "`--after`", index);
    assert_eq!(output, "second");
}

pub(super) fn is_interrupted_in_a_command(agent: &'static Agent) {
    let talk = Talk::in_a_command(agent, "sleep 1000", &[json!({"text": "Then not."})]);
    let started = Instant::now();
    let telling = talk.start_telling(&["--interrupt"]);
    let (index, request, output) = talk.complete(telling);
    assert_request(agent, "`--interrupt` while a command runs", index);
    assert!(started.elapsed() < Duration::from_secs(100), "the command was not stopped");
    assert!(request.contains("do it"), "the task is forgotten: {request}");
    assert_eq!(output, "Then not.");
}

pub(super) fn is_interrupted_in_an_answer(agent: &'static Agent) {
    // Gemini CLI gives up an answer that repeats itself.
    let words: Vec<String> = (1000..1100).map(|number| number.to_string()).collect();
    let slow = json!({"text": words.join(" "), "chunk": 5, "delay_ms": 100});
    let talk = Talk::start(agent, &json!([slow, {"text": "Then not."}]));
    wait_until(|| !talk.scene.asked().is_empty());
    let telling = talk.start_telling(&["--interrupt"]);
    let (index, request, _) = talk.complete(telling);
    assert_request(agent, "`--interrupt` while the model answers", index);
    assert!(request.contains("do it"), "the task is forgotten: {request}");
}
