//! A world with a provider in it, and the stream of the agent in a short form that a test can compare.

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use test_support::fake_llm::FakeLlm;
use test_support::{Ran, World, wait_until, write_file};

use super::world;

/// The key that is used unless a test sets another one.
pub(crate) const KEY: &str = "key-of-models-json";

/// The protocol of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Completions,
    Messages,
    Responses,
    Gemini,
}

impl Api {
    pub(crate) const ALL: [Api; 4] = [Api::Completions, Api::Messages, Api::Responses, Api::Gemini];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Api::Completions => "openai-completions",
            Api::Messages => "anthropic-messages",
            Api::Responses => "openai-responses",
            Api::Gemini => "google-generative-ai",
        }
    }

    /// Where the provider is asked.
    pub(crate) fn base_url(self, llm: &FakeLlm) -> String {
        match self {
            Api::Completions | Api::Responses => llm.base_url(),
            Api::Messages => llm.root_url(),
            Api::Gemini => format!("{}/v1beta", llm.root_url()),
        }
    }
}

/// A world with a provider called `fake`.
pub(crate) struct Builtin {
    pub(crate) world: World,
    pub(crate) llm: FakeLlm,
    pub(crate) api: Api,
    /// Whether the provider is the one without a network.
    is_script: bool,
}

impl Builtin {
    /// One with every provider, which all play the same turns.
    pub(crate) fn everywhere(turns: &Value) -> Vec<Builtin> {
        let servers = Api::ALL.into_iter().map(|api| Builtin::new(api, turns));
        servers.chain([Builtin::script(turns)]).collect()
    }

    /// The provider is a file of turns, and no server.
    pub(crate) fn script(turns: &Value) -> Builtin {
        let mut script = Builtin::new(Api::Completions, &json!([]));
        write_file(&script.world.path("turns.json"), &turns.to_string());
        script.is_script = true;
        script
    }

    /// The provider plays the turns in the order in which it is asked.
    pub(crate) fn new(api: Api, turns: &Value) -> Builtin {
        Builtin::with(api, FakeLlm::start_sequence(turns).unwrap())
    }

    /// The provider plays the scripts in the prompts.
    pub(crate) fn of_prompts(api: Api) -> Builtin {
        Builtin::with(api, FakeLlm::start().unwrap())
    }

    fn with(api: Api, llm: FakeLlm) -> Builtin {
        let builtin = Builtin { world: world(), llm, api, is_script: false };
        builtin.models(&json!({}), &json!({}));
        builtin.settings(&json!({}));
        builtin
    }

    /// Writes `models.json`, with more fields for the provider and for its model.
    pub(crate) fn models(&self, of_provider: &Value, of_model: &Value) {
        let base_url = self.api.base_url(&self.llm);
        let model = json!({"id": "fake-1", "reasoning": true, "contextWindow": 1_000_000});
        let provider = json!({
            "baseUrl": base_url, "api": self.api.name(), "apiKey": KEY,
            "models": [merged(model, of_model)],
        });
        let models = json!({"providers": {"fake": merged(provider, of_provider)}});
        self.agent_file("models.json", &models.to_string());
    }

    /// Writes `settings.json`, with these fields beside the model.
    pub(crate) fn settings(&self, more: &Value) {
        let settings = json!({
            "defaultProvider": "fake", "defaultModel": "fake-1", "retry": {"baseDelayMs": 1},
        });
        self.agent_file("settings.json", &merged(settings, more).to_string());
    }

    pub(crate) fn agent_file(&self, name: &str, text: &str) {
        write_file(&self.world.agent_dir().join(name), text);
    }

    pub(crate) fn project_file(&self, name: &str, text: &str) {
        write_file(&self.world.project().join(name), text);
    }

    pub(crate) fn project(&self, name: &str) -> PathBuf {
        self.world.project().join(name)
    }

