//! From the tasks of a call to plans.

mod apply;
mod demands;
mod fallbacks;
mod inputs;
mod meta;
mod placement;
mod prompt;
mod remote;
mod shared;
mod types;

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Access, CallId, InvalidId, OwnerKind, Plan, RunId};
use protocol::Configuration;

use crate::access::AccessWishes;
use crate::{
    Agent, Contradiction, Definition, DefinitionKind, FileWarning, Refusal, Scope, Skills,
    Workspace, check_definition, new_id,
};
use apply::Applied;
use demands::budget;
use inputs::TaskInputs;
use placement::{Placement, PlannedStart};
use prompt::full_prompt;
pub use remote::named_server;
use shared::Shared;
pub use types::{ContinuedSession, PlanOptions, PlannedTask, PlannedTasks, Task};

/// Makes sure that no profile or preset that a task names contradicts itself.
pub fn check_tasks(workspace: &Workspace, tasks: &[Task]) -> Result<(), Contradiction> {
    let named = tasks.iter().filter_map(Task::definition);
    let mut definitions =
        named.filter_map(|(kind, name)| workspace.definitions(kind).get(name).ok());
    definitions.try_for_each(check_definition)
}

/// Decides everything about the tasks of a call. What is wrong with one task becomes its refusal.
pub fn plan_tasks(
    workspace: &Workspace,
    options: &PlanOptions,
    tasks: impl IntoIterator<Item = (Task, Option<ContinuedSession>)>,
) -> Result<PlannedTasks, InvalidId> {
    let call_id = CallId::parse(&new_id().to_string())?;
    let shared = Shared::new(workspace);
    let (skills, warnings) = (None, Vec::new());
    let tasks: Vec<_> = tasks.into_iter().collect();
    let has_many_tasks = tasks.len() > 1;
    let mut planner =
        Planner { workspace, options, call_id, has_many_tasks, skills, warnings, shared };
    let named = tasks.iter().filter_map(|(task, _)| task.definition());
    let of_files = file_warnings(workspace, &named.collect::<Vec<_>>());
    // Not collected: the small results would stay in the place of the large tasks.
    let mut planned = Vec::with_capacity(tasks.len());
    for (task, session) in tasks {
        planned.push(planner.plan(task, session)?);
    }
    let mut warnings = of_files;
    warnings.append(&mut planner.warnings);
    let of_skills = planner.skills.iter().flat_map(|skills| &skills.warnings);
    warnings.extend(of_skills.map(ToString::to_string));
    Ok(PlannedTasks { tasks: planned, warnings })
}

/// What is wrong with the files of these definitions, and in one line that there are others: a task
/// does not depend on those, and they must not hide what concerns it.
fn file_warnings(workspace: &Workspace, named: &[(DefinitionKind, &str)]) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut others: Vec<&FileWarning> = Vec::new();
    for kind in [DefinitionKind::Profile, DefinitionKind::Preset] {
        let definitions = workspace.definitions(kind);
        let is_meant = |warning: &FileWarning| {
            let names = named.iter().filter(|(of_kind, _)| *of_kind == kind);
            names.map(|(_, name)| *name).any(|name| {
                // A file that cannot be loaded is known by its name alone.
                definitions.get(name).is_ok_and(|definition| definition.path == warning.path)
                    || warning.path.file_stem().is_some_and(|stem| stem == name)
            })
        };
        let (meant, rest): (Vec<_>, Vec<_>) =
            definitions.warnings.iter().partition(|warning| is_meant(warning));
        let is_foreign = |(of_kind, name): &(DefinitionKind, &str)| {
            *of_kind == kind && !definitions.has_own(name)
        };
        let foreign: &[FileWarning] =
            if named.iter().any(is_foreign) { definitions.foreign_warnings() } else { &[] };
        let foreign = foreign.iter().filter(|warning| is_meant(warning));
        warnings.extend(meant.into_iter().chain(foreign).map(ToString::to_string));
        others.extend(rest);
    }
    match others.as_slice() {
        [] => {}
        [only] => warnings.push(only.to_string()),
        [first, ..] => warnings.push(format!(
            "There are {} warnings about the files of other profiles and presets, such as {}; \
             `pi-subagents doctor` lists them",
            others.len(),
            first.path.display()
        )),
    }
    warnings
}

struct Planner<'a> {
    workspace: &'a Workspace,
    options: &'a PlanOptions,
    call_id: CallId,
    has_many_tasks: bool,
    /// Looked for once, and only if a task needs them.
    skills: Option<Skills>,
    warnings: Vec<String>,
    shared: Shared,
}

