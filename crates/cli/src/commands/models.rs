//! `models`: what can be asked here, and what is asked by default.

use std::time::{Duration, SystemTime};

use agent::config::{
    AgentSettings, ModelList, Rates, UnsupportedKey, list_models, load_agent_settings,
    process_variable,
};
use model::AgentKind;
use plan::{Agent, AgentChoice, Surroundings};
use process::Exit as ProcessExit;
use serde::Serialize;
use serde_json::json;
use tools::Workspace;

use crate::arguments::Models;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

/// pi starts Node, and reads its models from many files.
const PI_PATIENCE: Duration = Duration::from_secs(20);
const MAX_PI_BYTES: usize = 1024 * 1024;

pub(crate) fn models(arguments: &Models, printer: &Printer) -> Result<Exit, CommandError> {
    let workspace = Workspace::load(Surroundings::of_this_process()?, None);
    let known = KnownModels::load(&workspace)?;
    for warning in &known.warnings {
        printer.warning(warning);
    }
    let default = known.default();
    let all = known.all(printer);
    let pattern = arguments.pattern.as_deref().unwrap_or_default();
    let shown: Vec<&Line> = all.iter().filter(|line| line.has(pattern)).collect();
    if arguments.json {
        printer.json(&json!({"models": shown, "default": default}))?;
    } else if !shown.is_empty() {
        printer.answer(&table(&shown, default.model.as_deref()))?;
    } else if !all.is_empty() {
        let names = all.iter().map(|line| line.model.as_str());
        let similar = plan::similar_names(pattern, names);
        printer.note(&format!("No model matches {pattern:?}.{}", plan::did_you_mean(&similar)));
    }
    if !arguments.json {
        for key in known.unsupported() {
            printer.note(&format!("{key}."));
        }
        printer.note(&default.sentence());
    }
    Ok(if shown.is_empty() { Exit::TaskFailed } else { Exit::Completed })
}

/// The model that a task uses without a profile, a preset or a request for one.
#[derive(Serialize)]
pub(super) struct DefaultReport {
    /// As `provider/id`; absent if there is none, or if the agent decides.
    pub(super) model: Option<String>,
    /// Why it is this one, or why there is none.
    pub(super) reason: String,
    agent: AgentKind,
}

impl DefaultReport {
    pub(super) fn sentence(&self) -> String {
        match (&self.model, &self.agent) {
            (Some(model), _) => format!("Default: {model} ({})", self.reason),
            (None, AgentKind::Builtin) => format!("Default: none. {}", self.reason),
            (None, _) => format!("Default: {}", self.reason),
        }
    }
}

/// What the agents here know of models.
pub(super) struct KnownModels {
    builtin: ModelList,
    settings: AgentSettings,
    chosen: AgentKind,
    pi: Option<String>,
    pub(super) warnings: Vec<String>,
}

impl KnownModels {
    pub(super) fn load(workspace: &Workspace) -> Result<KnownModels, CommandError> {
        let surroundings = &workspace.surroundings;
        let (settings, warnings) = load_agent_settings(surroundings, workspace.trust);
        let now = SystemTime::now();
        let builtin = list_models(&surroundings.agent_dir, &settings, &process_variable, now)
            .map_err(CommandError::usage)?;
        let chosen = AgentChoice::new(None, surroundings, &workspace.settings)?;
        let pi = Agent::Pi.find(surroundings);
        Ok(KnownModels {
            builtin,
            settings,
            chosen: chosen.usual().kind(),
            pi: pi.map(|path| path.to_string_lossy().into_owned()),
            warnings,
        })
    }

    /// Keys that the agent of tasks cannot use. The default says it itself if there is none.
    fn unsupported(&self) -> &[UnsupportedKey] {
        let is_told = self.chosen != AgentKind::Builtin || self.builtin.default.is_err();
        if is_told { &[] } else { &self.builtin.unsupported }
    }

    /// The default of the agent that tasks use.
    pub(super) fn default(&self) -> DefaultReport {
        let agent = self.chosen.clone();
        let (model, reason) = match (&agent, &self.builtin.default) {
            (AgentKind::Builtin, Ok(default)) => {
                let mut reason = match default.model.split_once('/') {
                    _ if default.is_in_settings => "settings.json names it".to_owned(),
                    Some((provider, _)) => format!("{provider} is the first provider with a key"),
                    None => "it is the first one with a key".to_owned(),
                };
                for warning in &default.warnings {
                    reason.push_str(&format!("; {warning}"));
                }
                (Some(default.model.clone()), reason)
            }
            (AgentKind::Builtin, Err(error)) => (None, error.to_string()),
            (AgentKind::Pi, _) => match self.settings.default_model() {
                Some(model) => (Some(model), "settings.json names it".to_owned()),
                None => (None, "pi chooses it, because settings.json names none".to_owned()),
            },
            _ => (None, "the agent of tasks chooses it by itself".to_owned()),
        };
        DefaultReport { model, reason, agent }
    }

    /// The model for a file that needs one: the default, or where pi chooses by itself, the one that
    /// it probably chooses.
    pub(super) fn current(&self) -> Option<String> {
        let of_pi = self.builtin.default.as_ref().ok().filter(|_| self.chosen == AgentKind::Pi);
        self.default().model.or_else(|| of_pi.map(|default| default.model.clone()))
    }

