//! TOML.
//!
//! `toml_edit` reads the text and tells positions; the text itself is changed here. If `toml_edit`
//! wrote it, the text would lose its `\r\n` and its byte order mark, and would get a line feed at its
//! end.

use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{Document, Item, Key, Table, TableLike, Value as Node};

use super::{ConfigError, EntryPath, Located, line_at, line_end};

pub(super) fn read(text: &str) -> Result<Value, ConfigError> {
    let document = parse(text).map_err(|error| ConfigError::Syntax {
        line: line_at(text, error.span().map_or(0, |span| span.start)),
        message: error.message().trim().replace('\n', "; "),
    })?;
    Ok(of_table(document.as_table()))
}

/// The entry becomes a table at the end, where no other table continues.
pub(super) fn insert(text: &str, path: EntryPath, entry: &Value) -> Option<String> {
    let line_end = line_end(text);
    let path: Vec<String> = path.section.iter().chain([&path.name]).map(|name| key(name)).collect();
    let mut lines = vec![format!("[{}]", path.join("."))];
    for (name, value) in entry.as_object()? {
        lines.push(format!("{} = {}", key(name), written(value)?));
    }
    let has_line_end = text.is_empty() || text.ends_with('\n');
    let (before, after) = match (text.is_empty(), has_line_end) {
        (true, _) => (String::new(), line_end),
        (false, true) => (line_end.to_owned(), line_end),
        (false, false) => (line_end.repeat(2), ""),
    };
    Some(format!("{text}{before}{}{after}", lines.join(line_end)))
}

/// Removes the lines of the entry's table and of the tables in it, and the empty line before them
/// unless it separates what follows.
pub(super) fn remove(text: &str, path: EntryPath) -> Option<String> {
    let Range { mut start, end } = located(text, path)?.0;
    let rest = &text[end..];
    let line_end = line_end(text);
    let is_last = rest.trim().is_empty();
    if is_last || rest.starts_with(['\n', '\r']) {
        let before = &text[..start];
        if before.ends_with(&line_end.repeat(2)) || before == line_end {
            start -= line_end.len();
        }
    }
    let had_line_end = text.ends_with('\n');
    if is_last && !had_line_end && text[..start].ends_with(line_end) {
        start -= line_end.len();
    }
    Some(super::spliced(text, start..end, ""))
}

/// Adds a field to the entry, on the line after another one.
pub(super) fn add(
    text: &str,
    path: EntryPath,
    after: &str,
    name: &str,
    value: &Value,
) -> Option<String> {
    let (_, fields) = located(text, path)?;
    let end = fields.iter().find(|(field, _)| field == after)?.1.end;
    let end = text[end..].find('\n').map_or(text.len(), |index| end + index + 1);
    let (field, line_end) = (format!("{} = {}", key(name), written(value)?), line_end(text));
    let has_line_end = text[..end].ends_with('\n');
    let field =
        if has_line_end { format!("{field}{line_end}") } else { format!("{line_end}{field}") };
    Some(super::spliced(text, end..end, &field))
}

/// The position of the value of a field, or of its first element, if that is a text.
pub(super) fn first_text(text: &str, path: EntryPath, key: &str) -> Option<Range<usize>> {
    let document = parse(text).ok()?;
    let value = entry(document.as_table(), path)?.as_table_like()?.get(key)?;
    let value = match value.as_value()? {
        Node::Array(array) => array.get(0)?,
        value => value,
    };
    value.as_str().and_then(|_| value.span())
}

pub(super) fn located(text: &str, path: EntryPath) -> Option<Located> {
    let document = parse(text).ok()?;
    let Item::Table(table) = entry(document.as_table(), path)? else { return None };
    // A table without a header of its own is scattered over other lines.
    let start = table.span().filter(|_| !table.is_dotted() && !table.is_implicit())?.start;
    let mut fields = Vec::new();
    collect(table, &mut fields);
    let last = fields.iter().map(|(_, range)| range.end).max().unwrap_or(start);
    let last = last.max(table.span()?.end);
    let end = text[last..].find('\n').map_or(text.len(), |index| last + index + 1);
    // Other tables may stand between the parts of ours.
    let is_header = |(name, range): &&(String, Range<usize>)| {
        name.is_empty() && (start + 1..end).contains(&range.start)
    };
    let mut all = Vec::new();
    collect(document.as_table(), &mut all);
    if all.iter().filter(is_header).count() != fields.iter().filter(is_header).count() {
        return None;
    }
    fields.sort_by_key(|(_, range)| range.start);
    // A header has no value to mask.
    fields.retain(|(name, _)| !name.is_empty());
    Some((start..end, fields))
}