impl Planner<'_> {
    fn plan(
        &mut self,
        task: Task,
        session: Option<ContinuedSession>,
    ) -> Result<PlannedTask, InvalidId> {
        let (mut inputs, permitted) = self.inputs(task, session)?;
        let mut placement = match self.pool(&inputs) {
            None => self.place_here(&inputs, permitted),
            Some(pool) => self.place_remotely(&inputs, pool, permitted),
        };
        let worktree = self.worktree(&inputs, placement.worktree_need).unwrap_or_else(|problem| {
            placement.refusal.get_or_insert(problem);
            None
        });
        let prompt = full_prompt(&inputs, &placement);
        self.warn_about_start(&inputs.task, &placement);
        let PlannedStart { invocation, fallbacks, remote } = mem::take(&mut placement.start);
        let (refusal, missing_agent) = (placement.refusal.take(), placement.missing_agent.take());
        let definition = inputs.summary.take();
        let environment = self.shared.environment.of(invocation.environment);
        let plan = Box::new(Plan {
            meta: Arc::new(self.meta(inputs, placement, environment, worktree)?),
            prompt,
            command: self.shared.command.of(invocation.command),
            fallbacks,
            files: invocation.files,
            file_variables: invocation.file_variables,
            secrets: invocation.secrets,
            refusal: refusal.as_ref().map(ToString::to_string),
        });
        Ok(PlannedTask { plan, definition, refusal, missing_agent, remote })
    }

    /// What is known about the task before it is decided where it is carried out, and why it must not be, if it must not.
    fn inputs(
        &mut self,
        mut task: Task,
        session: Option<ContinuedSession>,
    ) -> Result<(TaskInputs, Result<(), Refusal>), InvalidId> {
        let run_id = RunId::parse(&new_id().to_string())?;
        let own_cwd = &self.workspace.surroundings.cwd;
        let cwd = task.cwd.as_ref().map_or_else(|| own_cwd.clone(), PathBuf::from);
        let Applied { agent, definition, summary, requested_model, refusal } =
            self.apply(&mut task, &cwd, session.as_ref());
        let plain = Configuration {
            model: task.model.clone(),
            fallback_models: task.fallback_models.clone(),
            ..Configuration::default()
        };
        let allowed = self.access(&task, &agent, definition.as_ref(), session.as_ref());
        let access = *allowed.as_ref().unwrap_or(&Access::Read);
        let budget = budget(&task, definition.as_ref());
        let priced = self.check_price(&agent, budget);
        let permitted = refusal.map_or_else(|| allowed.and(priced), Err);
        let inputs = TaskInputs {
            run_id,
            cwd,
            task,
            agent,
            definition,
            summary,
            plain,
            session,
            access,
            budget,
            requested_model,
        };
        Ok((inputs, permitted))
    }

    /// Tells what the agent cannot do although it was asked for.
    fn warn_about_start(&mut self, task: &Task, placement: &Placement) {
        let name = one_line(&task.name);
        let support = placement.protocol.question_support();
        if let Some(reason) = support.err().filter(|_| self.options.ask) {
            self.warnings.push(format!("Task \"{name}\": nothing will be asked: {reason}"));
        }
        let warnings = placement.start.invocation.warnings.iter();
        self.warnings.extend(warnings.map(|warning| format!("Task \"{name}\": {warning}")));
    }

    /// Whether the user wants to be asked what the agent asks.
    fn asks(&self) -> bool {
        self.options.ask || self.workspace.settings.ask
    }

    /// What the agent may change: what is usual for it, unless the user has said something else. A task
    /// that asks for more than it gets is a warning.
    fn access(
        &mut self,
        task: &Task,
        agent: &Agent,
        definition: Option<&Definition>,
        session: Option<&ContinuedSession>,
    ) -> Result<Access, Refusal> {
        let (flag, settings) = (self.options.access, &self.workspace.settings);
        if let (None, Some(problem)) = (flag, &settings.unknown_access) {
            return Err(Refusal::UnknownAccess(problem.clone()));
        }
        let own = definition.filter(|definition| definition.scope == Scope::Global);
        let own = own.and_then(|definition| definition.access);
        let usual = || agent.protocol().default_access();
        let access = AccessWishes {
            flag,
            limit: settings.access.or(own).unwrap_or_else(usual),
            session: session.and_then(|session| session.access),
            definition: definition.and_then(|definition| definition.access),
            task: task.access,
        };
        let decided = access.decide();
        if let Some(asked) = task.access.filter(|asked| *asked > decided) {
            self.warnings.push(format!(
                "Task \"{}\" asks for access \"{}\" and gets \"{}\", the most that the user, its \
                 profile or its session allows",
                one_line(&task.name),
                asked.word(),
                decided.word()
            ));
        }
        if decided == Access::Workspace && self.is_led_elsewhere(task) {
            return Err(Refusal::WorkspaceElsewhere);
        }
        Ok(decided)
    }

    /// Whether a model asks for another workspace than the one in which its user works. To choose any directory
    /// would be to choose what can be changed.
    fn is_led_elsewhere(&self, task: &Task) -> bool {
        let is_of_model = self.options.owner.kind != OwnerKind::Shell;
        let Some(cwd) = task.cwd.as_ref().filter(|_| is_of_model) else { return false };
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let surroundings = &self.workspace.surroundings;
        let own = [surroundings.project_root(), &surroundings.cwd].map(real);
        let cwd = real(Path::new(cwd));
        !own.iter().any(|own| cwd.starts_with(own))
    }
}

/// A name is shown at the beginning of lines.
fn one_line(name: &str) -> String {
    name.split(|character: char| character.is_control()).collect::<Vec<_>>().join(" ")
}

/// A cast of a float to an integer saturates, so that every number of seconds is safe.
fn to_ms(seconds: f64) -> u64 {
    (seconds * 1000.0) as u64
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
