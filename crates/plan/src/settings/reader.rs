//! How the files have the settings, and what is wrong in them.

use std::io::Read;
use std::path::{Path, PathBuf};

use model::Access;
use protocol::Protocol;
use serde_json::{Map, Value};

use super::{FleetSettings, SETTINGS, Settings, SettingsFile, ToolFamilies};
use crate::access::is_writable_path;
use crate::agent::program;
use crate::plain_file::{LARGEST, open_plain, read_json};
use crate::similar::then_did_you_mean;
use crate::{Agent, NamedAgent, Surroundings, agent_names, similar_names};

/// The owner of a file. A project that was merely cloned must not choose what program runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    User,
    Project,
}

pub(super) struct Reader {
    pub(super) settings: Settings,
    /// The files that were read, the current one last.
    pub(super) files: Vec<SettingsFile>,
}

impl Reader {
    pub(super) fn of(surroundings: &Surroundings) -> Reader {
        let mut reader = Reader { settings: Settings::default(), files: Vec::new() };
        reader.read(surroundings.user_state().settings(), Scope::User);
        reader.read(surroundings.project_state().settings(), Scope::Project);
        reader
    }

    fn read(&mut self, path: PathBuf, scope: Scope) {
        let file = read_json(&path);
        let is_there = !matches!(file, Ok(None));
        let (problems, unknown) = (Vec::new(), Vec::new());
        self.files.push(SettingsFile { path, is_there, problems, unknown, blocks_tasks: false });
        match file.as_ref().map(|file| file.as_ref()?.get("subagents")) {
            Ok(None) => {}
            Ok(Some(Value::Object(subagents))) => self.read_subagents(scope, subagents),
            Ok(Some(_)) => {
                let problem = "\"subagents\" must be an object";
                self.warn(problem);
                // A project's file can only lower what the user's gives, and must not stop the user.
                if scope == Scope::User {
                    self.distrust_access(problem);
                }
            }
            Err(problem) => {
                self.warn(problem);
                let is_limiting = scope == Scope::User
                    && self.files.last().is_some_and(|file| mentions_access(&file.path));
                if is_limiting {
                    self.distrust_access(problem);
                }
            }
        }
    }

    fn read_subagents(&mut self, scope: Scope, subagents: &Map<String, Value>) {
        self.look_for_unknown(subagents);
        if let Some(value) = subagents.get("agents") {
            self.read_agents(scope, value);
        }
        if let Some(value) = subagents.get("agent") {
            self.read_agent(scope, value);
        }
        self.read_numbers(scope, subagents);
        if let Some(value) = subagents.get("access") {
            self.read_access(scope, value);
        }
        if let Some(value) = subagents.get("writablePaths") {
            self.read_writable_paths(scope, value);
        }
        if let Some(seconds) = self.number(subagents, "questionTimeout") {
            self.settings.question_timeout = seconds.clamp(1.0, 86_400.0);
        }
        if let Some(value) = subagents.get("fleet") {
            self.read_fleet(scope, value);
        }
        if let Some(dollars) = self.number(subagents, "dailyCostUsd") {
            match scope {
                Scope::User => self.settings.daily_cost_usd = Some(dollars.max(0.0)),
                Scope::Project => self.warn(
                    "a project cannot set \"subagents.dailyCostUsd\"; put it into the settings of your agent \
                     directory",
                ),
            }
        }
        self.read_choices(scope, subagents);
    }

    /// Notes the names that are no settings. One that may mean the limit of access keeps every task from starting.
    fn look_for_unknown(&mut self, subagents: &Map<String, Value>) {
        if let Some(file) = self.files.last_mut() {
            let names = subagents.keys().filter(|name| !SETTINGS.contains(&name.as_str()));
            file.unknown = names.cloned().collect();
        }
        let mistyped = subagents.keys().find(|name| {
            !SETTINGS.contains(&name.as_str()) && !similar_names(name, ["access"]).is_empty()
        });
        if let Some(name) = mistyped {
            let problem = format!("there is no setting \"subagents.{name}\". Did you mean access?");
            self.warn(&problem);
            self.distrust_access(&problem);
        }
    }

