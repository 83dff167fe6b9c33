//! A call of a tool, from its name and arguments to what it asks for.

use model::tool_names;
use plan::{ToolFamilies, did_you_mean, similar_names};
use serde_json::Value;
use store::StoreError;

use crate::{
    ArgumentError, BackgroundArguments, CallError, DelegateArguments, LauncherError, MOST_TASKS,
    NoArguments, SessionArguments, SessionError, StartError, StatusArguments, SubagentArguments,
    describe_tools,
};

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

/// A call is refused, for a reason that the model is told.
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
    Call(#[from] CallError),
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
        Ok(match name {
            tool_names::DELEGATE => {
                ToolCall::Delegate(DelegateArguments::parse(arguments, Some(MOST_TASKS))?)
            }
            tool_names::SUBAGENT => {
                ToolCall::Subagent(SubagentArguments::parse(arguments, Some(MOST_TASKS))?)
            }
            tool_names::BACKGROUND => ToolCall::Background(BackgroundArguments::parse(arguments)?),
            tool_names::OUTPUT => ToolCall::Output(SessionArguments::parse(arguments)?),
            tool_names::SESSION => ToolCall::Transcript(SessionArguments::parse(arguments)?),
            tool_names::PROFILES => {
                NoArguments::parse(arguments)?;
                ToolCall::Profiles
            }
            tool_names::STATUS => ToolCall::Status(StatusArguments::parse(arguments)?),
            name => {
                let tools = describe_tools(&[], ToolFamilies::All);
                let similar = similar_names(name, tools.iter().map(|tool| tool.name));
                return Err(ToolError::UnknownTool { name: name.to_owned(), similar });
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
