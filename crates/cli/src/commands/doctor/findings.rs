//! What `doctor` says about the facts. Pure, and tested by tables.

use agent::config::UnsupportedKey;
use plan::{SurroundingsError, did_you_mean};
use serde::Serialize;

use super::facts::{
    AgentFacts, ContainmentFacts, DefinitionFacts, EnvironmentFacts, ExtensionFacts, Facts,
    KeyFact, KeyFacts, ProcessFacts, ProgramFacts, RunFacts, SettingsFacts, StoreFacts,
    TemporaryStoreFacts, UnsupportedKeyFact,
};
use super::{access, agents, models, worktrees};
use crate::commands::named_program::NamedProgram;

/// The sections of the report, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Area {
    Environment,
    Agents,
    Keys,
    Models,
    Definitions,
    Settings,
    Access,
    Extension,
    Runs,
}

impl Area {
    pub(super) fn title(self) -> &'static str {
        match self {
            Area::Environment => "Environment",
            Area::Agents => "Agents",
            Area::Keys => "Keys",
            Area::Models => "Models",
            Area::Definitions => "Profiles and presets",
            Area::Settings => "Settings",
            Area::Access => "Access",
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
    pub(super) fn remedy(&mut self, remedy: impl Into<String>) -> &mut Finding {
        self.remedies.push(remedy.into());
        self
    }
}

pub(super) struct Section {
    area: Area,
    pub(super) findings: Vec<Finding>,
}

impl Section {
    pub(super) fn new(area: Area) -> Section {
        Section { area, findings: Vec::new() }
    }

    pub(super) fn fine(&mut self, text: impl Into<String>) -> &mut Finding {
        self.add(Level::Fine, text)
    }

    pub(super) fn warning(&mut self, text: impl Into<String>) -> &mut Finding {
        self.add(Level::Warning, text)
    }

    pub(super) fn problem(&mut self, text: impl Into<String>) -> &mut Finding {
        self.add(Level::Problem, text)
    }

