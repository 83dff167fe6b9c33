//! `settings.json`, the user's and the project's.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::plain_file::read_json;
use crate::{Agent, Surroundings};

/// The settings under the key `subagents`; the project's win over the user's.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Settings {
    pub agent: Option<Agent>,
    /// Seconds that an active agent gets beyond its timeout.
    pub extend_timeout_debounce: f64,
    /// How many identical tool calls in a row are a loop.
    pub looping_tool_count: u32,
    pub max_lines_per_window: usize,
    /// How wide the preview of a tool call may be; as wide as the terminal if absent.
    pub command_preview_width: Option<usize>,
    /// How many tasks of one call run at a time.
    pub max_concurrency: usize,
    pub tools: ToolFamilies,
    /// Seconds after which a call of an MCP client that cannot show progress is answered. The tasks
    /// go on.
    pub mcp_answer_after: f64,
}

/// The names of all settings, as they stand below the key `subagents`.
pub const SETTINGS: [&str; 8] = [
    "agent",
    "extend_timeout_debounce",
    "looping_tool_count",
    "maxLinesPerWindow",
    "commandPreviewWidth",
    "maxConcurrency",
    "tools",
    "mcpAnswerAfter",
];

/// One of the files that settings are read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    /// Also if there is no such file.
    pub path: PathBuf,
    /// Whether the path exists.
    pub is_there: bool,
    /// What is wrong with it, without its path.
    pub problems: Vec<String>,
    /// The keys below `subagents` that are no settings.
    pub unknown: Vec<String>,
}

/// The families of tools that are offered to models. Each costs tokens in every request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolFamilies {
    /// Both.
    #[default]
    All,
    /// Tools that delegate tasks, with profiles.
    Profiles,
    /// Tools that run agents with a preset, in the foreground and in the background.
    Presets,
}

impl ToolFamilies {
    const WORDS: [(&'static str, ToolFamilies); 3] = [
        ("all", ToolFamilies::All),
        ("profiles", ToolFamilies::Profiles),
        ("presets", ToolFamilies::Presets),
    ];

    fn parse(value: &Value) -> Option<ToolFamilies> {
        let word = value.as_str()?;
        ToolFamilies::WORDS.iter().find(|(known, _)| *known == word).map(|(_, families)| *families)
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            agent: None,
            extend_timeout_debounce: 30.0,
            looping_tool_count: 5,
            max_lines_per_window: 15,
            command_preview_width: None,
            max_concurrency: 4,
            tools: ToolFamilies::All,
            mcp_answer_after: 45.0,
        }
    }
}

/// Reads both files. What is wrong in them is a warning, and the default is used.
pub fn load_settings(surroundings: &Surroundings) -> (Settings, Vec<String>) {
    let reader = Reader::of(surroundings);
    let warnings = reader.files.iter().flat_map(|file| {
        file.problems.iter().map(|problem| format!("{}: {problem}", file.path.display()))
    });
    (reader.settings, warnings.collect())
}

/// What was found in both files, the user's first.
pub fn inspect_settings(surroundings: &Surroundings) -> Vec<SettingsFile> {
    Reader::of(surroundings).files
}

/// The owner of a file. A project that was merely cloned must not choose what program runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    User,
    Project,
}

struct Reader {
    settings: Settings,
    /// The files that were read, the current one last.
    files: Vec<SettingsFile>,
}

impl Reader {
    fn of(surroundings: &Surroundings) -> Reader {
        let mut reader = Reader { settings: Settings::default(), files: Vec::new() };
        reader.read(surroundings.user_state().settings(), Scope::User);
        reader.read(surroundings.project_state().settings(), Scope::Project);
        reader
    }

    fn read(&mut self, path: PathBuf, scope: Scope) {
        let file = read_json(&path);
        let is_there = !matches!(file, Ok(None));
        let (problems, unknown) = (Vec::new(), Vec::new());
        self.files.push(SettingsFile { path, is_there, problems, unknown });
        match file.as_ref().map(|file| file.as_ref()?.get("subagents")) {
            Ok(None) => {}
            Ok(Some(Value::Object(subagents))) => self.read_subagents(scope, subagents),
            Ok(Some(_)) => self.warn("\"subagents\" must be an object"),
            Err(problem) => self.warn(problem),
        }
    }

