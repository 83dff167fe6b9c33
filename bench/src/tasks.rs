//! The tasks that are measured, and whether they were done.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::scratch::Scratch;

/// The answer that every task must give.
pub(crate) const ANSWER: &str = "All three turns are over.";

pub(crate) const TASKS: usize = 16;

/// A prompt that contains the script of the model: two tool calls, and an answer.
pub(crate) fn prompt(task: usize) -> String {
    let command = json!({"name": "bash", "args": {"command": format!("echo {task}")}});
    prompt_with(task, &command, &json!({"name": "read", "args": {"path": "notes.txt"}}))
}

/// The same with the calls of another agent.
pub(crate) fn prompt_with(task: usize, command: &Value, file: &Value) -> String {
    let script = json!([
        {"text": "First a command.", "tools": [command]},
        {"text": "Then a file.", "tools": [file]},
        {"text": ANSWER},
    ]);
    format!("Task {task} <<SCRIPT>>{script}<<END>>")
}

/// `delegate`, with the document of its tasks.
pub(crate) fn delegate(
    scratch: &Scratch,
    project: &Path,
    tasks: &Path,
    agent: &str,
    concurrency: usize,
) -> Command {
    let mut command = scratch.our("pi-subagents");
    command.current_dir(project).args(["delegate", "--json", "--agent", agent, "--concurrency"]);
    command.arg(concurrency.to_string()).arg(tasks);
    command
}

pub(crate) fn write_tasks(
    project: &Path,
    prompts: impl Iterator<Item = String>,
) -> Result<PathBuf, String> {
    let tasks: Vec<Value> = prompts
        .enumerate()
        .map(|(index, prompt)| json!({"name": format!("task {index}"), "prompt": prompt}))
        .collect();
    let path = project.join("tasks.json");
    fs::write(&path, json!({"tasks": tasks}).to_string()).map_err(|error| error.to_string())?;
    Ok(path)
}

/// Checks that every task has completed with the right answer: a task that fails is fast.
pub(crate) fn check(path: &Path, count: usize) -> Result<(), String> {
    let said = |what: String| format!("{}: {what}", path.display());
    let text = fs::read(path).map_err(|error| said(error.to_string()))?;
    let document: Value = serde_json::from_slice(&text).map_err(|error| said(error.to_string()))?;
    let tasks = document["tasks"].as_array().map_or(&[][..], Vec::as_slice);
    let is_right = |task: &&Value| task["status"] == "completed" && task["output"] == ANSWER;
    match tasks.iter().find(|task| !is_right(task)) {
        None if tasks.len() == count => Ok(()),
        None => Err(said(format!("{} tasks instead of {count}", tasks.len()))),
        Some(task) => Err(said(format!("not the expected answer: {task}"))),
    }
}

/// The same for a file with what an agent has printed.
pub(crate) fn check_stream(path: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    check_text(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The same for the text that an agent has printed. pi exits with 0 even if the model could not be asked.
pub(crate) fn check_text(text: &str) -> Result<(), String> {
    let messages = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|record| record["type"] == "message_end")
        .filter(|record| record["message"]["role"] == "assistant");
    let last_words: Vec<Value> =
        messages.map(|record| record["message"]["content"][0]["text"].clone()).collect();
    match last_words.as_slice() {
        [_, _, answer] if answer == ANSWER => Ok(()),
        other => Err(format!("it says {other:?}")),
    }
}

pub(crate) fn create(path: &Path) -> Result<File, String> {
    File::create(path).map_err(|error| format!("{}: {error}", path.display()))
}
