//! The tools that the model can call, with pi's names, parameters, limits and words.

mod arguments;
mod bash;
mod edit;
mod files;
mod find;
mod grep;
mod ls;
mod notices;
mod paths;
mod read;
mod system_error;
mod truncation;
mod utf8;
mod walk;
mod write;

use std::path::{Path, PathBuf};

pub use bash::shown_output;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::cancel::Cancel;
use crate::message::{Content, ToolDeclaration};

/// A tool.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// What the model calls it.
    pub name: &'static str,
    /// What it does, for the model.
    pub description: &'static str,
    /// What it does, in a few words for the system prompt.
    pub snippet: &'static str,
    /// What the model should mind when it has this tool.
    pub guidelines: &'static [&'static str],
    /// Whether it is there unless it is left out; the others must be asked for.
    pub is_default: bool,
    parameters: fn() -> Value,
    run: fn(&Map<String, Value>, &mut Call<'_>) -> Result<ToolOutput, ToolError>,
}

/// What a tool needs to know beside its arguments.
pub struct Call<'a> {
    /// Where relative paths start, and where commands run.
    pub cwd: &'a Path,
    /// The shell of `bash`.
    pub shell: &'a Shell,
    /// Happens when the tool should stop.
    pub cancel: &'a Cancel,
    /// Takes what there is to show of a tool that goes on.
    pub report: &'a mut dyn FnMut(ToolOutput),
}

/// How commands are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// The shell; bash, or what there is, if absent.
    pub program: Option<PathBuf>,
    /// What stands in front of every command, on lines of its own.
    pub prefix: Option<String>,
    /// Where the whole output of a command is kept if it is too much for the model.
    pub outputs: PathBuf,
}

/// What a tool answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolOutput {
    /// For the model.
    pub content: Vec<Content>,
    /// For views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl ToolOutput {
    /// Plain words.
    pub fn text(text: impl Into<String>) -> ToolOutput {
        ToolOutput { content: vec![Content::text(text)], details: None }
    }
}

/// Why a tool failed, in the words that the model gets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl Tool {
    /// One that is only spoken of.
    #[cfg(test)]
    pub(crate) const fn for_prompt(
        name: &'static str,
        snippet: &'static str,
        guidelines: &'static [&'static str],
    ) -> Tool {
        Tool {
            name,
            description: "",
            snippet,
            guidelines,
            is_default: true,
            parameters: || Value::Null,
            run: |_, _| Err(ToolError(String::new())),
        }
    }

    /// How the model is told about it.
    pub fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            parameters: (self.parameters)(),
        }
    }

    /// Whether it changes nothing, so that it can run beside others that change nothing either.
    pub fn is_read_only(&self) -> bool {
        matches!(self.name, "read" | "grep" | "find" | "ls")
    }

    /// Runs it on the thread of the caller, and returns when nothing of it is left, but for what a
    /// command that ended by itself has put into the background.
    pub fn run(
        &self,
        arguments: &Map<String, Value>,
        mut call: Call<'_>,
    ) -> Result<ToolOutput, ToolError> {
        (self.run)(arguments, &mut call)
    }
}

/// All tools, in pi's order.
pub const ALL: &[Tool] =
    &[read::TOOL, bash::TOOL, edit::TOOL, write::TOOL, grep::TOOL, find::TOOL, ls::TOOL];

impl ToolError {
    /// What every tool but `bash` says when it was cancelled.
    fn aborted() -> ToolError {
        ToolError("Operation aborted".to_owned())
    }
}

impl Call<'_> {
    /// Stops the tool here if it was cancelled.
    fn check(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() { Err(ToolError::aborted()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
