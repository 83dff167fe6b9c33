//! The default model, whether it answers, and servers of models on this machine.

use std::time::Duration;

use agent::config::{find_local_servers, process_variable};
use model::{RunResult, Status};
use serde::Serialize;
use session::cut_chars;
use tools::{TaskArguments, Workspace};

use super::section::{Area, Finding, Section};
use crate::arguments::OnArguments;
use crate::commands::models::KnownModels;
use crate::commands::tasks::TaskRunner;
use crate::error::CommandError;

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModelFacts {
    /// As `provider/id`.
    pub(super) default: Option<String>,
    pub(super) reason: Option<String>,
    /// Only with `--ping`.
    pub(super) ping: Option<PingFacts>,
    pub(super) local_servers: Vec<ServerFacts>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PingFacts {
    /// The model that answered.
    pub(super) model: Option<String>,
    pub(super) answer: String,
    /// Why there is no answer.
    pub(super) error: Option<String>,
    pub(super) duration_ms: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerFacts {
    pub(super) title: &'static str,
    pub(super) base_url: String,
    pub(super) models: Vec<String>,
    /// Whether `models.json` has it already.
    pub(super) is_configured: bool,
    pub(super) models_file: String,
    pub(super) models_file_entry: String,
    pub(super) first_model: Option<String>,
}

/// How long the default model may take for a word.
const PING_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn gather(workspace: &Workspace, pings: bool) -> ModelFacts {
    // What is wrong with the files is told among the keys.
    let default = KnownModels::load(workspace).ok().map(|known| known.default());
    let models_file = workspace.surroundings.user_state().models();
    let configured = std::fs::read_to_string(&models_file).unwrap_or_default();
    let servers = find_local_servers(&process_variable).into_iter().map(|server| ServerFacts {
        title: server.title,
        is_configured: is_named(&server.base_url, &configured),
        base_url: server.base_url,
        models: server.models,
        models_file: models_file.display().to_string(),
        models_file_entry: server.models_file_entry,
        first_model: server.first_model,
    });
    let (default, reason) =
        default.map_or((None, None), |default| (default.model, Some(default.reason)));
    ModelFacts { default, reason, local_servers: servers.collect(), ping: pings.then(ping) }
}

/// Whether a text has an address of this machine with the same port.
fn is_named(base_url: &str, text: &str) -> bool {
    let Some((_, address)) = base_url.split_once("://127.0.0.1") else { return false };
    ["127.0.0.1", "localhost", "[::1]"]
        .iter()
        .any(|host| text.contains(&format!("{host}{address}")))
}

/// Asks the default model for a word, by the way of every task.
fn ping() -> PingFacts {
    let task = TaskArguments {
        name: "ping".to_owned(),
        prompt: "Answer with the single word pong. Use no tools.".to_owned(),
        timeout: Some(PING_TIMEOUT.as_secs_f64()),
        ..TaskArguments::default()
    };
    let asked = TaskRunner::without_warnings(OnArguments::default())
        .and_then(|mut task_runner| task_runner.ask(task));
    asked.map_or_else(|error| PingFacts::refused(&error), PingFacts::of)
}

impl PingFacts {
    fn of(result: RunResult) -> PingFacts {
        let is_answered = result.status == Status::Completed;
        PingFacts {
            model: result.model,
            answer: result.output.trim().to_owned(),
            error: (!is_answered).then(|| result.error.unwrap_or_default()),
            duration_ms: result.duration_ms,
        }
    }

    fn refused(error: &CommandError) -> PingFacts {
        let error = Some(error.to_string());
        PingFacts { model: None, answer: String::new(), error, duration_ms: 0 }
    }
}

pub(super) fn findings(facts: &ModelFacts) -> Vec<Finding> {
    let mut section = Section::new(Area::Models);
    if let (Some(model), Some(reason)) = (&facts.default, &facts.reason) {
        section.fine(format!("the default is {model}: {reason}"));
    }
    match &facts.ping {
        None => {}
        Some(PingFacts { error: Some(error), .. }) => {
            section
                .problem(format!("the default model did not answer: {error}"))
                .remedy("`pi-subagents models` lists others; try one with `run --model`");
        }
        Some(PingFacts { model, answer, duration_ms, .. }) => {
            let model = model.as_deref().or(facts.default.as_deref()).unwrap_or("the model");
            let answer = cut_chars(answer.lines().next().unwrap_or_default(), 40);
            let tenths = (duration_ms + 50) / 100;
            section.fine(format!(
                "{model} answered \"{answer}\" after {}.{} s",
                tenths / 10,
                tenths % 10
            ));
        }
    }
    for server in &facts.local_servers {
        let ServerFacts { title, base_url, models, .. } = server;
        let count = match models.as_slice() {
            [] => "no models yet".to_owned(),
            [model] => model.clone(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
        };
        if server.is_configured {
            section.fine(format!("{title} runs at {base_url} with {count}; models.json has it"));
            continue;
        }
        let finding = section.fine(format!("{title} runs at {base_url} with {count}"));
        finding.remedy(format!("put into {}: {}", server.models_file, server.models_file_entry));
        if let Some(model) = &server.first_model {
            finding
                .remedy(format!("then `pi-subagents run --agent builtin --model {model} \"...\"`"));
        }
    }
    section.findings
}

#[cfg(test)]
mod tests {
    use super::super::section::Level;
    use super::*;

    fn told(facts: &ModelFacts) -> Vec<(Level, String)> {
        findings(facts).into_iter().map(|found| (found.level, found.text)).collect()
    }

    #[test]
    fn an_answer_is_told_with_its_time_and_a_failure_with_its_reason() {
        let ping = |answer: &str, error: Option<&str>, duration_ms| ModelFacts {
            ping: Some(PingFacts {
                model: Some("a/one".to_owned()),
                answer: answer.to_owned(),
                error: error.map(str::to_owned),
                duration_ms,
            }),
            ..ModelFacts::default()
        };
        for (facts, level, text) in [
            (ping("pong", None, 1_240), Level::Fine, "a/one answered \"pong\" after 1.2 s"),
            (ping("", None, 9_980), Level::Fine, "a/one answered \"\" after 10.0 s"),
            (ping("", Some("401"), 3), Level::Problem, "the default model did not answer: 401"),
        ] {
            assert_eq!(told(&facts), [(level, text.to_owned())]);
        }
    }

    #[test]
    fn an_address_in_models_json_is_recognised() {
        let base_url = "http://127.0.0.1:11434/v1";
        for (text, expected) in [
            ("\"baseUrl\": \"http://localhost:11434/v1\"", true),
            ("http://127.0.0.1:11434/v1/", true),
            ("http://127.0.0.1:1143/v1", false),
            ("", false),
        ] {
            assert_eq!(is_named(base_url, text), expected, "{text}");
        }
    }
}
