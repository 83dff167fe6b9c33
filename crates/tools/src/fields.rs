//! The arguments of a tool, taken out field by field.

use serde_json::{Map, Value};

/// An argument is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ArgumentError {
    /// Where, such as `tasks[2].files[0].head`.
    pub field: String,
    /// What is wrong there.
    pub problem: String,
}

/// How many tasks the tools take in one call.
pub const MOST_TASKS: usize = 16;

/// The list of tasks of a call, each read by `parse_task`, which is told where it stands.
pub(crate) fn parse_tasks<Task>(
    call: &Fields<'_>,
    most_tasks: Option<usize>,
    parse_task: impl Fn(&Value, &str) -> Result<Task, ArgumentError>,
) -> Result<Vec<Task>, ArgumentError> {
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
    tasks.map(|(index, task)| parse_task(task, &format!("tasks[{index}]"))).collect()
}

/// The fields of an object, and where it stands.
pub(crate) struct Fields<'a> {
    pub(crate) map: &'a Map<String, Value>,
    place: &'a str,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(value: &'a Value, place: &'a str) -> Result<Fields<'a>, ArgumentError> {
        match value {
            Value::Object(map) => Ok(Fields { map, place }),
            _ => Err(wrong(place, "must be an object")),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, ArgumentError> {
        match self.map.get(name) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
            Some(Value::String(_)) => Err(self.wrong(name, "must not be empty")),
            Some(_) => Err(self.wrong(name, "must be a text")),
            None => Err(self.wrong(name, "is missing")),
        }
    }

    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<String>, ArgumentError> {
        match self.map.get(name) {
            None | Some(Value::Null) => Ok(None),
            // What was left empty was not meant.
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(name, "must be a text")),
        }
    }

    pub(crate) fn count(&self, name: &str, least: u64) -> Result<Option<usize>, ArgumentError> {
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

    pub(crate) fn refuse_unknown(&self, known: &[&str]) -> Result<(), ArgumentError> {
        match self.map.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let problem = match known {
                    [] => "is unknown; there are no arguments".to_owned(),
                    known => format!("is unknown; there are {}", known.join(", ")),
                };
                Err(self.wrong(name, &problem))
            }
        }
    }

    pub(crate) fn wrong(&self, name: &str, problem: &str) -> ArgumentError {
        // A name can be empty, too, and would not be seen.
        let name = if name.is_empty() { "\"\"" } else { name };
        match self.place {
            "arguments" => wrong(name, problem),
            place => wrong(&format!("{place}.{name}"), problem),
        }
    }
}

pub(crate) fn wrong(field: &str, problem: &str) -> ArgumentError {
    ArgumentError { field: field.to_owned(), problem: problem.to_owned() }
}
