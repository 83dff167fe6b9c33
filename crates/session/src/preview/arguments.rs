//! The arguments of a tool call, which can be any JSON, as texts that can be shown.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::PreviewContext;
use super::paths::shorten_path;
use crate::text::{cut_chars, one_line};

/// Shown for an argument that is missing or blank.
const MISSING: &str = "...";
/// A preview never shows more of an argument.
const ARGUMENT_CHARS: usize = 2_000;

/// The arguments of one call. Nothing here fails: an argument of the wrong type counts as missing.
pub(super) struct Arguments<'a> {
    args: &'a Value,
    context: &'a PreviewContext,
}

impl<'a> Arguments<'a> {
    pub(super) fn new(args: &'a Value, context: &'a PreviewContext) -> Arguments<'a> {
        Arguments { args, context }
    }

    /// A text exactly as it was given; empty if it is missing.
    pub(super) fn raw_text(&self, name: &str) -> &'a str {
        self.args.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A text or a number, on one line.
    pub(super) fn optional_text(&self, name: &str) -> Option<String> {
        shown(self.args.get(name)?)
    }

    /// As [`Arguments::optional_text`], or dots.
    pub(super) fn text(&self, name: &str) -> String {
        self.optional_text(name).unwrap_or_else(|| MISSING.to_owned())
    }

    /// The first of these that is not missing.
    pub(super) fn first_text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.optional_text(name))
    }

    /// A number other than zero, which is the default.
    pub(super) fn amount(&self, name: &str) -> Option<String> {
        self.optional_text(name).filter(|amount| amount != "0")
    }

    pub(super) fn optional_path(&self, name: &str) -> Option<String> {
        self.optional_text(name).map(|path| self.shortened(&path))
    }

    /// As [`Arguments::optional_path`], or dots.
    pub(super) fn path(&self, name: &str) -> String {
        self.optional_path(name).unwrap_or_else(|| MISSING.to_owned())
    }

    /// The shortened path of the one file that the call is about, under any of its usual names.
    pub(super) fn file(&self) -> String {
        let path = self.first_text(&["path", "filePath", "file_path"]);
        path.map_or_else(|| MISSING.to_owned(), |path| self.shortened(&path))
    }

    /// The elements of a list; empty if it is missing.
    pub(super) fn list(&self, name: &str) -> &'a [Value] {
        self.args.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// The elements of a list that are texts or numbers.
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        self.list(name).iter().filter_map(shown).collect()
    }

    pub(super) fn paths(&self, name: &str) -> Vec<String> {
        self.texts(name).iter().map(|path| self.shortened(path)).collect()
    }

    /// The text of that name in each element of a list that has it.
    pub(super) fn texts_in(&self, list: &str, name: &str) -> Vec<String> {
        self.list(list).iter().filter_map(|element| shown(element.get(name)?)).collect()
    }

    fn shortened(&self, path: &str) -> String {
        shorten_path(path, self.context).into_owned()
    }
}

fn shown(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => one_line(cut_chars(text, ARGUMENT_CHARS)),
        Value::Number(number) => Cow::Owned(number_text(number)),
        _ => return None,
    };
    (!text.trim().is_empty()).then(|| text.into_owned())
}

/// Models write `10.0` where they mean ten.
fn number_text(number: &Number) -> String {
    let text = number.to_string();
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}
