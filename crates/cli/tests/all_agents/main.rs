//! Gemini CLI, opencode and GitHub Copilot as agents, pinned in `e2e/agents/package.json`, with a model that plays a
//! script. Each does every row of the table "How their runs end" in `docs/use/agents.md`, and ends as its column says, and
//! is told something in every way of the table in `docs/use/conversation.md`.
//! `cargo xtask test all-agents` installs the agents and says where they are.

// The packages with the programs are pinned for this platform only.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::panic, clippy::unwrap_used, reason = "this is how a test fails")]

mod claude;
mod fields;
mod messages;
mod questions;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use test_support::fake_llm::FakeLlm;
use test_support::{Program, Ran, Running, World, e2e, wait_until};

/// One of the agents.
struct Agent {
    name: &'static str,
    /// The heading of its column.
    title: &'static str,
    /// The program, from where packages are installed.
    command: &'static [&'static str],
    /// Its tools that run a command and write a file.
    bash: &'static str,
    write: fn(&str) -> Value,
    model: &'static str,
}

const GEMINI: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    command: &["node_modules/.bin/node", "agents/node_modules/@google/gemini-cli/bundle/gemini.js"],
    bash: "run_shell_command",
    write: |path| json!({"name": "write_file", "args": {"file_path": path, "content": "x"}}),
    model: "gemini-2.5-flash",
};

const OPENCODE: Agent = Agent {
    name: "opencode",
    title: "opencode",
    command: &["agents/node_modules/opencode-linux-x64/bin/opencode"],
    bash: "bash",
    write: |path| json!({"name": "write", "args": {"filePath": path, "content": "x"}}),
    model: "fake/fake-1",
};

const COPILOT: Agent = Agent {
    name: "copilot",
    title: "GitHub Copilot",
    command: &["agents/node_modules/@github/copilot-linux-x64/copilot"],
    bash: "bash",
    write: |path| json!({"name": "create", "args": {"path": path, "file_text": "x"}}),
    model: "fake-1",
};

/// A world in which the agent is installed and its model plays a script.
struct Scene {
    agent: &'static Agent,
    world: World,
    llm: FakeLlm,
}

impl Scene {
    fn new(agent: &'static Agent, script: &Value) -> Scene {
        let world = World::new(Program {
            pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
            fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
        });
        let command: Vec<PathBuf> = agent.command.iter().map(|part| e2e().join(part)).collect();
        let entry = json!({"command": command, "protocol": "acp"});
        world.settings(&json!({"agents": {agent.name: entry}}));
        // opencode makes it when it is first started, which a restricted agent cannot.
        fs::create_dir_all(world.home().join(".config/opencode")).unwrap();
        Scene { agent, world, llm: FakeLlm::start_with(script).unwrap() }
    }

    /// A task of the agent, with these arguments besides.
    fn command(&self, arguments: &[&str]) -> Command {
        let agent = ["run", "--json", "--agent", self.agent.name, "--model", self.agent.model];
        let mut command = self.world.command([&agent, arguments, &["do it"]].concat());
        let url = self.llm.base_url();
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url, "apiKey": "a key"},
            "models": {"fake-1": {}, "fake-2": {}},
        });
        let settings = json!({"provider": {"fake": provider}, "model": "fake/fake-2",
            "small_model": "fake/fake-2"});
        command
            .env("GOOGLE_GEMINI_BASE_URL", url.trim_end_matches("/v1"))
            .env("GEMINI_API_KEY", "a key")
            .env("OPENCODE_CONFIG_CONTENT", settings.to_string())
            .env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1")
            .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
            .env("COPILOT_OFFLINE", "true")
            .env("COPILOT_PROVIDER_BASE_URL", &url)
            .env("ANTHROPIC_BASE_URL", url.trim_end_matches("/v1"))
            .env("ANTHROPIC_API_KEY", "a key");
        command
    }

    /// Runs a task to its end.
    fn run(&self, arguments: &[&str]) -> Ran {
        let ran: Ran = self.command(arguments).output().unwrap().into();
        self.world.assert_nothing_left();
        ran
    }

    /// What the model was asked for the task itself: agents also ask for titles.
    fn asked(&self) -> Vec<Value> {
        let bodies = self.llm.requests().into_iter().map(|request| request.body);
        bodies.filter(|body| body["tools"].as_array().is_some_and(|it| !it.is_empty())).collect()
    }

    /// A turn of the model that runs a command.
    fn bash(agent: &Agent, command: &str) -> Value {
        let args = json!({"command": command, "description": "x"});
        json!({"tools": [{"name": agent.bash, "args": args}]})
    }
}

