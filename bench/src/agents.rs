//! What we add to one task of each real agent: the same command, alone and as a task of ours, in turns.

use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use xtask::{packages, repository_root};

use crate::measure::{Cost, measure, measure_in_turns, measure_into, median, median_of};
use crate::memory::peak_pss_kib;
use crate::provider::Provider;
use crate::scratch::Scratch;
use crate::table::Table;
use crate::tasks::{check, create, prompt_with};
use crate::{acp_client, claude_client};

/// How often each of two commands is measured, in turns.
const ROUNDS: usize = 15;
/// The same for Claude Code, which needs up to a fifth more or less time from one round to the next.
const CLAUDE_ROUNDS: usize = 45;
const MEMORY_ROUNDS: usize = 3;

/// How much longer a task may take than the agent alone.
const TIME: f64 = 1.05;
/// What we may add to an agent that takes hardly any time by itself.
const ADDED_MILLISECONDS: f64 = 15.0;
/// What our processes may need beside the agent.
const MEMORY_MEGABYTES: f64 = 10.0;

/// An agent, and how its model calls tools.
struct Agent {
    name: &'static str,
    title: &'static str,
    program: Program,
    /// The model that it is told to use, where it would not find one by itself.
    model: Option<&'static str>,
    command: (&'static str, &'static str),
    file: (&'static str, &'static str),
}