    /// Makes a directory of the project in which a search waits until the test writes to the pipe that is
    /// returned: it is a worktree, and the pipe replaces the file that names its repository.
    pub(crate) fn hold_walk(&self, name: &str) -> PathBuf {
        let repository = self.world.path(&format!("repository-of-{name}"));
        fs::create_dir_all(&repository).unwrap();
        self.project_file(&format!("{name}/.git"), &format!("gitdir: {}\n", repository.display()));
        let pipe = repository.join("commondir");
        process::make_named_pipe(&pipe).unwrap();
        pipe
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project(name)).unwrap_or_default()
    }

    /// The agent as it is started for its stream.
    pub(crate) fn agent(&self, arguments: &[&str]) -> Command {
        let script = format!("script/{}", self.world.path("turns.json").display());
        let model = if self.is_script { vec!["--model", &script] } else { Vec::new() };
        agent(&self.world, &[&model, arguments].concat())
    }

    /// Runs the agent to its end.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Heard {
        heard(&self.world, self.agent(arguments))
    }

    /// Starts the agent, and reads its stream.
    pub(crate) fn start(&self, arguments: &[&str]) -> Live {
        Live::start(self.agent(arguments))
    }

    /// `run --json` with the built-in agent, to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let all = [&["run", "--json", "--agent", "builtin"], arguments].concat();
        let ran = self.world.run(&all);
        self.world.assert_nothing_left();
        ran
    }

    /// Runs a command that prints no stream.
    pub(crate) fn text(&self, arguments: &[&str]) -> Ran {
        let ran = self.world.run(arguments);
        self.world.assert_nothing_left();
        ran
    }

    pub(crate) fn is_script(&self) -> bool {
        self.is_script
    }

    /// What the provider was asked, in order.
    pub(crate) fn asked(&self) -> Vec<Value> {
        let requests = self.llm.requests().into_iter();
        requests.filter(|request| request.method == "POST").map(|request| request.body).collect()
    }

    /// The models that were asked, in order.
    pub(crate) fn models_asked(&self) -> Vec<String> {
        let requests = self.llm.requests().into_iter();
        let model = |request: test_support::fake_llm::Request| match request.body["model"].as_str()
        {
            Some(model) => model.to_owned(),
            // Gemini's is part of the path.
            None => {
                let (_, rest) = request.path.split_once("/models/").unwrap();
                rest.split(':').next().unwrap().to_owned()
            }
        };
        requests.filter(|request| request.method == "POST").map(model).collect()
    }

    #[track_caller]
    pub(crate) fn asked_once(&self) -> Value {
        let asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:#?}");
        asked[0].clone()
    }

    /// Waits until the provider was asked so often.
    pub(crate) fn wait_until_asked(&self, times: usize) {
        wait_until(|| self.llm.request_count() >= times);
    }

    /// The keys that the provider has seen.
    pub(crate) fn keys_seen(&self) -> Vec<String> {
        let requests = self.llm.requests();
        let key = |request: &test_support::fake_llm::Request| match self.api {
            Api::Completions | Api::Responses => {
                let header = request.header("authorization").unwrap_or_default();
                header.strip_prefix("Bearer ").unwrap_or(header).to_owned()
            }
            Api::Messages => request.header("x-api-key").unwrap_or_default().to_owned(),
            Api::Gemini => request.header("x-goog-api-key").unwrap_or_default().to_owned(),
        };
        requests.iter().map(key).collect()
    }
}

/// The agent as it is started for its stream.
pub(crate) fn agent(world: &World, arguments: &[&str]) -> Command {
    let all = [&["agent", "--mode", "json", "-p", "--no-session"], arguments].concat();
    // The flags for keeping a session and for not keeping one exclude each other.
    let has_session = arguments.contains(&"--session");
    world.command(all.into_iter().filter(|word| !(has_session && *word == "--no-session")))
}

/// Runs an agent to its end.
pub(crate) fn heard(world: &World, command: Command) -> Heard {
    let heard = Live::start(command).finish();
    world.assert_nothing_left();
    heard
}

fn merged(mut value: Value, more: &Value) -> Value {
    for (name, field) in more.as_object().into_iter().flatten() {
        value[name] = field.clone();
    }
    value
}

/// How every stream begins.
pub(crate) const OPENING: &[&str] = &[
    "session",
    "agent start",
    "turn start",
    "system starts",
    "system ends",
    "user starts",
    "user ends",
];
/// An answer that calls no tools.
pub(crate) const ANSWER: &[&str] =
    &["assistant starts", "assistant writes…", "assistant ends: stop", "turn ends"];
/// An answer that calls tools.
pub(crate) const CALLS: &[&str] =
    &["assistant starts", "assistant writes…", "assistant ends: toolUse"];
/// A tool's result, when it becomes part of the conversation.
pub(crate) const RESULT: &[&str] = &["toolResult starts", "toolResult ends"];
/// The same of one that failed.
pub(crate) const FAILURE: &[&str] = &["toolResult starts", "toolResult ends: failed"];
/// The end of a turn with one tool call, and the beginning of the next one.
pub(crate) const NEXT_TURN: &[&str] = &["turn ends, 1 results", "turn start"];
/// How every stream ends.
pub(crate) const CLOSING: &[&str] = &["agent ends", "agent settled"];

/// Everything that an agent has printed.
pub(crate) struct Heard {
    pub(crate) code: Option<i32>,
    pub(crate) records: Vec<Value>,
    pub(crate) stderr: String,
}

