//! Adds, changes and removes an entry in the text of a configuration file.
//!
//! Everything here turns a text into a text. All but the entry stays as it was written: order,
//! comments, indentation, line ends, the byte order mark and the line feed at the end.

mod jsonc;
mod toml;

use std::ops::Range;

use serde_json::{Map, Value};

/// The language of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, perhaps with comments and trailing commas.
    Jsonc,
    Toml,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryPath {
    /// The sections around it, the outermost first.
    pub(crate) section: &'static [&'static str],
    pub(crate) name: &'static str,
}

impl EntryPath {
    fn names(self) -> Vec<&'static str> {
        self.section.iter().copied().chain([self.name]).collect()
    }
}

/// Why a text is not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ConfigError {
    #[error("line {line}: {message}")]
    Syntax { line: usize, message: String },
    #[error("line {line}: {what} is not {expected}")]
    NotASection { line: usize, what: String, expected: &'static str },
    #[error("line {line}: what is there cannot be changed without touching what stands around it")]
    Unchangeable { line: usize },
}

/// Some editors on Windows begin a text with it.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl Format {
    pub(crate) fn entry(self, text: &str, path: EntryPath) -> Result<Option<Value>, ConfigError> {
        let text = without_mark(text);
        let mut value = &self.read(text)?;
        for (depth, name) in path.section.iter().enumerate() {
            match value.get(name) {
                None => return Ok(None),
                Some(inner) if inner.is_object() => value = inner,
                Some(_) => {
                    return Err(ConfigError::NotASection {
                        line: self.line(text, &path.section[..=depth]),
                        what: format!("`{}`", path.section[..=depth].join(".")),
                        expected: self.word_for_section(),
                    });
                }
            }
        }
        Ok(value.get(path.name).cloned())
    }

    /// How many of the sections around the entry exist, counted from the outermost.
    pub(crate) fn sections(self, text: &str, path: EntryPath) -> Result<usize, ConfigError> {
        let value = self.read(without_mark(text))?;
        let mut inner = &value;
        let existing = path.section.iter().take_while(|name| {
            inner = inner.get(name).unwrap_or(&Value::Null);
            inner.is_object()
        });
        Ok(existing.count())
    }

    /// Adds an entry that does not exist.
    pub(crate) fn insert(
        self,
        text: &str,
        path: EntryPath,
        entry: &Value,
    ) -> Result<String, ConfigError> {
        self.change(
            text,
            path,
            |text| match self {
                Format::Jsonc => jsonc::insert(text, path, entry),
                Format::Toml => toml::insert(text, path, entry),
            },
            |expected| put_at(expected, &path.names(), entry.clone()),
        )
    }

    /// Changes one text of the entry: the value of `key`, or the first element of that value.
    pub(crate) fn set(
        self,
        text: &str,
        path: EntryPath,
        key: &str,
        new: &str,
    ) -> Result<String, ConfigError> {
        self.change(
            text,
            path,
            |text| {
                let range = match self {
                    Format::Jsonc => jsonc::first_text(text, path, key),
                    Format::Toml => toml::first_text(text, path, key),
                };
                let quoted = match self {
                    Format::Jsonc => jsonc::quoted(new),
                    Format::Toml => toml::quoted(new),
                };
                Some(spliced(text, range?, &quoted))
            },
            |expected| {
                let path = path.names();
                let entry = path.iter().try_fold(expected, |value, name| value.get_mut(*name));
                match entry.and_then(|entry| entry.get_mut(key)) {
                    Some(Value::Array(values)) if !values.is_empty() => values[0] = new.into(),
                    Some(value) => *value = new.into(),
                    None => {}
                }
            },
        )
    }

    /// Adds a field to the entry, after another one. Nothing has to be added to entries in JSON.
    pub(crate) fn add(
        self,
        text: &str,
        path: EntryPath,
        after: &str,
        name: &str,
        value: &Value,
    ) -> Result<String, ConfigError> {
        self.change(
            text,
            path,
            |text| match self {
                Format::Jsonc => None,
                Format::Toml => toml::add(text, path, after, name, value),
            },
            |expected| {
                let names: Vec<&str> = path.names().into_iter().chain([name]).collect();
                put_at(expected, &names, value.clone());
            },
        )
    }

    /// Removes the entry, and the sections around it that have become empty, except for the
    /// outermost `kept`.
    pub(crate) fn remove(
        self,
        text: &str,
        path: EntryPath,
        kept: usize,
    ) -> Result<String, ConfigError> {
        self.change(
            text,
            path,
            |text| match self {
                Format::Jsonc => jsonc::remove(text, path, kept),
                Format::Toml => toml::remove(text, path),
            },
            |expected| take_from(expected, &path.names()),
        )
    }

    /// The entry as it is written, from the beginning of its first line, or the whole text. The
    /// values of all but the `known` fields are masked: the user may have put a key there.
    pub(crate) fn shown(
        self,
        text: &str,
        path: EntryPath,
        known: &[&str],
        is_whole: bool,
    ) -> Option<String> {
        let text = without_mark(text);
        let (range, fields) = match self {
            Format::Jsonc => jsonc::located(text, path)?,
            Format::Toml => toml::located(text, path)?,
        };
        let end = if is_whole { text.len() } else { range.end };
        let mut shown = text[..end].to_owned();
        for (name, value) in fields.into_iter().rev() {
            if !known.contains(&&*name) {
                shown.replace_range(value, "…");
            }
        }
        if is_whole {
            return Some(shown);
        }
        let before = &text[..range.start];
        let indentation = before.rfind('\n').map_or(before, |index| &before[index + 1..]);
        let indentation = if indentation.trim().is_empty() { indentation } else { "" };
        Some(format!("{indentation}{}", &shown[range.start..]))
    }

    pub(crate) fn line_of_entry(self, text: &str, path: EntryPath) -> usize {
        self.line(without_mark(text), &path.names())
    }

    /// Changes a text, and checks that its meaning has changed as `expect` says, and not otherwise,
    /// so that no mistake of a library reaches a file.
    fn change(
        self,
        text: &str,
        path: EntryPath,
        edit: impl FnOnce(&str) -> Option<String>,
        expect: impl FnOnce(&mut Value),
    ) -> Result<String, ConfigError> {
        let inner = without_mark(text);
        let mark = &text[..text.len() - inner.len()];
        let mut expected = self.read(inner)?;
        expect(&mut expected);
        let unchangeable = || ConfigError::Unchangeable { line: self.line_of_entry(text, path) };
        let changed = edit(inner).ok_or_else(unchangeable)?;
        let mut means = self.read(&changed).map_err(|_| unchangeable())?;
        // An empty section means the same as none.
        for value in [&mut means, &mut expected] {
            prune(value, path.section);
        }
        if means == expected { Ok(format!("{mark}{changed}")) } else { Err(unchangeable()) }
    }

    /// The meaning of a text. An empty text means the same as an empty object.
    fn read(self, text: &str) -> Result<Value, ConfigError> {
        let value = match self {
            Format::Jsonc => jsonc::read(text)?,
            Format::Toml => toml::read(text)?,
        };
        if value.is_object() {
            return Ok(value);
        }
        let what = "the top level".to_owned();
        Err(ConfigError::NotASection { line: 1, what, expected: self.word_for_section() })
    }

    /// The line of the item at a path, or of the innermost section around it that exists.
    fn line(self, text: &str, path: &[&str]) -> usize {
        let offset = match self {
            Format::Jsonc => jsonc::offset(text, path),
            Format::Toml => toml::offset(text, path),
        };
        line_at(text, offset)
    }

    fn word_for_section(self) -> &'static str {
        match self {
            Format::Jsonc => "an object",
            Format::Toml => "a table",
        }
    }
}

/// The position of an entry, and the positions of the values of its fields.
type Located = (Range<usize>, Vec<(String, Range<usize>)>);

fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(index) if text[..index].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

fn spliced(text: &str, range: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..range.start], &text[range.end..])
}

fn put_at(value: &mut Value, path: &[&str], new: Value) {
    let Some((first, rest)) = path.split_first() else {
        *value = new;
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    put_at(&mut value[*first], rest, new);
}

fn take_from(value: &mut Value, path: &[&str]) {
    let Some((name, section)) = path.split_last() else { return };
    let section = section.iter().try_fold(value, |value, name| value.get_mut(*name));
    if let Some(Value::Object(section)) = section {
        section.shift_remove(*name);
    }
}

fn prune(value: &mut Value, section: &[&str]) {
    let Some((first, rest)) = section.split_first() else { return };
    let Some(map) = value.as_object_mut() else { return };
    let Some(inner) = map.get_mut(*first) else { return };
    prune(inner, rest);
    if inner.as_object().is_some_and(Map::is_empty) {
        map.shift_remove(*first);
    }
}
