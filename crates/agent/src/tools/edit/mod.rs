//! Replaces parts of a file.

mod diff;
mod matching;
mod source;

use std::io::Read as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::arguments::{Arguments, text_of};
use super::files::Unreadable;
use super::truncation::size;
use super::{Call, Tool, ToolError, ToolOutput, files, paths, system_error};
use crate::message::Content;
use matching::Edit;
use source::Source;

pub(super) const TOOL: Tool = Tool {
    name: "edit",
    description: "Edit a single file using exact text replacement. Every edits[].oldText must \
                  match a unique, non-overlapping region of the original file. If two changes \
                  affect the same block or nearby lines, merge them into one edit instead of \
                  emitting overlapping edits. Do not include large unchanged regions just to \
                  connect distant changes.",
    snippet: "Make precise file edits with exact text replacement, including multiple disjoint \
              edits in one call",
    guidelines: &[
        "Use edit for precise changes (edits[].oldText must match exactly)",
        "When changing multiple separate locations in one file, use one edit call with multiple \
         entries in edits[] instead of multiple edit calls",
        "Each edits[].oldText is matched against the original file, not after earlier edits are \
         applied. Do not emit overlapping or nested edits. Merge nearby changes into one edit.",
        "Keep edits[].oldText as small as possible while still being unique in the file. Do not \
         pad with large unchanged regions.",
    ],
    is_default: true,
    parameters,
    run,
};

/// The largest file that can be edited. Several copies of it are in memory at once.
const MAX_FILE_BYTES: usize = 64 * 1024 * 1024;

/// The longest diff that is shown. It is in five records of the stream, and one letter in a file of a
/// single line makes it twice as long as the file.
const MAX_DIFF_BYTES: usize = 256 * 1024;

fn parameters() -> Value {
    json!({
        "type": "object",
        "required": ["path", "edits"],
        "properties": {
            "path": {
                "type": "string",
                "description": "Path to the file to edit (relative or absolute)",
            },
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["oldText", "newText"],
                    "properties": {
                        "oldText": {
                            "type": "string",
                            "description": "Exact text for one targeted replacement. It must be \
                                            unique in the original file and must not overlap with \
                                            any other edits[].oldText in the same call.",
                        },
                        "newText": {
                            "type": "string",
                            "description": "Replacement text for this targeted edit.",
                        },
                    },
                },
                "description": "One or more targeted replacements. Each edit is matched against \
                                the original file, not incrementally. Do not include overlapping \
                                or nested edits. If two changes touch the same block or nearby \
                                lines, merge them into one edit instead.",
            },
        },
    })
}

fn run(arguments: &Map<String, Value>, call: &mut Call<'_>) -> Result<ToolOutput, ToolError> {
    let arguments = with_edits(arguments);
    let mut arguments = Arguments::of(TOOL.name, &arguments);
    let path = arguments.text("path");
    let edits = read_edits(&mut arguments);
    arguments.finish()?;
    if edits.is_empty() {
        let words = "Edit tool input is invalid. edits must contain at least one replacement.";
        return Err(ToolError(words.to_owned()));
    }

    let target = paths::resolve(&path, call.cwd);
    let _lock = files::lock(&target);
    call.check()?;
    let source = Source::new(&read(&path, &target)?)
        .ok_or_else(|| ToolError(format!("Could not edit file: {path}. It is a binary file.")))?;
    let replacements = matching::find(source.text(), &edits, &path)?;
    let new_text = matching::apply(source.text(), &replacements);
    if new_text == source.text() {
        return Err(matching::no_change(&path, edits.len()));
    }
    call.check()?;
    files::write(&target, &source.with(&replacements))?;
    let (old, new) = (source::shown(source.text()), source::shown(&new_text));
    let diff = diff::Diff::of(&old, &new);
    let (numbered, patch) = (diff.numbered(), diff.patch(&path));
    let is_short = patch.len() <= MAX_DIFF_BYTES && numbered.len() <= MAX_DIFF_BYTES;
    let details = json!({
        "diff": if is_short { numbered } else { "(too long to be shown)".to_owned() },
        "patch": if is_short { patch } else { String::new() },
        "firstChangedLine": diff.first_changed_line(),
    });
    let text = format!("Successfully replaced {} block(s) in {path}.", edits.len());
    Ok(ToolOutput { content: vec![Content::text(text)], details: Some(details) })
}

