//! The tools as a model is told about them, written once for every door.
//!
//! All of this is part of every request to a model, so every word has to be worth its tokens. The
//! schemas keep to what all providers understand: no references, and no alternatives at the top.
//! What is read of the arguments is what the schemas say, except that `null` is taken for what was
//! left out, and that blank texts, fields that exclude each other and unknown models are refused: a
//! schema would need many words for that.

use std::borrow::Cow;

use model::tool_names;
use plan::{
    Definition, DefinitionDirectories, Definitions, Surroundings, ToolFamilies, load_definitions,
};
use serde::Serialize;
use serde_json::Value;

use crate::declaration::schema;
use crate::parameters::declare_preset_task;
use crate::{
    ControlArguments, DelegateArguments, NoArguments, SessionArguments, StatusArguments,
    SubagentArguments,
};

/// One tool, as a door offers it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct ToolDescription {
    pub name: &'static str,
    /// What users call it.
    pub label: &'static str,
    pub description: Cow<'static, str>,
    /// When to use it, for the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_snippet: Option<&'static str>,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

/// What a model can choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// The models that are available, in the order in which they are preferred.
    pub models: Vec<String>,
    presets: Vec<(String, String)>,
}

/// The most characters of what the presets are for, in the description of one tool.
const MOST_ABOUT_PRESETS: usize = 600;
/// The most characters of what one preset is for.
const MOST_ABOUT_PRESET: usize = 80;

impl Choices {
    /// These models, and the presets that are found in these surroundings.
    pub fn here(models: Vec<String>, surroundings: &Surroundings) -> Choices {
        Choices::of(models, &load_definitions(&DefinitionDirectories::of_presets(surroundings)))
    }

    /// These models, and these presets with what they are for.
    pub fn of(models: Vec<String>, presets: &Definitions) -> Choices {
        let about = |preset: &Definition| {
            let about = session::clean(preset.description.as_deref().unwrap_or_default());
            let words: Vec<&str> = about.split_whitespace().collect();
            session::shorten(&words.join(" "), MOST_ABOUT_PRESET).into_owned()
        };
        let presets = presets.iter().map(|preset| (preset.name.clone(), about(preset)));
        Choices { models, presets: presets.collect() }
    }

    /// The names of the presets, in their order.
    pub(crate) fn presets(&self) -> impl Iterator<Item = &str> {
        self.presets.iter().map(|(name, _)| name.as_str())
    }

    /// A description of a tool, and of the presets that it can use, as many as there is room for.
    fn with_presets(&self, description: &'static str) -> Cow<'static, str> {
        if self.presets.is_empty() {
            return description.into();
        }
        let mut text = format!("{description} Presets:");
        let most = text.len() + MOST_ABOUT_PRESETS;
        for (index, (name, about)) in self.presets.iter().enumerate() {
            let line = format!("\n{name}: {about}");
            if text.len() + line.len() > most {
                text.push_str(&format!("\nand {} more", self.presets.len() - index));
                break;
            }
            text.push_str(&line);
        }
        text.into()
    }
}

/// The tools of these families, in a fixed order.
pub fn describe_tools(choices: &Choices, families: ToolFamilies) -> Vec<ToolDescription> {
    match families {
        ToolFamilies::All => [profile_tools(choices), preset_tools(choices)].concat(),
        ToolFamilies::Profiles => profile_tools(choices),
        ToolFamilies::Presets => preset_tools(choices),
    }
}

fn profile_tools(choices: &Choices) -> Vec<ToolDescription> {
    vec![
        ToolDescription {
            name: tool_names::DELEGATE,
            label: "Delegate to Sub-agents",
            description:
                "Run independent tasks in parallel, each by a sub-agent with a context of \
                          its own. Returns all answers."
                    .into(),
            prompt_snippet: Some(
                "Use when the user wants multiple independent tasks done in parallel",
            ),
            parameters: schema(choices, |call| DelegateArguments::declare(call, None)),
        },
        ToolDescription {
            name: tool_names::OUTPUT,
            label: "Get Sub-agent Output",
            description: "The final answer of a sub-agent's session.".into(),
            prompt_snippet: None,
            parameters: schema(choices, SessionArguments::declare),
        },
        ToolDescription {
            name: tool_names::SESSION,
            label: "Get Sub-agent Session",
            description:
                "The transcript of a sub-agent's session, with all tool calls and results.".into(),
            prompt_snippet: None,
            parameters: schema(choices, SessionArguments::declare),
        },
        ToolDescription {
            name: tool_names::PROFILES,
            label: "List Sub-agent Profiles",
            description: "The profiles that delegate_to_subagents can use.".into(),
            prompt_snippet: None,
            parameters: schema(choices, NoArguments::declare),
        },
    ]
}

fn preset_tools(choices: &Choices) -> Vec<ToolDescription> {
    vec![
        ToolDescription {
            name: tool_names::SUBAGENT,
            label: "Sub-agent",
            description: choices.with_presets(
                "Run a sub-agent with a context of its own and wait for its answer: preset and task \
                 for one, or only tasks for several in parallel.",
            ),
            prompt_snippet: Some("Use to hand a task to a sub-agent of a kind, and wait for it"),
            parameters: schema(choices, |call| SubagentArguments::declare(call, None)),
        },
        ToolDescription {
            name: tool_names::BACKGROUND,
            label: "Background Agent",
            description: choices.with_presets(
                "Start a sub-agent that goes on by itself. Returns its runId at once; the user is \
                 told when it has ended.",
            ),
            prompt_snippet: Some("Use for a long task whose answer is not needed right away"),
            parameters: schema(choices, declare_preset_task),
        },
        ToolDescription {
            name: tool_names::STATUS,
            label: "Background Agent Status",
            description: "How the background agents stand.".into(),
            prompt_snippet: None,
            parameters: schema(choices, StatusArguments::declare),
        },
        ToolDescription {
            name: tool_names::CONTROL,
            label: "Background Agent Control",
            description: "Stop a background agent, or tell it something.".into(),
            prompt_snippet: None,
            parameters: schema(choices, ControlArguments::declare),
        },
    ]
}

#[cfg(test)]
mod tests;