/// Fails unless the task has ended as the table says.
#[track_caller]
fn assert_ended(agent: &Agent, row: &str, ran: &Ran) {
    let expected = cell(row, agent.title);
    let task = ran.task();
    let (outcome, reason) = expected.split_once(": ").unwrap_or((&expected, ""));
    assert_eq!(task["outcome"], outcome.trim_matches('`'), "{row}: {ran:#?}");
    let error = task["error"].as_str().unwrap_or_default();
    assert!(error.contains(reason), "{row}: {error}");
}

/// A cell of the table "How their runs end".
fn cell(row: &str, title: &str) -> String {
    cell_of("agents.md", "## How their runs end", row, title)
}

/// A cell of the first table behind a heading of a document.
fn cell_of(document: &str, heading: &str, row: &str, title: &str) -> String {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/use");
    let text = fs::read_to_string(format!("{docs}/{document}")).unwrap();
    let (_, text) = text.split_once(heading).unwrap();
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut rows = text.lines().filter(|line| line.starts_with('|')).map(cells);
    let titles = rows.next().unwrap();
    let column = titles.iter().position(|cell| cell.starts_with(title)).unwrap();
    let found = rows.find(|cells| cells[0] == row);
    found.unwrap_or_else(|| panic!("there is no row {row:?}"))[column].clone()
}

/// How long an agent may try again: one that gives up after a minute may need longer on a busy machine.
fn patience(agent: &Agent, row: &str) -> &'static str {
    if cell(row, agent.title) == "`timeout`" { "100" } else { "300" }
}

mod rows {
    pub(super) use super::messages::*;
    use super::*;

    pub(super) fn answers_after_a_command(agent: &'static Agent) {
        let script = json!([Scene::bash(agent, "echo hi > f.txt; echo done"), {"text": "Hello"}]);
        let scene = Scene::new(agent, &script);
        let ran = scene.run(&[]);
        assert_ended(agent, "an answer after a command", &ran);
        let task = ran.task();
        assert_eq!((&task["output"], &task["access"]), (&json!("Hello"), &json!("workspace")));
        assert_eq!(task["usage"]["cost"], Value::Null);
        assert_eq!(fs::read_to_string(scene.world.project().join("f.txt")).unwrap(), "hi\n");
        let events = fs::read_to_string(ran.run_dir().join("events.jsonl")).unwrap();
        assert!(
            events.contains(r#""tool":"bash","args":{"command":"echo hi > f.txt; echo done""#),
            "{events}"
        );
        let asked = scene.asked();
        assert!(asked.len() >= 2, "{asked:#?}");
    }

    pub(super) fn is_refused(agent: &'static Agent) {
        let scene = Scene::new(agent, &json!([{"error": 400, "error_message": "bad thing"}]));
        assert_ended(agent, "status 400, `bad thing`", &scene.run(&[]));
    }

    pub(super) fn is_slowed_down_for_ever(agent: &'static Agent) {
        let scene = Scene::new(agent, &json!([{"error": 429, "error_message": "slow down"}]));
        let row = "status 429 again and again, `slow down`";
        let ran = scene.run(&["--timeout", patience(agent, row)]);
        assert_ended(agent, row, &ran);
    }

    pub(super) fn has_no_credit(agent: &'static Agent) {
        let scene = Scene::new(agent, &json!([{"error": 402, "error_message": "no credit left"}]));
        assert_ended(agent, "status 402, `no credit left`", &scene.run(&[]));
    }

    pub(super) fn is_cut_off(agent: &'static Agent) {
        let scene = Scene::new(agent, &json!([{"text": "Half of", "finish": "length"}]));
        let ran = scene.run(&[]);
        assert_ended(agent, "the answer is cut off at the limit of length", &ran);
        assert!(ran.task()["output"].as_str().unwrap().starts_with("Half of"), "{ran:#?}");
    }

    pub(super) fn loses_the_stream(agent: &'static Agent) {
        let text = "a long answer that goes on and on";
        let scene = Scene::new(agent, &json!([{"text": text, "chunk": 5, "cut": true}]));
        let row = "the provider's stream breaks off, again and again";
        let ran = scene.run(&["--timeout", patience(agent, row)]);
        assert_ended(agent, row, &ran);
    }

    pub(super) fn says_nothing(agent: &'static Agent) {
        let scene = Scene::new(agent, &json!([{"hang": true}]));
        let ran = scene.run(&["--timeout", "20"]);
        assert_ended(agent, "the provider never answers", &ran);
    }

    pub(super) fn loops(agent: &'static Agent) {
        let turns: Vec<Value> = (0..20).map(|_| Scene::bash(agent, "echo again")).collect();
        let scene = Scene::new(agent, &Value::from(turns));
        assert_ended(agent, "the same command again and again", &scene.run(&[]));
    }

    pub(super) fn is_killed(agent: &'static Agent) {
        let (scene, task) = Scene::in_a_command(agent, &[]);
        scene.kill_agent();
        let ran = task.finish();
        assert_ended(agent, "the agent is killed in the middle of a command", &ran);
        scene.world.wait_until_nothing_is_left();
    }

    pub(super) fn may_change_nothing(agent: &'static Agent) {
        let path = |scene: &Scene| scene.world.project().join("g.txt");
        let probe = Scene::new(agent, &json!([]));
        let target = path(&probe);
        let write = (agent.write)(&target.to_string_lossy());
        let command = format!("echo x > {}", target.display());
        let script =
            json!([{"tools": [write]}, Scene::bash(agent, &command), {"text": "I could not."}]);
        let scene = Scene { llm: FakeLlm::start_with(&script).unwrap(), ..probe };
        let ran = scene.run(&["--access", "read"]);
        assert_ended(agent, "a file is written with the access `read`", &ran);
        assert!(!target.exists(), "{ran:#?}");
    }

    pub(super) fn stays_in_its_workspace(agent: &'static Agent) {
        let probe = Scene::new(agent, &json!([]));
        let target = probe.world.home().join("outside.txt");
        let script = json!([Scene::bash(agent, &format!("echo x > {}", target.display())), {"text": "I could not."}]);
        let scene = Scene { llm: FakeLlm::start_with(&script).unwrap(), ..probe };
        let ran = scene.run(&[]);
        assert_ended(agent, "a command writes outside of its workspace", &ran);
        assert!(!target.exists(), "{ran:#?}");
    }

    pub(super) fn ends_with_its_caller(agent: &'static Agent) {
        let (scene, task) = Scene::in_a_command(agent, &[]);
        task.signal(Signal::KILL);
        let killed = Instant::now();
        scene.world.wait_until_nothing_is_left();
        let duration = killed.elapsed();
        assert!(duration < Duration::from_secs(10), "it took {duration:?}");
        assert_eq!(
            cell("the caller is killed in the middle of a command", agent.title),
            "nothing is left"
        );
        task.finish();
    }
}

impl Scene {
    /// A task that is in the middle of a command.
    fn in_a_command(agent: &'static Agent, arguments: &[&str]) -> (Scene, Running) {
        let probe = Scene::new(agent, &json!([]));
        let started = probe.world.project().join("started");
        let command = format!("touch {}; sleep 1000", started.display());
        let script = json!([Scene::bash(agent, &command), {"text": "Done."}]);
        let scene = Scene { llm: FakeLlm::start_with(&script).unwrap(), ..probe };
        let task = Running::start(scene.command(arguments));
        wait_until(|| started.exists());
        (scene, task)
    }