impl fmt::Debug for Heard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let results = self.results();
        let answers = self.messages("assistant");
        formatter
            .debug_struct("Heard")
            .field("code", &self.code)
            .field("stderr", &self.stderr)
            .field("story", &self.story())
            .field("results", &results)
            .field("last", &answers.last().map(Value::to_string))
            .finish()
    }
}

impl Heard {
    #[track_caller]
    fn new(code: Option<i32>, stdout: &str, stderr: String) -> Heard {
        assert!(stdout.is_empty() || stdout.ends_with('\n'), "the last record is torn");
        let records = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Heard { code, records, stderr }
    }

    /// Everything that happened, a short line each; what is the same as before it, once.
    pub(crate) fn story(&self) -> Vec<String> {
        let mut story: Vec<String> = self.records.iter().map(describe).collect();
        story.dedup_by(|next, before| next == before && next.ends_with('…'));
        story
    }

    /// Checks everything that happened, from the header of the stream to its end.
    #[track_caller]
    pub(crate) fn assert_story(&self, code: i32, expected: &[&[&str]]) {
        let expected = expected.concat();
        assert_eq!(self.story(), expected, "{}\n{:#?}", self.stderr, self.records.last());
        assert_eq!(self.code, Some(code), "{}", self.stderr);
    }

    /// The messages that ended, by role.
    pub(crate) fn messages(&self, role: &str) -> Vec<Value> {
        let ends = self.of("message_end").into_iter().map(|record| record["message"].clone());
        ends.filter(|message| message["role"] == role).collect()
    }

    /// The records of a kind.
    pub(crate) fn of(&self, kind: &str) -> Vec<Value> {
        self.records.iter().filter(|record| record["type"] == kind).cloned().collect()
    }

    /// The last message of the model.
    #[track_caller]
    pub(crate) fn answer(&self) -> Value {
        let answers = self.messages("assistant");
        assert!(!answers.is_empty(), "{self:#?}");
        answers[answers.len() - 1].clone()
    }

    /// The texts of the tool results, in order.
    pub(crate) fn results(&self) -> Vec<String> {
        self.messages("toolResult").iter().map(text_of).collect()
    }
}

/// The words of a message, of ours or of a provider's.
pub(crate) fn text_of(message: &Value) -> String {
    match (&message["content"], &message["output"]) {
        (Value::String(text), _) | (_, Value::String(text)) => text.clone(),
        _ => {
            let said = parts_of(message).iter().filter(|part| part["thought"] != true);
            said.filter_map(|part| part["text"].as_str()).collect()
        }
    }
}

fn parts_of(message: &Value) -> &[Value] {
    let parts = message["content"].as_array().or_else(|| message["parts"].as_array());
    parts.map_or(&[], Vec::as_slice)
}

fn describe(record: &Value) -> String {
    let word = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
    let kind = word("type");
    let message = &record["message"];
    match kind.as_str() {
        "message_start" => format!("{} starts", message["role"].as_str().unwrap()),
        "message_end" => match (&message["role"], message["stopReason"].as_str()) {
            (Value::String(role), Some(reason)) => format!("{role} ends: {reason}"),
            (Value::String(role), None) if message["isError"] == true => {
                format!("{role} ends: failed")
            }
            (role, _) => format!("{} ends", role.as_str().unwrap()),
        },
        "message_update" => "assistant writes…".to_owned(),
        "tool_execution_start" => format!("{} runs", word("toolName")),
        "tool_execution_update" => format!("{} runs…", word("toolName")),
        "tool_execution_end" => {
            let end = if record["isError"] == true { "failed" } else { "finished" };
            format!("{} {end}", word("toolName"))
        }
        "turn_end" => {
            let results = record["toolResults"].as_array().unwrap().len();
            if results == 0 {
                "turn ends".to_owned()
            } else {
                format!("turn ends, {results} results")
            }
        }
        "agent_end" if record["willRetry"] == true => "agent ends, will retry".to_owned(),
        "agent_end" => "agent ends".to_owned(),
        "auto_retry_start" => format!("retry {}/{}", record["attempt"], record["maxAttempts"]),
        "auto_retry_end" if record["success"] == true => "retry succeeded".to_owned(),
        "auto_retry_end" => "retry failed".to_owned(),
        "compaction_start" => format!("compaction starts: {}", word("reason")),
        "compaction_end" => {
            let end = match (&record["aborted"], record["result"].is_object()) {
                (Value::Bool(true), _) => "aborted",
                (_, true) => "succeeded",
                (_, false) => "failed",
            };
            format!("compaction {end}")
        }
        _ => kind.replace('_', " "),
    }
}

/// A running agent whose stream is read.
pub(crate) struct Live {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    reader: JoinHandle<()>,
}

