//! The tools that the model can call, with pi's names, parameters, limits and texts.

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
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Tool {
    pub name: &'static str,
    /// For the model.
    pub description: &'static str,
    /// A short description for the system prompt.
    pub snippet: &'static str,
    /// Rules for the system prompt.
    pub guidelines: &'static [&'static str],
    /// Whether the model has it unless the caller names the tools.
    pub is_default: bool,
    parameters: fn() -> Value,
    run: fn(&Map<String, Value>, &mut Call<'_>) -> Result<ToolOutput, ToolError>,
}

/// What a tool needs beside its arguments.
pub struct Call<'a> {
    /// For relative paths and for commands.
    pub cwd: &'a Path,
    /// For `bash`.
    pub shell: &'a Shell,
    /// Stops the tool.
    pub cancel: &'a Cancel,
    /// Takes the output so far of a running tool.
    pub report: &'a mut dyn FnMut(ToolOutput),
}

/// How commands are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// `None` for bash, or sh if there is no bash.
    pub program: Option<PathBuf>,
    /// Lines before every command.
    pub prefix: Option<String>,
    /// The directory for the whole output of a command, if it is too long for the model.
    pub outputs: PathBuf,
}

/// The result of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolOutput {
    /// For the model.
    pub content: Vec<Content>,
    /// For views; the model does not get them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl ToolOutput {
    /// A result that is text.
    pub fn text(text: impl Into<String>) -> ToolOutput {
        ToolOutput { content: vec![Content::text(text)], details: None }
    }
}

/// Why a tool failed, as the model gets it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl Tool {
    /// A tool that only prompts mention.
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

    /// The tool as the model knows it.
    pub fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            parameters: (self.parameters)(),
        }
    }

    /// Whether it changes nothing, so that calls of such tools can run in parallel.
    pub fn is_read_only(&self) -> bool {
        matches!(self.name, "read" | "grep" | "find" | "ls")
    }

    /// Runs it on the thread of the caller, and returns when nothing of it is left, except for what
    /// a command that ended by itself has put into the background.
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
    /// The error of every tool but `bash` that was cancelled.
    fn aborted() -> ToolError {
        ToolError("Operation aborted".to_owned())
    }
}

impl Call<'_> {
    /// Fails if the tool was cancelled.
    fn check(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() { Err(ToolError::aborted()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
