//! The arguments of `delegate_to_subagents`, checked field by field.

use plan::{FileSpec, Lines};
use serde_json::{Map, Value};

/// What is asked for in one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DelegateArguments {
    /// The tasks, in their order.
    pub tasks: Vec<TaskArguments>,
    /// The profile of every task that names none.
    pub profile: Option<String>,
}

/// One task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskArguments {
    /// What it is called.
    pub name: String,
    /// What the agent is told.
    pub prompt: String,
    /// Where it works.
    pub cwd: Option<String>,
    /// Its profile.
    pub profile: Option<String>,
    /// Seconds until it is stopped.
    pub timeout: Option<f64>,
    /// The session that it continues.
    pub resume: Option<String>,
    /// What is put in front of the prompt.
    pub files: Vec<FileSpec>,
    /// The model, which wins over the profile's. Not part of the tool; the command line has it.
    pub model: Option<String>,
}

/// An argument is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ArgumentError {
    /// Where, such as `tasks[2].files[0].head`.
    pub field: String,
    /// What is wrong there.
    pub problem: String,
}

impl DelegateArguments {
    /// How many tasks the tool takes.
    pub const MOST_TASKS: usize = 16;

    /// Reads the arguments. `most_tasks` is the limit of the tool; the command line has none.
    pub fn parse(
        value: &Value,
        most_tasks: Option<usize>,
    ) -> Result<DelegateArguments, ArgumentError> {
        let call = Fields::of(value, "arguments")?;
        call.refuse_unknown(&["tasks", "profile"])?;
        let tasks = match call.map.get("tasks") {
            Some(Value::Array(tasks)) => tasks,
            Some(_) => return Err(wrong("tasks", "must be a list of tasks")),
            None => return Err(wrong("tasks", "is missing")),
        };
        if tasks.is_empty() {
            return Err(wrong("tasks", "must hold at least one task"));
        }
        if let Some(most) = most_tasks.filter(|most| tasks.len() > *most) {
            let problem = format!("must hold at most {most} tasks, but holds {}", tasks.len());
            return Err(wrong("tasks", &problem));
        }
        let tasks = tasks.iter().enumerate();
        let tasks = tasks.map(|(index, task)| parse_task(task, &format!("tasks[{index}]")));
        Ok(DelegateArguments {
            tasks: tasks.collect::<Result<_, _>>()?,
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
        model: None,
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

/// The fields of an object, and where it stands.
struct Fields<'a> {
    map: &'a Map<String, Value>,
    place: &'a str,
}

impl<'a> Fields<'a> {
    fn of(value: &'a Value, place: &'a str) -> Result<Fields<'a>, ArgumentError> {
        match value {
            Value::Object(map) => Ok(Fields { map, place }),
            _ => Err(wrong(place, "must be an object")),
        }
    }

    fn text(&self, name: &str) -> Result<String, ArgumentError> {
        match self.map.get(name) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
            Some(Value::String(_)) => Err(self.wrong(name, "must not be empty")),
            Some(_) => Err(self.wrong(name, "must be a text")),
            None => Err(self.wrong(name, "is missing")),
        }
    }

    fn optional_text(&self, name: &str) -> Result<Option<String>, ArgumentError> {
        match self.map.get(name) {
            None | Some(Value::Null) => Ok(None),
            // What was left empty was not meant.
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(name, "must be a text")),
        }
    }

    fn count(&self, name: &str, least: u64) -> Result<Option<usize>, ArgumentError> {
        match self.map.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64().filter(|count| *count >= least) {
                Some(count) => Ok(Some(usize::try_from(count).unwrap_or(usize::MAX))),
                None => {
                    let problem = format!("must be a whole number, at least {least}");
                    Err(self.wrong(name, &problem))
                }
            },
        }
    }

    fn refuse_unknown(&self, known: &[&str]) -> Result<(), ArgumentError> {
        match self.map.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let problem = format!("is unknown; there are {}", known.join(", "));
                Err(self.wrong(name, &problem))
            }
        }
    }

    fn wrong(&self, name: &str, problem: &str) -> ArgumentError {
        match self.place {
            "arguments" => wrong(name, problem),
            place => wrong(&format!("{place}.{name}"), problem),
        }
    }
}

fn wrong(field: &str, problem: &str) -> ArgumentError {
    ArgumentError { field: field.to_owned(), problem: problem.to_owned() }
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
