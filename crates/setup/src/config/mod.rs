//! The text of a configuration file, with an entry put in, changed or taken out.
//!
//! Everything here is text to text. What the entry has nothing to do with stays as it was written:
//! order, comments, indentation, line ends, the mark at the beginning and the line feed at the end.

mod jsonc;
mod toml;

use std::ops::Range;

use serde_json::{Map, Value};

/// In which language a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, perhaps with comments and trailing commas.
    Jsonc,
    Toml,
}

/// Where an entry stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// The sections around it, the outermost first.
    pub(crate) section: &'static [&'static str],
    pub(crate) name: &'static str,
}

impl Spot {
    fn path(self) -> Vec<&'static str> {
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

/// Some editors of another system put it in front of a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl Format {
    /// The entry, if it is there.
    pub(crate) fn entry(self, text: &str, spot: Spot) -> Result<Option<Value>, ConfigError> {
        let text = without_mark(text);
        let mut value = &self.read(text)?;
        for (depth, name) in spot.section.iter().enumerate() {
            match value.get(name) {
                None => return Ok(None),
                Some(inner) if inner.is_object() => value = inner,
                Some(_) => {
                    return Err(ConfigError::NotASection {
                        line: self.line(text, &spot.section[..=depth]),
                        what: format!("`{}`", spot.section[..=depth].join(".")),
                        expected: self.word_for_section(),
                    });
                }
            }
        }
        Ok(value.get(spot.name).cloned())
    }

    /// How many of the sections around the entry are there, the outermost first.
    pub(crate) fn sections(self, text: &str, spot: Spot) -> Result<usize, ConfigError> {
        let value = self.read(without_mark(text))?;
        let mut inner = &value;
        let there = spot.section.iter().take_while(|name| {
            inner = inner.get(name).unwrap_or(&Value::Null);
            inner.is_object()
        });
        Ok(there.count())
    }

    /// Puts in an entry that is not there.
    pub(crate) fn insert(
        self,
        text: &str,
        spot: Spot,
        entry: &Value,
    ) -> Result<String, ConfigError> {
        self.change(
            text,
            spot,
            |text| match self {
                Format::Jsonc => jsonc::insert(text, spot, entry),
                Format::Toml => toml::insert(text, spot, entry),
            },
            |expected| put_at(expected, &spot.path(), entry.clone()),
        )
    }

    /// Changes one text of the entry: the value of `key`, or the first element of it.
    pub(crate) fn set(
        self,
        text: &str,
        spot: Spot,
        key: &str,
        new: &str,
    ) -> Result<String, ConfigError> {
        self.change(
            text,
            spot,
            |text| {
                let range = match self {
                    Format::Jsonc => jsonc::first_text(text, spot, key),
                    Format::Toml => toml::first_text(text, spot, key),
                };
                let quoted = match self {
                    Format::Jsonc => jsonc::quoted(new),
                    Format::Toml => toml::quoted(new),
                };
                Some(spliced(text, range?, &quoted))
            },
            |expected| {
                let path = spot.path();
                let entry = path.iter().try_fold(expected, |value, name| value.get_mut(*name));
                match entry.and_then(|entry| entry.get_mut(key)) {
                    Some(Value::Array(values)) if !values.is_empty() => values[0] = new.into(),
                    Some(value) => *value = new.into(),
                    None => {}
                }
            },
        )
    }

    /// Takes the entry out, and with it those sections around it that have become empty, except
    /// for the outermost `kept`.
    pub(crate) fn remove(self, text: &str, spot: Spot, kept: usize) -> Result<String, ConfigError> {
        self.change(
            text,
            spot,
            |text| match self {
                Format::Jsonc => jsonc::remove(text, spot, kept),
                Format::Toml => toml::remove(text, spot),
            },
            |expected| take_from(expected, &spot.path()),
        )
    }

    /// The entry as it is written, from the beginning of its first line, or the whole text around
    /// it, with the values of all fields masked but the `known` ones: somebody may have put a key
    /// there.
    pub(crate) fn shown(
        self,
        text: &str,
        spot: Spot,
        known: &[&str],
        is_whole: bool,
    ) -> Option<String> {
        let text = without_mark(text);
        let (range, fields) = match self {
            Format::Jsonc => jsonc::located(text, spot)?,
            Format::Toml => toml::located(text, spot)?,
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

    /// The line in which the entry begins.
    pub(crate) fn line_of_entry(self, text: &str, spot: Spot) -> usize {
        self.line(without_mark(text), &spot.path())
    }

    /// Changes a text, and makes sure that what it means has changed as `expect` says, and in
    /// nothing else. Whatever a library does, no file is written that says something unexpected.
    fn change(
        self,
        text: &str,
        spot: Spot,
        edit: impl FnOnce(&str) -> Option<String>,
        expect: impl FnOnce(&mut Value),
    ) -> Result<String, ConfigError> {
        let inner = without_mark(text);
        let mark = &text[..text.len() - inner.len()];
        let mut expected = self.read(inner)?;
        expect(&mut expected);
        let unchangeable = || ConfigError::Unchangeable { line: self.line_of_entry(text, spot) };
        let changed = edit(inner).ok_or_else(unchangeable)?;
        let mut means = self.read(&changed).map_err(|_| unchangeable())?;
        // An empty section means as much as none.
        for value in [&mut means, &mut expected] {
            prune(value, spot.section);
        }
        if means == expected { Ok(format!("{mark}{changed}")) } else { Err(unchangeable()) }
    }

    /// Everything that a text says. An empty one says as much as an empty object.
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

    /// The line in which what is at the end of a path begins, or the nearest around it.
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

/// What was found of an entry: where it is, and where the values of its fields are.
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

/// Takes out those sections along a path that have nothing in them.
fn prune(value: &mut Value, section: &[&str]) {
    let Some((first, rest)) = section.split_first() else { return };
    let Some(map) = value.as_object_mut() else { return };
    let Some(inner) = map.get_mut(*first) else { return };
    prune(inner, rest);
    if inner.as_object().is_some_and(Map::is_empty) {
        map.shift_remove(*first);
    }
}
