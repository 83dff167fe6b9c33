//! What is to be said about the facts. Pure: whoever changes a rule changes its table of tests.

use plan::{SurroundingsError, did_you_mean};
use serde::Serialize;

use super::facts::{
    AgentFacts, DefinitionFacts, EnvironmentFacts, ExtensionFacts, Facts, KeyFacts, SettingsFacts,
    StoreFacts,
};

/// What the findings are about, in the order in which they are told.
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

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Level {
    /// As it should be.
    Fine,
    /// Somebody should know.
    Warning,
    /// Something does not work, or something is left that should not be.
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

/// One thing to say, and what to do about it.
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

/// Everything that is to be said.
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

/// Not even the directories can be told.
pub(super) fn no_surroundings(error: &SurroundingsError) -> Finding {
    let finding = Finding::problem(Area::Environment, error.to_string());
    match error {
        SurroundingsError::NoCurrentDirectory(_) => finding.remedy("go to a directory that exists"),
        SurroundingsError::NoHome => finding.remedy("export HOME"),
        SurroundingsError::NotUnicode(_) => finding.remedy("use another directory"),
        SurroundingsError::AgentNotUnicode => finding.remedy("unset PI_SUBAGENTS_AGENT"),
    }
}

fn environment(facts: &EnvironmentFacts) -> Vec<Finding> {
    let area = Area::Environment;
    let mut findings = vec![match &facts.home {
        Some(home) => Finding::fine(area, format!("home directory {home}")),
        None => Finding::warning(area, "there is no home directory").remedy("export HOME"),
    }];
    let absent = if facts.has_agent_dir { "" } else { ", which is not there yet" };
    findings.push(Finding::fine(area, format!("agent directory {}{absent}", facts.agent_dir)));
    let trust = match facts.trust {
        "trusted" => "trusted: its files may load extensions and pass arguments",
        "refused" => "not trusted",
        _ => "not trusted yet: its files may not load extensions and pass arguments",
    };
    findings.push(Finding::fine(area, format!("project {}, {trust}", facts.project_root)));
    for problem in &facts.trust_problems {
        findings.push(
            Finding::warning(area, problem).remedy("correct the file, or remove it: pi asks again"),
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
                let problem = problem.as_deref().unwrap_or("it does not say");
                let level = if is_pi_chosen { Level::Problem } else { Level::Warning };
                let text = format!("{} does not tell its version: {problem}", pi.path);
                Finding::new(area, level, text)
                    .remedy(format!("see what `{} --version` says", pi.path))
                    .remedy("use `--agent builtin` until it works")
            }
        }),
    }
    if let Some(problem) = &facts.problem {
        findings
            .push(Finding::problem(area, problem).remedy("set it to something else, or unset it"));
    }
    let Some(chosen) = &facts.chosen else { return findings };
    let reason = chosen.reason;
    findings.push(match (chosen.kind, &chosen.path, &chosen.program) {
        (model::AgentKind::Builtin, ..) => {
            Finding::fine(area, format!("tasks get the built-in agent: {reason}"))
        }
        (model::AgentKind::Pi, Some(_), _) => {
            Finding::fine(area, format!("tasks get pi: {reason}"))
        }
        (model::AgentKind::Pi, None, _) => {
            Finding::problem(area, format!("tasks would get pi, which is not found: {reason}"))
                .remedy(INSTALL)
                .remedy("or ask for \"builtin\" there")
        }
        (model::AgentKind::Program, Some(path), _) => {
            Finding::fine(area, format!("tasks get {path}: {reason}"))
        }
        (model::AgentKind::Program, None, program) => {
            let program = program.as_deref().unwrap_or_default();
            Finding::problem(
                area,
                format!(
                    "tasks would get {program:?}, which is not found or cannot be executed: {reason}"
                ),
            )
            .remedy("name a program that is on PATH, or its whole path")
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
            .remedy(format!("correct {agent_dir}/auth.json")),
        });
    }
    for problem in &facts.problems {
        let level = if uses_builtin { Level::Problem } else { Level::Warning };
        findings.push(Finding::new(area, level, problem).remedy("correct the file"));
    }
    for profile in &facts.profiles_with_key {
        findings.push(Finding::fine(area, format!("profile \"{profile}\" has a key of its own")));
    }
    if !facts.configured_providers.is_empty() {
        let providers = facts.configured_providers.join(", ");
        findings.push(Finding::fine(area, format!("models.json tells about {providers}")));
    }
    let has_any =
        facts.keys.iter().any(|key| key.problem.is_none()) || !facts.profiles_with_key.is_empty();
    if !has_any {
        let remedy = format!(
            "set the variable of a provider, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or put a \
             key into {agent_dir}/auth.json"
        );
        findings.push(if uses_builtin {
            Finding::problem(area, "there is no key for any provider").remedy(remedy).remedy(
                "to try things without one: `--agent builtin --model script/FILE` plays a script",
            )
        } else {
            Finding::warning(
                area,
                "there is no key that the built-in agent could use; other agents may have theirs \
                 elsewhere",
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
                .remedy(format!("correct the file; `pi-subagents {word} list` reads it again")),
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
            findings.push(Finding::fine(area, format!("{path}: not there, which is fine")));
        } else if file.problems.is_empty() && file.unknown.is_empty() {
            findings.push(Finding::fine(area, path));
        }
        for problem in &file.problems {
            findings.push(
                Finding::warning(area, format!("{path}: {problem}"))
                    .remedy("correct it; until then the default is used"),
            );
        }
        for unknown in &file.unknown {
            let name = &unknown.name;
            let meant = did_you_mean(&unknown.suggestions);
            let text = format!("{path}: there is no setting \"subagents.{name}\".{meant}");
            let remedy = match unknown.suggestions.first() {
                Some(suggestion) => format!("rename it to \"{suggestion}\", or remove it"),
                None => format!("remove it; there are {}", plan::SETTINGS.join(", ")),
            };
            findings.push(Finding::warning(area, text).remedy(remedy));
        }
    }
    let tmux = match &facts.tmux_problem {
        None => "tmux could show runs in panes".to_owned(),
        Some(problem) => format!("tmux could not show runs from here: {problem}"),
    };
    match (&facts.runner_problem, facts.runner) {
        (Some(problem), _) => {
            let remedy = facts.runner_remedy.as_deref();
            findings
                .push(Finding::problem(area, problem).remedy(remedy.unwrap_or("correct the file")));
        }
        (None, runner) => {
            let runner = runner.unwrap_or("process");
            let file = facts.runner_file.as_ref();
            let says = file.map_or_else(|| "by default".to_owned(), |file| format!("says {file}"));
            findings.push(Finding::fine(area, format!("runner \"{runner}\", {says}; {tmux}")));
        }
    }
    findings
}

fn extension(facts: &ExtensionFacts, is_pi_there: bool) -> Vec<Finding> {
    const SETUP: &str = "`pi-subagents setup pi` puts this version there";
    let area = Area::Extension;
    let directory = facts.directory.as_deref().unwrap_or_default();
    if let Some(problem) = &facts.problem {
        return vec![
            Finding::warning(area, problem).remedy("move it away, then `pi-subagents setup pi`"),
        ];
    }
    if !facts.is_installed {
        let finding = Finding::fine(area, "not installed");
        return vec![if is_pi_there { finding.remedy(SETUP) } else { finding }];
    }
    let own = env!("CARGO_PKG_VERSION");
    let version = facts.version.as_deref().unwrap_or("of an unknown version");
    if !facts.has_program {
        let text = format!("{directory} starts a program that is not there");
        return vec![Finding::problem(area, text).remedy(SETUP)];
    }
    vec![if version != own {
        Finding::warning(area, format!("{version} in {directory}, but this program is {own}"))
            .remedy(SETUP)
    } else if facts.differing_files > 0 {
        let text = format!(
            "{version} in {directory}, but {} of its files are not those of this program",
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
    let kept = format!(
        "kept are {} runs and {} at most, for {} days",
        limits.runs,
        size(limits.bytes),
        limits.days
    );
    findings.push(if facts.runs > limits.runs || facts.bytes > limits.bytes {
        Finding::warning(area, format!("{text}; {kept}")).remedy("`pi-subagents sessions prune`")
    } else {
        Finding::fine(area, format!("{text}; {kept}"))
    });
    if let Some(problem) = &facts.problem {
        findings.push(
            Finding::problem(area, format!("nothing can be kept here: {problem}")).remedy(
                "make the directory writable; until then runs are kept in a temporary \
                     directory, and background runs are refused",
            ),
        );
    }
    for run in &facts.running {
        let what = if run.is_background { " in the background" } else { "" };
        let finding = Finding::fine(area, format!("{} ({}) runs{what}", run.run_id, run.name));
        findings.push(if run.is_background {
            finding.remedy(format!("`pi-subagents bg stop {}` would stop it", run.run_id))
        } else {
            finding
        });
    }
    for run in &facts.abandoned {
        let text =
            format!("{} ({}) has lost its supervisor and was not ended", run.run_id, run.name);
        findings.push(if run.processes.is_empty() {
            Finding::warning(area, text).remedy("`pi-subagents sessions list` ends it")
        } else {
            Finding::problem(area, format!("{text}; left of it: {}", pids(&run.processes)))
                .remedy("`pi-subagents sessions list` stops what is left, and ends it")
        });
    }
    for process in &facts.leftover_processes {
        let text =
            format!("process {} is left of {}, which has ended", process.pid, process.run_dir);
        findings
            .push(Finding::problem(area, text).remedy(format!("`kill {}` stops it", process.pid)));
    }
    for problem in &facts.damaged {
        findings.push(
            Finding::warning(area, problem).remedy("remove it, unless you need what is in it"),
        );
    }
    for debris in &facts.debris {
        let text = format!("{} is left of a program that died", debris.path);
        findings.push(if debris.is_removable {
            Finding::warning(area, text).remedy("`pi-subagents sessions prune` removes it")
        } else {
            Finding::warning(area, text).remedy(
                "it may still be at work; after an hour `pi-subagents sessions prune` removes it",
            )
        });
    }
    for store in &facts.temporary_stores {
        let text = format!(
            "runs are kept in {}, because their project could not be written: {} ({})",
            store.path,
            store.runs,
            size(store.bytes)
        );
        findings.push(if store.is_in_use {
            Finding::warning(area, format!("{text}; one of them runs"))
        } else {
            Finding::warning(area, text).remedy(format!(
                "it may be removed when nobody needs its answers: `rm -r {}`",
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