    pub(super) fn add(&mut self, level: Level, text: impl Into<String>) -> &mut Finding {
        let finding = Finding { area: self.area, level, text: text.into(), remedies: Vec::new() };
        self.findings.push_mut(finding)
    }
}

pub(super) fn of_facts(facts: &Facts) -> Vec<Finding> {
    let mut findings = environment(&facts.environment);
    findings.extend(agents(&facts.agents));
    let uses_builtin =
        facts.agents.chosen.as_ref().is_some_and(|chosen| chosen.kind == model::AgentKind::Builtin);
    findings.extend(keys(&facts.keys, uses_builtin, &facts.environment.agent_dir));
    findings.extend(models::findings(&facts.models));
    findings.extend(definitions("profile", &facts.profiles));
    findings.extend(definitions("preset", &facts.presets));
    findings.extend(settings(&facts.settings));
    findings.extend(access::findings(&facts.access));
    findings.extend(extension(&facts.extension, facts.agents.pi.is_some()));
    findings.extend(store(&facts.store));
    findings.extend(worktrees::findings(&facts.worktrees));
    findings
}

/// Not even the directories are known.
pub(super) fn no_surroundings(error: &SurroundingsError) -> Vec<Finding> {
    let mut section = Section::new(Area::Environment);
    section.problem(error.to_string()).remedy(match error {
        SurroundingsError::NoCurrentDirectory(_) => "go to a directory that exists",
        SurroundingsError::NoHome => "set HOME",
        SurroundingsError::NotUnicode(_) => "use another directory",
        SurroundingsError::AgentNotUnicode => "unset PI_SUBAGENTS_AGENT",
    });
    section.findings
}

fn environment(facts: &EnvironmentFacts) -> Vec<Finding> {
    let mut section = Section::new(Area::Environment);
    match &facts.home {
        Some(home) => section.fine(format!("home directory {home}")),
        None => section.warning("there is no home directory").remedy("set HOME"),
    };
    let absent = if facts.has_agent_dir { "" } else { ", which does not exist yet" };
    section.fine(format!("agent directory {}{absent}", facts.agent_dir));
    let trust = match facts.trust {
        "trusted" => "trusted: its files may load extensions and pass arguments",
        "refused" => "not trusted",
        _ => "not trusted yet: its files may not load extensions or pass arguments",
    };
    section.fine(format!("project {}, {trust}", facts.project_root));
    for problem in &facts.trust_problems {
        section.warning(problem).remedy("fix the file, or remove it and let pi ask again");
    }
    if facts.is_child {
        section.warning("this is a sub-agent, which cannot start others (PI_SUBAGENTS_CHILD=1)");
    }
    named_program(&mut section, &facts.named_program);
    containment(&mut section, &facts.containment);
    section.findings
}

fn named_program(section: &mut Section, named: &NamedProgram) {
    let own = env!("CARGO_PKG_VERSION");
    match named {
        NamedProgram::Missing | NamedProgram::This => {}
        NamedProgram::Ours { version, .. } if version == own => {}
        NamedProgram::Ours { path, version } => {
            let path = path.display();
            section
                .warning(format!(
                    "{path}, on your PATH, is version {version}; this program is {own}"
                ))
                .remedy("update one of the two, or remove it");
        }
        NamedProgram::Other { .. } => {
            section.warning(named.to_string()).remedy(
                "put the directory of this program before it on your PATH, or start this program by its path",
            );
        }
    }
}

fn containment(section: &mut Section, facts: &ContainmentFacts) {
    if !facts.is_proc_own {
        section
            .warning(
                "/proc shows the processes of another pid namespace, so that processes cannot be \
                 found",
            )
            .remedy("mount the /proc of this namespace, as `unshare --mount-proc` does");
    }
    if let Some(directory) = &facts.cgroup {
        section.fine(format!("each run has its own cgroup, in {directory}"));
    } else {
        let problem = facts.cgroup_problem.as_deref().unwrap_or("the reason is not known");
        section
            .fine(format!(
                "runs have no cgroup ({problem}); processes are found by their parents, their \
                 environment and the agent's session"
            ))
            .remedy(
                "where systemd runs, start this program with `systemd-run --user --scope` to get one",
            );
    }
}

fn agents(facts: &AgentFacts) -> Vec<Finding> {
    let mut section = Section::new(Area::Agents);
    section.fine(format!("built-in agent {}", facts.builtin_version));
    let is_pi_chosen =
        facts.chosen.as_ref().is_some_and(|chosen| chosen.kind == model::AgentKind::Pi);
    if let Some(ProgramFacts { path, version, problem }) = &facts.pi {
        if let Some(version) = version {
            section.fine(format!("pi {version}: {path}"));
        } else {
            let problem = problem.as_deref().unwrap_or("it printed nothing");
            let level = if is_pi_chosen { Level::Problem } else { Level::Warning };
            section
                .add(level, format!("{path} did not print its version: {problem}"))
                .remedy(format!("run `{path} --version` to see why"))
                .remedy("use `--agent builtin` until it works");
        }
    } else if !is_pi_chosen {
        section.fine("pi is not installed, and not needed");
    }
    agents::findings(&mut section, facts);
    if let Some(problem) = &facts.problem {
        section.problem(problem).remedy("set it to another value, or unset it");
    }
    let Some(chosen) = &facts.chosen else { return section.findings };
    let reason = chosen.reason;
    match (&chosen.kind, &chosen.path, &chosen.program) {
        (model::AgentKind::Builtin, ..) => {
            section.fine(format!("tasks use the built-in agent: {reason}"))
        }
        (model::AgentKind::Pi, Some(_), _) => section.fine(format!("tasks use pi: {reason}")),
        (model::AgentKind::Pi, None, _) => section
            .problem(format!("tasks would use pi, which is not installed: {reason}"))
            .remedy("install it with `npm install -g @earendil-works/pi-coding-agent`")
            .remedy("or use \"builtin\" instead"),
        (model::AgentKind::Named(name), Some(_), _) => {
            section.fine(format!("tasks use {name}: {reason}"))
        }
        (model::AgentKind::Named(name), None, _) => {
            let agent = facts.others.iter().find(|agent| agent.name == *name);
            let text = format!("tasks would use {name}, which is not installed: {reason}");
            section.problem(text).remedy(agent.and_then(|agent| agent.remedy).unwrap_or_default())
        }
        (model::AgentKind::Program, Some(path), _) => {
            section.fine(format!("tasks use {path}: {reason}"))
        }
        (model::AgentKind::Program, None, program) => {
            let program = program.as_deref().unwrap_or_default();
            let text = format!(
                "tasks would use {program:?}, which is missing or not executable: {reason}"
            );
            section.problem(text).remedy("name a program on PATH, or give its whole path")
        }
    };
    section.findings
}

fn keys(facts: &KeyFacts, uses_builtin: bool, agent_dir: &str) -> Vec<Finding> {
    let mut section = Section::new(Area::Keys);
    for KeyFact { provider, place, problem } in &facts.keys {
        match problem {
            None => section.fine(format!("{provider}: {place}")),
            Some(problem) => section
                .warning(format!("{provider}: {place} has a key that cannot be used: {problem}"))
                .remedy(format!("fix {agent_dir}/auth.json")),
        };
    }
    for UnsupportedKeyFact { provider, place, reason } in &facts.unsupported {
        let key = UnsupportedKey {
            provider: provider.clone(),
            place: place.clone(),
            reason: reason.clone(),
        };
        let text = key.to_string();
        if uses_builtin {
            section
                .warning(text)
                .remedy("install pi with `npm install -g @earendil-works/pi-coding-agent`");
        } else {
            section.fine(text);
        }
    }
    for problem in &facts.problems {
        let level = if uses_builtin { Level::Problem } else { Level::Warning };
        section.add(level, problem).remedy("fix the file");
    }
    for profile in &facts.profiles_with_key {
        section.fine(format!("profile \"{profile}\" has its own key"));
    }
    if !facts.configured_providers.is_empty() {
        let providers = facts.configured_providers.join(", ");
        section.fine(format!("models.json configures {providers}"));
    }
    let has_any =
        facts.keys.iter().any(|key| key.problem.is_none()) || !facts.profiles_with_key.is_empty();
    if !has_any {
        let remedy = format!(
            "set an environment variable such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or put a key \
             into {agent_dir}/auth.json"
        );
        if uses_builtin {
            let text = if facts.unsupported.is_empty() {
                "there is no API key for any provider"
            } else {
                "there is no API key that the built-in agent can use"
            };
            section.problem(text).remedy(remedy).remedy(
                "to try it without a key, play a script: `--agent builtin --model script/FILE`",
            );
        } else if facts.unsupported.is_empty() {
            section
                .warning("the built-in agent has no API key; other agents may have their own")
                .remedy(remedy);
        }
    }
    section.findings
}

fn definitions(word: &str, facts: &DefinitionFacts) -> Vec<Finding> {
    let mut section = Section::new(Area::Definitions);
    let DefinitionFacts { global, project, directories: [globals, projects], .. } = facts;
    let count = global + project;
    let plural = if count == 1 { "" } else { "s" };
    section.fine(format!("{count} {word}{plural}: {global} in {globals}, {project} in {projects}"));
    if facts.claude > 0 {
        let (count, places) = (facts.claude, facts.claude_directories.join(" and "));
        let plural = if count == 1 { "" } else { "s" };
        section.fine(format!("{count} more {word}{plural} of Claude Code, in {places}"));
    }
    for warning in &facts.warnings {
        let remedy = format!("fix the file, and check it with `pi-subagents {word} list`");
        section.warning(warning).remedy(remedy);
    }
    for contradiction in &facts.contradictions {
        let remedy =
            format!("remove one of the two; until then tasks with this {word} are refused");
        section.warning(contradiction).remedy(remedy);
    }
    section.findings
}

fn settings(facts: &SettingsFacts) -> Vec<Finding> {
    let mut section = Section::new(Area::Settings);
    for file in &facts.files {
        let path = &file.path;
        if !file.is_there {
            section.fine(format!("{path} does not exist, which is fine"));
        } else if file.problems.is_empty() && file.unknown.is_empty() {
            section.fine(path);
        }
        for problem in &file.problems {
            let text = format!("{path}: {problem}");
            if file.blocks_tasks {
                section.problem(text).remedy("fix it; until then no task starts without --access");
            } else {
                section.warning(text).remedy("fix it; until then it is ignored");
            }
        }
        for unknown in &file.unknown {
            let name = &unknown.name;
            let meant = did_you_mean(&unknown.suggestions);
            let text = format!("{path}: there is no setting \"subagents.{name}\".{meant}");
            section.warning(text).remedy(match unknown.suggestions.first() {
                Some(suggestion) => format!("rename it to \"{suggestion}\", or remove it"),
                None => format!("remove it; the settings are {}", plan::SETTINGS.join(", ")),
            });
        }
    }
    let tmux = match &facts.tmux_problem {
        None => "tmux panes are available".to_owned(),
        Some(problem) => format!("tmux panes are not available: {problem}"),
    };
    if let Some(problem) = &facts.runner_problem {
        section.problem(problem).remedy(facts.runner_remedy.as_deref().unwrap_or("fix the file"));
    } else {
        let runner = facts.runner.unwrap_or("process");
        let file = facts.runner_file.as_deref().unwrap_or("default");
        section.fine(format!("runner \"{runner}\" ({file}); {tmux}"));
    }
    section.findings
}

fn extension(facts: &ExtensionFacts, is_pi_there: bool) -> Vec<Finding> {
    const SETUP: &str = "install this version with `pi-subagents setup pi`";
    let mut section = Section::new(Area::Extension);
    let directory = facts.directory.as_deref().unwrap_or_default();
    let own = env!("CARGO_PKG_VERSION");
    let version = facts.version.as_deref().unwrap_or("of an unknown version");
    if let Some(problem) = &facts.problem {
        section.warning(problem).remedy("move it away, then run `pi-subagents setup pi`");
    } else if !facts.is_installed {
        let finding = section.fine("not installed");
        if is_pi_there {
            finding.remedy(SETUP);
        }
    } else if !facts.has_program {
        section.problem(format!("{directory} starts a program that does not exist")).remedy(SETUP);
    } else if version != own {
        section
            .warning(format!("{version} in {directory}, but this program is {own}"))
            .remedy(SETUP);
    } else if facts.differing_files > 0 {
        let text = format!(
            "{version} in {directory}, but {} of its files differ from this program's",
            facts.differing_files
        );
        section.warning(text).remedy(SETUP);
    } else {
        section.fine(format!("{version} in {directory}"));
    }
    section.findings
}

fn store(facts: &StoreFacts) -> Vec<Finding> {
    let mut section = Section::new(Area::Runs);
    let StoreFacts { runs, sessions, path, limits, .. } = facts;
    let text = format!(
        "{runs} runs in {sessions} sessions, {} in {path}; limits: {} runs, {}, {} days",
        size(facts.bytes),
        limits.runs,
        size(limits.bytes),
        limits.days
    );
    if facts.runs > limits.runs || facts.bytes > limits.bytes {
        section.warning(text).remedy("remove old runs with `pi-subagents sessions prune`");
    } else {
        section.fine(text);
    }
    if let Some(problem) = &facts.problem {
        section.problem(format!("runs cannot be saved here: {problem}")).remedy(
            "make the directory writable; until then runs are saved in a temporary directory, and \
             background runs are refused",
        );
    }
    for RunFacts { run_id, name, is_background, .. } in &facts.running {
        if *is_background {
            section
                .fine(format!("{run_id} ({name}) is running in the background"))
                .remedy(format!("stop it with `pi-subagents bg stop {run_id}`"));
        } else {
            section.fine(format!("{run_id} ({name}) is running"));
        }
    }
    for RunFacts { run_id, name, processes, .. } in &facts.abandoned {
        let text = format!("{run_id} ({name}) lost its supervisor and has not ended");
        if processes.is_empty() {
            section.warning(text).remedy("end it with `pi-subagents sessions list`");
        } else {
            section
                .problem(format!("{text}; still running: {}", pids(processes)))
                .remedy("stop its processes and end it with `pi-subagents sessions list`");
        }
    }
    for ProcessFacts { pid, run_dir } in &facts.leftover_processes {
        section
            .problem(format!("process {pid} is left over from {run_dir}, which has ended"))
            .remedy(format!("stop it with `kill {pid}`"));
    }
    for problem in &facts.damaged {
        section.warning(problem).remedy("remove it, unless you need its content");
    }
    for debris in &facts.debris {
        let text = format!("{} was left by a program that died", debris.path);
        section.warning(text).remedy(if debris.is_removable {
            "remove it with `pi-subagents sessions prune`"
        } else {
            "the program may still be running; after an hour, remove it with `pi-subagents \
             sessions prune`"
        });
    }
    // They do no harm, and the run of each may be another project's, which removes it when it ends the run.
    if let [first, others @ ..] = facts.empty_cgroups.as_slice() {
        let text = match others.len() {
            0 => format!("the empty cgroup {first} was left by a supervisor that was killed"),
            more => {
                format!(
                    "{first} and {more} more empty cgroups were left by supervisors that were killed"
                )
            }
        };
        section.fine(text).remedy("remove what is empty with `pi-subagents sessions prune`");
    }
    for TemporaryStoreFacts { path, runs, bytes, is_in_use } in &facts.temporary_stores {
        let text = format!(
            "{runs} runs ({}) are in {path}, because their project could not be written",
            size(*bytes)
        );
        if *is_in_use {
            section.warning(format!("{text}; one of them is running"));
        } else {
            let remedy =
                format!("when you no longer need their answers, remove them with `rm -r {path}`");
            section.warning(text).remedy(remedy);
        }
    }
    section.findings
}

fn pids(processes: &[i32]) -> String {
    let ids: Vec<String> = processes.iter().map(ToString::to_string).collect();
    format!("process{} {}", if ids.len() == 1 { "" } else { "es" }, ids.join(", "))
}

pub(super) fn size(bytes: u64) -> String {
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
