//! The tools as a model is told about them, written once for every door.
//!
//! All of this is part of every request to a model, so every word has to be worth its tokens. The
//! schemas keep to what all providers understand: no references, and no alternatives at the top.
//! They take what the parsers of the arguments take, except that a parser forgives `null` for what
//! was left out, and is stricter where a schema would need many words: it refuses blank texts,
//! fields that exclude each other, and unknown models.

use plan::ToolFamilies;
use serde::Serialize;
use serde_json::{Value, json};

use crate::MOST_TASKS;

/// One tool, as a door offers it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDescription {
    /// What it is called by models.
    pub name: &'static str,
    /// What it is called by people.
    pub label: &'static str,
    /// What it does.
    pub description: &'static str,
    /// When to use it, for the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_snippet: Option<&'static str>,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

/// How many models are listed at most. Of more, a model is better told when it names a wrong one.
pub const MOST_LISTED_MODELS: usize = 24;

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
    let session = || object(&json!({"sessionId": {"type": "string"}}), &["sessionId"]);
    vec![
        ToolDescription {
            name: "delegate_to_subagents",
            label: "Delegate to Sub-agents",
            description: "Run independent tasks in parallel, each by a sub-agent with a context of \
                          its own, and wait for all. Returns a session id for each; \
                          get_subagent_output has the answers.",
            prompt_snippet: Some(
                "Use when the user wants multiple independent tasks done in parallel",
            ),
            parameters: delegation(),
        },
        ToolDescription {
            name: "get_subagent_output",
            label: "Get Sub-agent Output",
            description: "The final answer of a sub-agent's session.",
            prompt_snippet: None,
            parameters: session(),
        },
        ToolDescription {
            name: "get_subagent_session",
            label: "Get Sub-agent Session",
            description: "The transcript of a sub-agent's session, with all tool calls and results.",
            prompt_snippet: None,
            parameters: session(),
        },
        ToolDescription {
            name: "list_subagent_profiles",
            label: "List Sub-agent Profiles",
            description: "The profiles that delegate_to_subagents can use.",
            prompt_snippet: None,
            parameters: object(&json!({}), &[]),
        },
    ]
}

fn delegation() -> Value {
    let line = |least: u32| json!({"type": "integer", "minimum": least});
    let file = json!({
        "path": {"type": "string"},
        "start": line(0),
        "end": line(0),
        "head": line(1),
        "tail": line(1),
    });
    let task = json!({
        "name": {"type": "string", "description": "A short title"},
        "prompt": {"type": "string", "description": "All that the sub-agent has to know"},
        "cwd": working_directory(),
        "profile": {"type": "string", "description": "Instead of the default profile"},
        "timeout": {"type": "number", "minimum": 1, "description": "Seconds, 600 by default"},
        "resume": {"type": "string", "description": "Id of a session to continue"},
        "files": {
            "type": "array",
            "items": {"anyOf": [{"type": "string"}, object(&file, &["path"])]},
            "description": "Put before the prompt: whole, or lines start to end, or the first \
                            (head) or last (tail) lines",
        },
    });
    let call = json!({
        "tasks": tasks(&object(&task, &["name", "prompt"])),
        "profile": {
            "type": "string",
            "description": "Default profile, one of list_subagent_profiles",
        },
    });
    object(&call, &["tasks"])
}

fn preset_tools(models: &[String]) -> Vec<ToolDescription> {
    let task = json!({
        "preset": {
            "type": "string",
            "description": "Its configuration; a wrong name is answered with all names",
        },
        "task": {"type": "string", "description": "All that the sub-agent has to know"},
        "model": model(models),
        "cwd": working_directory(),
    });
    // What the fields mean has just been said.
    let one_of_tasks = json!({
        "preset": {"type": "string"},
        "task": {"type": "string"},
        "model": model(models),
        "cwd": {"type": "string"},
    });
    let mut one_or_more = task.clone();
    one_or_more["tasks"] = tasks(&object(&one_of_tasks, &["preset", "task"]));
    let status = json!({
        "runId": {"type": "string", "description": "Only this run, with its answer"},
        "includeCompleted": {"type": "boolean", "description": "Also runs that have ended"},
    });
    vec![
        ToolDescription {
            name: "subagent",
            label: "Sub-agent",
            description: "Run a sub-agent with a context of its own and wait for its answer: preset \
                          and task for one, or only tasks for several in parallel.",
            prompt_snippet: Some("Use to hand a task to a sub-agent of a kind, and wait for it"),
            parameters: object(&one_or_more, &[]),
        },
        ToolDescription {
            name: "background_agent",
            label: "Background Agent",
            description: "Start a sub-agent that goes on by itself. Returns its runId at once; the \
                          user is told when it has ended.",
            prompt_snippet: Some("Use for a long task whose answer is not needed right away"),
            parameters: object(&task, &["preset", "task"]),
        },
        ToolDescription {
            name: "background_agent_status",
            label: "Background Agent Status",
            description: "How the background agents stand.",
            prompt_snippet: None,
            parameters: object(&status, &[]),
        },
    ]
}

fn working_directory() -> Value {
    json!({"type": "string", "description": "Absolute path"})
}

/// The model of a task: one of the list while that is short.
fn model(models: &[String]) -> Value {
    let mut names: Vec<&str> = Vec::new();
    for name in models {
        // No value of an enum may be there twice.
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
        // Of more than these none is listed, however many there are.
        if names.len() > MOST_LISTED_MODELS {
            break;
        }
    }
    if names.is_empty() || names.len() > MOST_LISTED_MODELS {
        json!({"type": "string", "description": "provider/id, instead of the preset's"})
    } else {
        json!({"type": "string", "enum": names})
    }
}

fn tasks(task: &Value) -> Value {
    json!({"type": "array", "items": task, "minItems": 1, "maxItems": MOST_TASKS})
}

/// An object that has these properties and no others.
fn object(properties: &Value, required: &[&str]) -> Value {
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = json!(false);
    schema
}

#[cfg(test)]
mod tests;
