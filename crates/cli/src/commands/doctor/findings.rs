//! What `doctor` says about the facts. Pure, and tested by tables.

use agent::config::UnsupportedKey;
use plan::{SurroundingsError, did_you_mean};

use super::facts::{
    AgentFacts, ContainmentFacts, DefinitionFacts, EnvironmentFacts, ExtensionFacts, Facts,
    KeyFact, KeyFacts, ProgramFacts, SettingsFacts, UnsupportedKeyFact,
};
use super::section::{Area, Finding, Level, Section};
use super::{access, agents, models, runs, worktrees};
use crate::commands::named_program::NamedProgram;

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
    findings.extend(runs::findings(&facts.store));
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
        let (found, remedy) = without_cgroup(cfg!(target_os = "linux"));
        let found = section.fine(format!("runs have no cgroup ({problem}); {found}"));
        if let Some(remedy) = remedy {
            found.remedy(remedy);
        }
    }
}

/// How the processes of a run are found that has no cgroup, and how it would get one.
fn without_cgroup(is_linux: bool) -> (&'static str, Option<&'static str>) {
    if is_linux {
        return (
            "processes are found by their parents, their environment and the agent's session",
            Some(
                "where systemd runs, start this program with `systemd-run --user --scope` to get one",
            ),
        );
    }
    ("processes are found by the agent's process group; one that leaves the group escapes", None)
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

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
