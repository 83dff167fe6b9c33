//! What `doctor` says about the facts. Pure, and tested by tables.

use plan::{SurroundingsError, did_you_mean};
use serde::Serialize;

use super::facts::{
    AgentFacts, DefinitionFacts, EnvironmentFacts, ExtensionFacts, Facts, KeyFacts, SettingsFacts,
    StoreFacts,
};

/// The sections of the report, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Area {
    Environment,
    Agents,
    Keys,
    Definitions,
    Settings,
    Extension,
    Runs,
}

impl Area {
    pub(super) fn title(self) -> &'static str {
        match self {
            Area::Environment => "Environment",
            Area::Agents => "Agents",
            Area::Keys => "Keys",
            Area::Definitions => "Profiles and presets",
            Area::Settings => "Settings",
            Area::Extension => "Extension for pi",
            Area::Runs => "Runs",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Level {
    Fine,
    /// Something is odd, but runs work.
    Warning,
    /// Runs would fail, or a crash left something.
    Problem,
}

impl Level {
    pub(super) fn mark(self) -> char {
        match self {
            Level::Fine => '✓',
            Level::Warning => '!',
            Level::Problem => '✗',
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) area: Area,
    pub(super) level: Level,
    pub(super) text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) remedies: Vec<String>,
}

impl Finding {
    pub(super) fn fine(area: Area, text: impl Into<String>) -> Finding {
        Finding::new(area, Level::Fine, text)
    }

    pub(super) fn warning(area: Area, text: impl Into<String>) -> Finding {
        Finding::new(area, Level::Warning, text)
    }

    pub(super) fn problem(area: Area, text: impl Into<String>) -> Finding {
        Finding::new(area, Level::Problem, text)
    }

    fn new(area: Area, level: Level, text: impl Into<String>) -> Finding {
        Finding { area, level, text: text.into(), remedies: Vec::new() }
    }

    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedies.push(remedy.into());
        self
    }
}

pub(super) fn of_facts(facts: &Facts) -> Vec<Finding> {
    let mut findings = environment(&facts.environment);
    findings.extend(agents(&facts.agents));
    let uses_builtin =
        facts.agents.chosen.as_ref().is_some_and(|chosen| chosen.kind == model::AgentKind::Builtin);
    findings.extend(keys(&facts.keys, uses_builtin, &facts.environment.agent_dir));
    findings.extend(definitions("profile", &facts.profiles));
    findings.extend(definitions("preset", &facts.presets));
    findings.extend(settings(&facts.settings));
    findings.extend(extension(&facts.extension, facts.agents.pi.is_some()));
    findings.extend(store(&facts.store));
    findings
}

/// Not even the directories are known.
pub(super) fn no_surroundings(error: &SurroundingsError) -> Finding {
    let finding = Finding::problem(Area::Environment, error.to_string());
    match error {
        SurroundingsError::NoCurrentDirectory(_) => finding.remedy("go to a directory that exists"),
        SurroundingsError::NoHome => finding.remedy("set HOME"),
        SurroundingsError::NotUnicode(_) => finding.remedy("use another directory"),
        SurroundingsError::AgentNotUnicode => finding.remedy("unset PI_SUBAGENTS_AGENT"),
    }
}

fn environment(facts: &EnvironmentFacts) -> Vec<Finding> {
    let area = Area::Environment;
    let mut findings = vec![match &facts.home {
        Some(home) => Finding::fine(area, format!("home directory {home}")),
        None => Finding::warning(area, "there is no home directory").remedy("set HOME"),
    }];
    let absent = if facts.has_agent_dir { "" } else { ", which does not exist yet" };
    findings.push(Finding::fine(area, format!("agent directory {}{absent}", facts.agent_dir)));
    let trust = match facts.trust {
        "trusted" => "trusted: its files may load extensions and pass arguments",
        "refused" => "not trusted",
        _ => "not trusted yet: its files may not load extensions or pass arguments",
    };
    findings.push(Finding::fine(area, format!("project {}, {trust}", facts.project_root)));
    for problem in &facts.trust_problems {
        findings.push(
            Finding::warning(area, problem)
                .remedy("fix the file, or remove it and let pi ask again"),
        );
    }
    if facts.is_child {
        let text = "this is a sub-agent, which cannot start others (PI_SUBAGENTS_CHILD=1)";
        findings.push(Finding::warning(area, text));
    }
    findings
}

fn agents(facts: &AgentFacts) -> Vec<Finding> {
    const INSTALL: &str = "install it with `npm install -g @earendil-works/pi-coding-agent`";
    let area = Area::Agents;
    let mut findings =
        vec![Finding::fine(area, format!("built-in agent {}", facts.builtin_version))];
    let is_pi_chosen =
        facts.chosen.as_ref().is_some_and(|chosen| chosen.kind == model::AgentKind::Pi);
    match &facts.pi {
        None if is_pi_chosen => {}
        None => findings.push(Finding::fine(area, "pi is not installed, and not needed")),
        Some(pi) => findings.push(match (&pi.version, &pi.problem) {
            (Some(version), _) => Finding::fine(area, format!("pi {version}: {}", pi.path)),
            (None, problem) => {
                let problem = problem.as_deref().unwrap_or("it printed nothing");
                let level = if is_pi_chosen { Level::Problem } else { Level::Warning };
                let text = format!("{} did not print its version: {problem}", pi.path);
                Finding::new(area, level, text)
                    .remedy(format!("run `{} --version` to see why", pi.path))
                    .remedy("use `--agent builtin` until it works")
            }
        }),
    }
    if let Some(problem) = &facts.problem {
        findings
            .push(Finding::problem(area, problem).remedy("set it to another value, or unset it"));
    }
    let Some(chosen) = &facts.chosen else { return findings };
    let reason = chosen.reason;
    findings.push(match (chosen.kind, &chosen.path, &chosen.program) {
        (model::AgentKind::Builtin, ..) => {
            Finding::fine(area, format!("tasks use the built-in agent: {reason}"))
        }
        (model::AgentKind::Pi, Some(_), _) => {
            Finding::fine(area, format!("tasks use pi: {reason}"))
        }
        (model::AgentKind::Pi, None, _) => {
            Finding::problem(area, format!("tasks would use pi, which is not installed: {reason}"))
                .remedy(INSTALL)
                .remedy("or use \"builtin\" instead")
        }
        (model::AgentKind::Program, Some(path), _) => {
            Finding::fine(area, format!("tasks use {path}: {reason}"))
        }
        (model::AgentKind::Program, None, program) => {
            let program = program.as_deref().unwrap_or_default();
            Finding::problem(
                area,
                format!(
                    "tasks would use {program:?}, which is missing or not executable: {reason}"
                ),
            )
            .remedy("name a program on PATH, or give its whole path")
        }
    });
    findings
}

fn keys(facts: &KeyFacts, uses_builtin: bool, agent_dir: &str) -> Vec<Finding> {
    let area = Area::Keys;
    let mut findings = Vec::new();
    for key in &facts.keys {
        findings.push(match &key.problem {
            None => Finding::fine(area, format!("{}: {}", key.provider, key.place)),
            Some(problem) => Finding::warning(
                area,
                format!("{}: {} has a key that cannot be used: {problem}", key.provider, key.place),
            )
            .remedy(format!("fix {agent_dir}/auth.json")),
        });
    }
    for problem in &facts.problems {
        let level = if uses_builtin { Level::Problem } else { Level::Warning };
        findings.push(Finding::new(area, level, problem).remedy("fix the file"));
    }
    for profile in &facts.profiles_with_key {
        findings.push(Finding::fine(area, format!("profile \"{profile}\" has its own key")));
    }
    if !facts.configured_providers.is_empty() {
        let providers = facts.configured_providers.join(", ");
        findings.push(Finding::fine(area, format!("models.json configures {providers}")));
    }
    let has_any =
        facts.keys.iter().any(|key| key.problem.is_none()) || !facts.profiles_with_key.is_empty();
    if !has_any {
        let remedy = format!(
            "set an environment variable such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or put a key \
             into {agent_dir}/auth.json"
        );
        findings.push(if uses_builtin {
            Finding::problem(area, "there is no API key for any provider").remedy(remedy).remedy(
                "to try it without a key, play a script: `--agent builtin --model script/FILE`",
            )
        } else {
            Finding::warning(
                area,
                "the built-in agent has no API key; other agents may have their own",
            )
            .remedy(remedy)
        });
    }
    findings
}

fn definitions(word: &str, facts: &DefinitionFacts) -> Vec<Finding> {
    let area = Area::Definitions;
    let [global, project] = &facts.directories;
    let count = facts.global + facts.project;
    let plural = if count == 1 { "" } else { "s" };
    let text = format!(
        "{count} {word}{plural}: {} in {global}, {} in {project}",
        facts.global, facts.project
    );
    let mut findings = vec![Finding::fine(area, text)];
    for warning in &facts.warnings {
        findings.push(
            Finding::warning(area, warning)
                .remedy(format!("fix the file, and check it with `pi-subagents {word} list`")),
        );
    }
    findings
}

fn settings(facts: &SettingsFacts) -> Vec<Finding> {
    let area = Area::Settings;
    let mut findings = Vec::new();
    for file in &facts.files {
        let path = &file.path;
        if !file.is_there {
            findings.push(Finding::fine(area, format!("{path} does not exist, which is fine")));
        } else if file.problems.is_empty() && file.unknown.is_empty() {
            findings.push(Finding::fine(area, path));
        }
        for problem in &file.problems {
            findings.push(
                Finding::warning(area, format!("{path}: {problem}"))
                    .remedy("fix it; until then it is ignored"),
            );
        }
        for unknown in &file.unknown {
            let name = &unknown.name;
            let meant = did_you_mean(&unknown.suggestions);
            let text = format!("{path}: there is no setting \"subagents.{name}\".{meant}");
            let remedy = match unknown.suggestions.first() {
                Some(suggestion) => format!("rename it to \"{suggestion}\", or remove it"),
                None => format!("remove it; the settings are {}", plan::SETTINGS.join(", ")),
            };
            findings.push(Finding::warning(area, text).remedy(remedy));
        }
    }
    let tmux = match &facts.tmux_problem {
        None => "tmux panes are available".to_owned(),
        Some(problem) => format!("tmux panes are not available: {problem}"),
    };
    match (&facts.runner_problem, facts.runner) {
        (Some(problem), _) => {
            let remedy = facts.runner_remedy.as_deref();
            findings.push(Finding::problem(area, problem).remedy(remedy.unwrap_or("fix the file")));
        }
        (None, runner) => {
            let runner = runner.unwrap_or("process");
            let file = facts.runner_file.as_ref();
            let file = file.map_or("default", String::as_str);
            findings.push(Finding::fine(area, format!("runner \"{runner}\" ({file}); {tmux}")));
        }
    }
    findings
}

fn extension(facts: &ExtensionFacts, is_pi_there: bool) -> Vec<Finding> {
    const SETUP: &str = "install this version with `pi-subagents setup pi`";
    let area = Area::Extension;
    let directory = facts.directory.as_deref().unwrap_or_default();
    if let Some(problem) = &facts.problem {
        return vec![
            Finding::warning(area, problem)
                .remedy("move it away, then run `pi-subagents setup pi`"),
        ];
    }
    if !facts.is_installed {
        let finding = Finding::fine(area, "not installed");
        return vec![if is_pi_there { finding.remedy(SETUP) } else { finding }];
    }
    let own = env!("CARGO_PKG_VERSION");
    let version = facts.version.as_deref().unwrap_or("of an unknown version");
    if !facts.has_program {
        let text = format!("{directory} starts a program that does not exist");
        return vec![Finding::problem(area, text).remedy(SETUP)];
    }
    vec![if version != own {
        Finding::warning(area, format!("{version} in {directory}, but this program is {own}"))
            .remedy(SETUP)
    } else if facts.differing_files > 0 {
        let text = format!(
            "{version} in {directory}, but {} of its files differ from this program's",
            facts.differing_files
        );
        Finding::warning(area, text).remedy(SETUP)
    } else {
        Finding::fine(area, format!("{version} in {directory}"))
    }]
}

fn store(facts: &StoreFacts) -> Vec<Finding> {
    let area = Area::Runs;
    let mut findings = Vec::new();
    let limits = &facts.limits;
    let text = format!(
        "{} runs in {} sessions, {} in {}",
        facts.runs,
        facts.sessions,
        size(facts.bytes),
        facts.path
    );
    let kept =
        format!("limits: {} runs, {}, {} days", limits.runs, size(limits.bytes), limits.days);
    findings.push(if facts.runs > limits.runs || facts.bytes > limits.bytes {
        Finding::warning(area, format!("{text}; {kept}"))
            .remedy("remove old runs with `pi-subagents sessions prune`")
    } else {
        Finding::fine(area, format!("{text}; {kept}"))
    });
    if let Some(problem) = &facts.problem {
        findings.push(
            Finding::problem(area, format!("runs cannot be saved here: {problem}")).remedy(
                "make the directory writable; until then runs are saved in a temporary \
                     directory, and background runs are refused",
            ),
        );
    }
    for run in &facts.running {
        let what = if run.is_background { " in the background" } else { "" };
        let finding =
            Finding::fine(area, format!("{} ({}) is running{what}", run.run_id, run.name));
        findings.push(if run.is_background {
            finding.remedy(format!("stop it with `pi-subagents bg stop {}`", run.run_id))
        } else {
            finding
        });
    }
    for run in &facts.abandoned {
        let text = format!("{} ({}) lost its supervisor and has not ended", run.run_id, run.name);
        findings.push(if run.processes.is_empty() {
            Finding::warning(area, text).remedy("end it with `pi-subagents sessions list`")
        } else {
            Finding::problem(area, format!("{text}; still running: {}", pids(&run.processes)))
                .remedy("stop its processes and end it with `pi-subagents sessions list`")
        });
    }
    for process in &facts.leftover_processes {
        let text = format!(
            "process {} is left over from {}, which has ended",
            process.pid, process.run_dir
        );
        findings.push(
            Finding::problem(area, text).remedy(format!("stop it with `kill {}`", process.pid)),
        );
    }
    for problem in &facts.damaged {
        findings
            .push(Finding::warning(area, problem).remedy("remove it, unless you need its content"));
    }
    for debris in &facts.debris {
        let text = format!("{} was left by a program that died", debris.path);
        findings.push(if debris.is_removable {
            Finding::warning(area, text).remedy("remove it with `pi-subagents sessions prune`")
        } else {
            Finding::warning(area, text).remedy(
                "the program may still be running; after an hour, remove it with \
                 `pi-subagents sessions prune`",
            )
        });
    }
    for store in &facts.temporary_stores {
        let text = format!(
            "{} runs ({}) are in {}, because their project could not be written",
            store.runs,
            size(store.bytes),
            store.path
        );
        findings.push(if store.is_in_use {
            Finding::warning(area, format!("{text}; one of them is running"))
        } else {
            Finding::warning(area, text).remedy(format!(
                "when you no longer need their answers, remove them with `rm -r {}`",
                store.path
            ))
        });
    }
    findings
}

fn pids(processes: &[i32]) -> String {
    let ids: Vec<String> = processes.iter().map(ToString::to_string).collect();
    format!("process{} {}", if ids.len() == 1 { "" } else { "es" }, ids.join(", "))
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