    /// Kills the agent itself, and nothing that it has started.
    fn kill_agent(&self) {
        let program = e2e().join(self.agent.command[self.agent.command.len() - 1]);
        let program = program.to_string_lossy();
        let supervisor = self.world.supervisor();
        let is_agent = |pid: &u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let parent =
                stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().nth(1);
            parent.and_then(|parent| parent.parse::<i32>().ok())
                == Some(supervisor.as_raw_nonzero().get())
        };
        let agents = self.world.processes().into_iter();
        let agent =
            agents.filter(|(_, line)| line.contains(&*program)).map(|(pid, _)| pid).find(is_agent);
        let agent = i32::try_from(agent.unwrap()).unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_raw(agent).unwrap(), Signal::KILL)
            .unwrap();
    }
}

macro_rules! rows {
    ($($module:ident $agent:ident),*; $rows:tt) => { $(rows! { @agent $module $agent $rows })* };
    (@agent $module:ident $agent:ident { $($row:ident),* $(,)? }) => {
        mod $module {
            $(
                #[test]
                fn $row() {
                    super::rows::$row(&super::$agent);
                }
            )*
        }
    };
}

rows! {
    gemini GEMINI, opencode OPENCODE, copilot COPILOT;
    {
        answers_after_a_command,
        is_refused,
        is_slowed_down_for_ever,
        has_no_credit,
        is_cut_off,
        loses_the_stream,
        says_nothing,
        loops,
        is_killed,
        may_change_nothing,
        stays_in_its_workspace,
        ends_with_its_caller,
        reads_a_message_sent_while_a_command_runs,
        reads_a_message_for_the_end,
        is_interrupted_in_a_command,
        is_interrupted_in_an_answer,
    }
}