/// Where its program is, below `e2e`.
enum Program {
    /// One of pi's packages, or our own.
    Installed,
    Binary(&'static str),
    Script(&'static str),
}

const AGENTS: [Agent; 7] = [
    Agent {
        name: "claude",
        title: "Claude Code",
        program: Program::Binary("clients/node_modules/@anthropic-ai/claude-code-{node}/claude"),
        model: None,
        command: ("Bash", "command"),
        file: ("Read", "file_path"),
    },
    Agent {
        name: "codex",
        title: "Codex",
        program: Program::Binary(
            "clients/node_modules/@openai/codex-{node}/vendor/{rust}/bin/codex",
        ),
        model: None,
        command: ("exec_command", "cmd"),
        // It reads files with commands.
        file: ("exec_command", "cmd"),
    },
    Agent {
        name: "gemini",
        title: "Gemini CLI",
        program: Program::Script("agents/node_modules/@google/gemini-cli/bundle/gemini.js"),
        model: Some("gemini-2.5-flash"),
        command: ("run_shell_command", "command"),
        file: ("read_file", "file_path"),
    },
    Agent {
        name: "opencode",
        title: "opencode",
        program: Program::Binary("agents/node_modules/opencode-{node}/bin/opencode"),
        model: Some("fake/fake-1"),
        command: ("bash", "command"),
        file: ("read", "filePath"),
    },
    Agent {
        name: "copilot",
        title: "GitHub Copilot",
        program: Program::Binary("agents/node_modules/@github/copilot-{node}/copilot"),
        model: Some("fake-1"),
        command: ("bash", "command"),
        file: ("view", "path"),
    },
    Agent {
        name: "pi",
        title: "pi",
        program: Program::Installed,
        model: None,
        command: ("bash", "command"),
        file: ("read", "path"),
    },
    Agent {
        name: "builtin",
        title: "the built-in agent",
        program: Program::Installed,
        model: None,
        command: ("bash", "command"),
        file: ("read", "path"),
    },
];

impl Agent {
    /// Whether it takes so long by itself that what we add must be a small part of it.
    fn is_slow(&self) -> bool {
        self.name != "builtin"
    }

    /// Alone, such an agent needs a client.
    fn speaks_acp(&self) -> bool {
        matches!(self.name, "gemini" | "opencode" | "copilot")
    }
}

pub(crate) fn run() -> Result<Table, String> {
    for install in [packages::install_clients, packages::install_agents] {
        install().map_err(|(command, error)| format!("`{command}` {error}"))?;
    }
    let mut table = Table::default();
    let scratch = Scratch::new()?;
    let provider = Provider::start(&scratch)?;
    let bench = Bench::new(&scratch, &provider)?;
    for agent in &AGENTS {
        bench.one_task(agent, &mut table)?;
    }
    Ok(table)
}

struct Bench<'bench> {
    scratch: &'bench Scratch,
    provider: &'bench Provider,
    project: PathBuf,
    /// Where the agents are found by their names.
    programs: PathBuf,
}

impl Bench<'_> {
    fn new<'bench>(
        scratch: &'bench Scratch,
        provider: &'bench Provider,
    ) -> Result<Bench<'bench>, String> {
        let project = scratch.project("project", &json!({}))?;
        let programs = scratch.subdirectory("programs")?;
        let e2e = repository_root().join("e2e");
        // opencode makes it when it is first started.
        scratch.subdirectory("home/.config/opencode")?;
        // A run calls the built-in agent by this name.
        let ours = PathBuf::from(scratch.our("pi-subagents").get_program());
        let link = |name: &str, program: &Path| {
            symlink(program, programs.join(name))
                .map_err(|error| format!("{}: {error}", program.display()))
        };
        link("pi-subagents", &ours)?;
        for agent in &AGENTS {
            match agent.program {
                Program::Installed => {}
                Program::Binary(path) => link(agent.name, &e2e.join(of_this_platform(path)))?,
                Program::Script(path) => {
                    let node = e2e.join("node_modules/.bin/node");
                    let (node, script) = (node.display(), e2e.join(path));
                    let text = format!("#!/bin/sh\nexec {node} {} \"$@\"\n", script.display());
                    write_program(&programs.join(agent.name), &text)?;
                }
            }
        }
        let settings = format!(
            "model = \"gpt-5\"\nmodel_provider = \"fake\"\n[model_providers.fake]\nname = \"fake\"\n\
             base_url = \"{}\"\nenv_key = \"FAKE_KEY\"\nwire_api = \"responses\"\n",
            provider.base_url()
        );
        let state = scratch.subdirectory("home/.codex")?;
        fs::write(state.join("config.toml"), settings).map_err(|error| error.to_string())?;
        Ok(Bench { scratch, provider, project, programs })
    }

    /// Gives a command the environment in which the agents find their providers.
    fn offer(&self, command: &mut Command) -> Result<(), String> {
        self.provider.offer(command);
        let path = command.get_envs().find(|(name, _)| *name == "PATH");
        let path = path.and_then(|(_, value)| value).unwrap_or_default().to_owned();
        let paths = [self.programs.clone()].into_iter().chain(env::split_paths(&path));
        command
            .current_dir(&self.project)
            .env("PATH", env::join_paths(paths).map_err(|error| error.to_string())?)
            .env("ANTHROPIC_BASE_URL", self.provider.base_url().trim_end_matches("/v1"))
            .env("ANTHROPIC_API_KEY", "k")
            .env("FAKE_KEY", "k")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("DISABLE_TELEMETRY", "1")
            .env("GOOGLE_GEMINI_BASE_URL", self.provider.base_url().trim_end_matches("/v1"))
            .env("GEMINI_API_KEY", "k")
            .env("OPENCODE_CONFIG_CONTENT", self.opencode_settings().to_string())
            .env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1")
            .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
            .env("COPILOT_OFFLINE", "true")
            .env("COPILOT_PROVIDER_BASE_URL", self.provider.base_url())
            // Claude Code as root.
            .env("IS_SANDBOX", "1")
            .env_remove("CODEX_HOME")
            .env_remove("CLAUDE_CONFIG_DIR");
        Ok(())
    }

    fn opencode_settings(&self) -> Value {
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": self.provider.base_url(), "apiKey": "k"},
            "models": {"fake-1": {}},
        });
        json!({"provider": {"fake": provider}, "model": "fake/fake-1", "small_model": "fake/fake-1"})
    }

    fn one_task(&self, agent: &Agent, table: &mut Table) -> Result<(), String> {
        let notes = self.project.join("notes.txt");
        let file = match agent.name {
            "codex" => format!("cat {}", notes.display()),
            _ => notes.display().to_string(),
        };
        let call = |(tool, field): (&str, &str), value: &str| {
            let mut args = json!({field: value});
            if agent.speaks_acp() && field == "command" {
                args["description"] = json!("says it");
            }
            json!({"name": tool, "args": args})
        };
        let prompt = prompt_with(0, &call(agent.command, "echo 0"), &call(agent.file, &file));
        let mut ours = self.scratch.our("pi-subagents");
        ours.args(["run", "--json", "--access", "full", "--agent", agent.name]);
        ours.args(agent.model.map(|model| ["--model", model]).into_iter().flatten()).arg(&prompt);
        self.offer(&mut ours)?;
        // Once without a clock, so that all files are in memory, and to see that the work is done.
        let answer = self.scratch.path("agents.json");
        measure_into(&mut ours, &[0], create(&answer)?)?;
        check(&answer, 1)?;
        let mut alone = self.alone(agent, &answer)?;
        measure(&mut alone, &[0])?;

        let mut two_way = match agent.name {
            "claude" => Some(self.two_way(&answer)?),
            _ => None,
        };
        let mut commands: Vec<(&mut Command, &[i32])> = vec![(&mut ours, &[0]), (&mut alone, &[0])];
        commands.extend(two_way.as_mut().map(|command| (command, [0].as_slice())));
        let rounds = if commands.len() == 2 { ROUNDS } else { CLAUDE_ROUNDS };
        let costs = measure_in_turns(rounds, &mut commands)?;
        let milliseconds = |cost: &Cost| cost.wall.as_secs_f64() * 1e3;
        let [time, bare] = [0, 1].map(|index| median_of(&costs[index], milliseconds));
        let what = format!("one task of three turns, {}", agent.title);
        let words = [time, bare].map(|time| format!("{time:.0} ms"));
        let alone_words = format!("{} alone, we add {:.0} ms", words[1], time - bare);
        if agent.is_slow() {
            table.at_most(&what, (time, &words[0]), (bare, &alone_words), TIME);
        } else {
            table.note(&what, &words[0], &alone_words);
            let added = time - bare;
            table.at_most(
                &format!("what we add to a task of {}", agent.title),
                (added, &format!("{added:.1} ms")),
                (ADDED_MILLISECONDS, &format!("{ADDED_MILLISECONDS} ms")),
                1.0,
            );
        }
        if let Some(costs) = costs.get(2) {
            let time = format!("{:.0} ms", median_of(costs, milliseconds));
            let what = format!("{} alone, so that it can be spoken to", agent.title);
            table.note(&what, &time, &format!("{} in print mode", words[1]));
        }
        let cpu = |cost: &Cost| cost.cpu.as_secs_f64() * 1e3;
        let [time, bare] = [0, 1].map(|index| format!("{:.0} ms", median_of(&costs[index], cpu)));
        table.note("its CPU (all processes)", &time, &format!("{bare} alone"));

        let megabytes = self.memory(&mut ours)?;
        table.at_most(
            &format!("peak memory (PSS) of our processes beside {}", agent.title),
            (megabytes, &format!("{megabytes:.1} MB")),
            (MEMORY_MEGABYTES, &format!("{MEMORY_MEGABYTES} MB")),
            1.0,
        );
        Ok(())
    }

    /// The command that our run has started, with the same prompt and the same variables, in the mode in which the agent
    /// reads its prompt and nothing else. An agent that speaks ACP has no such mode that does the same work, so that the
    /// smallest client gives it the prompt.
    fn alone(&self, agent: &Agent, answer: &Path) -> Result<Command, String> {
        let (run_dir, meta) = started(answer)?;
        let prompt = run_dir.join("prompt.md");
        let mut command = if agent.speaks_acp() {
            self.client(acp_client::WORD, &prompt)?
        } else {
            let mut command = self.scratch.command("sh");
            command.arg("-c").arg(format!("exec \"$0\" \"$@\" < {}", prompt.display()));
            command
        };
        command.args(one_way(&words(&meta)));
        self.as_started(command, &meta)
    }

    /// The very command that our run has started, with the same prompt, by the smallest client.
    fn two_way(&self, answer: &Path) -> Result<Command, String> {
        let (run_dir, meta) = started(answer)?;
        let mut command = self.client(claude_client::WORD, &run_dir.join("prompt.md"))?;
        command.args(words(&meta));
        self.as_started(command, &meta)
    }

    fn client(&self, word: &str, prompt: &Path) -> Result<Command, String> {
        let this = env::current_exe().map_err(|error| error.to_string())?;
        let mut command = self.scratch.command(this);
        command.arg(word).arg(prompt);
        Ok(command)
    }

    /// Gives a command the environment of what our run has started.
    fn as_started(&self, mut command: Command, meta: &Value) -> Result<Command, String> {
        self.offer(&mut command)?;
        for (name, value) in meta["environment"].as_object().into_iter().flatten() {
            match value.as_str() {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Ok(command)
    }

    /// The most that our processes need together, in a typical run.
    fn memory(&self, ours: &mut Command) -> Result<f64, String> {
        let program = self.scratch.our("pi-subagents").get_program().to_owned();
        let mut peaks = Vec::new();
        for _ in 0..MEMORY_ROUNDS {
            let roles = &["run", "supervise"];
            let sampler = peak_pss_kib(std::process::id(), Path::new(&program), roles);
            measure(ours, &[0])?;
            peaks.push(sampler.finish()? as f64 * 1024.0 / 1e6);
        }
        Ok(median(peaks))
    }
}

/// The directory of the run that this answer tells of, and what it started.
fn started(answer: &Path) -> Result<(PathBuf, Value), String> {
    let run_dir = read_json(answer)?["tasks"][0]["runDir"].as_str().map(PathBuf::from);
    let run_dir = run_dir.ok_or("the run does not say where it is")?;
    let meta = read_json(&run_dir.join("meta.json"))?;
    Ok((run_dir, meta))
}

fn words(meta: &Value) -> Vec<&str> {
    meta["command"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The arguments of an agent that is not spoken to: alone, it gets its prompt as plain text.
fn one_way(words: &[&str]) -> Vec<String> {
    const TWO_WAY: [(&str, &str); 2] = [
        ("--mode\0rpc", "--mode\0json\0-p"),
        ("--input-format\0stream-json\0--replay-user-messages\0", ""),
    ];
    let joined = TWO_WAY.iter().fold(words.join("\0"), |words, (two, one)| words.replace(two, one));
    joined.split('\0').map(str::to_owned).collect()
}

/// The path of a program, with the names of this platform.
pub(crate) fn of_this_platform(path: &str) -> String {
    let (node, rust) = match (env::consts::OS, env::consts::ARCH) {
        ("macos", "aarch64") => ("darwin-arm64", "aarch64-apple-darwin"),
        ("macos", _) => ("darwin-x64", "x86_64-apple-darwin"),
        (_, "aarch64") => ("linux-arm64", "aarch64-unknown-linux-musl"),
        _ => ("linux-x64", "x86_64-unknown-linux-musl"),
    };
    path.replace("{node}", node).replace("{rust}", rust)
}

fn write_program(path: &Path, text: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    fs::write(path, text).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(failed)
}

fn read_json(path: &Path) -> Result<Value, String> {
    let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
}
