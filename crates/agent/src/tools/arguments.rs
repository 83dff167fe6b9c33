//! Checks and converts the arguments of a call, as pi does it.
//!
//! Models write numbers as strings, and `null` for optional values; neither is worth a turn of the
//! conversation.

use serde_json::{Map, Value};

use super::ToolError;

/// Reads arguments one by one and collects the errors, so that the model gets all of them at once.
pub(super) struct Arguments<'a> {
    tool: &'static str,
    given: &'a Map<String, Value>,
    missing: Vec<&'static str>,
    complaints: Vec<String>,
}

impl<'a> Arguments<'a> {
    pub(super) fn of(tool: &'static str, given: &'a Map<String, Value>) -> Arguments<'a> {
        Arguments { tool, given, missing: Vec::new(), complaints: Vec::new() }
    }

    /// A required text. If it is missing, the returned text is empty, and `finish` fails.
    pub(super) fn text(&mut self, name: &'static str) -> String {
        match self.given.get(name) {
            Some(value) => self.coerce(name, value, "string", text_of),
            None => {
                self.missing.push(name);
                None
            }
        }
        .unwrap_or_default()
    }

    pub(super) fn optional_text(&mut self, name: &'static str) -> Option<String> {
        self.optional(name, "string", text_of)
    }

    pub(super) fn optional_number(&mut self, name: &'static str) -> Option<f64> {
        self.optional(name, "number", number_of)
    }

    /// An optional boolean, `false` by default.
    pub(super) fn flag(&mut self, name: &'static str) -> bool {
        self.optional(name, "boolean", flag_of).unwrap_or(false)
    }

    /// A required value of another type.
    pub(super) fn value(&mut self, name: &'static str) -> Option<&'a Value> {
        let value = self.given.get(name);
        if value.is_none() {
            self.missing.push(name);
        }
        value
    }

    /// Adds an error about a value, or a part of one.
    pub(super) fn complain(&mut self, path: &str, problem: &str) {
        self.complaints.push(format!("{path}: {problem}"));
    }

    pub(super) fn finish(mut self) -> Result<(), ToolError> {
        if let Some(first) = self.missing.first() {
            let all = self.missing.join(", ");
            self.complaints.insert(0, format!("{first}: must have required properties {all}"));
        }
        if self.complaints.is_empty() {
            return Ok(());
        }
        let complaints: Vec<String> =
            self.complaints.iter().map(|complaint| format!("  - {complaint}")).collect();
        let received = serde_json::to_string_pretty(self.given).unwrap_or_default();
        Err(ToolError(format!(
            "Validation failed for tool \"{}\":\n{}\n\nReceived arguments:\n{received}",
            self.tool,
            complaints.join("\n")
        )))
    }

    fn optional<T>(
        &mut self,
        name: &'static str,
        kind: &str,
        read: fn(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.given.get(name).filter(|value| !value.is_null())?;
        self.coerce(name, value, kind, read)
    }

    fn coerce<T>(
        &mut self,
        name: &str,
        value: &Value,
        kind: &str,
        read: fn(&Value) -> Option<T>,
    ) -> Option<T> {
        let read = read(value);
        if read.is_none() {
            self.complain(name, &format!("must be {kind}"));
        }
        read
    }
}

/// Rounds a number down to a count; negative numbers become zero.
pub(super) fn count(number: f64) -> usize {
    // A cast from a floating point number saturates.
    number as usize
}

/// The value as a text, if it is a text, a number or a boolean.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) => value.as_f64().map(|number| number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Number(_) => value.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        _ => None,
    }
}

fn flag_of(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        Value::Number(_) => match value.as_f64()? {
            1.0 => Some(true),
            0.0 => Some(false),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn values_are_coerced_where_their_meaning_is_clear() {
        for (value, expected) in [
            (json!(5), Some(5.0)),
            (json!("5"), Some(5.0)),
            (json!(" 1e3 "), Some(1000.0)),
            (json!(true), Some(1.0)),
            (json!(1.5), Some(1.5)),
            (json!("x"), None),
            (json!("inf"), None),
            (json!("NaN"), None),
            (json!([5]), None),
            (json!({}), None),
        ] {
            assert_eq!(number_of(&value), expected, "{value}");
        }
        for (value, expected) in [
            (json!(true), Some(true)),
            (json!("True"), Some(true)),
            (json!("0"), Some(false)),
            (json!(1), Some(true)),
            (json!(2), None),
            (json!("yes"), None),
            (json!([true]), None),
        ] {
            assert_eq!(flag_of(&value), expected, "{value}");
        }
        for (value, expected) in [
            (json!("a"), Some("a")),
            (json!(1), Some("1")),
            (json!(1.5), Some("1.5")),
            (json!(false), Some("false")),
            (json!(null), None),
            (json!(["a"]), None),
        ] {
            assert_eq!(text_of(&value).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once_and_the_missing_first() {
        let given = map(&json!({"offset": "x", "limit": [], "other": 1}));
        let mut arguments = Arguments::of("read", &given);
        arguments.text("path");
        arguments.optional_number("offset");
        arguments.optional_number("limit");
        arguments.text("more");
        let error = arguments.finish().unwrap_err();
        assert_eq!(
            error.0,
            "Validation failed for tool \"read\":\n  \
             - path: must have required properties path, more\n  \
             - offset: must be number\n  \
             - limit: must be number\n\n\
             Received arguments:\n{\n  \"offset\": \"x\",\n  \"limit\": [],\n  \"other\": 1\n}"
        );
    }

    #[test]
    fn null_stands_for_a_missing_value() {
        let given = map(&json!({"path": null, "limit": null, "literal": null}));
        let mut arguments = Arguments::of("grep", &given);
        assert_eq!(arguments.optional_text("path"), None);
        assert_eq!(arguments.optional_number("limit"), None);
        assert!(!arguments.flag("literal"));
        arguments.finish().unwrap();
        let mut arguments = Arguments::of("read", &given);
        arguments.text("path");
        assert!(arguments.finish().unwrap_err().0.contains("- path: must be string\n"));
    }

    #[test]
    fn counts_are_whole_and_never_negative() {
        let counts = [-1.0, 0.0, 0.9, 2.5, 1e300].map(count);
        assert_eq!(counts, [0, 0, 0, 2, usize::MAX]);
    }
}
