//! Gathers the facts. It changes nothing, and starts only tmux, agents for their versions, and what has the name of
//! this program, unless the default model is asked.

use std::env;
use std::path::Path;
use std::time::{Duration, SystemTime};

use agent::config::{KeySource, process_variable, survey_keys};
use plan::{
    Agent, AgentChoice, AgentError, AgentReason, DefinitionDirectories, Definitions, NamedAgent,
    Scope, Surroundings, Trust,
};
use process::Exit;
use runner::TmuxPanes;
use tools::Workspace;

use super::facts::{
    AgentFacts, ChosenFacts, ContainmentFacts, DefinitionFacts, EnvironmentFacts, ExtensionFacts,
    Facts, KeyFact, KeyFacts, ProgramFacts, SettingsFacts, SettingsFileFacts, UnknownSetting,
    UnsupportedKeyFact,
};
use super::{access, agents, models, runs, worktrees};
use crate::commands::is_child;
use crate::commands::named_program::NamedProgram;

/// Some agents start Node to print their version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_VERSION_BYTES: usize = 16 * 1024;

pub(super) fn gather(surroundings: Surroundings, pings: bool) -> Facts {
    let workspace = Workspace::load(surroundings, None);
    Facts {
        environment: environment(&workspace),
        agents: agent_facts(&workspace),
        keys: keys(&workspace),
        models: models::gather(&workspace, pings),
        profiles: definitions(
            &workspace.profiles,
            &DefinitionDirectories::of_profiles(&workspace.surroundings),
        ),
        presets: definitions(
            &workspace.presets,
            &DefinitionDirectories::of_presets(&workspace.surroundings),
        ),
        settings: settings(&workspace.surroundings),
        access: access::gather(&workspace.settings),
        extension: extension(&workspace.surroundings.agent_dir),
        store: runs::look(&tools::project_store(&workspace)),
        worktrees: worktrees::gather(&workspace.surroundings),
    }
}

fn environment(workspace: &Workspace) -> EnvironmentFacts {
    let Surroundings { cwd, home, agent_dir, search_path, .. } = &workspace.surroundings;
    let own_file = env::current_exe().unwrap_or_default();
    let root = workspace.surroundings.project_root();
    let (_, trust_problems) = plan::project_trust(None, agent_dir, root);
    EnvironmentFacts {
        home: home.as_deref().map(shown),
        agent_dir: shown(agent_dir),
        has_agent_dir: agent_dir.is_dir(),
        cwd: shown(cwd),
        project_root: shown(root),
        trust: match workspace.trust {
            Trust::Approved | Trust::Trusted => "trusted",
            Trust::Refused => "refused",
            Trust::Undecided => "undecided",
        },
        trust_problems: trust_problems.iter().map(ToString::to_string).collect(),
        is_child: is_child(),
        named_program: NamedProgram::find(&own_file, search_path.iter().cloned()),
        containment: containment(),
    }
}

fn containment() -> ContainmentFacts {
    let (cgroup, cgroup_problem) = match process::Cgroup::parent() {
        Ok(directory) => (Some(shown(&directory)), None),
        Err(problem) => (None, Some(problem.to_string())),
    };
    ContainmentFacts { cgroup, cgroup_problem, is_proc_own: process::is_proc_own() }
}

fn agent_facts(workspace: &Workspace) -> AgentFacts {
    let surroundings = &workspace.surroundings;
    let pi = Agent::Pi.find(surroundings).map(|path| program(&path));
    let (chosen, problem) = match AgentChoice::new(None, surroundings, &workspace.settings) {
        Ok(choice) => {
            let agent = choice.usual().clone();
            let chosen = ChosenFacts {
                kind: agent.kind(),
                reason: reason(choice.reason()),
                path: agent.find(surroundings).as_deref().map(shown),
                program: match agent {
                    Agent::Program(command) | Agent::Named(NamedAgent { command, .. }) => {
                        command.into_iter().next()
                    }
                    Agent::Pi | Agent::Builtin => None,
                },
            };
            (Some(chosen), None)
        }
        // The value is not repeated: it may contain a key.
        Err(AgentError::NotUnderstood { origin, available, .. }) => {
            let problem = format!(
                "{origin} does not name an agent: it is none of {}, and no JSON array of a program \
                 and its arguments",
                available.join(", ")
            );
            (None, Some(problem))
        }
    };
    let others = agents::gather(surroundings, &workspace.settings);
    AgentFacts { builtin_version: env!("CARGO_PKG_VERSION"), pi, others, chosen, problem }
}

fn reason(reason: AgentReason) -> &'static str {
    match reason {
        AgentReason::Asked => "the command line names it",
        AgentReason::Environment => "PI_SUBAGENTS_AGENT names it",
        AgentReason::Settings => "`subagents.agent` in the settings names it",
        AgentReason::PiInstalled => "no setting names another agent, and pi is installed",
        AgentReason::KeyFound => {
            "no setting names another agent, pi is not installed, and it has a key"
        }
        AgentReason::Installed => {
            "no setting names another agent, pi is not installed, and the built-in agent has no key"
        }
        AgentReason::NothingElse => "no setting names another agent, and no other is installed",
    }
}

