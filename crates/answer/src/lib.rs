//! Answers by a JSON Schema: whether a schema can be used, what value an answer holds, and whether the value
//! fits the schema. Pure: nothing that a schema refers to is read from the network or from files.
//!
//! A schema comes from a model, and the value from another. Patterns are matched in linear time, but a schema that
//! refers to itself can still take as long as it likes. So the supervisor has a process of its own compare the two
//! (`pi-subagents fits`), which it can kill; [`check_schema`] alone is fast for every schema within the limits.

mod extract;
mod limits;

use std::fmt::Write as _;

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

pub use extract::{NoValue, value_in};
pub use limits::{ANSWER_BYTES, SCHEMA_BYTES};

/// Why a schema cannot be used: where in it, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", place(path))]
pub struct SchemaError {
    /// A JSON pointer into the schema; empty for all of it.
    pub path: String,
    /// What is wrong, in a sentence that needs no beginning.
    pub problem: String,
}

fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("at {path}: ") }
}

/// The largest program that a pattern may become. With at most [`limits::PATTERNS`] of them, all together need
/// little memory.
const PATTERN_BYTES: usize = 256 * 1024;
/// The largest value as it is kept.
const KEPT_BYTES: usize = 4 * ANSWER_BYTES;
/// So many differences are told; an agent that corrects these sees the others.
const TOLD: usize = 5;
/// So much is told of one difference.
const TOLD_BYTES: usize = 400;

/// Whether the schema can be used.
pub fn check_schema(schema: &Value) -> Result<(), SchemaError> {
    build(schema).map(|_| ())
}

/// The value in the answer, if it fits the schema; else what is wrong, for an agent that can correct it.
pub fn fitting_value(schema: &Value, answer: &str) -> Result<Value, String> {
    let value = value_in(answer).map_err(|error| error.to_string())?;
    // It is kept in lines that are indented, which for a deep value is much more.
    let kept = serde_json::to_string_pretty(&value).map_err(|error| error.to_string())?;
    if kept.len() > KEPT_BYTES {
        return Err("it is too deep to be kept".to_owned());
    }
    let validator = build(schema).map_err(|error| format!("the schema cannot be used: {error}"))?;
    let mut problems = String::new();
    for error in validator.iter_errors(&value).take(TOLD) {
        let path = error.instance_path().to_string();
        let place = if path.is_empty() { "the value".to_owned() } else { path };
        let reason = error.masked_with("it").to_string();
        let reason = &reason[..reason.floor_char_boundary(TOLD_BYTES)];
        let comma = if problems.is_empty() { "" } else { "; " };
        let _ = write!(problems, "{comma}{place}: {reason}");
    }
    if problems.is_empty() { Ok(value) } else { Err(problems) }
}

fn build(schema: &Value) -> Result<Validator, SchemaError> {
    limits::check(schema)?;
    let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES);
    let options = jsonschema::options().with_pattern_options(patterns);
    options.build(schema).map_err(|error| explain(&error))
}

fn explain(error: &ValidationError<'_>) -> SchemaError {
    let problem = error.to_string();
    let problem = problem[..problem.floor_char_boundary(TOLD_BYTES)].to_owned();
    SchemaError { path: error.instance_path().to_string(), problem }
}

#[cfg(test)]
mod tests;
