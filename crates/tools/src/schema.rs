//! The tools as a model is told about them, written once for every door.
//!
//! All of this is part of every request to a model, so every word has to be worth its tokens. The
//! schemas keep to what all providers understand: no references, and no alternatives at the top.
//! What is read of the arguments is what the schemas say, except that `null` is taken for what was
//! left out, and that blank texts, fields that exclude each other and unknown models are refused: a
//! schema would need many words for that.

use model::tool_names;
use plan::ToolFamilies;
use serde::Serialize;
use serde_json::Value;

use crate::declaration::schema;
use crate::parameters::declare_preset_task;
use crate::{DelegateArguments, NoArguments, SessionArguments, StatusArguments, SubagentArguments};

/// One tool, as a door offers it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct ToolDescription {
    pub name: &'static str,
    /// What users call it.
    pub label: &'static str,
    pub description: &'static str,
    /// When to use it, for the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_snippet: Option<&'static str>,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

/// The tools of these families, in a fixed order. The models are those that are available, in the
/// order in which they are preferred.
pub fn describe_tools(models: &[String], families: ToolFamilies) -> Vec<ToolDescription> {
    match families {
        ToolFamilies::All => [profile_tools(), preset_tools(models)].concat(),
        ToolFamilies::Profiles => profile_tools(),
        ToolFamilies::Presets => preset_tools(models),
    }
}

fn profile_tools() -> Vec<ToolDescription> {
    vec![
        ToolDescription {
            name: tool_names::DELEGATE,
            label: "Delegate to Sub-agents",
            description: "Run independent tasks in parallel, each by a sub-agent with a context of \
                          its own, and wait for all. Returns a session id for each; \
                          get_subagent_output has the answers.",
            prompt_snippet: Some(
                "Use when the user wants multiple independent tasks done in parallel",
            ),
            parameters: schema(&[], |call| DelegateArguments::declare(call, None)),
        },
        ToolDescription {
            name: tool_names::OUTPUT,
            label: "Get Sub-agent Output",
            description: "The final answer of a sub-agent's session.",
            prompt_snippet: None,
            parameters: schema(&[], SessionArguments::declare),
        },
        ToolDescription {
            name: tool_names::SESSION,
            label: "Get Sub-agent Session",
            description: "The transcript of a sub-agent's session, with all tool calls and results.",
            prompt_snippet: None,
            parameters: schema(&[], SessionArguments::declare),
        },
        ToolDescription {
            name: tool_names::PROFILES,
            label: "List Sub-agent Profiles",
            description: "The profiles that delegate_to_subagents can use.",
            prompt_snippet: None,
            parameters: schema(&[], NoArguments::declare),
        },
    ]
}

fn preset_tools(models: &[String]) -> Vec<ToolDescription> {
    vec![
        ToolDescription {
            name: tool_names::SUBAGENT,
            label: "Sub-agent",
            description: "Run a sub-agent with a context of its own and wait for its answer: preset \
                          and task for one, or only tasks for several in parallel.",
            prompt_snippet: Some("Use to hand a task to a sub-agent of a kind, and wait for it"),
            parameters: schema(models, |call| SubagentArguments::declare(call, None)),
        },
        ToolDescription {
            name: tool_names::BACKGROUND,
            label: "Background Agent",
            description: "Start a sub-agent that goes on by itself. Returns its runId at once; the \
                          user is told when it has ended.",
            prompt_snippet: Some("Use for a long task whose answer is not needed right away"),
            parameters: schema(models, declare_preset_task),
        },
        ToolDescription {
            name: tool_names::STATUS,
            label: "Background Agent Status",
            description: "How the background agents stand.",
            prompt_snippet: None,
            parameters: schema(&[], StatusArguments::declare),
        },
    ]
}

#[cfg(test)]
mod tests;