    fn read_numbers(&mut self, scope: Scope, subagents: &Map<String, Value>) {
        if let Some(seconds) = self.number(subagents, "extend_timeout_debounce") {
            self.settings.extend_timeout_debounce = seconds.clamp(0.0, 300.0);
        }
        if let Some(count) = self.number(subagents, "looping_tool_count") {
            self.settings.looping_tool_count = count.clamp(0.0, 50.0) as u32;
        }
        if let Some(lines) = self.number(subagents, "maxLinesPerWindow") {
            self.settings.max_lines_per_window = lines.clamp(1.0, 500.0) as usize;
        }
        if let Some(width) = self.number(subagents, "commandPreviewWidth") {
            self.settings.command_preview_width = Some(width.clamp(20.0, 10_000.0) as usize);
        }
        if let Some(count) = self.number(subagents, "maxConcurrency") {
            self.settings.max_concurrency = count.clamp(1.0, 256.0) as usize;
        }
        if let Some(count) = self.number_of_user(scope, subagents, "machineConcurrency") {
            self.settings.machine_concurrency = Some(count.clamp(1.0, 1024.0) as usize);
        }
        if let Some(megabytes) = self.number_of_user(scope, subagents, "memoryReserve") {
            let bytes = megabytes.clamp(0.0, 10_000_000.0) * 1_000_000.0;
            self.settings.memory_reserve = Some(bytes as u64);
        }
        if let Some(seconds) = self.number(subagents, "mcpAnswerAfter") {
            self.settings.mcp_answer_after = seconds.clamp(1.0, 86_400.0);
        }
    }

    fn read_choices(&mut self, scope: Scope, subagents: &Map<String, Value>) {
        match subagents.get("ask") {
            None => {}
            // A project can make agents ask, but cannot keep them from it.
            Some(Value::Bool(ask)) => {
                self.settings.ask = *ask || (scope == Scope::Project && self.settings.ask);
            }
            Some(_) => self.warn("\"subagents.ask\" must be true or false"),
        }
        match subagents.get("inlineAnswers") {
            None => {}
            Some(Value::Bool(inline)) => self.settings.inline_answers = *inline,
            Some(_) => self.warn("\"subagents.inlineAnswers\" must be true or false"),
        }
        if let Some(value) = subagents.get("tools") {
            match ToolFamilies::parse(value) {
                Some(families) => self.settings.tools = families,
                None => {
                    self.warn("\"subagents.tools\" must be \"all\", \"profiles\" or \"presets\"");
                }
            }
        }
    }

    fn read_agent(&mut self, scope: Scope, value: &Value) {
        match (Agent::of(value, &self.settings), scope) {
            (Some(Agent::Program(_)), Scope::Project) => self.warn(
                "a project may set \"subagents.agent\" only to the name of an agent; put a program \
                 into the settings of your agent directory",
            ),
            (Some(agent), _) => self.settings.agent = Some(agent),
            (None, _) => {
                let names = agent_names(&self.settings);
                let meant = value.as_str().map(|name| {
                    then_did_you_mean(&similar_names(name, names.iter().map(String::as_str)))
                });
                self.warn(&format!(
                    "\"subagents.agent\" must be one of {} or an array of a program and its \
                     arguments{}",
                    names.join(", "),
                    meant.unwrap_or_default()
                ));
            }
        }
    }

    /// The agents that the user names. A project that was merely cloned names no programs.
    fn read_agents(&mut self, scope: Scope, value: &Value) {
        let Value::Object(entries) = value else {
            self.warn("\"subagents.agents\" must be an object");
            return;
        };
        if scope == Scope::Project {
            self.warn(
                "a project cannot set \"subagents.agents\"; put it into the settings of your agent \
                 directory",
            );
            return;
        }
        for (name, entry) in entries {
            match named_agent(name, entry) {
                Ok(agent) => drop(self.settings.agents.insert(name.clone(), agent)),
                Err(problem) => {
                    self.warn(&format!("\"subagents.agents.{name}\" is passed over: {problem}"));
                }
            }
        }
    }

    /// The limit: a project's can only lower the user's.
    fn read_access(&mut self, scope: Scope, value: &Value) {
        match value.as_str().and_then(Access::parse) {
            // It would raise what is usual for some agents.
            Some(Access::Full) if scope == Scope::Project => {}
            Some(access) => {
                let access = self.settings.access.map_or(access, |most| most.min(access));
                self.settings.access = Some(access);
            }
            None => {
                let problem = "\"subagents.access\" must be \"read\", \"workspace\" or \"full\"";
                self.warn(problem);
                self.distrust_access(problem);
            }
        }
    }