/// Where the item at a path begins, or the innermost section around it that exists.
pub(super) fn offset(text: &str, path: &[&str]) -> usize {
    let Ok(document) = parse(text) else { return 0 };
    let mut table: Option<&dyn TableLike> = Some(document.as_table());
    let mut offset = 0;
    for name in path {
        let Some((key, item)) = table.and_then(|table| table.get_key_value(name)) else { break };
        let span = item.span().or_else(|| key.span());
        offset = span.map_or(offset, |span| span.start);
        table = item.as_table_like();
    }
    offset
}

pub(super) fn quoted(text: &str) -> String {
    Node::from(text).to_string()
}

fn parse(text: &str) -> Result<Document<&str>, toml_edit::TomlError> {
    Document::parse(text)
}

fn entry(root: &dyn TableLike, path: EntryPath) -> Option<&Item> {
    let section = path
        .section
        .iter()
        .try_fold(root, |table, name| table.get(name).and_then(Item::as_table_like))?;
    section.get(path.name)
}

/// The positions of all values of a table and of the tables in it, with the names of their fields,
/// and of all headers, with empty names.
fn collect(table: &dyn TableLike, found: &mut Vec<(String, Range<usize>)>) {
    for (name, item) in table.iter() {
        match item {
            Item::Value(value) => {
                found.extend(value.span().map(|span| (name.to_owned(), span)));
            }
            Item::Table(inner) => collect_within(name, inner, found),
            Item::ArrayOfTables(tables) => {
                tables.iter().for_each(|inner| collect_within(name, inner, found));
            }
            Item::None => {}
        }
    }
}

fn collect_within(name: &str, inner: &Table, found: &mut Vec<(String, Range<usize>)>) {
    let header = inner.span().filter(|_| !inner.is_implicit());
    found.extend(header.map(|span| (String::new(), span)));
    let mut within = Vec::new();
    collect(inner, &mut within);
    // No field of a nested table is a known one.
    found.extend(within.into_iter().map(|(field, range)| {
        let field = if field.is_empty() { field } else { format!("{name}.{field}") };
        (field, range)
    }));
}

fn key(name: &str) -> String {
    Key::new(name).to_string()
}

fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(quoted(text)),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(values) => {
            let values: Option<Vec<String>> = values.iter().map(written).collect();
            Some(format!("[{}]", values?.join(", ")))
        }
        Value::Null | Value::Object(_) => None,
    }
}

fn of_table(table: &dyn TableLike) -> Value {
    let entries = table.iter().filter_map(|(name, item)| {
        let value = match item {
            Item::None => return None,
            Item::Value(value) => of_value(value),
            Item::Table(table) => of_table(table),
            Item::ArrayOfTables(tables) => {
                Value::Array(tables.iter().map(|table| of_table(table)).collect())
            }
        };
        Some((name.to_owned(), value))
    });
    Value::Object(entries.collect::<Map<String, Value>>())
}

fn of_value(value: &Node) -> Value {
    match value {
        Node::String(text) => Value::from(text.value().as_str()),
        Node::Integer(number) => Value::from(*number.value()),
        // JSON lacks infinity and NaN; values only need to be the same before and after.
        Node::Float(number) => Value::from(number.value().to_string()),
        Node::Boolean(flag) => Value::from(*flag.value()),
        Node::Datetime(time) => Value::from(time.value().to_string()),
        Node::Array(array) => Value::Array(array.iter().map(of_value).collect()),
        Node::InlineTable(table) => of_table(table),
    }
}
