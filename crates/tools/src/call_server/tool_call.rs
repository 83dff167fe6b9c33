//! A call of a tool, from its name and arguments to what it asks for.

use model::tool_names;
use plan::{did_you_mean, similar_names};
use serde_json::Value;
use store::StoreError;

use crate::{
    ArgumentError, BackgroundArguments, CallError, DelegateArguments, LauncherError, MOST_TASKS,
    NoArguments, SessionArguments, SessionError, StartError, StatusArguments, SubagentArguments,
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
}

const NAMES: [(&str, Tool); 7] = [
    (tool_names::DELEGATE, Tool::Delegate),
    (tool_names::SUBAGENT, Tool::Subagent),
    (tool_names::BACKGROUND, Tool::Background),
    (tool_names::OUTPUT, Tool::Output),
    (tool_names::SESSION, Tool::Transcript),
    (tool_names::PROFILES, Tool::Profiles),
    (tool_names::STATUS, Tool::Status),
];

impl Tool {
    /// The tool that models call by this name.
    pub fn named(name: &str) -> Option<Tool> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, tool)| *tool)
    }

    /// Whether it starts agents. The others only read.
    pub fn starts_agents(self) -> bool {
        matches!(self, Tool::Delegate | Tool::Subagent | Tool::Background)
    }
}

/// A tool with its arguments.
#[derive(Debug)]
pub(super) enum ToolCall {
    Delegate(DelegateArguments),
    Subagent(SubagentArguments),
    Background(BackgroundArguments),
    Output(SessionArguments),
    Transcript(SessionArguments),
    Profiles,
    Status(StatusArguments),
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
    #[error("the client has closed the conversation")]
    Closed,
}

impl ToolCall {
    pub(super) fn parse(name: &str, arguments: &Value) -> Result<ToolCall, ToolError> {
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
            Tool::Background => ToolCall::Background(BackgroundArguments::parse(arguments)?),
            Tool::Output => ToolCall::Output(SessionArguments::parse(arguments)?),
            Tool::Transcript => ToolCall::Transcript(SessionArguments::parse(arguments)?),
            Tool::Profiles => NoArguments::parse(arguments).map(|_| ToolCall::Profiles)?,
            Tool::Status => ToolCall::Status(StatusArguments::parse(arguments)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use plan::ToolFamilies;
    use serde_json::json;

    use super::*;
    use crate::describe_tools;

    #[test]
    fn every_tool_that_is_described_can_be_called() {
        let described = describe_tools(&[], ToolFamilies::All);
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
