//! Detects that an agent repeats itself.

use serde_json::Value;

/// Counts identical tool calls in a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoopDetector {
    last: Option<String>,
    repeated: u32,
}

impl LoopDetector {
    /// Takes the next call. True when it is the `limit`-th identical one in a row; a limit of
    /// zero is never reached.
    pub fn observe(&mut self, tool: &str, args: &Value, limit: u32) -> bool {
        let signature = signature(tool, args);
        if self.last.as_ref() == Some(&signature) {
            self.repeated = self.repeated.saturating_add(1);
        } else {
            self.last = Some(signature);
            self.repeated = 1;
        }
        limit > 0 && self.repeated >= limit
    }
}

/// The tool's name and its complete arguments. The keys of every object are sorted, so that their
/// order does not make two calls different.
fn signature(tool: &str, args: &Value) -> String {
    let mut signature = format!("{tool}:");
    write_sorted(args, &mut signature);
    signature
}

fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in entries {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_sorted(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(values) => {
            text.push('[');
            for value in values {
                write_sorted(value, text);
                text.push(',');
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_fifth_identical_call_is_a_loop() {
        let mut detector = LoopDetector::default();
        let verdicts: Vec<bool> =
            (0..6).map(|_| detector.observe("bash", &json!({"command": "ls"}), 5)).collect();
        assert_eq!(verdicts, [false, false, false, false, true, true]);
    }

    #[test]
    fn the_order_of_keys_does_not_matter_but_depth_does() {
        let one = json!({"a": 1, "b": {"x": [1, {"p": 1, "q": 2}], "y": 2}});
        let same: Value =
            serde_json::from_str(r#"{"b":{"y":2,"x":[1,{"q":2,"p":1}]},"a":1}"#).unwrap();
        let deep = json!({"a": 1, "b": {"x": [1, {"p": 1, "q": 3}], "y": 2}});
        assert_eq!(signature("edit", &one), signature("edit", &same));
        assert_ne!(signature("edit", &one), signature("edit", &deep));
        assert_ne!(signature("edit", &one), signature("write", &one));
    }

    #[test]
    fn another_call_in_between_starts_the_count_anew() {
        let mut detector = LoopDetector::default();
        for round in 0..20 {
            let args = json!({"command": if round % 4 == 3 { "b" } else { "a" }});
            assert!(!detector.observe("bash", &args, 4));
        }
    }

    #[test]
    fn zero_turns_the_rule_off() {
        let mut detector = LoopDetector::default();
        assert!((0..100).all(|_| !detector.observe("ls", &json!({}), 0)));
    }
}
