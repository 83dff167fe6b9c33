//! The tools as the protocol describes them.

use std::sync::Arc;

use plan::ToolFamilies;
use rmcp::model::{JsonObject, MetaObject, ToolAnnotations};
use serde_json::{Value, json};
use tools::{Choices, Tool, ToolDescription, describe_tools};

use crate::output_schema::output_schema;

/// What a client is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// All tools.
    Everything,
    /// Nothing that starts an agent: the client is itself a sub-agent.
    OnlyLooking,
}

/// Claude Code lets its model search for the tools of servers, and leaves out their descriptions until then. With this
/// mark, a tool is there from the beginning.
const ALWAYS_LOADED: &str = "anthropic/alwaysLoad";

/// The argument of those tools whose answers are cut.
pub(crate) const FULL: &str = "full";

/// The tools of these families that a client is offered, in a fixed order.
pub(crate) fn list(
    choices: &Choices,
    families: ToolFamilies,
    offer: Offer,
) -> Vec<rmcp::model::Tool> {
    let described = describe_tools(choices, families).into_iter();
    let described = described.filter_map(|tool| Some((Tool::named(tool.name)?, tool)));
    let is_offered = |tool: Tool| offer == Offer::Everything || !tool.changes_agents();
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
        Tool::Background => description
            .replace(
                "the user is told when it has ended",
                "get_subagent_output waits for its answer",
            )
            .into(),
        Tool::Output => "The final answer of a sub-agent's session. Waits for its end.".into(),
        _ => description,
    };
    if is_cut(tool) {
        parameters["properties"][FULL] = json!({"type": "boolean", "description": "Uncut"});
    }
    let annotations = ToolAnnotations::new().read_only(!tool.changes_agents());
    let annotations = if tool.changes_agents() {
        annotations.destructive(true).open_world(true)
    } else {
        annotations.open_world(false)
    };
    let described = rmcp::model::Tool::new(name, description, object(parameters))
        .with_title(label)
        .with_annotations(annotations)
        .with_raw_output_schema(object(output_schema(tool)));
    // The one that the others follow: a model that has it needs one call to get answers, and no search.
    if tool == Tool::Delegate {
        described
            .with_meta(MetaObject(JsonObject::from_iter([(ALWAYS_LOADED.to_owned(), json!(true))])))
    } else {
        described
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
        let tools = list(&Choices::default(), ToolFamilies::All, offer);
        tools.into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    #[test]
    fn all_tools_together_cost_little() {
        let tools =
            json!({"tools": list(&Choices::default(), ToolFamilies::All, Offer::Everything)})
                .to_string();
        let tokens = tiktoken_rs::o200k_base().unwrap().encode_ordinary(&tools).len();
        assert!(tokens < MOST_TOKENS, "{tokens} tokens");
        // A count far below the limit would mean that something was lost on the way.
        assert!(tokens > 1_000, "{tokens} tokens");
    }

    #[test]
    fn every_tool_has_a_title_hints_and_schemas() {
        for tool in list(&Choices::default(), ToolFamilies::All, Offer::Everything) {
            assert!(tool.title.is_some(), "{}", tool.name);
            let hints = tool.annotations.as_ref().unwrap();
            let known = Tool::named(&tool.name).unwrap();
            assert_eq!(hints.read_only_hint, Some(!known.changes_agents()), "{}", tool.name);
            for schema in [&*tool.input_schema, tool.output_schema.as_deref().unwrap()] {
                assert_eq!(schema["type"], "object", "{}", tool.name);
            }
            let has_full = tool.input_schema["properties"].get(FULL).is_some();
            assert_eq!(has_full, is_cut(known), "{}", tool.name);
        }
    }

    #[test]
    fn one_tool_is_there_without_a_search() {
        let tools = list(&Choices::default(), ToolFamilies::All, Offer::Everything);
        let marked = tools.iter().filter(|tool| tool.meta.is_some());
        let marked: Vec<&str> = marked.map(|tool| tool.name.as_ref()).collect();
        assert_eq!(marked, ["delegate_to_subagents"]);
        let described = json!(tools);
        assert_eq!(described[0]["_meta"], json!({"anthropic/alwaysLoad": true}));
    }

    #[test]
    fn a_sub_agent_is_offered_nothing_that_starts_an_agent() {
        assert_eq!(names(Offer::Everything).len(), 8);
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
