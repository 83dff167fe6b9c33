//! A line of the file of a batch: a task with its key.

use serde_json::{Map, Value};

use crate::{InvalidName, TaskName};

/// Fields of a task that only a caller's own machine can do something with.
const LOCAL: [&str; 3] = ["cwd", "resume", "isolation"];

/// A line is no task of a batch.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum TaskLineError {
    #[error("it is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("it must be an object with a key and a prompt")]
    NoObject,
    #[error("key: is missing")]
    NoKey,
    #[error("key: must be a text")]
    KeyIsNoText,
    #[error(transparent)]
    Key(#[from] InvalidName),
    #[error("{0}: a task of a batch works in a directory of its worker")]
    Local(&'static str),
}

/// Reads the key of a line and the fields of its task, which is named after its key unless it has a name.
pub fn read_task_line(text: &str) -> Result<(TaskName, Map<String, Value>), TaskLineError> {
    let Value::Object(mut fields) = serde_json::from_str(text)? else {
        return Err(TaskLineError::NoObject);
    };
    let key = match fields.shift_remove("key") {
        Some(Value::String(key)) => TaskName::parse(&key)?,
        Some(_) => return Err(TaskLineError::KeyIsNoText),
        None => return Err(TaskLineError::NoKey),
    };
    if let Some(field) = LOCAL.into_iter().find(|field| fields.contains_key(*field)) {
        return Err(TaskLineError::Local(field));
    }
    if !fields.contains_key("name") {
        fields.insert("name".to_owned(), key.as_str().into());
    }
    Ok((key, fields))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_has_a_key_after_which_its_task_is_named() {
        let (key, fields) = read_task_line(r#"{"key": "a.b", "prompt": "Go."}"#).unwrap();
        assert_eq!((key.as_str(), json!(fields)), ("a.b", json!({"prompt": "Go.", "name": "a.b"})));
        let (_, fields) = read_task_line(r#"{"key": "a", "name": "b"}"#).unwrap();
        assert_eq!(json!(fields), json!({"name": "b"}));
        for (line, problem) in [
            ("{", "it is not JSON: "),
            ("[]", "it must be an object"),
            ("{}", "key: is missing"),
            (r#"{"key": 1}"#, "key: must be a text"),
            (r#"{"key": "a b"}"#, "\"a b\" cannot name"),
            (r#"{"key": "a", "cwd": "/"}"#, "cwd: a task of a batch works"),
        ] {
            let error = read_task_line(line).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{line}: {error}");
        }
    }
}
