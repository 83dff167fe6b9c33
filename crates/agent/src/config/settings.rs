//! The settings of pi's `settings.json` that an agent without a screen needs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plan::{Surroundings, Trust};
use serde_json::Value;

use super::Model;
use super::fields::{Fields, Taken, WrongField};
use crate::text_file::read_whole;
use plan::ThinkingLevel;

/// The settings, with pi's defaults for what is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSettings {
    /// Used if the caller names neither provider nor model.
    pub(crate) default_provider: Option<String>,
    pub(crate) default_model: Option<String>,
    /// Used if neither the caller nor `model_thinking` names a level.
    pub(crate) default_thinking: ThinkingLevel,
    /// By `provider/id`.
    pub(crate) model_thinking: BTreeMap<String, ThinkingLevel>,
    /// Used if the caller names no tools.
    pub(crate) default_tools: Option<Vec<String>>,
    pub(crate) retry: Retry,
    /// Of all models; see [`AgentSettings::compaction_for`].
    pub(crate) compaction: Compaction,
    /// The tokens to reserve and to keep, by `provider/id`.
    pub(crate) model_compaction: BTreeMap<String, (Option<u64>, Option<u64>)>,
    /// How long a provider may be silent; `None` without a limit.
    pub(crate) http_idle_timeout: Option<Duration>,
    /// Instead of bash.
    pub shell_path: Option<PathBuf>,
    pub(crate) shell_command_prefix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retry {
    pub(crate) enabled: bool,
    pub(crate) max_retries: u32,
    /// The first delay. Each further one is twice as long.
    pub(crate) base_delay: Duration,
    pub(crate) max_delay: Duration,
    /// A provider that asks for a longer delay is not asked again; `None` without a limit.
    pub(crate) max_provider_delay: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compaction {
    pub(crate) enabled: bool,
    /// Kept free for the answer.
    pub(crate) reserve_tokens: u64,
    /// Kept at the end of the conversation.
    pub(crate) keep_recent_tokens: u64,
}

impl Default for AgentSettings {
    fn default() -> AgentSettings {
        AgentSettings {
            default_provider: None,
            default_model: None,
            default_thinking: ThinkingLevel::Medium,
            model_thinking: BTreeMap::new(),
            default_tools: None,
            retry: Retry {
                enabled: true,
                max_retries: 3,
                base_delay: Duration::from_millis(2_000),
                max_delay: Duration::from_millis(60_000),
                max_provider_delay: Some(Duration::from_millis(60_000)),
            },
            compaction: Compaction {
                enabled: true,
                reserve_tokens: 16_384,
                keep_recent_tokens: 20_000,
            },
            model_compaction: BTreeMap::new(),
            http_idle_timeout: Some(Duration::from_millis(300_000)),
            shell_path: None,
            shell_command_prefix: None,
        }
    }
}

impl AgentSettings {
    /// The model that is used without a request for one, as `provider/id`, if both are set.
    pub fn default_model(&self) -> Option<String> {
        Some(format!("{}/{}", self.default_provider.as_ref()?, self.default_model.as_ref()?))
    }

    /// With the values for this model, where it has its own.
    pub(crate) fn compaction_for(&self, model: &Model) -> Compaction {
        let (reserve, keep) =
            self.model_compaction.get(&model.full_name()).copied().unwrap_or_default();
        Compaction {
            enabled: self.compaction.enabled,
            reserve_tokens: reserve.unwrap_or(self.compaction.reserve_tokens),
            keep_recent_tokens: keep.unwrap_or(self.compaction.keep_recent_tokens),
        }
    }
}

/// Reads the user's settings, and those of the project if it is trusted, because they can name a
/// shell. A wrong field is a warning, and keeps its default.
pub fn load_agent_settings(
    surroundings: &Surroundings,
    trust: Trust,
) -> (AgentSettings, Vec<String>) {
    let mut settings = AgentSettings::default();
    let mut warnings = Vec::new();
    let project = trust.allows().then(|| surroundings.project_state().settings());
    let files = [Some(surroundings.user_state().settings()), project];
    for path in files.into_iter().flatten() {
        let mut warn = |problem: String| warnings.push(format!("{}: {problem}", path.display()));
        match read_json(&path) {
            Ok(Some(file)) => match Fields::new(&file, "") {
                Ok(fields) => {
                    for wrong in read_settings(&fields, &mut settings, surroundings) {
                        warn(wrong.to_string());
                    }
                }
                Err(_) => warn("it is not an object".to_owned()),
            },
            Ok(None) => {}
            Err(problem) => warn(problem),
        }
    }
    (settings, warnings)
}

const LARGEST: usize = 1024 * 1024;

fn read_json(path: &Path) -> Result<Option<Value>, String> {
    let text = read_whole(path, LARGEST).map_err(|error| format!("it cannot be read: {error}"))?;
    let text = text.filter(|text| !text.trim().is_empty());
    let json = text.map(|text| serde_json::from_str(&text)).transpose();
    json.map_err(|error| format!("it is not JSON: {error}"))
}

fn read_settings(
    fields: &Fields<'_>,
    settings: &mut AgentSettings,
    surroundings: &Surroundings,
) -> Vec<WrongField> {
    let mut wrong = Wrong(Vec::new());
    wrong.set_some(&mut settings.default_provider, fields.text("defaultProvider"));
    wrong.set_some(&mut settings.default_model, fields.text("defaultModel"));
    wrong.set(&mut settings.default_thinking, thinking(fields, "defaultThinkingLevel"));
    if let Some(levels) = wrong.keep(fields.object("modelThinkingLevels")) {
        for name in levels.names() {
            if let Some(level) = wrong.keep(thinking(&levels, name)) {
                settings.model_thinking.insert(name.to_owned(), level);
            }
        }
    }
    wrong.set_some(&mut settings.default_tools, fields.texts("defaultTools"));
    if let Some(retry) = wrong.keep(fields.object("retry")) {
        read_retry(&retry, &mut settings.retry, &mut wrong);
    }
    if let Some(compaction) = wrong.keep(fields.object("compaction")) {
        read_compaction(&compaction, settings, &mut wrong);
    }
    wrong.set(&mut settings.http_idle_timeout, limit(idle_timeout(fields)));
    if let Some(shell) = wrong.keep(fields.text("shellPath")) {
        let below_home =
            shell.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        settings.shell_path = Some(match (below_home, &surroundings.home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ => PathBuf::from(shell),
        });
    }
    wrong.set_some(&mut settings.shell_command_prefix, fields.text("shellCommandPrefix"));
    wrong.0
}

fn read_retry(fields: &Fields<'_>, retry: &mut Retry, wrong: &mut Wrong) {
    wrong.set(&mut retry.enabled, fields.flag("enabled"));
    if let Some(count) = wrong.keep(fields.count("maxRetries")) {
        retry.max_retries = u32::try_from(count).unwrap_or(u32::MAX);
    }
    wrong.set(&mut retry.base_delay, duration(fields.count("baseDelayMs")));
    wrong.set(&mut retry.max_delay, duration(fields.count("maxAgentDelayMs")));
    // pi's older name for it.
    wrong.set(&mut retry.max_provider_delay, limit(fields.count("maxDelayMs")));
    if let Some(provider) = wrong.keep(fields.object("provider")) {
        wrong.set(&mut retry.max_provider_delay, limit(provider.count("maxRetryDelayMs")));
    }
}

fn read_compaction(fields: &Fields<'_>, settings: &mut AgentSettings, wrong: &mut Wrong) {
    let compaction = &mut settings.compaction;
    wrong.set(&mut compaction.enabled, fields.flag("enabled"));
    wrong.set(&mut compaction.reserve_tokens, fields.count("reserveTokens"));
    wrong.set(&mut compaction.keep_recent_tokens, fields.count("keepRecentTokens"));
    let Some(models) = wrong.keep(fields.object("modelOverrides")) else { return };
    for name in models.names() {
        if let Some(model) = wrong.keep(models.object(name)) {
            let (reserve, keep) = settings.model_compaction.entry(name.to_owned()).or_default();
            wrong.set_some(reserve, model.count("reserveTokens"));
            wrong.set_some(keep, model.count("keepRecentTokens"));
        }
    }
}

struct Wrong(Vec<WrongField>);

impl Wrong {
    fn keep<T>(&mut self, read: Taken<T>) -> Option<T> {
        read.map_err(|wrong| self.0.push(wrong)).ok().flatten()
    }

    fn set<T>(&mut self, setting: &mut T, read: Taken<T>) {
        if let Some(value) = self.keep(read) {
            *setting = value;
        }
    }

    fn set_some<T>(&mut self, setting: &mut Option<T>, read: Taken<T>) {
        self.set(setting, read.map(|value| value.map(Some)));
    }
}

fn duration(milliseconds: Taken<u64>) -> Taken<Duration> {
    milliseconds.map(|milliseconds| milliseconds.map(Duration::from_millis))
}

/// Zero means no limit.
fn limit(milliseconds: Taken<u64>) -> Taken<Option<Duration>> {
    let limit = duration(milliseconds)?;
    Ok(limit.map(|limit| Some(limit).filter(|limit| !limit.is_zero())))
}

fn thinking(fields: &Fields<'_>, name: &str) -> Taken<ThinkingLevel> {
    match fields.text(name)? {
        None => Ok(None),
        Some(level) => ThinkingLevel::parse(&level).map(Some).ok_or_else(|| {
            let names = ThinkingLevel::WORDS.map(|(word, _)| word).join(", ");
            fields.wrong(name, &format!("must be one of {names}"))
        }),
    }
}

/// pi also accepts a text.
fn idle_timeout(fields: &Fields<'_>) -> Taken<u64> {
    const NAME: &str = "httpIdleTimeoutMs";
    match fields.value(NAME) {
        Some(Value::String(text)) if text.trim().eq_ignore_ascii_case("disabled") => Ok(Some(0)),
        Some(Value::String(text)) => match text.trim().parse() {
            Ok(timeout) => Ok(Some(timeout)),
            Err(_) => Err(fields.wrong(NAME, "must be a number that is not negative")),
        },
        _ => fields.count(NAME),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::testing::model;
    use super::*;

    fn load(user: &str, project: &str, trust: Trust) -> (AgentSettings, Vec<String>) {
        let top = tempfile::tempdir().unwrap();
        let surroundings = Surroundings {
            home: Some("/home/user".into()),
            ..Surroundings::new(top.path().join("project"), top.path().join("agent"))
        };
        fs::create_dir_all(surroundings.cwd.join(".pi")).unwrap();
        fs::create_dir_all(&surroundings.agent_dir).unwrap();
        for (path, text) in [
            (surroundings.agent_dir.join("settings.json"), user),
            (surroundings.cwd.join(".pi/settings.json"), project),
        ] {
            if !text.is_empty() {
                fs::write(path, text).unwrap();
            }
        }
        load_agent_settings(&surroundings, trust)
    }

    #[test]
    fn without_files_there_are_pis_defaults() {
        for text in ["", "{}", " \n", "\u{feff}{}", r#"{"theme": "dark", "retry": null}"#] {
            let loaded = load(text, "", Trust::Undecided);
            assert_eq!(loaded, (AgentSettings::default(), vec![]), "{text:?}");
        }
    }

    #[test]
    fn everything_can_be_set() {
        let user = r#"{"defaultProvider": "groq", "defaultModel": "m", "defaultThinkingLevel": "max",
            "modelThinkingLevels": {"groq/m": "low"}, "defaultTools": ["read"],
            "retry": {"enabled": false, "maxRetries": 9, "baseDelayMs": 1, "maxAgentDelayMs": 2,
                "provider": {"maxRetryDelayMs": 0}},
            "compaction": {"enabled": false, "reserveTokens": 10, "keepRecentTokens": 0,
                "modelOverrides": {"groq/m": {"reserveTokens": 7}}},
            "httpIdleTimeoutMs": 5, "shellPath": "~/bin/sh", "shellCommandPrefix": "set -e"}"#;
        let (settings, warnings) = load(user, "", Trust::Undecided);
        assert_eq!(warnings, Vec::<String>::new());
        let milliseconds = Duration::from_millis;
        let expected = AgentSettings {
            default_provider: Some("groq".to_owned()),
            default_model: Some("m".to_owned()),
            default_thinking: ThinkingLevel::Max,
            model_thinking: BTreeMap::from([("groq/m".to_owned(), ThinkingLevel::Low)]),
            default_tools: Some(vec!["read".to_owned()]),
            retry: Retry {
                enabled: false,
                max_retries: 9,
                base_delay: milliseconds(1),
                max_delay: milliseconds(2),
                max_provider_delay: None,
            },
            compaction: Compaction { enabled: false, reserve_tokens: 10, keep_recent_tokens: 0 },
            model_compaction: BTreeMap::from([("groq/m".to_owned(), (Some(7), None))]),
            http_idle_timeout: Some(milliseconds(5)),
            shell_path: Some("/home/user/bin/sh".into()),
            shell_command_prefix: Some("set -e".to_owned()),
        };
        assert_eq!(settings, expected);
        let of_model = settings.compaction_for(&model("groq", "m"));
        assert_eq!((of_model.reserve_tokens, of_model.keep_recent_tokens), (7, 0));
        assert_eq!(settings.compaction_for(&model("groq", "other")), settings.compaction);
    }

    #[test]
    fn a_trusted_project_changes_single_fields() {
        let user = r#"{"defaultModel": "user", "retry": {"maxRetries": 1, "maxDelayMs": 5}}"#;
        let project =
            r#"{"defaultModel": "project", "retry": {"baseDelayMs": 4}, "shellPath": "/evil"}"#;
        let (settings, _) = load(user, project, Trust::Trusted);
        assert_eq!(settings.default_model.as_deref(), Some("project"));
        assert_eq!((settings.retry.max_retries, settings.retry.base_delay.as_millis()), (1, 4));
        assert_eq!(settings.retry.max_provider_delay, Some(Duration::from_millis(5)));
        assert_eq!(settings.shell_path.as_deref(), Some(Path::new("/evil")));
        for trust in [Trust::Undecided, Trust::Refused] {
            let (settings, warnings) = load(user, project, trust);
            assert_eq!(settings.default_model.as_deref(), Some("user"));
            assert_eq!((settings.shell_path, warnings), (None, vec![]));
        }
    }

    #[test]
    fn what_is_wrong_is_a_warning_with_file_and_field() {
        for (text, problem) in [
            ("{", "it is not JSON"),
            ("[]", "it is not an object"),
            (r#"{"defaultModel": 1}"#, "\"defaultModel\" must be a text"),
            (r#"{"defaultThinkingLevel": "much"}"#, "\"defaultThinkingLevel\" must be one of off,"),
            (r#"{"modelThinkingLevels": {"a/b": "x"}}"#, "\"modelThinkingLevels.a/b\" must be one"),
            (r#"{"defaultTools": [1]}"#, "\"defaultTools\" must be an array of texts"),
            (r#"{"retry": []}"#, "\"retry\" must be an object"),
            (r#"{"retry": {"maxRetries": -1}}"#, "\"retry.maxRetries\" must be a number"),
            (r#"{"retry": {"provider": 1}}"#, "\"retry.provider\" must be an object"),
            (
                r#"{"compaction": {"enabled": "no"}}"#,
                "\"compaction.enabled\" must be true or false",
            ),
            (r#"{"compaction": {"reserveTokens": 1e300}}"#, "\"compaction.reserveTokens\" must be"),
            (r#"{"httpIdleTimeoutMs": "soon"}"#, "\"httpIdleTimeoutMs\" must be a number"),
            (r#"{"shellPath": true}"#, "\"shellPath\" must be a text"),
        ] {
            let (settings, warnings) = load(text, "", Trust::Undecided);
            assert_eq!(settings, AgentSettings::default(), "{text}");
            let is_told = warnings.len() == 1
                && warnings[0].contains("settings.json: ")
                && warnings[0].contains(problem);
            assert!(is_told, "{text}: {warnings:?}");
        }
        // One wrong field does not take the others with it.
        let text = r#"{"retry": {"enabled": 1, "maxRetries": 2}, "defaultModel": "m"}"#;
        let (settings, warnings) = load(text, "", Trust::Undecided);
        assert_eq!((settings.retry.max_retries, warnings.len()), (2, 1));
        assert_eq!(settings.default_model.as_deref(), Some("m"));
        for text in [r#"{"httpIdleTimeoutMs": "disabled"}"#, r#"{"httpIdleTimeoutMs": 0}"#] {
            assert_eq!(load(text, "", Trust::Undecided).0.http_idle_timeout, None, "{text}");
        }
    }
}