impl Live {
    pub(crate) fn start(mut command: Command) -> Live {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (stdout, heard) = (child.stdout.take().unwrap(), Arc::clone(&lines));
        let reader = thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = String::new();
            while stdout.read_line(&mut line).unwrap() > 0 {
                heard.lock().unwrap().push(std::mem::take(&mut line));
            }
        });
        Live { child, lines, reader }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether a line of the stream contains the text.
    pub(crate) fn has_said(&self, text: &str) -> bool {
        self.lines.lock().unwrap().iter().any(|line| line.contains(text))
    }

    /// Waits until a line of the stream contains the text.
    pub(crate) fn wait_for(&self, text: &str) {
        wait_until(|| self.has_said(text));
    }

    pub(crate) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The most memory that it has had, in KiB.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Waits for its end, by itself: nothing but the signal that a test sent has killed it.
    pub(crate) fn finish(mut self) -> Heard {
        let status = wait_for_end(&mut self.child);
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        self.reader.join().unwrap();
        let stdout = self.lines.lock().unwrap().concat();
        Heard::new(status.code(), &stdout, format!("{stderr}{}", killed(status)))
    }

    /// Kills it, and returns what it had printed.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.join().unwrap();
        let lines = self.lines.lock().unwrap();
        lines.clone()
    }
}

/// Waits for the end of a process, and fails if that takes absurdly long.
pub(crate) fn wait_for_end(child: &mut Child) -> ExitStatus {
    wait_until(|| child.try_wait().unwrap().is_some());
    child.wait().unwrap()
}

fn killed(status: ExitStatus) -> String {
    status.signal().map(|signal| format!("killed by signal {signal}")).unwrap_or_default()
}

/// The request as the provider got it, in terms that all protocols share.
pub(crate) struct Asked<'a>(pub(crate) &'a Value);

impl<'a> Asked<'a> {
    pub(crate) fn system(&self) -> String {
        let texts = |parts: &Value| -> String {
            parts.as_array().unwrap().iter().filter_map(|it| it["text"].as_str()).collect()
        };
        match (&self.0["system"], &self.0["systemInstruction"]["parts"]) {
            (Value::Null, Value::Null) => {
                let is_system = |role: &Value| role == "system" || role == "developer";
                let system = self.messages().iter().find(|it| is_system(&it["role"]));
                system.map(text_of).unwrap_or_default()
            }
            (Value::String(text), _) => text.clone(),
            (Value::Null, parts) | (parts, _) => texts(parts),
        }
    }

    /// The messages, or what a protocol has in their place.
    pub(crate) fn messages(&self) -> &'a [Value] {
        let lists = ["messages", "input", "contents"].map(|name| self.0[name].as_array());
        lists.into_iter().flatten().next().unwrap()
    }

    /// Roles and words, without the system prompt. Results of tools have the role `tool`.
    pub(crate) fn conversation(&self) -> Vec<(String, String)> {
        let mut conversation: Vec<(String, String)> = Vec::new();
        for message in self.messages() {
            let role = match (message["type"].as_str(), message["role"].as_str()) {
                (_, Some("system" | "developer")) => continue,
                (Some("function_call_output"), _) => "tool",
                // What the model thought and called are items of their own.
                (Some(_), None) | (_, Some("model")) => "assistant",
                (_, role) => role.unwrap(),
            };
            let results: Vec<String> = parts_of(message).iter().filter_map(result_in).collect();
            let is_all_results = !results.is_empty() && results.len() == parts_of(message).len();
            conversation.extend(results.into_iter().map(|result| ("tool".to_owned(), result)));
            match conversation.last_mut() {
                _ if is_all_results => {}
                Some((before, words)) if role == "assistant" && before == role => {
                    words.push_str(&text_of(message));
                }
                _ => conversation.push((role.to_owned(), text_of(message))),
            }
        }
        conversation
    }

    pub(crate) fn roles(&self) -> Vec<String> {
        self.conversation().into_iter().map(|(role, _)| role).collect()
    }

    /// The names of the tools that the model was offered.
    pub(crate) fn tools(&self) -> Vec<String> {
        let tools = self.0["tools"].as_array().into_iter().flatten();
        let tools = tools.flat_map(|tool| match tool["functionDeclarations"].as_array() {
            Some(declarations) => declarations.iter().collect(),
            None => vec![tool],
        });
        let name = |tool: &Value| {
            let name = tool["function"]["name"].as_str().or_else(|| tool["name"].as_str());
            name.unwrap().to_owned()
        };
        tools.map(name).collect()
    }
}

/// The words of a tool in a part of a message, if it is a result.
fn result_in(part: &Value) -> Option<String> {
    if part["type"] == "tool_result" {
        return Some(text_of(part));
    }
    let response = part["functionResponse"].get("response")?;
    let words = response["output"].as_str().or_else(|| response["error"].as_str());
    Some(words.unwrap_or_default().to_owned())
}