/// Turns the forms in which models write `edits` into an array: JSON in a string, a single edit, or
/// the two texts of an edit beside the path.
fn with_edits(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut arguments = arguments.clone();
    if let Some(Value::String(text)) = arguments.get("edits")
        && let Ok(parsed) = serde_json::from_str::<Value>(text)
        && (parsed.is_array() || is_edit(&parsed))
    {
        arguments.insert("edits".to_owned(), parsed);
    }
    if let Some(edit) = arguments.get("edits").filter(|edit| is_edit(edit)) {
        let edits = json!([edit]);
        arguments.insert("edits".to_owned(), edits);
    }
    if let (Some(Value::String(old)), Some(Value::String(new))) =
        (arguments.get("oldText"), arguments.get("newText"))
    {
        let edit = json!({ "oldText": old, "newText": new });
        let mut edits = match arguments.get("edits") {
            Some(Value::Array(edits)) => edits.clone(),
            _ => Vec::new(),
        };
        edits.push(edit);
        arguments.insert("edits".to_owned(), Value::Array(edits));
        arguments.shift_remove("oldText");
        arguments.shift_remove("newText");
    }
    arguments
}

fn is_edit(value: &Value) -> bool {
    ["oldText", "newText"].iter().all(|name| value.get(name).is_some_and(Value::is_string))
}

fn read_edits(arguments: &mut Arguments<'_>) -> Vec<Edit> {
    let edits = match arguments.value("edits") {
        Some(Value::Array(edits)) => edits,
        Some(_) => {
            arguments.complain("edits", "must be array");
            return Vec::new();
        }
        None => return Vec::new(),
    };
    let read = edits.iter().enumerate().map(|(index, edit)| read_edit(arguments, index, edit));
    read.collect()
}

fn read_edit(arguments: &mut Arguments<'_>, index: usize, edit: &Value) -> Edit {
    let mut edit_texts = [String::new(), String::new()];
    let Some(edit) = edit.as_object() else {
        arguments.complain(&format!("edits.{index}"), "must be object");
        return Edit::default();
    };
    let names = ["oldText", "newText"];
    let missing: Vec<&str> = names.into_iter().filter(|name| !edit.contains_key(*name)).collect();
    if let Some(first) = missing.first() {
        let words = format!("must have required properties {}", missing.join(", "));
        arguments.complain(&format!("edits.{index}.{first}"), &words);
    }
    for (name, text) in names.into_iter().zip(&mut edit_texts) {
        match edit.get(name).map(text_of) {
            Some(Some(given)) => *text = given,
            Some(None) => {
                arguments.complain(&format!("edits.{index}.{name}"), "must be string");
            }
            None => {}
        }
    }
    let [old, new] = edit_texts;
    Edit { old, new }
}

fn read(path: &str, target: &Path) -> Result<Vec<u8>, ToolError> {
    let refused = |why: &str| ToolError(format!("Could not edit file: {path}. {why}."));
    let failed =
        |error: &std::io::Error| refused(&format!("Error code: {}", system_error::code(error)));
    let file = files::open(target).map_err(|error| match error {
        Unreadable::Refused(error) => failed(&error),
        other => other.on("open", target),
    })?;
    rustix::fs::access(target, rustix::fs::Access::WRITE_OK)
        .map_err(|error| failed(&error.into()))?;
    let mut content = Vec::new();
    let read = file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut content);
    read.map_err(|error| system_error::of_call(&error, "read"))?;
    if content.len() > MAX_FILE_BYTES {
        return Err(refused(&format!("It is larger than {}", size(MAX_FILE_BYTES))));
    }
    Ok(content)
}

#[cfg(test)]
mod tests;
