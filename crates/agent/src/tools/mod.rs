//! The tools that the model can call, with pi's names, parameters, limits and words.

use std::path::Path;

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
    run: fn(&Map<String, Value>, Call<'_>) -> Result<ToolOutput, ToolError>,
}

/// What a tool needs to know beside its arguments.
pub struct Call<'a> {
    /// Where relative paths start, and where commands run.
    pub cwd: &'a Path,
    /// Happens when the tool should stop.
    pub cancel: &'a Cancel,
    /// Takes what there is to show of a tool that goes on.
    pub report: &'a mut dyn FnMut(ToolOutput),
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
    /// How the model is told about it.
    pub fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            parameters: (self.parameters)(),
        }
    }

    /// Whether it changes nothing, so that it can run beside others that change nothing either.
    pub fn only_looks(&self) -> bool {
        matches!(self.name, "read" | "grep" | "find" | "ls")
    }

    /// Runs it on the thread of the caller, and returns when nothing of it is left.
    pub fn run(
        &self,
        arguments: &Map<String, Value>,
        call: Call<'_>,
    ) -> Result<ToolOutput, ToolError> {
        (self.run)(arguments, call)
    }
}

/// All tools, in pi's order: read, bash, edit, write, grep, find, ls.
pub const ALL: &[Tool] = &[];
