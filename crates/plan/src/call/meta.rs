//! The record of a run that has not begun.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use model::{FORMAT, InvalidId, Meta, SessionId, WorktreePlan};
use protocol::Configuration;
use uuid::Uuid;

use super::demands::check;
use super::inputs::TaskInputs;
use super::placement::Placement;
use super::{Planner, one_line};

impl Planner<'_> {
    /// Everything that the run's directory says about it before it begins.
    pub(super) fn meta(
        &self,
        inputs: TaskInputs,
        placement: Placement,
        environment: Arc<BTreeMap<String, Option<String>>>,
        worktree: Option<Box<WorktreePlan>>,
    ) -> Result<Meta, InvalidId> {
        let check = check(&inputs.task, inputs.definition.as_ref());
        let preset = inputs.preset();
        let preset_source = preset.map(|preset| preset.scope.word().to_owned());
        let tools = preset.map(|preset| preset.configuration.tools.clone()).unwrap_or_default();
        let TaskInputs { run_id, cwd, task, definition, plain, session, .. } = inputs;
        let Configuration { model, provider, thinking_level, fallback_models, .. } =
            definition.map_or(plain, |definition| definition.configuration);
        Ok(Meta {
            format: FORMAT,
            run_id,
            session_id: session.map_or_else(new_session_id, |session| Ok(session.id))?,
            call_id: Some(self.call_id.clone()),
            name: one_line(&task.name),
            owner: self.options.owner.clone(),
            lifetime: self.options.lifetime,
            agent: placement.agent,
            protocol: Some(placement.protocol.word().to_owned()),
            cwd,
            environment,
            access: inputs.access,
            worktree,
            access_paths: placement.access_paths,
            requested_model: inputs.requested_model.or_else(|| model.clone()),
            model,
            provider,
            thinking_level: thinking_level.map(|level| level.word().to_owned()),
            fallback_models,
            profile: task.profile.filter(|_| task.preset.is_none()),
            preset_source,
            tools,
            preset: task.preset,
            task: Some(task.prompt),
            limits: placement.limits,
            check,
            schema: task.schema,
            ledger: Some(Arc::clone(&self.shared.ledger)),
            admission: placement.admission,
            takes_messages: true,
            ask: self.asks(),
            created_at: now_ms(),
            // The program that starts the run knows its own cgroup.
            cgroup: None,
            // The rest is known once the run has a directory.
            command: Vec::new(),
            fallback_starts: Vec::new(),
            system_prompt: None,
            system_prompt_path: None,
        })
    }
}

fn new_session_id() -> Result<SessionId, InvalidId> {
    SessionId::parse(&Uuid::new_v4().simple().to_string()[..16])
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
