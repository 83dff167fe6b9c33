//! The files of the fleet that users write: the lines of a batch, and credentials.

use serde_json::{Value, json};
use tools::DelegateArguments;

use crate::scratch::parts;

/// The parts are a file of tasks and a file of credentials.
pub(super) fn check(data: &[u8]) {
    let mut parts = parts(data).map(String::from_utf8_lossy);
    let [lines, credentials] = [(); 2].map(|()| parts.next().unwrap_or_default());
    lines.lines().for_each(check_line);
    check_credentials(&credentials);
}

/// A line is one task with a name, or has a reason why it is none.
fn check_line(line: &str) {
    let (key, fields) = match fleet::read_task_line(line) {
        Ok(read) => read,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(fleet::TaskName::parse(key.as_str()).as_ref(), Ok(&key));
    for field in ["key", "cwd", "resume", "isolation"] {
        assert!(!fields.contains_key(field), "{field} of {line:?}");
    }
    let sent: Value = serde_json::from_str(line).unwrap_or_default();
    for (field, value) in &fields {
        let is_named_after_key = field == "name" && sent.get("name").is_none();
        let expected = if is_named_after_key { &json!(key.as_str()) } else { &sent[field] };
        assert_eq!(value, expected, "{field} of {line:?}");
    }
    match DelegateArguments::parse(&json!({"tasks": [fields]}), None) {
        Ok(call) => assert_eq!(call.tasks.len(), 1, "{line:?}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A reason quotes nothing that could be a secret.
fn check_credentials(text: &str) {
    let Err(reason) = fleet::check_credentials(text) else { return };
    assert!(!reason.is_empty());
    for word in text.split_whitespace().filter(|word| word.len() > 20) {
        assert!(!reason.contains(word), "{reason:?} quotes {word:?}");
    }
}
