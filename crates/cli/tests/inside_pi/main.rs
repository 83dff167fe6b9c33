//! Our extension inside the real pi, pinned in `e2e/package.json`, in each of the ways in which pi can be
//! used: as a stream of records ([`stream`]), by remote calls ([`remote`]) and in a
//! terminal ([`terminal`]). `cargo xtask test` installs pi and says where it is.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "this is how a test fails")]

mod background;
mod children;
mod commands;
mod errors;
mod failures;
mod installation;
mod models;
mod profiles;
mod questions;
mod remote;
mod screen;
mod sessions;
mod stops;
mod stream;
mod terminal;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use test_support::fake_llm::FakeLlm;
use test_support::{Program, World, pi_programs, write_file};

/// The eight tools, in the order of their names.
const TOOLS: [&str; 8] = [
    "background_agent",
    "background_agent_control",
    "background_agent_status",
    "delegate_to_subagents",
    "get_subagent_output",
    "get_subagent_session",
    "list_subagent_profiles",
    "subagent",
];

/// A world with pi and our extension, and a model that plays the script in the prompt.
struct Inside {
    world: World,
    llm: FakeLlm,
}

impl Inside {
    /// The children are the built-in agent, which starts a hundred times faster than pi.
    fn new() -> Inside {
        Inside::with_settings(json!({"agent": "builtin"}))
    }

    /// The children are the very pi that runs the extension.
    fn with_pi_children() -> Inside {
        Inside::with_settings(json!({}))
    }

    fn with_settings(subagents: Value) -> Inside {
        let world = World::new(Program {
            pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
            fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
        });
        let llm = FakeLlm::start().unwrap();
        let inside = Inside { world, llm };
        inside.agent_file(
            "models.json",
            &json!({"providers": {
                "fake": inside.provider(&["fake-1", "fake-2"]),
            }}),
        );
        let mut settings = json!({});
        settings["subagents"] = subagents;
        inside.settings(settings);
        inside
    }

    /// A provider of these models, as `models.json` describes it.
    fn provider(&self, models: &[&str]) -> Value {
        let model = |id: &&str| json!({"id": id, "reasoning": true, "contextWindow": 1_000_000});
        let models: Vec<Value> = models.iter().map(model).collect();
        json!({
            "baseUrl": self.llm.base_url(), "api": "openai-completions", "apiKey": "k",
            "models": models,
        })
    }

    /// Writes the user's settings, those of pi among them.
    fn settings(&self, mut settings: Value) {
        settings["defaultProvider"] = "fake".into();
        settings["defaultModel"] = "fake-1".into();
        settings["retry"] = json!({"baseDelayMs": 1});
        self.agent_file("settings.json", &settings);
    }

    fn agent_file(&self, name: &str, document: &Value) {
        write_file(&self.world.agent_dir().join(name), &document.to_string());
    }

    fn project_file(&self, name: &str, text: &str) {
        write_file(&self.world.project().join(name), text);
    }

    /// Writes a profile of the user's.
    fn profile(&self, name: &str, fields: &str) {
        let path = self.world.agent_dir().join("agent-profiles").join(format!("{name}.md"));
        write_file(&path, &format!("---\nname: {name}\n{fields}\n---\n"));
    }

    /// Writes the preset `scout` of the user's.
    fn scout(&self, fields: &str) {
        let path = self.world.agent_dir().join("subagents/scout.md");
        let text =
            format!("---\nname: scout\ndescription: Looks around\n{fields}\n---\nBe quick.\n");
        write_file(&path, &text);
    }

    /// pi with our extension, in one of its modes.
    fn pi(&self, arguments: &[&str]) -> Command {
        let mut command = self.pi_without_extension(&["--extension"]);
        command.arg(extension()).args(arguments);
        command
    }

