//! The real pi, with a provider whose model plays a script.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Map, Value, json};
use xtask::{packages, repository_root};

use crate::scratch::Scratch;
use crate::tasks::TASKS;

/// The names of providers, the protocols that they speak, and the paths of their addresses. The first is the usual one.
pub(crate) const APIS: [(&str, &str, &str); 4] = [
    ("fake", "openai-completions", "/v1"),
    ("fake-messages", "anthropic-messages", ""),
    ("fake-responses", "openai-responses", "/v1"),
    ("fake-gemini", "google-generative-ai", "/v1beta"),
];

/// A running `fake-llm`, and an agent directory that knows no other model.
pub(crate) struct Provider {
    child: Child,
    /// The server runs until this ends.
    stdin: Option<ChildStdin>,
    base_url: String,
    agent_dir: PathBuf,
    search_path: OsString,
}

impl Provider {
    pub(crate) fn start(scratch: &Scratch) -> Result<Provider, String> {
        packages::install().map_err(|(command, error)| format!("`{command}` {error}"))?;
        let failed = |error: std::io::Error| format!("fake-llm: {error}");
        let agent_dir = scratch.subdirectory("agent")?;
        // The pinned pi needs the pinned Node, which is beside it.
        let programs = repository_root().join("e2e/node_modules/.bin");
        let path = env::var_os("PATH").unwrap_or_default();
        let search_path = env::join_paths([programs].into_iter().chain(env::split_paths(&path)))
            .map_err(|error| error.to_string())?;
        let mut child = scratch
            .our("fake-llm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let base_url = String::new();
        let mut provider = Provider { child, stdin, base_url, agent_dir, search_path };
        if let Some(stdout) = stdout {
            BufReader::new(stdout).read_line(&mut provider.base_url).map_err(failed)?;
        }
        let providers: Map<String, Value> = APIS
            .iter()
            .map(|(name, api, path)| {
                let root = provider.base_url().trim_end_matches("/v1");
                let models = json!([{"id": "fake-1"}]);
                let base_url = format!("{root}{path}");
                let fake =
                    json!({"baseUrl": base_url, "api": api, "apiKey": "k", "models": models});
                ((*name).to_owned(), fake)
            })
            .collect();
        for (name, document) in [
            ("models.json", json!({ "providers": providers })),
            // Of @tintinweb/pi-subagents.
            ("subagents.json", json!({"maxConcurrent": TASKS})),
        ] {
            fs::write(provider.agent_dir.join(name), document.to_string()).map_err(failed)?;
        }
        provider.install(&[])?;
        Ok(provider)
    }

    /// The URL under which clients find the API.
    pub(crate) fn base_url(&self) -> &str {
        self.base_url.trim()
    }

    /// Its process id: its cost is not part of what is measured.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Makes these the packages that every pi has, as `pi install` does; sub-agents have them, too.
    pub(crate) fn install(&self, packages: &[PathBuf]) -> Result<(), String> {
        let settings =
            json!({"defaultProvider": "fake", "defaultModel": "fake-1", "packages": packages});
        let path = self.agent_dir.join("settings.json");
        fs::write(&path, settings.to_string())
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Gives a command the environment in which it, and what it starts, find pi and the model.
    pub(crate) fn offer(&self, command: &mut Command) {
        command
            .env("PATH", &self.search_path)
            .env("PI_CODING_AGENT_DIR", &self.agent_dir)
            // Only we read it, and it would override the other one.
            .env_remove("PI_AGENT_DIR")
            .env("PI_OFFLINE", "1");
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // Its exit status does not matter.
        let _ = self.child.wait();
    }
}
