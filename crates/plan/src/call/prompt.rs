//! What an agent is told.

use serde_json::Value;

use super::inputs::TaskInputs;
use super::placement::Placement;
use crate::with_files;

/// The task's prompt, with what stands in front of it and behind it. For a task that is refused, no file is read.
pub(super) fn full_prompt(inputs: &TaskInputs, placement: &Placement) -> String {
    let is_refused = placement.refusal.is_some();
    let files = if is_refused { &[] } else { inputs.task.files.as_slice() };
    let mut prompt = with_files(files, &inputs.cwd, inputs.prompt());
    if let Some(preamble) = &placement.start.invocation.preamble {
        prompt = format!("{preamble}\n\n{prompt}");
    }
    match inputs.task.schema.as_ref().filter(|_| placement.tells_schema) {
        Some(schema) => format!("{prompt}\n\n{}", schema_words(schema)),
        None => prompt,
    }
}

/// What every agent is told of the schema, also one that has a way of its own for it.
fn schema_words(schema: &Value) -> String {
    format!(
        "Your last message must be one JSON value that fits this JSON Schema, alone or in one fenced block:\n\n\
         ```json\n{schema}\n```"
    )
}
