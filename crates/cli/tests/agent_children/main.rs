//! Claude Code and Codex as children, pinned in `e2e/clients/package.json`, with a model that plays a script. What
//! is true of both is one test for both. `cargo xtask test` installs them and says where they are.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

mod access;
mod endings;
#[path = "../spine/events.rs"]
#[expect(dead_code, reason = "it is shared with other tests")]
mod events;
mod fields;
mod inside_pi;
mod killed;
mod reviews;
mod work;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use test_support::fake_llm::{FakeLlm, Request};
use test_support::{Program, Ran, Running, World, client, e2e, write_file};

/// The key that the agents have from the environment.
const KEY: &str = "key-of-the-environment";

/// An agent of another make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Agent {
    Claude,
    Codex,
}

use Agent::{Claude, Codex};

const BOTH: [Agent; 2] = [Claude, Codex];

impl Agent {
    fn name(self) -> &'static str {
        match self {
            Claude => "claude",
            Codex => "codex",
        }
    }

    /// The program itself, not the launcher in front of it.
    fn program(self) -> PathBuf {
        match self {
            Claude => client("@anthropic-ai/claude-code-{}/claude"),
            Codex => client(&format!(
                "@openai/codex-{{}}/vendor/{}-unknown-linux-musl/bin/codex",
                std::env::consts::ARCH
            )),
        }
    }

    /// A model that its makers know.
    fn model(self) -> &'static str {
        match self {
            Claude => "claude-sonnet-4-5",
            Codex => "gpt-5.5",
        }
    }

    /// The model's call of the tool that runs a command.
    fn bash(self, command: &str) -> Value {
        match self {
            Claude => json!({"name": "Bash", "args": {"command": command}}),
            Codex => json!({"name": "exec_command", "args": {"cmd": command}}),
        }
    }

    /// A turn of the model that runs a command.
    fn running(self, command: &str) -> Value {
        json!({"tools": [self.bash(command)]})
    }

    /// Where the agent keeps its state.
    fn state(self, world: &World) -> PathBuf {
        world.home().join(format!(".{}", self.name()))
    }
}

/// A world with the agents on its `PATH`, and a model that plays one script to every task.
struct Scene {
    agent: Agent,
    world: World,
    llm: FakeLlm,
}

impl Scene {
    fn new(agent: Agent, script: &Value) -> Scene {
        let world = World::new(Program {
            pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
            fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
        });
        fs::create_dir(world.path("bin")).unwrap();
        for agent in BOTH {
            symlink(agent.program(), world.path("bin").join(agent.name())).unwrap();
        }
        let scene = Scene { agent, world, llm: FakeLlm::start_with(script).unwrap() };
        scene.configure_codex("");
        scene
    }

    /// Writes the settings of Codex, with these besides.
    fn configure_codex(&self, more: &str) {
        let text = format!(
            "model = \"{}\"\nmodel_provider = \"fake\"\n{more}\n[model_providers.fake]\nname = \"fake\"\n\
             base_url = \"{}\"\nenv_key = \"FAKE_KEY\"\nwire_api = \"responses\"\n\
             request_max_retries = 1\nstream_max_retries = 1\n",
            Codex.model(),
            self.llm.base_url()
        );
        write_file(&Codex.state(&self.world).join("config.toml"), &text);
    }

    /// Writes a profile of the user's, called `worker`.
    fn worker(&self, fields: &str, body: &str) {
        let text = format!("---\nname: worker\n{fields}\n---\n{body}");
        write_file(&self.world.agent_dir().join("agent-profiles/worker.md"), &text);
    }

    /// Gives pi and the built-in agent a model, and writes these settings.
    fn with_pi(&self, subagents: &Value) {
        let cost = json!({"input": 2, "output": 10, "cacheRead": 1, "cacheWrite": 1});
        let provider = json!({
            "baseUrl": self.llm.base_url(), "api": "openai-completions", "apiKey": "k",
            "models": [{"id": "fake-1", "contextWindow": 1_000_000, "cost": cost}],
        });
        let models = json!({"providers": {"fake": provider}});
        let settings = json!({
            "defaultProvider": "fake", "defaultModel": "fake-1", "subagents": subagents,
        });
        for (name, document) in [("models.json", models), ("settings.json", settings)] {
            write_file(&self.world.agent_dir().join(name), &document.to_string());
        }
    }

    /// Any command of ours.
    fn command(&self, arguments: &[&str]) -> Command {
        self.offer(self.world.command(arguments))
    }

    /// Gives a command the environment in which the agents, and pi, are found and find their providers.
    fn offer(&self, mut command: Command) -> Command {
        let (bin, programs) = (self.world.path("bin"), e2e().join("node_modules/.bin"));
        command
            .env("PATH", format!("{}:{}:/usr/bin:/bin", bin.display(), programs.display()))
            .env("PI_OFFLINE", "1")
            .env("ANTHROPIC_BASE_URL", self.llm.root_url())
            .env("ANTHROPIC_API_KEY", KEY)
            .env("ANTHROPIC_MODEL", Claude.model())
            .env("FAKE_KEY", KEY)
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("CLAUDE_CODE_MAX_RETRIES", "2")
            .env("DISABLE_TELEMETRY", "1")
            // The tests may run as root.
            .env("IS_SANDBOX", "1");
        command
    }

    fn run_command(&self, arguments: &[&str]) -> Command {
        let all = ["run", "--json", "--agent", self.agent.name()];
        self.command(&[&all[..], arguments, &["do it"]].concat())
    }

    /// Runs a task, `do it`, to its end. It may change everything unless the arguments say something else: not
    /// every system can keep it from that.
    fn run(&self, arguments: &[&str]) -> Ran {
        let arguments = with_access(arguments);
        let ran = Ran::from(self.run_command(&arguments).output().unwrap());
        self.world.assert_nothing_left();
        ran
    }

    /// Runs a task that has to succeed.
    #[track_caller]
    fn complete(&self, arguments: &[&str]) -> Value {
        let ran = self.run(arguments);
        assert_eq!((ran.code, &ran.task()["outcome"]), (Some(0), &json!("completed")), "{ran:#?}");
        ran.task()
    }

    /// The same as [`Scene::run`], running.
    fn start(&self, arguments: &[&str]) -> Running {
        Running::start(self.run_command(&with_access(arguments)))
    }

    /// What the model was asked while it had tools, in order.
    fn requests(&self) -> Vec<Request> {
        let requests = self.llm.requests().into_iter();
        requests.filter(|it| it.method == "POST" && it.body["tools"].is_array()).collect()
    }

    fn asked(&self) -> Vec<Value> {
        self.requests().into_iter().map(|request| request.body).collect()
    }
}

fn with_access<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let is_given = arguments.contains(&"--access") || arguments.contains(&"--profile");
    let full: &[&str] = if is_given { &[] } else { &["--access", "full"] };
    [full, arguments].concat()
}

/// How a task ended, and the reason.
fn outcome(ran: &Ran) -> (String, String) {
    let task = ran.task();
    let text = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
    (text("outcome"), text("error"))
}

/// The events of a task without those that tell only numbers, without the prompt, which Claude Code repeats, and
/// without what Codex says about a home that is a temporary directory.
fn story(ran: &Ran) -> Vec<String> {
    let is_told = |event: &String| {
        event != "usage_reported" && !event.starts_with("stderr ") && event != "user \"do it\""
    };
    events::events(&ran.run_dir()).into_iter().filter(is_told).collect()
}