/// A program that is there, and its version.
pub(super) fn program(path: &Path) -> ProgramFacts {
    let (version, problem) = match version_of(path) {
        Ok(version) => (Some(version), None),
        Err(problem) => (None, Some(problem)),
    };
    ProgramFacts { path: shown(path), version, problem }
}

fn version_of(program: &Path) -> Result<String, String> {
    let program = program.to_str().ok_or("its path is not valid UTF-8")?;
    let output =
        process::command_output(program, &["--version"], VERSION_TIMEOUT, MAX_VERSION_BYTES)
            .map_err(|error| error.to_string())?;
    let first_line = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    };
    match output.exit {
        Exit::Code(0) => first_line(&output.stdout)
            .or_else(|| first_line(&output.stderr))
            .ok_or_else(|| "it printed nothing".to_owned()),
        Exit::Code(code) => {
            let complaint = first_line(&output.stderr);
            let complaint = complaint.map(|line| format!(": {line}")).unwrap_or_default();
            Err(format!("it exited with code {code}{complaint}"))
        }
        Exit::Signal(signal) => Err(format!("it was killed by signal {signal}")),
    }
}

fn keys(workspace: &Workspace) -> KeyFacts {
    let agent_dir = &workspace.surroundings.agent_dir;
    let survey = survey_keys(agent_dir, &process_variable, SystemTime::now());
    let with_key =
        workspace.profiles.iter().filter(|profile| profile.configuration.api_key.is_some());
    KeyFacts {
        keys: survey
            .keys
            .into_iter()
            .map(|key| KeyFact {
                provider: key.provider,
                place: match key.source {
                    KeySource::Variable(name) => name,
                    KeySource::AuthFile => "auth.json".to_owned(),
                    KeySource::SignIn => "a sign-in in auth.json".to_owned(),
                    KeySource::ModelsFile => "models.json".to_owned(),
                },
                problem: key.problem,
            })
            .collect(),
        unsupported: survey
            .unsupported
            .into_iter()
            .map(|key| UnsupportedKeyFact {
                provider: key.provider,
                place: key.place,
                reason: key.reason,
            })
            .collect(),
        configured_providers: survey.configured,
        profiles_with_key: with_key.map(|profile| profile.name.clone()).collect(),
        problems: survey.problems,
    }
}

fn definitions(definitions: &Definitions, directories: &DefinitionDirectories) -> DefinitionFacts {
    let count = |scope| {
        let own = definitions.iter().filter(|definition| definition.is_own());
        own.filter(|definition| definition.scope == scope).count()
    };
    let of_claude = definitions.iter().filter(|definition| !definition.is_own()).count();
    let claude_directories = directories.claude.iter().filter(|(_, path)| path.is_dir());
    // Such a definition can be loaded, but every call that uses it is refused.
    let contradictions = definitions.iter().filter_map(|definition| {
        let contradiction = plan::check_definition(definition).err()?;
        Some(format!("{}: {contradiction}", shown(&definition.path)))
    });
    DefinitionFacts {
        global: count(Scope::Global),
        project: count(Scope::Project),
        directories: [shown(&directories.global), shown(&directories.project)],
        claude: of_claude,
        claude_directories: claude_directories.map(|(_, path)| shown(path)).collect(),
        warnings: definitions.all_warnings().map(ToString::to_string).collect(),
        contradictions: contradictions.collect(),
    }
}

fn settings(surroundings: &Surroundings) -> SettingsFacts {
    let files = plan::inspect_settings(surroundings).into_iter().map(|file| SettingsFileFacts {
        path: shown(&file.path),
        is_there: file.is_there,
        blocks_tasks: file.blocks_tasks,
        problems: file.problems,
        unknown: file
            .unknown
            .into_iter()
            .map(|name| UnknownSetting {
                suggestions: plan::similar_names(&name, plan::SETTINGS),
                name,
            })
            .collect(),
    });
    let launcher = tools::foreground_launcher(surroundings).err();
    let choice = plan::load_launcher_choice(surroundings).ok();
    let tmux = TmuxPanes::beside_this_pane().map(drop).map_err(|error| error.to_string());
    SettingsFacts {
        files: files.collect(),
        runner: choice.as_ref().map(|choice| choice.kind.word()),
        runner_file: choice.and_then(|choice| choice.file).as_deref().map(shown),
        runner_problem: launcher.as_ref().map(ToString::to_string),
        runner_remedy: launcher.and_then(|error| error.hint()),
        tmux_problem: tmux.err(),
    }
}

fn extension(agent_dir: &Path) -> ExtensionFacts {
    match setup::pi::inspect(agent_dir) {
        Ok(found) => ExtensionFacts {
            directory: Some(shown(&found.directory)),
            is_installed: found.is_installed,
            version: found.version,
            differing_files: found.differing.len(),
            has_program: found.program.as_ref().is_some_and(|program| program.is_file()),
            program: found.program.as_deref().map(shown),
            problem: None,
        },
        Err(error) => {
            ExtensionFacts { problem: Some(error.to_string()), ..ExtensionFacts::default() }
        }
    }
}

pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}