    fn read_subagents(&mut self, scope: Scope, subagents: &Map<String, Value>) {
        if let Some(file) = self.files.last_mut() {
            let names = subagents.keys().filter(|name| !SETTINGS.contains(&name.as_str()));
            file.unknown = names.cloned().collect();
        }
        if let Some(value) = subagents.get("agent") {
            match (Agent::of(value), scope) {
                (Some(Agent::Program(_)), Scope::Project) => self.warn(
                    "a project may set \"subagents.agent\" only to \"pi\" or \"builtin\"; \
                     put a program into the settings of your agent directory",
                ),
                (Some(agent), _) => self.settings.agent = Some(agent),
                (None, _) => self.warn(
                    "\"subagents.agent\" must be \"pi\", \"builtin\" or an array of a program \
                     and its arguments",
                ),
            }
        }
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
        if let Some(seconds) = self.number(subagents, "mcpAnswerAfter") {
            self.settings.mcp_answer_after = seconds.clamp(1.0, 86_400.0);
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn load(user: &str, project: &str) -> (Settings, Vec<String>) {
        in_world(user, project, load_settings)
    }

    fn in_world<T>(user: &str, project: &str, look: fn(&Surroundings) -> T) -> T {
        let top = tempfile::tempdir().unwrap();
        let cwd = top.path().join("project");
        let agent_dir = top.path().join("agent");
        fs::create_dir_all(cwd.join(".pi")).unwrap();
        fs::create_dir_all(&agent_dir).unwrap();
        for (path, text) in
            [(agent_dir.join("settings.json"), user), (cwd.join(".pi/settings.json"), project)]
        {
            if !text.is_empty() {
                fs::write(path, text).unwrap();
            }
        }
        let search_path = Vec::new();
        look(&Surroundings { cwd, home: None, agent_dir, agent: None, pi: None, search_path })
    }

    #[test]
    fn without_files_there_are_defaults_and_no_warnings() {
        assert_eq!(load("", ""), (Settings::default(), Vec::new()));
        assert_eq!(load("{}", r#"{"theme": "dark"}"#), (Settings::default(), Vec::new()));
    }

    #[test]
    fn the_project_wins_and_numbers_are_clamped() {
        let user = r#"{"subagents": {"extend_timeout_debounce": 7, "looping_tool_count": 99,
            "maxLinesPerWindow": 20, "commandPreviewWidth": 5, "maxConcurrency": 0}}"#;
        let project = r#"{"subagents": {"extend_timeout_debounce": -1}}"#;
        let (settings, warnings) = load(user, project);
        assert_eq!((settings.max_lines_per_window, settings.max_concurrency), (20, 1));
        assert_eq!(settings.command_preview_width, Some(20));
        assert_eq!(settings.extend_timeout_debounce, 0.0);
        assert_eq!(settings.looping_tool_count, 50);
        assert!(warnings.is_empty());
    }

    #[test]
    fn every_setting_is_read_and_everything_else_is_told_apart() {
        for name in SETTINGS {
            let (_, warnings) = load(&format!(r#"{{"subagents": {{"{name}": []}}}}"#), "");
            assert!(warnings.len() == 1 && warnings[0].contains(name), "{name}: {warnings:?}");
        }
        let user = r#"{"theme": "dark", "subagents": {"maxConcurency": 2, "tools": "all"}}"#;
        let files = in_world(user, "", inspect_settings);
        let told: Vec<(bool, &[String])> =
            files.iter().map(|file| (file.is_there, file.unknown.as_slice())).collect();
        assert_eq!(told, [(true, ["maxConcurency".to_owned()].as_slice()), (false, &[])]);
    }

    #[test]
    fn either_family_of_tools_can_be_left_out() {
        let tools = |word: &str| format!(r#"{{"subagents": {{"tools": "{word}"}}}}"#);
        for (word, families) in ToolFamilies::WORDS {
            let (settings, warnings) = load(&tools("presets"), &tools(word));
            assert_eq!((settings.tools, warnings), (families, Vec::new()));
        }
    }

    #[test]
    fn a_project_cannot_choose_the_program() {
        let array = r#"{"subagents": {"agent": ["evil"]}}"#;
        let (settings, warnings) = load("", array);
        assert_eq!(settings.agent, None);
        assert!(warnings[0].contains("a project may set"), "{warnings:?}");
        assert_eq!(load(array, "").0.agent, Some(Agent::Program(vec!["evil".to_owned()])));
        let word = r#"{"subagents": {"agent": "pi"}}"#;
        assert_eq!(load(array, word).0.agent, Some(Agent::Pi));
    }

    #[test]
    fn what_is_wrong_is_a_warning_that_names_file_and_field() {
        for (text, expected) in [
            ("{", "it is not JSON"),
            (r#"{"subagents": []}"#, "\"subagents\" must be an object"),
            (r#"{"subagents": {"agent": "claude"}}"#, "\"subagents.agent\" must be"),
            (r#"{"subagents": {"looping_tool_count": "5"}}"#, "\"subagents.looping_tool_count\""),
            (r#"{"subagents": {"tools": "none"}}"#, "\"subagents.tools\" must be"),
            (r#"{"subagents": {"tools": ["presets"]}}"#, "\"subagents.tools\" must be"),
        ] {
            let (settings, warnings) = load("", text);
            assert_eq!(settings, Settings::default());
            assert!(
                warnings.len() == 1
                    && warnings[0].contains("settings.json")
                    && warnings[0].contains(expected),
                "{text}: {warnings:?}"
            );
        }
    }
}