    /// Remembers that a limit may have been meant that is not understood.
    fn distrust_access(&mut self, problem: &str) {
        let Some(file) = self.files.last_mut() else { return };
        file.blocks_tasks = true;
        self.settings.unknown_access = Some(format!("{}: {problem}", file.path.display()));
    }

    fn read_writable_paths(&mut self, scope: Scope, value: &Value) {
        let paths = serde_json::from_value::<Vec<String>>(value.clone()).ok();
        let paths = paths.filter(|paths| paths.iter().all(|path| is_writable_path(path)));
        match (paths, scope) {
            (Some(_), Scope::Project) => self.warn(
                "a project cannot set \"subagents.writablePaths\"; put it into the settings of your \
                 agent directory",
            ),
            (Some(paths), Scope::User) => self.settings.writable_paths = Some(paths),
            (None, _) => self.warn(
                "\"subagents.writablePaths\" must be a list of paths that begin with \"/\" or \"~/\"",
            ),
        }
    }

    /// The server of the fleet. A project that was merely cloned sends nothing of the user's anywhere.
    fn read_fleet(&mut self, scope: Scope, value: &Value) {
        if scope == Scope::Project {
            self.warn(
                "a project cannot set \"subagents.fleet\"; put it into the settings of your agent \
                 directory",
            );
            return;
        }
        let known = ["url", "credentials", "ca"];
        let fields = value.as_object().filter(|fields| {
            fields.iter().all(|(name, value)| known.contains(&name.as_str()) && value.is_string())
        });
        let Some(fields) = fields else {
            self.warn("\"subagents.fleet\" must be an object with \"url\", \"credentials\" and \"ca\", all texts");
            return;
        };
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        self.settings.fleet = FleetSettings {
            url: text("url"),
            credentials: text("credentials").map(PathBuf::from),
            ca: text("ca").map(PathBuf::from),
        };
    }

    /// A number that a project does not decide.
    fn number_of_user(
        &mut self,
        scope: Scope,
        object: &Map<String, Value>,
        key: &str,
    ) -> Option<f64> {
        if scope == Scope::Project && object.contains_key(key) {
            self.warn(&format!(
                "a project cannot set \"subagents.{key}\"; put it into the settings of your agent \
                 directory"
            ));
            return None;
        }
        self.number(object, key)
    }

    fn number(&mut self, object: &Map<String, Value>, key: &str) -> Option<f64> {
        let value = object.get(key)?;
        let number = value.as_f64();
        if number.is_none() {
            self.warn(&format!("\"subagents.{key}\" must be a number"));
        }
        number
    }

    fn warn(&mut self, problem: &str) {
        if let Some(file) = self.files.last_mut() {
            file.problems.push(problem.to_owned());
        }
    }
}

/// An entry of `subagents.agents`.
fn named_agent(name: &str, entry: &Value) -> Result<NamedAgent, String> {
    if !Agent::may_be_named(name) {
        return Err(
            "a name has only letters, digits, \"_\" and \"-\", and is none of pi, builtin \
                    and program"
                .to_owned(),
        );
    }
    let Some(command) = program(&entry["command"]) else {
        return Err("its \"command\" must be an array of a program and its arguments".to_owned());
    };
    let word = entry["protocol"].as_str();
    let protocol = Protocol::OF_PROGRAMS.into_iter().find(|known| Some(known.word()) == word);
    let Some(protocol) = protocol else {
        let words: Vec<&str> = Protocol::OF_PROGRAMS.iter().map(|known| known.word()).collect();
        return Err(format!("its \"protocol\" must be one of {}", words.join(", ")));
    };
    let unknown = entry.as_object().into_iter().flat_map(Map::keys);
    match unknown.into_iter().find(|key| !["command", "protocol"].contains(&key.as_str())) {
        Some(key) => Err(format!("it has no field \"{key}\"")),
        None => Ok(NamedAgent { name: name.to_owned(), command, protocol }),
    }
}

/// Whether a file that cannot be understood may have said what agents can change.
fn mentions_access(path: &Path) -> bool {
    let mut text = Vec::new();
    let read = open_plain(path).and_then(|(file, _)| file.take(LARGEST).read_to_end(&mut text));
    read.is_ok() && String::from_utf8_lossy(&text).contains("access")
}
