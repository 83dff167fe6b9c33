//! What a schema may cost before it is looked at.

use serde_json::Value;

use crate::SchemaError;

/// The largest schema, as JSON. Some agents take it as an argument, which the system limits.
pub const SCHEMA_BYTES: usize = 32 * 1024;
/// The longest answer that is compared with a schema.
pub const ANSWER_BYTES: usize = 1024 * 1024;
/// The deepest schema.
const DEPTH: usize = 32;
/// The most patterns of a schema.
pub(crate) const PATTERNS: usize = 64;

pub(crate) fn check(schema: &Value) -> Result<(), SchemaError> {
    let whole = |problem: String| SchemaError { path: String::new(), problem };
    if !schema.is_object() {
        return Err(whole("it must be a JSON Schema, which is an object".to_owned()));
    }
    // Before its length: what is too deep is not written either.
    let mut patterns = 0;
    measure(schema, &mut String::new(), 0, &mut patterns)?;
    if patterns > PATTERNS {
        return Err(whole(format!("it has {patterns} patterns, and the limit is {PATTERNS}")));
    }
    match schema.to_string().len() {
        bytes if bytes > SCHEMA_BYTES => {
            Err(whole(format!("it has {bytes} bytes, and the limit is {SCHEMA_BYTES}")))
        }
        _ => Ok(()),
    }
}

fn measure(
    value: &Value,
    path: &mut String,
    depth: usize,
    patterns: &mut usize,
) -> Result<(), SchemaError> {
    if depth > DEPTH {
        let problem = format!("it is deeper than {DEPTH} levels");
        return Err(SchemaError { path: path.clone(), problem });
    }
    let mut descend = |name: &str, value: &Value, patterns: &mut usize| {
        let length = path.len();
        path.push('/');
        path.push_str(name);
        let measured = measure(value, path, depth + 1, patterns);
        path.truncate(length);
        measured
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                *patterns += match (name.as_str(), value) {
                    ("pattern", _) => 1,
                    ("patternProperties", Value::Object(fields)) => fields.len(),
                    _ => 0,
                };
                descend(name, value, patterns)?;
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                descend(&index.to_string(), value, patterns)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}
