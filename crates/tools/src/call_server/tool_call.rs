//! A call of a tool, from its name and arguments to what it asks for.

use std::io;

use model::tool_names;
use plan::{ToolFamilies, did_you_mean, similar_names};
use runner::{StopError, TellError};
use serde_json::Value;
use store::StoreError;

use super::unknown_fields::{UnknownFields, take_unknown_fields};
use crate::{
    ArgumentError, BackgroundArguments, CallError, ChangesError, Choices, ControlArguments,
    DelegateArguments, LauncherError, MOST_TASKS, MessageRefused, NoArguments, SessionArguments,
    SessionError, StartError, StatusArguments, SubagentArguments, TaskArguments, describe_tools,
};

/// The tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Tool {
    Delegate,
    Subagent,
    Background,
    Output,
    Transcript,
    Profiles,
    Status,
    Control,
}

const NAMES: [(&str, Tool); 8] = [
    (tool_names::DELEGATE, Tool::Delegate),
    (tool_names::SUBAGENT, Tool::Subagent),
    (tool_names::BACKGROUND, Tool::Background),
    (tool_names::OUTPUT, Tool::Output),
    (tool_names::SESSION, Tool::Transcript),
    (tool_names::PROFILES, Tool::Profiles),
    (tool_names::STATUS, Tool::Status),
    (tool_names::CONTROL, Tool::Control),
];

impl Tool {
    /// The tool that models call by this name.
    pub fn named(name: &str) -> Option<Tool> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, tool)| *tool)
    }

    /// Whether it starts or stops agents. The others only read.
    pub fn changes_agents(self) -> bool {
        matches!(self, Tool::Delegate | Tool::Subagent | Tool::Background | Tool::Control)
    }
}

/// A tool with its arguments.
#[derive(Debug)]
pub(super) enum ToolCall {
    Delegate(DelegateArguments),
    Subagent(SubagentArguments),
    Background(Box<BackgroundArguments>),
    Output(SessionArguments),
    Transcript(SessionArguments),
    Profiles,
    Status(StatusArguments),
    Control(ControlArguments),
}

/// A call is refused, for a reason that the model gets to read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ToolError {
    #[error("There is no tool \"{name}\".{}", did_you_mean(similar))]
    UnknownTool { name: String, similar: Vec<String> },
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    #[error("{problem}{}", did_you_mean(similar))]
    UnknownSession { problem: String, similar: Vec<String> },
    #[error(transparent)]
    Call(CallError),
    #[error(transparent)]
    Session(SessionError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{}", .0.with_hint())]
    Launcher(#[from] LauncherError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("{problem}{}", did_you_mean(similar))]
    UnknownRun { problem: String, similar: Vec<String> },
    #[error("what was asked of the run cannot be waited for: {0}")]
    Wait(io::Error),
    #[error("the run was not stopped: {0}")]
    Stop(#[from] StopError),
    #[error("The action \"message\" needs a message.")]
    NoMessage,
    #[error(transparent)]
    Tell(#[from] TellError),
    #[error(transparent)]
    MessageRefused(#[from] MessageRefused),
    #[error(transparent)]
    Changes(#[from] ChangesError),
    #[error("the client has closed the conversation")]
    Closed,
}

impl ToolCall {
    /// Reads a call of a model. Unknown fields that can be ignored become warnings.
    pub(super) fn parse(
        name: &str,
        arguments: &Value,
    ) -> Result<(ToolCall, Vec<String>), ToolError> {
        let described = describe_tools(&Choices::default(), ToolFamilies::All);
        let described = described.into_iter().find(|tool| tool.name == name);
        let schema = described.map(|tool| tool.parameters).unwrap_or_default();
        let mut arguments = arguments.clone();
        let UnknownFields { warnings, refusals } = take_unknown_fields(&mut arguments, &schema);
        let mut call = ToolCall::parse_known(name, &arguments)?;
        for (index, refusal) in refusals {
            if let Some(task) = call.tasks_mut().get_mut(index) {
                task.refusal = Some(refusal);
            }
        }
        Ok((call, warnings))
    }

    fn tasks_mut(&mut self) -> &mut [TaskArguments] {
        match self {
            ToolCall::Delegate(arguments) => &mut arguments.tasks,
            ToolCall::Subagent(arguments) => &mut arguments.tasks,
            _ => &mut [],
        }
    }

    fn parse_known(name: &str, arguments: &Value) -> Result<ToolCall, ToolError> {
        let Some(tool) = Tool::named(name) else {
            let similar = similar_names(name, NAMES.map(|(known, _)| known));
            return Err(ToolError::UnknownTool { name: name.to_owned(), similar });
        };
        Ok(match tool {
            Tool::Delegate => {
                ToolCall::Delegate(DelegateArguments::parse(arguments, Some(MOST_TASKS))?)
            }
            Tool::Subagent => {
                ToolCall::Subagent(SubagentArguments::parse(arguments, Some(MOST_TASKS))?)
            }
            Tool::Background => {
                ToolCall::Background(Box::new(BackgroundArguments::parse(arguments)?))
            }
            Tool::Output => ToolCall::Output(SessionArguments::parse(arguments)?),
            Tool::Transcript => ToolCall::Transcript(SessionArguments::parse(arguments)?),
            Tool::Profiles => NoArguments::parse(arguments).map(|_| ToolCall::Profiles)?,
            Tool::Status => ToolCall::Status(StatusArguments::parse(arguments)?),
            Tool::Control => ToolCall::Control(ControlArguments::parse(arguments)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_tool_that_is_described_can_be_called() {
        let described = describe_tools(&Choices::default(), ToolFamilies::All);
        assert!(described.iter().all(|tool| Tool::named(tool.name).is_some()));
        assert_eq!(described.len(), NAMES.len());
    }

    #[test]
    fn an_unknown_tool_is_refused_with_what_may_have_been_meant() {
        for (name, expected) in [
            ("subagnt", "There is no tool \"subagnt\". Did you mean subagent?"),
            ("deploy", "There is no tool \"deploy\"."),
        ] {
            assert_eq!(ToolCall::parse(name, &json!({})).unwrap_err().to_string(), expected);
        }
    }
}
