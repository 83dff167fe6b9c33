//! Writing a whole file.

use serde_json::{Map, Value};

use super::arguments::Arguments;
use super::{Call, Tool, ToolError, ToolOutput, files, paths, schema};

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
    schema(
        &["path", "content"],
        &[
            ("path", "string", "Path to the file to write (relative or absolute)"),
            ("content", "string", "Content to write to the file"),
        ],
    )
}

fn run(arguments: &Map<String, Value>, call: &mut Call<'_>) -> Result<ToolOutput, ToolError> {
    let mut arguments = Arguments::of(TOOL.name, arguments);
    let path = arguments.text("path");
    let content = arguments.text("content");
    arguments.finish()?;

    let target = paths::resolve(&path, call.cwd);
    let _lock = files::lock(&target);
    call.check()?;
    files::create_parents(&target)?;
    files::write(&target, content.as_bytes())?;
    Ok(ToolOutput::text(format!("Successfully wrote to {path}")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use serde_json::json;

    use crate::tools::testing::TestDirectory;

    #[test]
    fn files_and_their_directories_are_created() {
        let directory = TestDirectory::new();
        let text = directory.text("write", &json!({"path": "a/b/c.txt", "content": "one\r\ntwo"}));
        assert_eq!(text, "Successfully wrote to a/b/c.txt");
        assert_eq!(directory.content("a/b/c.txt"), b"one\r\ntwo");
        let probe = directory.file("probe", "");
        let mode = |path| std::fs::metadata(path).unwrap().mode();
        assert_eq!(mode(directory.path("a/b/c.txt")), mode(probe));
        directory.text("write", &json!({"path": "a/b/c.txt", "content": ""}));
        assert_eq!(directory.content("a/b/c.txt"), b"");
    }

    #[test]
    fn what_is_in_the_way_is_told() {
        let directory = TestDirectory::new();
        directory.file("file", "old");
        let error = directory.error("write", &json!({"path": "file/x", "content": ""}));
        let path = directory.path("file").display().to_string();
        assert_eq!(error, format!("EEXIST: file already exists, mkdir '{path}'"));
        let error = directory.error("write", &json!({"path": ".", "content": ""}));
        let path = directory.cwd().display().to_string();
        assert_eq!(error, format!("EISDIR: illegal operation on a directory, open '{path}'"));
        // Each of its half a million parts is not looked for.
        let path = format!("{}x", "a/".repeat(500_000));
        let error = directory.error("write", &json!({"path": path, "content": ""}));
        assert!(error.starts_with("ENAMETOOLONG: name too long, mkdir "), "{}", &error[..80]);
    }
}
