//! JSON, perhaps with comments and trailing commas.
//!
//! `jsonc-parser` adds and removes properties so that the rest stays as it was written.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

use super::{ConfigError, EntryPath, Located};

/// The language that every program reads that reads comments. Text in a wider one, such as JSON5, is
/// an error.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn read(text: &str) -> Result<Value, ConfigError> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| {
        ConfigError::Syntax {
            line: error.line_display(),
            message: lowercased(&error.kind().to_string()),
        }
    })?;
    Ok(parsed.value.map_or_else(|| Value::Object(Map::new()), Value::from))
}

pub(super) fn insert(text: &str, path: EntryPath, entry: &Value) -> Option<String> {
    let root = CstRootNode::parse(text, &OPTIONS).ok()?;
    let object = path.section.iter().try_fold(root.object_value_or_create()?, |object, name| {
        object.object_value_or_create(name)
    })?;
    object.append(path.name, input(entry));
    Some(root.to_string())
}

pub(super) fn remove(text: &str, path: EntryPath, kept: usize) -> Option<String> {
    let root = CstRootNode::parse(text, &OPTIONS).ok()?;
    let mut objects: Vec<CstObject> = vec![root.object_value()?];
    for name in path.section {
        let inner = objects.last()?.object_value(name)?;
        objects.push(inner);
    }
    objects.last()?.get(path.name)?.remove();
    for (depth, name) in path.section.iter().enumerate().skip(kept).rev() {
        // A section with a comment is not empty: the comment is the user's.
        let is_empty = !objects[depth + 1]
            .children()
            .iter()
            .any(|child| child.is_comment() || child.as_object_prop().is_some());
        if is_empty {
            objects[depth].get(name)?.remove();
        }
    }
    Some(root.to_string())
}

/// The position of the value of a field, or of its first element, if that is a text.
pub(super) fn first_text(text: &str, path: EntryPath, key: &str) -> Option<Range<usize>> {
    with_entry(text, path, |_, entry| {
        let value = match &entry.as_object()?.get(key)?.value {
            Node::Array(array) => array.elements.first()?,
            value => value,
        };
        value.as_string_lit().map(|literal| literal.start()..literal.end())
    })
}

pub(super) fn located(text: &str, path: EntryPath) -> Option<Located> {
    with_entry(text, path, |property, entry| {
        let fields = entry.as_object().map(|object| &*object.properties).unwrap_or_default();
        let fields = fields
            .iter()
            .map(|field| (field.name.as_str().to_owned(), field.value.start()..field.value.end()));
        Some((property.start()..property.end(), fields.collect()))
    })
}

/// Where the item at a path begins, or the innermost section around it that exists.
pub(super) fn offset(text: &str, path: &[&str]) -> usize {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS);
    let value = parsed.ok().and_then(|parsed| parsed.value);
    let mut object = value.as_ref().and_then(Node::as_object);
    let mut offset = 0;
    for name in path {
        let Some(property) = object.and_then(|object| object.get(name)) else { break };
        offset = property.start();
        object = property.value.as_object();
    }
    offset
}

pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn lowercased(message: &str) -> String {
    let mut characters = message.chars();
    characters.next().map_or_else(String::new, |first| {
        format!("{}{}", first.to_lowercase(), characters.as_str())
    })
}

fn with_entry<T>(
    text: &str,
    path: EntryPath,
    look: impl FnOnce(&ObjectProp<'_>, &Node<'_>) -> Option<T>,
) -> Option<T> {
    let value = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).ok()?.value?;
    let object = path
        .section
        .iter()
        .try_fold(value.as_object()?, |object: &Object<'_>, name| object.get_object(name))?;
    let property = object.get(path.name)?;
    look(property, &property.value)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter().map(|(name, value)| (name.clone(), input(value))).collect(),
        ),
    }
}
