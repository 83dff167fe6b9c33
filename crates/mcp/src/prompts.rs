//! The prompts that come with the extension for pi, for every other client.

use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};

/// The one argument of every prompt.
const TASK: &str = "task";

/// Names, and files as pi reads them: a head with a description, and a text with a gap.
const PROMPTS: [(&str, &str, &str); 3] = [
    (
        "scout-and-plan",
        "Scout and plan",
        include_str!("../../../extension/prompts/scout-and-plan.md"),
    ),
    ("implement", "Implement", include_str!("../../../extension/prompts/implement.md")),
    (
        "implement-and-review",
        "Implement and review",
        include_str!("../../../extension/prompts/implement-and-review.md"),
    ),
];

/// Where the task is put.
const GAP: &str = "$@";

/// All prompts.
pub(crate) fn list() -> Vec<Prompt> {
    let prompt = |&(name, title, file): &(&str, &str, &'static str)| {
        let task = PromptArgument::new(TASK).with_description("What to do").with_required(true);
        Prompt::new(name, Some(split(file).0), Some(vec![task])).with_title(title)
    };
    PROMPTS.iter().map(prompt).collect()
}

/// A prompt with its task. An error names the field that is wrong.
pub(crate) fn get(name: &str, arguments: Option<&JsonObject>) -> Result<GetPromptResult, String> {
    let Some((_, _, file)) = PROMPTS.iter().find(|(known, ..)| *known == name) else {
        let known: Vec<&str> = PROMPTS.iter().map(|(name, ..)| *name).collect();
        return Err(format!("name: there is no prompt \"{name}\"; there are {}", known.join(", ")));
    };
    let unknown = arguments.iter().flat_map(|given| given.keys()).find(|key| *key != TASK);
    if let Some(unknown) = unknown {
        return Err(format!("arguments.{unknown}: is unknown; there is {TASK}"));
    }
    let task = arguments.and_then(|given| given.get(TASK));
    let task = task.ok_or_else(|| format!("arguments.{TASK}: is missing"))?;
    let task = task.as_str().filter(|task| !task.trim().is_empty());
    let task = task.ok_or_else(|| format!("arguments.{TASK}: must be a text that is not empty"))?;
    let (description, text) = split(file);
    let message = PromptMessage::new_text(Role::User, text.replace(GAP, task));
    Ok(GetPromptResult::new(vec![message]).with_description(description))
}

/// The description and the text of a file.
fn split(file: &'static str) -> (&'static str, &'static str) {
    let (head, text) = file.trim_start_matches("---\n").split_once("\n---\n").unwrap_or(("", file));
    (head.trim_start_matches("description:").trim(), text.trim())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_prompt_has_a_description_and_a_gap() {
        for (name, _, file) in PROMPTS {
            let (description, text) = split(file);
            assert!(!description.is_empty() && !description.contains('\n'), "{name}");
            assert_eq!(text.matches(GAP).count(), 1, "{name}");
        }
    }

    #[test]
    fn the_task_stands_in_the_gap() {
        let arguments = json!({"task": "make $@ faster"});
        let prompt = get("implement", arguments.as_object()).unwrap();
        let text = json!(prompt.messages)[0]["content"]["text"].as_str().unwrap().to_owned();
        assert!(text.contains("with sub-agents: make $@ faster\n"), "{text}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (name, arguments, expected) in [
            ("deploy", json!({}), "name: there is no prompt \"deploy\""),
            ("implement", json!({}), "arguments.task: is missing"),
            ("implement", json!({"task": " "}), "arguments.task: must be a text"),
            ("implement", json!({"task": 7}), "arguments.task: must be a text"),
            ("implement", json!({"tusk": "x"}), "arguments.tusk: is unknown"),
        ] {
            let error = get(name, arguments.as_object()).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