    /// The models of all agents, each once.
    fn all(&self, printer: &Printer) -> Vec<Line> {
        let mut lines: Vec<Line> = self.builtin.models.iter().map(Line::from).collect();
        let Some(pi) = &self.pi else { return lines };
        match of_pi(pi) {
            Ok(models) => {
                for model in models {
                    match lines.iter_mut().find(|line| line.model == model.model) {
                        Some(line) => line.agents.push(Agent::PI),
                        None => lines.push(model),
                    }
                }
            }
            Err(problem) => printer.warning(&format!("pi does not list its models: {problem}")),
        }
        lines
    }
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    /// As `provider/id`.
    model: String,
    name: Option<String>,
    /// In tokens; rounded if only pi has the model, as pi does.
    context_window: u64,
    /// Of one answer.
    max_tokens: u64,
    thinking: bool,
    images: bool,
    /// Dollars for a million tokens, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
    agents: Vec<&'static str>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

impl Line {
    fn has(&self, pattern: &str) -> bool {
        let pattern = pattern.trim().to_lowercase();
        let name = self.name.as_deref().unwrap_or_default();
        [self.model.as_str(), name].iter().any(|text| text.to_lowercase().contains(&pattern))
    }
}

impl From<&agent::config::ListedModel> for Line {
    fn from(model: &agent::config::ListedModel) -> Line {
        let cost = model.rates.map(|rates| {
            let Rates { input, output, cache_read, cache_write, .. } = rates;
            Cost { input, output, cache_read, cache_write }
        });
        Line {
            model: format!("{}/{}", model.provider, model.id),
            name: Some(model.name.clone()),
            context_window: model.context_window,
            max_tokens: model.max_tokens,
            thinking: model.thinking,
            images: model.images,
            cost,
            agents: vec![Agent::BUILTIN],
        }
    }
}

fn of_pi(program: &str) -> Result<Vec<Line>, String> {
    let output = process::command_output(program, &["--list-models"], PI_PATIENCE, MAX_PI_BYTES)
        .map_err(|error| error.to_string())?;
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    match output.exit {
        ProcessExit::Code(0) => Ok(read_table(&stdout)),
        ProcessExit::Code(code) => {
            let line = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            Err(format!("{line} (exit code {code})").trim_start().to_owned())
        }
        ProcessExit::Signal(signal) => Err(format!("it was killed by signal {signal}")),
    }
}

/// Reads pi's table, which has no other form: words in columns, below a line of headings. Another
/// text has no models.
fn read_table(text: &str) -> Vec<Line> {
    let mut lines = text.lines().skip_while(|line| !line.trim_start().starts_with("provider "));
    let rows = lines.by_ref().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let read = rows.filter_map(|row| match row[..] {
        [provider, id, context, output, thinking, images] => Some(Line {
            model: format!("{provider}/{id}"),
            name: None,
            context_window: long_count(context)?,
            max_tokens: long_count(output)?,
            thinking: thinking == "yes",
            images: images == "yes",
            cost: None,
            agents: vec![Agent::PI],
        }),
        _ => None,
    });
    read.collect()
}

/// As pi writes it: `200K`, `1M`, `1.1M`.
fn short_count(count: u64) -> String {
    let with_unit = |unit: u64, letter: char| {
        let tenths = (count * 10 + unit / 2) / unit;
        match tenths % 10 {
            0 => format!("{}{letter}", tenths / 10),
            tenth => format!("{}.{tenth}{letter}", tenths / 10),
        }
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => with_unit(1_000, 'K'),
        _ => with_unit(1_000_000, 'M'),
    }
}

/// The other way round.
fn long_count(text: &str) -> Option<u64> {
    let units = [('K', 1e3), ('M', 1e6)];
    let unit =
        units.into_iter().find_map(|(letter, unit)| Some((text.strip_suffix(letter)?, unit)));
    let (number, unit) = unit.unwrap_or((text, 1.0));
    let count = number.parse::<f64>().ok()? * unit;
    // No model has as many tokens as make this inexact.
    (count.is_finite() && count >= 0.0).then_some(count.round() as u64)
}

fn table(lines: &[&Line], default: Option<&str>) -> String {
    let yes = |is_so: bool| if is_so { "yes" } else { "no" }.to_owned();
    let headings =
        ["  MODEL", "CONTEXT", "OUTPUT", "THINKING", "IMAGES", "AGENT"].map(str::to_owned);
    let rows = lines.iter().map(|line| {
        let mark = if default == Some(line.model.as_str()) { "*" } else { " " };
        [
            format!("{mark} {}", line.model),
            short_count(line.context_window),
            short_count(line.max_tokens),
            yes(line.thinking),
            yes(line.images),
            line.agents.join(", "),
        ]
    });
    let rows: Vec<[String; 6]> = [headings].into_iter().chain(rows).collect();
    let mut widths = [0; 6];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let text = rows.iter().map(|row| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    });
    text.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pis_table_is_read_and_anything_else_has_no_models() {
        let text = "warning\nprovider   model   context  max-out  thinking  images\n\
                    anthropic  claude  200K     64K      yes       no\nodd line\n";
        let lines = read_table(text);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(
            (lines[0].model.as_str(), lines[0].context_window),
            ("anthropic/claude", 200_000)
        );
        assert_eq!((lines[0].thinking, lines[0].images), (true, false));
        for text in ["", "No models available. Set API keys in environment variables.\n", "\0"] {
            assert_eq!(read_table(text), [], "{text:?}");
        }
    }

    #[test]
    fn counts_are_short() {
        for (count, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1K"),
            (128_000, "128K"),
            (131_072, "131.1K"),
            (200_000, "200K"),
            (1_000_000, "1M"),
            (1_048_576, "1M"),
            (1_100_000, "1.1M"),
        ] {
            assert_eq!(short_count(count), expected);
        }
        for (text, expected) in [
            ("999", Some(999)),
            ("131.1K", Some(131_100)),
            ("1M", Some(1_000_000)),
            ("many", None),
            ("-1K", None),
            ("infK", None),
        ] {
            assert_eq!(long_count(text), expected, "{text}");
        }
    }
}
