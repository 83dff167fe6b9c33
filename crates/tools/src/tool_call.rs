//! A call of a tool, from its name and arguments to what has to be done for it.

use serde_json::Value;

use crate::{
    ArgumentError, BackgroundArguments, CallError, CallKind, CallOptions, DelegateArguments,
    MOST_TASKS, NoArguments, PlannedCall, SessionArguments, StatusArguments, SubagentArguments,
    Workspace, plan_background, plan_delegation, plan_subagent,
};

/// What a call asks for. Nothing has been started.
#[derive(Debug)]
pub enum ToolCall {
    /// Tasks to run while the caller waits.
    Foreground(CallKind, PlannedCall),
    /// A task that goes on by itself.
    Background(PlannedCall),
    /// The answer of a session.
    Output(SessionArguments),
    /// The transcript of a session.
    Transcript(SessionArguments),
    /// The profiles.
    Profiles,
    /// How background runs stand.
    Status(StatusArguments),
}

/// A call is refused, for a reason that the model is told.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ToolError {
    #[error("There is no tool \"{0}\".")]
    Unknown(String),
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    #[error(transparent)]
    Call(#[from] CallError),
}

impl ToolCall {
    /// Reads the arguments and plans what there is to plan. `options` is asked for only where
    /// something is to be run.
    pub fn plan<'a>(
        name: &str,
        arguments: &Value,
        workspace: &Workspace,
        options: impl FnOnce() -> Result<CallOptions<'a>, CallError>,
    ) -> Result<ToolCall, ToolError> {
        Ok(match name {
            "delegate_to_subagents" => {
                let arguments = DelegateArguments::parse(arguments, Some(MOST_TASKS))?;
                let planned = plan_delegation(workspace, arguments, &options()?)?;
                ToolCall::Foreground(CallKind::Delegate, planned)
            }
            "subagent" => {
                let arguments = SubagentArguments::parse(arguments, Some(MOST_TASKS))?;
                let planned = plan_subagent(workspace, &arguments, &options()?)?;
                ToolCall::Foreground(CallKind::Subagent(arguments), planned)
            }
            "background_agent" => {
                let arguments = BackgroundArguments::parse(arguments)?;
                ToolCall::Background(plan_background(workspace, arguments, &options()?)?)
            }
            "get_subagent_output" => ToolCall::Output(SessionArguments::parse(arguments)?),
            "get_subagent_session" => ToolCall::Transcript(SessionArguments::parse(arguments)?),
            "list_subagent_profiles" => {
                NoArguments::parse(arguments)?;
                ToolCall::Profiles
            }
            "background_agent_status" => ToolCall::Status(StatusArguments::parse(arguments)?),
            name => return Err(ToolError::Unknown(name.to_owned())),
        })
    }
}
