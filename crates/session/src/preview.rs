//! Tool calls on one line each, short enough for a window.

mod arguments;
mod bash;
mod paths;
#[cfg(test)]
mod tests;

use model::{clean, tool_names};
use serde_json::Value;

use self::arguments::Arguments;
use crate::text::{cut_chars, one_line, shorten, width};

/// What a preview depends on, beside the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewContext {
    /// The agent's working directory, to which paths are shown relative. Empty if it is not known.
    pub cwd: String,
    /// The home directory, shown as `~`.
    pub home: Option<String>,
    /// The number of characters on a line.
    pub width: usize,
}

impl PreviewContext {
    /// The width without a setting and a terminal.
    pub const WIDTH: usize = 160;
}

impl Default for PreviewContext {
    fn default() -> PreviewContext {
        PreviewContext { cwd: String::new(), home: None, width: PreviewContext::WIDTH }
    }
}

const TOOL_CHARS: usize = 100;
const TODO_CHARS: usize = 48;

/// The preview of a call: the tool's name and the subject of the call. A long shell command becomes
/// several lines; everything else is one.
pub fn preview(tool: &str, args: &Value, context: &PreviewContext) -> String {
    let arguments = Arguments::new(args, context);
    match tool {
        "edit" => edit(&arguments),
        "write" => {
            let lines = count_filled_lines(arguments.raw_text("content"));
            format!("write → {} +{lines}", arguments.file())
        }
        "grep" => grep(&arguments),
        "read" => read(&arguments),
        "ls" => {
            let path = arguments.optional_path("path").unwrap_or_else(|| ".".to_owned());
            format!("ls → {path}")
        }
        "find" => {
            let pattern = arguments.text("pattern");
            match arguments.optional_path("path") {
                Some(path) => format!("find → {pattern} in {path}"),
                None => format!("find → {pattern}"),
            }
        }
        "bash" => format!("bash → {}", bash::command(arguments.raw_text("command"), context)),
        tool_names::DELEGATE => delegate(&arguments),
        "write_todos" => {
            format!("write_todos → {} todos written", arguments.list("todos").len())
        }
        "edit_todos" => edit_todos(&arguments),
        "list_todos" | tool_names::PROFILES => tool.to_owned(),
        "lsp_diagnostics" => format!("{tool} → {}", arguments.path("file")),
        "lsp_find_references" | "lsp_goto_definition" | "lsp_call_hierarchy" => {
            format!("{tool} → {}", position(&arguments))
        }
        "lsp_find_symbol" => format!("{tool} → {}", arguments.text("query")),
        "lsp_refactor_symbol" => {
            format!("{tool} → {} → {}", position(&arguments), arguments.text("newName"))
        }
        "lint_files" => lint(&arguments),
        "fetch_content" | "web_search" => {
            let what = arguments.first_text(&["url", "query", "q"]);
            let budget = context.width.saturating_sub(width(tool) + 4);
            format!("{tool} → {}", shorten(what.as_deref().unwrap_or("..."), budget))
        }
        "fetch_repo" => format!("{tool} → {}", arguments.text("url")),
        tool_names::OUTPUT | tool_names::SESSION => {
            format!("{tool} → {}", arguments.text("sessionId"))
        }
        "workflow_step" => {
            let action = arguments.optional_text("action");
            format!("{tool} → {}", action.as_deref().unwrap_or("?"))
        }
        _ => other(tool, args, context),
    }
}

/// A call in pieces, for a view with a place for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) tool: String,
    /// What the call is about, in one line, without the tool's name.
    pub(crate) subject: String,
    /// The lines that the call adds and removes, where it tells.
    pub(crate) changed: Option<(u64, u64)>,
}

/// The same as [`preview`], in pieces.
pub(crate) fn subject(tool: &str, args: &Value, context: &PreviewContext) -> Subject {
    const COMMAND_CHARS: usize = 500;
    let name = one_line(cut_chars(tool, TOOL_CHARS)).into_owned();
    let arguments = Arguments::new(args, context);
    let command = arguments.raw_text("command");
    let (subject, changed) = match tool {
        "bash" if !command.trim().is_empty() => {
            let cut = cut_chars(command.trim(), COMMAND_CHARS);
            let sign = if cut.len() < command.trim().len() { "…" } else { "" };
            (format!("{}{sign}", one_line(cut)), None)
        }
        "edit" => (arguments.file(), changed_lines(&arguments)),
        "write" => {
            let lines = count_filled_lines(arguments.raw_text("content"));
            (arguments.file(), Some((lines as u64, 0)))
        }
        _ => {
            let preview = preview(tool, args, context);
            let subject = match preview.split_once(" → ") {
                Some((_, subject)) => subject,
                None => preview.strip_prefix(name.as_str()).unwrap_or_default().trim_start(),
            };
            (one_line(subject).into_owned(), None)
        }
    };
    Subject { tool: name, subject, changed }
}

