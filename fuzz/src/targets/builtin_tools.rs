//! The calls that a model makes of the built-in agent's tools, and the files that they read and change.

use std::fs;

use agent::cancel::Cancel;
use agent::message::Content;
use agent::tools::{ALL, Call, Shell, Tool, ToolError, ToolOutput};
use serde_json::{Map, Value};

use crate::scratch::Scratch;

struct Context {
    scratch: Scratch,
    shell: Shell,
    cancel: Cancel,
}

thread_local! {
    static CONTEXT: Option<Context> = Context::new();
}

impl Context {
    fn new() -> Option<Context> {
        let scratch = Scratch::new();
        let outputs = scratch.path().to_owned();
        let redactor = model::Redactor::default();
        let shell = Shell { program: None, prefix: None, outputs, redactor };
        Some(Context { scratch, shell, cancel: Cancel::new().ok()? })
    }
}

/// The longest text that a tool may return: 50 KiB, and a few words about what is left out.
const LONGEST_ANSWER: usize = 64 * 1024;

/// The first byte chooses the tool; the parts are its arguments and the content of a file.
pub(super) fn check(data: &[u8]) {
    CONTEXT.with(|context| {
        if let (Some(context), Some((choice, data))) = (context, data.split_first()) {
            check_call(context, *choice, data);
        }
    });
}

fn check_call(context: &Context, choice: u8, data: &[u8]) {
    // A fuzzer must not run commands.
    let tools: Vec<&Tool> = ALL.iter().filter(|tool| tool.name != "bash").collect();
    let tool = tools[usize::from(choice) % tools.len()];
    let (arguments, content) = {
        let mut parts = data.splitn(2, |byte| *byte == 0x1e);
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    };
    let Ok(Value::Object(mut arguments)) = serde_json::from_slice(arguments) else { return };
    // Nothing outside the directory may be read or changed.
    let is_directory = matches!(tool.name, "find" | "ls");
    arguments.insert("path".to_owned(), if is_directory { "." } else { "file" }.into());
    let path = context.scratch.write("file", content);
    let result = run(context, tool, &arguments);
    let left = fs::read(&path).unwrap_or_default();
    match &result {
        Ok(output) => assert!(text(output).len() <= LONGEST_ANSWER, "{} talks too much", tool.name),
        Err(ToolError(message)) => assert!(!message.is_empty()),
    }
    match tool.name {
        "write" => {
            let written = arguments.get("content").and_then(Value::as_str);
            if let (Ok(_), Some(written)) = (&result, written) {
                assert_eq!(left, written.as_bytes());
            }
        }
        "edit" if result.is_ok() => assert_edited(&arguments, content, &left),
        _ => assert_eq!(left, content, "{} has changed the file", tool.name),
    }
}

fn run(
    context: &Context,
    tool: &Tool,
    arguments: &Map<String, Value>,
) -> Result<ToolOutput, ToolError> {
    let call = Call {
        cwd: context.scratch.path(),
        shell: &context.shell,
        cancel: &context.cancel,
        report: &mut |_| {},
    };
    tool.run(arguments, call)
}

fn text(output: &ToolOutput) -> String {
    let texts = output.content.iter().filter_map(|part| match part {
        Content::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Checks the result of the simple edits, of which there is only one possible.
fn assert_edited(arguments: &Map<String, Value>, content: &[u8], left: &[u8]) {
    assert_ne!(left, content, "the edit has changed nothing");
    let text = |value: &Value, name| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some([edit]) = arguments.get("edits").and_then(Value::as_array).map(Vec::as_slice) else {
        return;
    };
    let (Some(old), Some(new)) = (text(edit, "oldText"), text(edit, "newText")) else { return };
    let Ok(content) = str::from_utf8(content) else { return };
    let is_plain = |text: &str| !text.contains(['\r', '\u{feff}']);
    let is_simple = [content, &old, &new].into_iter().all(is_plain) && !old.is_empty();
    if is_simple && !arguments.contains_key("oldText") && content.contains(&old) {
        let expected = content.replacen(&old, &new, 1);
        assert_eq!(String::from_utf8_lossy(left), expected, "the wrong text was edited");
    }
}
