//! Schemas that models write, and answers that are compared with them.

use serde_json::Value;

use crate::scratch::parts;

/// The parts are a schema and an answer.
pub(super) fn check(data: &[u8]) {
    let mut parts = parts(data);
    let schema = serde_json::from_slice::<Value>(parts.next().unwrap_or_default());
    let answer = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let value = answer::value_in(&answer);
    if let Ok(value) = &value {
        assert_eq!(
            answer::value_in(&value.to_string()).as_ref(),
            Ok(value),
            "a value is an answer"
        );
    }
    let Ok(schema) = schema else { return };
    if let Err(error) = answer::check_schema(&schema) {
        assert!(!error.problem.is_empty());
        return;
    }
    // A schema that refers to itself may take as long as it likes. Another process compares it, which can be killed.
    if schema.to_string().contains("Ref\"") || schema.to_string().contains("$ref") {
        return;
    }
    match answer::fitting_value(&schema, &answer) {
        Ok(fitting) => {
            assert_eq!(Ok(&fitting), value.as_ref());
            let again = answer::fitting_value(&schema, &fitting.to_string());
            assert_eq!(again, Ok(fitting), "it fits no more");
        }
        Err(problem) => assert!(!problem.is_empty()),
    }
}
