//! What `doctor` found, as plain data. It never contains the value of a key.

use serde::Serialize;

use super::access::AccessFacts;
use super::models::ModelFacts;
use super::worktrees::WorktreesFacts;
use crate::commands::named_program::NamedProgram;

#[derive(Debug, Serialize)]
pub(super) struct Facts {
    pub(super) environment: EnvironmentFacts,
    pub(super) agents: AgentFacts,
    pub(super) keys: KeyFacts,
    pub(super) models: ModelFacts,
    pub(super) profiles: DefinitionFacts,
    pub(super) presets: DefinitionFacts,
    pub(super) settings: SettingsFacts,
    pub(super) access: AccessFacts,
    pub(super) extension: ExtensionFacts,
    pub(super) store: StoreFacts,
    pub(super) worktrees: WorktreesFacts,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EnvironmentFacts {
    pub(super) home: Option<String>,
    pub(super) agent_dir: String,
    pub(super) has_agent_dir: bool,
    pub(super) cwd: String,
    pub(super) project_root: String,
    /// `trusted`, `refused` or `undecided`.
    pub(super) trust: &'static str,
    pub(super) trust_problems: Vec<String>,
    pub(super) is_child: bool,
    /// What the name of this program leads to on `PATH`.
    pub(super) named_program: NamedProgram,
    pub(super) containment: ContainmentFacts,
}

/// How the processes of a run are held together here.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContainmentFacts {
    /// The directory in which each run gets a cgroup of its own.
    pub(super) cgroup: Option<String>,
    /// Why there is none.
    pub(super) cgroup_problem: Option<String>,
    /// Whether `/proc` shows the processes of this program's own pid namespace.
    pub(super) is_proc_own: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentFacts {
    pub(super) builtin_version: &'static str,
    pub(super) pi: Option<ProgramFacts>,
    /// Agents of other makes, and those that the settings name.
    pub(super) others: Vec<OtherAgentFacts>,
    /// Absent if `PI_SUBAGENTS_AGENT` cannot be understood.
    pub(super) chosen: Option<ChosenFacts>,
    pub(super) problem: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtherAgentFacts {
    pub(super) name: String,
    pub(super) title: String,
    /// Absent if it is not installed.
    pub(super) program: Option<ProgramFacts>,
    /// The program that the settings name, without its arguments.
    pub(super) configured: Option<String>,
    /// What shows that it is signed in, if something does. Absent where it cannot be seen.
    pub(super) sign_in: Option<String>,
    /// What the user does about a missing program, or a missing sign-in.
    pub(super) remedy: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub(super) struct ProgramFacts {
    pub(super) path: String,
    pub(super) version: Option<String>,
    /// Why its version is unknown.
    pub(super) problem: Option<String>,
}

/// The agent of a task whose profile or preset names none.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChosenFacts {
    pub(super) kind: model::AgentKind,
    pub(super) reason: &'static str,
    /// The program that the settings or the environment name, without its arguments: one of them may
    /// be a key.
    pub(super) program: Option<String>,
    /// The file of the program; absent if there is none, and for the built-in agent.
    pub(super) path: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeyFacts {
    pub(super) keys: Vec<KeyFact>,
    /// Those that only pi can use.
    pub(super) unsupported: Vec<UnsupportedKeyFact>,
    /// The providers that `models.json` adds or changes.
    pub(super) configured_providers: Vec<String>,
    pub(super) profiles_with_key: Vec<String>,
    pub(super) problems: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct KeyFact {
    pub(super) provider: String,
    /// A variable's name, `auth.json`, `a sign-in in auth.json` or `models.json`.
    pub(super) place: String,
    /// Why the key cannot be used.
    pub(super) problem: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct UnsupportedKeyFact {
    pub(super) provider: String,
    /// A variable's name, or `auth.json`.
    pub(super) place: String,
    /// Why the built-in agent cannot ask the provider.
    pub(super) reason: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DefinitionFacts {
    pub(super) global: usize,
    pub(super) project: usize,
    /// The user's and the project's.
    pub(super) directories: [String; 2],
    /// Those of Claude Code.
    pub(super) claude: usize,
    /// The directories of Claude Code that exist.
    pub(super) claude_directories: Vec<String>,
    pub(super) warnings: Vec<String>,
    /// Definitions whose fields contradict each other.
    pub(super) contradictions: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SettingsFacts {
    pub(super) files: Vec<SettingsFileFacts>,
    /// `process` or `tmux`; absent if `subagents.json` cannot be understood.
    pub(super) runner: Option<&'static str>,
    pub(super) runner_file: Option<String>,
    /// Why this runner cannot start runs.
    pub(super) runner_problem: Option<String>,
    pub(super) runner_remedy: Option<String>,
    /// Why tmux panes are not available; absent if they are.
    pub(super) tmux_problem: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SettingsFileFacts {
    pub(super) path: String,
    pub(super) is_there: bool,
    /// Whether no task starts until it is right.
    pub(super) blocks_tasks: bool,
    pub(super) problems: Vec<String>,
    pub(super) unknown: Vec<UnknownSetting>,
}

#[derive(Debug, Serialize)]
pub(super) struct UnknownSetting {
    pub(super) name: String,
    pub(super) suggestions: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExtensionFacts {
    pub(super) directory: Option<String>,
    pub(super) is_installed: bool,
    pub(super) version: Option<String>,
    /// How many of its files are missing or differ from this program's.
    pub(super) differing_files: usize,
    pub(super) program: Option<String>,
    pub(super) has_program: bool,
    /// Why the directory is not an extension of this program.
    pub(super) problem: Option<String>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoreFacts {
    pub(super) path: String,
    /// Why runs cannot be saved there.
    pub(super) problem: Option<String>,
    pub(super) runs: usize,
    pub(super) sessions: usize,
    pub(super) bytes: u64,
    pub(super) limits: LimitFacts,
    pub(super) running: Vec<RunFacts>,
    /// Runs without a result whose supervisor is gone.
    pub(super) abandoned: Vec<RunFacts>,
    /// Processes of runs that have ended.
    pub(super) leftover_processes: Vec<ProcessFacts>,
    /// Why a run cannot be read.
    pub(super) damaged: Vec<String>,
    /// Left by programs that died while they created or removed a run.
    pub(super) debris: Vec<DebrisFacts>,
    /// Those of runs, of any project, whose supervisor was killed.
    pub(super) empty_cgroups: Vec<String>,
    pub(super) temporary_stores: Vec<TemporaryStoreFacts>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct LimitFacts {
    pub(super) runs: usize,
    pub(super) bytes: u64,
    pub(super) days: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunFacts {
    pub(super) run_id: String,
    pub(super) name: String,
    pub(super) is_background: bool,
    /// Milliseconds since 1970.
    pub(super) created_at: u64,
    /// Found by their environment.
    pub(super) processes: Vec<i32>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProcessFacts {
    pub(super) pid: i32,
    pub(super) run_dir: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DebrisFacts {
    pub(super) path: String,
    /// Whether pruning removes it: it is too old to be in use.
    pub(super) is_removable: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TemporaryStoreFacts {
    pub(super) path: String,
    pub(super) runs: usize,
    pub(super) bytes: u64,
    pub(super) is_in_use: bool,
}
