//! Writing a whole file.

use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::{Call, Tool, ToolError, ToolOutput, files, paths};

pub(super) const TOOL: Tool = Tool {
    name: "write",
    description: "Write content to a file. Creates the file if it doesn't exist, overwrites if it \
                  does. Automatically creates parent directories.",
    snippet: "Create or overwrite files",
    guidelines: &["Use write only for new files or complete rewrites."],
    is_default: true,
    parameters,
    run,
};

fn parameters() -> Value {
    json!({
        "type": "object",
        "required": ["path", "content"],
        "properties": {
            "path": {
                "type": "string",
                "description": "Path to the file to write (relative or absolute)",
            },
            "content": {
                "type": "string",
                "description": "Content to write to the file",
            },
        },
    })
}

fn run(arguments: &Map<String, Value>, call: &mut Call<'_>) -> Result<ToolOutput, ToolError> {
    let mut arguments = Arguments::of(TOOL.name, arguments);
    let path = arguments.text("path");
    let content = arguments.text("content");
    arguments.finish()?;

    let target = paths::resolve(&path, call.cwd);
    let _turn = files::take_turn(&target);
    call.check()?;
    files::create_parents(&target)?;
    files::write(&target, content.as_bytes())?;
    Ok(ToolOutput::text(format!("Successfully wrote to {path}")))
}