/// The lines that a call of `edit` adds and removes.
fn changed_lines(arguments: &Arguments<'_>) -> Option<(u64, u64)> {
    let edits = arguments.list("edits");
    let lines = |key: &str| -> u64 {
        let texts = edits.iter().filter_map(|edit| edit.get(key)?.as_str());
        texts.map(|text| count_filled_lines(text) as u64).sum()
    };
    (!edits.is_empty()).then(|| (lines("newText"), lines("oldText")))
}

fn edit(arguments: &Arguments<'_>) -> String {
    let path = arguments.file();
    let count = arguments.list("edits").len();
    let Some((added, removed)) = changed_lines(arguments) else {
        return format!("edit → {path}");
    };
    let noun = if count == 1 { "edit" } else { "edits" };
    format!("edit → {path} ({count} {noun}) +{added}/-{removed}")
}

fn grep(arguments: &Arguments<'_>) -> String {
    let pattern = arguments.text("pattern");
    let scope = arguments.optional_text("glob").or_else(|| arguments.optional_path("path"));
    match scope {
        Some(scope) => format!("grep → /{pattern}/ → {scope}"),
        None => format!("grep → /{pattern}/"),
    }
}

fn read(arguments: &Arguments<'_>) -> String {
    let mut preview = format!("read → {}", arguments.file());
    if let Some(offset) = arguments.amount("offset") {
        preview.push_str(&format!(":{offset}"));
    }
    if let Some(limit) = arguments.amount("limit") {
        preview.push_str(&format!("+{limit} ({limit} lines)"));
    }
    preview
}

fn delegate(arguments: &Arguments<'_>) -> String {
    let tasks = arguments.list("tasks");
    let noun = if tasks.len() == 1 { "task" } else { "tasks" };
    let mut profiles = arguments.texts_in("tasks", "profile");
    if profiles.is_empty() {
        profiles.extend(arguments.optional_text("profile"));
    }
    let preview = format!("delegate_to_subagents → {} {noun}", tasks.len());
    if profiles.is_empty() { preview } else { format!("{preview} [{}]", profiles.join(", ")) }
}

fn edit_todos(arguments: &Arguments<'_>) -> String {
    let texts = arguments.texts_in("todos", "text").join(", ");
    if !texts.is_empty() {
        return format!("edit_todos → {}", shorten(&texts, TODO_CHARS));
    }
    let action = arguments.optional_text("action");
    let indices = arguments.texts("indices").join(",");
    format!("edit_todos → {} [{indices}]", action.as_deref().unwrap_or("?"))
}

/// `file:line:column`
fn position(arguments: &Arguments<'_>) -> String {
    let number = |name: &str| arguments.optional_text(name).unwrap_or_else(|| "?".to_owned());
    format!("{}:{}:{}", arguments.path("file"), number("line"), number("column"))
}

fn lint(arguments: &Arguments<'_>) -> String {
    /// Of more files than this, only the first are named.
    const LISTED: usize = 3;
    const FIRST: usize = 2;
    let files = arguments.paths("files");
    match files.len() {
        0 => "lint → (all)".to_owned(),
        1..=LISTED => format!("lint → {}", files.join(", ")),
        count => {
            let first = files.iter().take(FIRST).cloned().collect::<Vec<_>>().join(", ");
            format!("lint → {first}, ... +{} more", count - FIRST)
        }
    }
}

/// An unknown tool is shown with its arguments as JSON.
fn other(tool: &str, args: &Value, context: &PreviewContext) -> String {
    let tool = one_line(cut_chars(tool, TOOL_CHARS));
    let is_empty = args.is_null() || args.as_object().is_some_and(serde_json::Map::is_empty);
    if is_empty {
        return tool.into_owned();
    }
    let json = args.to_string();
    let budget = context.width.saturating_sub(width(&tool) + 1);
    format!("{tool} {}", shorten(&clean(&json), budget))
}

fn count_filled_lines(text: &str) -> usize {
    text.split('\n').filter(|line| !line.trim_matches([' ', '\t', '\r']).is_empty()).count()
}
