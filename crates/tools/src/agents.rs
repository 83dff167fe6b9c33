//! `/agents`: the runs of a conversation and of its project, and what can be done with them.

use std::collections::BTreeSet;

use model::{AgentKind, Changes, Meta, Owner, RunId, SessionId};
use runner::{StopForce, stop_run};
use serde::Deserialize;
use session::view::Phase;
use store::{RunDir, Store, StoreError};

use crate::sessions::KnownRun;
use crate::{Appearance, RunChanges, ShownTask, TaskArguments, ToolError};

/// The latest run of a session, as a list shows it.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ListedAgent {
    pub task: ShownTask,
    /// Whether this conversation started it.
    pub is_own: bool,
}

/// What can be done with a run from a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum AgentAction {
    Look,
    Changes,
    Message,
    Stop,
    Resume,
}

impl AgentAction {
    /// What can be done with a run, the most usual first.
    pub fn of(task: &ShownTask) -> &'static [AgentAction] {
        let has_diff = task.state.facts.changes.as_deref().is_some_and(Changes::has_diff);
        match task.phase {
            Phase::Queued => &[],
            Phase::Running => &[AgentAction::Look, AgentAction::Message, AgentAction::Stop],
            Phase::Ended if has_diff => {
                &[AgentAction::Look, AgentAction::Changes, AgentAction::Resume]
            }
            Phase::Ended => &[AgentAction::Look, AgentAction::Resume],
        }
    }

    /// The word by which it is asked for.
    pub fn word(self) -> &'static str {
        match self {
            AgentAction::Look => "look",
            AgentAction::Changes => "changes",
            AgentAction::Message => "message",
            AgentAction::Stop => "stop",
            AgentAction::Resume => "resume",
        }
    }

    /// The key that a list has for it, as pi writes keys.
    pub fn key(self) -> &'static str {
        match self {
            AgentAction::Look => "enter",
            AgentAction::Changes => "c",
            AgentAction::Message => "m",
            AgentAction::Stop => "s",
            AgentAction::Resume => "r",
        }
    }
}

/// How many runs a list has.
const MOST_LISTED: usize = 50;

/// The runs of this owner, then those of others; of each the running ones first, then the latest. A session is
/// there once, with its latest run. Runs that have lost their supervisor are ended on the way.
pub fn list_agents(
    store: &Store,
    owner: &Owner,
    appearance: &Appearance,
) -> Result<Vec<ListedAgent>, StoreError> {
    let mut latest: Vec<(RunDir, Label)> = Vec::new();
    let mut sessions = BTreeSet::new();
    for dir in store.runs()?.into_iter().rev() {
        // A run that cannot be read does not hide the others.
        let Ok(label) = dir.meta_as::<Label>() else { continue };
        if sessions.insert(label.session_id.clone()) {
            latest.push((dir, label));
        }
    }
    // A stable order: within each group the latest stays first.
    latest.sort_by_key(|(dir, label)| (label.owner != *owner, dir.trace().1));
    let listed = latest.into_iter().take(MOST_LISTED).filter_map(|(dir, label)| {
        let task = shown(dir, appearance).ok()?;
        Some(ListedAgent { task, is_own: label.owner == *owner })
    });
    Ok(listed.collect())
}

/// Of a run that has ended, only the result is read: a list must not depend on how long runs were.
fn shown(dir: RunDir, appearance: &Appearance) -> Result<ShownTask, StoreError> {
    let run = KnownRun::read(dir)?;
    match run.result {
        Some(result) => Ok(ShownTask::of_result(run.dir, run.meta, result, appearance)),
        None => ShownTask::of_run(run.dir, appearance),
    }
}

/// Finds a run, whichever program started it. What is returned stops it and says how that went, which takes as long
/// as its agent needs to clean up.
pub fn stop_agent(
    store: &Store,
    run: &str,
) -> Result<impl FnOnce() -> Result<String, ToolError> + Send + use<>, ToolError> {
    let dir = find_agent(store, run)?;
    let name = dir.meta()?.name;
    Ok(move || {
        let stopped = stop_run(&dir, StopForce::Gracefully)?;
        Ok(match (stopped.had_ended, stopped.is_proven()) {
            (true, true) => format!("{name} had ended before."),
            (false, true) => format!("Stopped {name}."),
            (_, false) => format!("Stopped {name}: {}.", stopped.words()),
        })
    })
}

/// What an agent changed in its worktree.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct AgentChanges {
    pub changes: RunChanges,
    /// As git prints it.
    pub diff: Vec<u8>,
}

