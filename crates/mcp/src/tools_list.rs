//! The tools as the protocol describes them.

use std::sync::Arc;

use plan::ToolFamilies;
use rmcp::model::{JsonObject, ToolAnnotations};
use serde_json::{Value, json};
use tools::{Tool, ToolDescription, describe_tools};

/// What a client is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// All tools.
    Everything,
    /// Nothing that starts an agent: the client is itself a sub-agent.
    OnlyLooking,
}

/// The argument of those tools whose answers are cut.
pub(crate) const FULL: &str = "full";

/// The tools of these families that a client is offered, in a fixed order.
pub(crate) fn list(families: ToolFamilies, offer: Offer) -> Vec<rmcp::model::Tool> {
    let described = describe_tools(&[], families).into_iter();
    let described = described.filter_map(|tool| Some((Tool::named(tool.name)?, tool)));
    let is_offered = |tool: Tool| offer == Offer::Everything || !tool.starts_agents();
    described
        .filter(|(tool, _)| is_offered(*tool))
        .map(|(tool, text)| describe(tool, text))
        .collect()
}

/// Whether the answer of a tool is cut, unless it is asked for in full.
pub(crate) fn is_cut(tool: Tool) -> bool {
    matches!(tool, Tool::Output | Tool::Transcript)
}

fn describe(tool: Tool, described: ToolDescription) -> rmcp::model::Tool {
    let ToolDescription { name, label, description, mut parameters, .. } = described;
    // The protocol cannot say when a background run has ended, and a call may be answered early.
    let description = match tool {
        Tool::Background => {
            "Start a sub-agent that goes on by itself, even without this client. Returns its ids \
             at once; get_subagent_output waits for its answer."
        }
        Tool::Output => "The final answer of a sub-agent's session. Waits for its end.",
        _ => description,
    };
    if is_cut(tool) {
        parameters["properties"][FULL] = json!({"type": "boolean", "description": "Uncut"});
    }
    let annotations = ToolAnnotations::new().read_only(!tool.starts_agents());
    let annotations = if tool.starts_agents() {
        annotations.destructive(true).open_world(true)
    } else {
        annotations.open_world(false)
    };
    rmcp::model::Tool::new(name, description, object(parameters))
        .with_title(label)
        .with_annotations(annotations)
        .with_raw_output_schema(object(output(tool)))
}

/// The schema of what a tool answers.
fn output(tool: Tool) -> Value {
    let text = || json!({"type": "string"});
    let schema = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    let session = |field: &str| {
        let mut properties = json!({"sessionId": text(), "status": text()});
        properties[field] = text();
        schema(properties, &["sessionId", "status", field])
    };
    match tool {
        Tool::Delegate | Tool::Subagent => {
            let session = json!({
                "name": text(), "sessionId": text(), "status": text(), "error": text(),
                "output": text(),
            });
            let session = schema(session, &["name", "sessionId", "status"]);
            let properties = json!({
                "status": {"enum": ["done", "running"]},
                "sessions": {"type": "array", "items": session},
            });
            schema(properties, &["status", "sessions"])
        }
        Tool::Background => {
            let properties = json!({"runId": text(), "sessionId": text(), "status": text()});
            schema(properties, &["runId", "status"])
        }
        Tool::Output => session("output"),
        Tool::Transcript => session("transcript"),
        Tool::Profiles => schema(json!({"profiles": {"type": "object"}}), &["profiles"]),
        Tool::Status => {
            let runs = json!({"type": "array", "items": {"type": "object"}});
            schema(json!({"runs": runs, "counts": {"type": "object"}}), &["runs", "counts"])
        }
    }
}

fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What all tools may cost a model in every request.
    const MOST_TOKENS: usize = 2_500;

    fn names(offer: Offer) -> Vec<String> {
        let tools = list(ToolFamilies::All, offer);
        tools.into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    #[test]
    fn all_tools_together_cost_little() {
        let tools = json!({"tools": list(ToolFamilies::All, Offer::Everything)}).to_string();
        let tokens = tiktoken_rs::o200k_base().unwrap().encode_ordinary(&tools).len();
        assert!(tokens < MOST_TOKENS, "{tokens} tokens");
        // A count far below the limit would mean that something was lost on the way.
        assert!(tokens > 1_000, "{tokens} tokens");
    }

    #[test]
    fn every_tool_has_a_title_hints_and_schemas() {
        for tool in list(ToolFamilies::All, Offer::Everything) {
            assert!(tool.title.is_some(), "{}", tool.name);
            let hints = tool.annotations.as_ref().unwrap();
            let known = Tool::named(&tool.name).unwrap();
            assert_eq!(hints.read_only_hint, Some(!known.starts_agents()), "{}", tool.name);
            for schema in [&*tool.input_schema, tool.output_schema.as_deref().unwrap()] {
                assert_eq!(schema["type"], "object", "{}", tool.name);
            }
            let has_full = tool.input_schema["properties"].get(FULL).is_some();
            assert_eq!(has_full, is_cut(known), "{}", tool.name);
        }
    }

    #[test]
    fn a_sub_agent_is_offered_nothing_that_starts_an_agent() {
        assert_eq!(names(Offer::Everything).len(), 7);
        assert_eq!(
            names(Offer::OnlyLooking),
            [
                "get_subagent_output",
                "get_subagent_session",
                "list_subagent_profiles",
                "background_agent_status",
            ]
        );
    }
}