    fn pi_without_extension(&self, arguments: &[&str]) -> Command {
        let (programs, path) = pi_programs();
        let mut command = self.world.command_of(programs.join("pi"));
        command
            .args(arguments)
            .env("PATH", path)
            .env("PI_OFFLINE", "1")
            .env("PI_SUBAGENTS_BIN", env!("CARGO_BIN_EXE_pi-subagents"))
            // Without it every world would have pi compiled again.
            .env("NODE_COMPILE_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/compile-cache"));
        command
    }

    /// What the model was asked, in order.
    fn asked(&self) -> Vec<Value> {
        let requests = self.llm.requests().into_iter();
        requests.filter(|request| request.method == "POST").map(|request| request.body).collect()
    }

    /// The processes of this world that are our program in one of its roles.
    fn of_role(&self, role: &str) -> Vec<u32> {
        let processes = self.world.processes().into_iter();
        let in_role = processes.filter(|(_, words)| words.split(' ').nth(1) == Some(role));
        in_role.map(|(pid, _)| pid).collect()
    }

    /// The files with pi's own sessions in this project.
    fn session_file(&self) -> PathBuf {
        let directories = fs::read_dir(self.world.agent_dir().join("sessions")).unwrap();
        let files = directories.flat_map(|entry| fs::read_dir(entry.unwrap().path()).unwrap());
        let files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }

    /// The data of the entries of this kind in pi's only session.
    fn entries(&self, kind: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.session_file()).unwrap();
        let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let entries = entries.filter(|entry| entry["type"] == "custom");
        entries
            .filter(|entry| entry["customType"] == kind)
            .map(|mut entry| entry["data"].take())
            .collect()
    }
}

/// What a tool answered.
#[derive(Clone, Debug)]
struct ToolResult {
    text: String,
    details: Value,
    usage: Value,
    is_error: bool,
}

impl ToolResult {
    /// From a record of pi, if it tells of one.
    fn of(record: &Value) -> Option<ToolResult> {
        let message = &record["message"];
        let is_result = record["type"] == "message_end" && message["role"] == "toolResult";
        is_result.then(|| ToolResult {
            text: message["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
            details: message["details"].clone(),
            usage: message["usage"].clone(),
            is_error: message["isError"] == true,
        })
    }

    /// The text of an answer that is not an error.
    #[track_caller]
    fn answer(&self) -> &str {
        assert!(!self.is_error, "{self:#?}");
        &self.text
    }

    /// The text of an error.
    #[track_caller]
    fn error(&self) -> &str {
        assert!(self.is_error, "{self:#?}");
        &self.text
    }

    /// The sessions that the lines of a summary name, in order.
    fn sessions(&self) -> Vec<String> {
        let lines = self.text.lines();
        let named = lines.filter_map(|line| line.split_once("(session: "));
        named.map(|(_, rest)| rest.split(')').next().unwrap().to_owned()).collect()
    }

    /// The answer with the ids of sessions taken out, which are different each time.
    fn without_ids(&self) -> String {
        let sessions = self.sessions().into_iter();
        sessions.fold(self.text.clone(), |text, id| text.replace(&id, "ID"))
    }
}

fn extension() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../extension").canonicalize().unwrap()
}

/// A call of a tool by the model.
fn call(name: &str, arguments: Value) -> Value {
    let mut call = json!({"name": name});
    call["args"] = arguments;
    call
}

/// The call that delegates these tasks.
fn delegate(tasks: &[Value]) -> Value {
    call("delegate_to_subagents", json!({"tasks": tasks}))
}

/// A task whose model plays the script.
fn task(name: &str, script: &Value) -> Value {
    json!({"name": name, "prompt": told(script)})
}

/// The same with more fields.
fn task_with(name: &str, script: &Value, fields: Value) -> Value {
    let mut task = task(name, script);
    if let (Value::Object(task), Value::Object(fields)) = (&mut task, fields) {
        task.extend(fields);
    }
    task
}

/// A prompt for a model that plays the script.
fn told(script: &Value) -> String {
    format!("Do it. <<SCRIPT>>{script}<<END>>")
}

/// A prompt for a model that makes these calls, one after the other.
fn calling(calls: &[Value]) -> String {
    let turns = calls.iter().map(|call| json!({"tools": [call]}));
    let turns: Vec<Value> = turns.chain([json!({"text": "All calls are over."})]).collect();
    told(&json!(turns))
}

/// A turn of the model that calls bash.
fn bash(command: &str) -> Value {
    json!({"text": format!("I run {}.", command.split(' ').next().unwrap()),
           "tools": [{"name": "bash", "args": {"command": command}}]})
}

/// The names of the tools that the model was offered, in order.
fn offered(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    let mut names: Vec<String> =
        tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}