/// Finds a run, whichever program started it. What is returned reads what its agent changed, which takes as long as git
/// needs.
pub fn changes_of_agent(
    store: &Store,
    run: &str,
) -> Result<impl FnOnce() -> Result<AgentChanges, ToolError> + Send + use<>, ToolError> {
    let dir = find_agent(store, run)?;
    Ok(move || {
        let changes = RunChanges::read(dir)?;
        let diff = changes.open()?.diff()?;
        Ok(AgentChanges { changes, diff })
    })
}

/// The task that continues the session of a run as it was begun.
pub(crate) fn continuing(meta: &Meta, prompt: &str) -> TaskArguments {
    let is_defined = meta.preset.is_some() || meta.profile.is_some();
    TaskArguments {
        name: meta.name.clone(),
        prompt: prompt.to_owned(),
        cwd: Some(meta.cwd.to_string_lossy().into_owned()),
        profile: meta.profile.clone(),
        preset: meta.preset.clone(),
        // A preset or profile says it, perhaps in another way by now.
        model: meta.requested_model.clone().filter(|_| !is_defined),
        fallback_models: if is_defined { Vec::new() } else { meta.fallback_models.clone() },
        // A program without a name cannot be asked for.
        agent: meta
            .agent
            .as_ref()
            .filter(|agent| **agent != AgentKind::Program)
            .map(|agent| agent.word().to_owned()),
        resume: Some(meta.session_id.to_string()),
        ..TaskArguments::default()
    }
}

/// The run with this id.
pub(crate) fn find_agent(store: &Store, id: &str) -> Result<RunDir, ToolError> {
    let found = RunId::parse(id).ok().and_then(|id| store.run(&id));
    found.ok_or_else(|| ToolError::UnknownRun {
        problem: format!("The record of the run {id} is gone."),
        similar: Vec::new(),
    })
}

/// The fields of `meta.json` by which runs are chosen.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Label {
    session_id: SessionId,
    owner: Owner,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::{Outcome, OwnerKind, Plan};

    use super::*;
    use crate::testing::{World, ended, planned, running, said};

    #[test]
    fn own_runs_come_first_and_running_ones_before_the_others() {
        let world = World::new();
        let store = Store::in_project(&world.at("project"));
        let owner = |id: &str| Owner { kind: OwnerKind::Pi, id: Some(id.to_owned()) };
        let appearance = Appearance::new(&world.workspace(None), None);
        let plan = |run, session, name: &str, id: &str| {
            let mut plan = planned(run, session, "Go.", None);
            plan.meta_mut().name = name.to_owned();
            plan.meta_mut().owner = owner(id);
            plan
        };
        let end = |plan: &Plan, error| ended(&store, plan, &[said("## Found\nit")], error);
        end(&plan(1, 1, "first", "me"), None);
        let (_running, _journal) = running(&store, &plan(2, 2, "runs", "me"), &[said("so far")]);
        end(&plan(3, 3, "fails", "me"), Some("no luck"));
        end(&plan(4, 4, "other", "you"), None);
        end(&plan(5, 1, "again", "me"), None);
        let listed = list_agents(&store, &owner("me"), &appearance).unwrap();
        let rows: Vec<(&str, bool, Phase)> = listed
            .iter()
            .map(|agent| (agent.task.meta.name.as_str(), agent.is_own, agent.task.phase))
            .collect();
        assert_eq!(
            rows,
            [
                ("runs", true, Phase::Running),
                ("again", true, Phase::Ended),
                ("fails", true, Phase::Ended),
                ("other", false, Phase::Ended),
            ]
        );
        let facts = &listed[2].task.state.facts;
        assert_eq!(
            (facts.outcome, facts.error.as_deref()),
            (Some(Outcome::Timeout), Some("no luck"))
        );
        assert_eq!(listed[1].task.state.facts.output, "## Found\nit");
    }

    #[test]
    fn a_session_is_continued_as_it_was_begun() {
        let mut meta = Arc::unwrap_or_clone(planned(1, 7, "Go.", None).meta);
        meta.requested_model = Some("a/one".to_owned());
        meta.profile = None;
        let task = continuing(&meta, "Go on.");
        assert_eq!((task.model.as_deref(), task.preset), (Some("a/one"), None));
        assert_eq!(task.resume.as_deref(), Some(meta.session_id.as_str()));
        meta.preset = Some("scout".to_owned());
        let task = continuing(&meta, "Go on.");
        assert_eq!((task.model, task.preset.as_deref()), (None, Some("scout")));
        for (agent, expected) in [
            (None, None),
            (Some(AgentKind::Program), None),
            (Some(AgentKind::Named("claude".to_owned())), Some("claude")),
        ] {
            meta.agent = agent;
            assert_eq!(continuing(&meta, "Go on.").agent.as_deref(), expected);
        }
    }
}
