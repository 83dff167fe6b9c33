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

use model::Redactor;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cancel::Cancel;
use crate::message::{Content, ToolDeclaration};

/// A tool.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the name says it")]
pub struct Tool {
    pub name: &'static str,
    description: &'static str,
    /// A short description for the system prompt.
    pub(crate) snippet: &'static str,
    /// Rules for the system prompt.
    pub(crate) guidelines: &'static [&'static str],
    /// Whether the model has it unless the caller names the tools.
    pub(crate) is_default: bool,
    parameters: fn() -> Value,
    run: fn(&Map<String, Value>, &mut Call<'_>) -> Result<ToolOutput, ToolError>,
}

/// What a tool needs beside its arguments.
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Call<'a> {
    pub cwd: &'a Path,
    pub shell: &'a Shell,
    pub cancel: &'a Cancel,
    /// Takes the output so far of a running tool.
    pub report: &'a mut dyn FnMut(ToolOutput),
}

/// How commands are run.
#[derive(Clone, Debug)]
pub struct Shell {
    /// `None` for bash, or sh if there is no bash.
    pub program: Option<PathBuf>,
    /// Lines before every command.
    pub prefix: Option<String>,
    /// The directory for the whole output of a command, if it is too long for the model.
    pub outputs: PathBuf,
    /// Hides what must not be in that file.
    pub redactor: Redactor,
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
    pub(crate) fn text(text: impl Into<String>) -> ToolOutput {
        ToolOutput { content: vec![Content::text(text)], details: None }
    }
}

/// Why a tool failed, as the model gets it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl Tool {
    pub(crate) fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            parameters: (self.parameters)(),
        }
    }

    /// Whether it changes nothing, so that calls of such tools can run in parallel.
    pub(crate) fn is_read_only(&self) -> bool {
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

/// The JSON schema of an object with these properties, each with its type and its description.
fn schema(required: &[&str], properties: &[(&str, &str, &str)]) -> Value {
    let properties = properties.iter().map(|(name, kind, description)| {
        ((*name).to_owned(), json!({"type": kind, "description": description}))
    });
    let properties: Map<String, Value> = properties.collect();
    if required.is_empty() {
        json!({"type": "object", "properties": properties})
    } else {
        json!({"type": "object", "required": required, "properties": properties})
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
    fn check(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() { Err(ToolError::aborted()) } else { Ok(()) }
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
