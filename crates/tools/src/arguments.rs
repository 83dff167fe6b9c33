//! The arguments of `delegate_to_subagents`, checked field by field.

use plan::{FileSpec, Lines};
use serde_json::Value;

use crate::fields::{Fields, parse_tasks, wrong};
use crate::{ArgumentError, TaskArguments};

/// What is asked for in one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DelegateArguments {
    /// The tasks, in their order.
    pub tasks: Vec<TaskArguments>,
    /// The profile of every task that names none.
    pub profile: Option<String>,
}

impl DelegateArguments {
    /// Reads the arguments. `most_tasks` is the limit of the tool, [`crate::MOST_TASKS`]; the
    /// command line has none.
    pub fn parse(
        value: &Value,
        most_tasks: Option<usize>,
    ) -> Result<DelegateArguments, ArgumentError> {
        let call = Fields::of(value, "arguments")?;
        call.refuse_unknown(&["tasks", "profile"])?;
        Ok(DelegateArguments {
            tasks: parse_tasks(&call, most_tasks, parse_task)?,
            profile: call.optional_text("profile")?,
        })
    }
}

fn parse_task(value: &Value, place: &str) -> Result<TaskArguments, ArgumentError> {
    let task = Fields::of(value, place)?;
    task.refuse_unknown(&["name", "prompt", "cwd", "profile", "timeout", "resume", "files"])?;
    let timeout = match task.map.get("timeout") {
        None | Some(Value::Null) => None,
        Some(value) => match value.as_f64() {
            Some(seconds) if seconds >= 1.0 => Some(seconds),
            _ => return Err(task.wrong("timeout", "must be a number of seconds, at least 1")),
        },
    };
    let files = match task.map.get("files") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(files)) => {
            let files = files.iter().enumerate();
            let files =
                files.map(|(index, file)| parse_file(file, &format!("{place}.files[{index}]")));
            files.collect::<Result<_, _>>()?
        }
        Some(_) => return Err(task.wrong("files", "must be a list of files")),
    };
    Ok(TaskArguments {
        name: task.text("name")?,
        prompt: task.text("prompt")?,
        cwd: task.optional_text("cwd")?,
        profile: task.optional_text("profile")?,
        timeout,
        resume: task.optional_text("resume")?,
        files,
        // `subagent` and the command line have them, not this tool.
        model: None,
        preset: None,
    })
}

fn parse_file(value: &Value, place: &str) -> Result<FileSpec, ArgumentError> {
    if let Value::String(path) = value {
        return Ok(FileSpec { path: path.clone(), lines: Lines::All });
    }
    let file = Fields::of(value, place)
        .map_err(|_| wrong(place, "must be a path or an object with a path"))?;
    file.refuse_unknown(&["path", "start", "end", "head", "tail"])?;
    let (start, end) = (file.count("start", 0)?, file.count("end", 0)?);
    let (head, tail) = (file.count("head", 1)?, file.count("tail", 1)?);
    let lines = match (start.is_some() || end.is_some(), head, tail) {
        (false, None, None) => Lines::All,
        (true, None, None) => Lines::Range { start, end },
        (false, Some(head), None) => Lines::Head(head),
        (false, None, Some(tail)) => Lines::Tail(tail),
        _ => return Err(wrong(place, "must have only one of start/end, head and tail")),
    };
    Ok(FileSpec { path: file.text("path")?, lines })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_is_read() {
        let value = json!({"profile": "default", "tasks": [
            {"name": "a", "prompt": "p"},
            {"name": "b", "prompt": "q", "cwd": "/x", "profile": "r", "timeout": 30, "resume": "0123456789abcdef",
             "files": ["a.rs", {"path": "b", "start": 2, "end": 3}, {"path": "c", "head": 1}, {"path": "d", "tail": 9}, {"path": "e"}]},
        ]});
        let arguments = DelegateArguments::parse(&value, Some(16)).unwrap();
        assert_eq!(arguments.profile.as_deref(), Some("default"));
        let task = |name: &str, prompt: &str| TaskArguments {
            name: name.into(),
            prompt: prompt.into(),
            ..TaskArguments::default()
        };
        let file = |path: &str, lines| FileSpec { path: path.into(), lines };
        assert_eq!(arguments.tasks[0], task("a", "p"));
        assert_eq!(
            arguments.tasks[1],
            TaskArguments {
                cwd: Some("/x".into()),
                profile: Some("r".into()),
                timeout: Some(30.0),
                resume: Some("0123456789abcdef".into()),
                files: vec![
                    file("a.rs", Lines::All),
                    file("b", Lines::Range { start: Some(2), end: Some(3) }),
                    file("c", Lines::Head(1)),
                    file("d", Lines::Tail(9)),
                    file("e", Lines::All),
                ],
                ..task("b", "q")
            }
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let task = json!({"name": "a", "prompt": "p"});
        for (value, expected) in [
            (json!([]), "arguments: must be an object"),
            (json!({}), "tasks: is missing"),
            (json!({"tasks": {}}), "tasks: must be a list of tasks"),
            (json!({"tasks": []}), "tasks: must hold at least one task"),
            (json!({"tasks": vec![task; 17]}), "tasks: must hold at most 16 tasks, but holds 17"),
            (json!({"tasks": ["x"]}), "tasks[0]: must be an object"),
            (json!({"tasks": [{"prompt": "p"}]}), "tasks[0].name: is missing"),
            (json!({"tasks": [{"name": "a", "prompt": 5}]}), "tasks[0].prompt: must be a text"),
            (
                json!({"tasks": [{"name": "a", "prompt": " "}]}),
                "tasks[0].prompt: must not be empty",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "timeout": 0}]}),
                "tasks[0].timeout: must be a number of seconds, at least 1",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "timout": 5}]}),
                "tasks[0].timout: is unknown; there are name, prompt, cwd, profile, timeout, resume, files",
            ),
            (json!({"": 5}), "\"\": is unknown; there are tasks, profile"),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "files": "x"}]}),
                "tasks[0].files: must be a list of files",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "files": [5]}]}),
                "tasks[0].files[0]: must be a path or an object with a path",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "files": [{"head": 1}]}]}),
                "tasks[0].files[0].path: is missing",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "files": ["x", {"path": "y", "head": 0}]}]}),
                "tasks[0].files[1].head: must be a whole number, at least 1",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "files": [{"path": "y", "head": 1, "tail": 1}]}]}),
                "tasks[0].files[0]: must have only one of start/end, head and tail",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p"}], "profile": []}),
                "profile: must be a text",
            ),
        ] {
            let error = DelegateArguments::parse(&value, Some(16)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        let many = json!({"tasks": vec![json!({"name": "a", "prompt": "p"}); 100]});
        assert_eq!(DelegateArguments::parse(&many, None).unwrap().tasks.len(), 100);
    }
}
