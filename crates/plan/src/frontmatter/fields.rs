//! The fields of a document, taken out one by one.

use std::path::Path;

use model::Budget;

use super::yaml::presentable_name;
use super::{Document, Field, FileWarning, Value};

/// Takes fields by name and type. A field of another type causes a warning and counts as absent. A
/// field that is never taken is unknown, and causes a warning, too.
pub(crate) struct Fields<'a> {
    path: &'a Path,
    fields: Vec<Field>,
    asked: Vec<&'static str>,
    warnings: Vec<FileWarning>,
}

impl<'a> Fields<'a> {
    /// The fields of the document in the file `path`; the document keeps its body.
    pub(crate) fn of(document: &mut Document, path: &'a Path) -> Fields<'a> {
        let mut fields = Fields {
            path,
            fields: std::mem::take(&mut document.fields),
            asked: Vec::new(),
            warnings: Vec::new(),
        };
        for line in &document.repaired_lines {
            let problem = "a value with a colon in it was taken as it stands; put quotes around it";
            fields.warn(Some(*line), problem.to_owned());
        }
        fields
    }

    /// Text that is not empty.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        let field = self.take(name)?;
        match field.value {
            Value::Text(text) => Some(text).filter(|text| !text.is_empty()),
            Value::Null => None,
            Value::Number(_) | Value::Boolean(_) => {
                self.wrong_type(field.line, name, "text; put quotes around it")
            }
            Value::List(_) | Value::Mapping(_) => self.wrong_type(field.line, name, "text"),
        }
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(&mut self, name: &'static str, words: &[(&str, T)]) -> Option<T> {
        let field = self.take(name)?;
        let meant = match &field.value {
            Value::Null => return None,
            Value::Text(text) => words.iter().find(|(word, _)| word == text),
            _ => None,
        };
        if meant.is_none() {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let problem = format!("\"{name}\" must be one of {}; it is ignored", words.join(", "));
            self.warn(Some(field.line), problem);
        }
        meant.map(|(_, meaning)| *meaning)
    }

    /// Exactly `true`, or not.
    pub(crate) fn flag(&mut self, name: &'static str) -> bool {
        let Some(field) = self.take(name) else {
            return false;
        };
        match field.value {
            Value::Boolean(value) => value,
            Value::Null => false,
            _ => self.wrong_type(field.line, name, "true or false").unwrap_or(false),
        }
    }

    /// A number of seconds, at least one.
    pub(crate) fn seconds(&mut self, name: &'static str) -> Option<f64> {
        let field = self.take(name)?;
        let seconds = match &field.value {
            Value::Null => return None,
            Value::Number(number) => number.parse().ok(),
            _ => None,
        };
        seconds
            .filter(|seconds: &f64| *seconds >= 1.0 && seconds.is_finite())
            .or_else(|| self.wrong_type(field.line, name, "a number of seconds, at least 1"))
    }

    /// The most that may be spent: fields within the field. All of them must be understood.
    pub(crate) fn budget(&mut self, name: &'static str) -> Option<Budget> {
        const EXPECTED: &str = "fields such as {costUsd: 0.5, tokens: 200000, turns: 20}, with numbers \
                                above zero";
        let field = self.take(name)?;
        let entries = match field.value {
            Value::Null => return None,
            Value::Mapping(entries) => entries,
            _ => return self.wrong_type(field.line, name, EXPECTED),
        };
        let mut budget = Budget::default();
        for (key, value) in entries {
            let Value::Number(number) = value else {
                return self.wrong_type(field.line, name, EXPECTED);
            };
            let count = || number.parse().ok().filter(|count: &u64| *count > 0);
            let is_read = match key.as_str() {
                "tokens" => {
                    budget.tokens = count();
                    budget.tokens.is_some()
                }
                "turns" => {
                    budget.turns = count();
                    budget.turns.is_some()
                }
                "costUsd" => {
                    let cost = number.parse().ok();
                    budget.cost_usd = cost.filter(|cost: &f64| cost.is_finite() && *cost > 0.0);
                    budget.cost_usd.is_some()
                }
                _ => false,
            };
            if !is_read {
                return self.wrong_type(field.line, name, EXPECTED);
            }
        }
        Some(budget)
    }

    /// A list, written as such or as text with commas.
    pub(crate) fn list(&mut self, name: &'static str) -> Vec<String> {
        let Some(field) = self.take(name) else {
            return Vec::new();
        };
        let list = match field.value {
            Value::Text(text) => Some(
                text.split(',')
                    .map(str::trim)
                    .filter(|entry| !entry.is_empty())
                    .map(str::to_owned)
                    .collect(),
            ),
            Value::List(entries) => entries.into_iter().map(entry).collect(),
            Value::Null => Some(Vec::new()),
            Value::Boolean(_) | Value::Number(_) | Value::Mapping(_) => None,
        };
        list.or_else(|| self.wrong_type(field.line, name, "a list, or text with commas"))
            .unwrap_or_default()
    }

    /// Where the field stands, while it has not been taken.
    pub(crate) fn line(&self, name: &str) -> Option<usize> {
        self.fields.iter().find(|field| field.name == name).map(|field| field.line)
    }

    /// Whether there is an unknown field whose name is almost one of these.
    pub(crate) fn has_almost(&self, names: &[&str]) -> bool {
        let is_almost = |field: &Field| names.iter().any(|name| is_alike(name, &field.name));
        self.fields.iter().any(is_almost)
    }

    /// How many things are wrong so far.
    pub(crate) fn problems(&self) -> usize {
        self.warnings.len()
    }

    /// Something else that is wrong with the file.
    pub(crate) fn warn(&mut self, line: Option<usize>, problem: String) {
        self.warnings.push(FileWarning { path: self.path.to_owned(), line, problem });
    }

    /// All warnings, also about unknown fields.
    pub(crate) fn finish(mut self) -> Vec<FileWarning> {
        for field in std::mem::take(&mut self.fields) {
            let hint = self
                .asked
                .iter()
                .find(|asked| is_alike(asked, &field.name))
                .map(|asked| format!(", did you mean \"{asked}\"?"))
                .unwrap_or_default();
            let name = presentable_name(&field.name);
            self.warn(Some(field.line), format!("{name} is unknown and ignored{hint}"));
        }
        self.warnings.sort_by_key(|warning| warning.line);
        self.warnings
    }

    /// All warnings; of unknown fields only about those that are almost known. For files that have a
    /// meaning for other programs, too.
    pub(crate) fn finish_among_others(mut self) -> Vec<FileWarning> {
        let asked = std::mem::take(&mut self.asked);
        self.fields.retain(|field| asked.iter().any(|asked| is_alike(asked, &field.name)));
        self.asked = asked;
        self.finish()
    }

    fn take(&mut self, name: &'static str) -> Option<Field> {
        self.asked.push(name);
        let index = self.fields.iter().position(|field| field.name == name)?;
        Some(self.fields.remove(index))
    }

    fn wrong_type<T>(&mut self, line: usize, name: &str, expected: &str) -> Option<T> {
        self.warn(Some(line), format!("\"{name}\" is ignored: it must be {expected}"));
        None
    }
}

/// An entry of a list as text.
fn entry(value: Value) -> Option<String> {
    match value {
        Value::Text(text) | Value::Number(text) => Some(text),
        Value::Boolean(value) => Some(value.to_string()),
        Value::Null | Value::List(_) | Value::Mapping(_) => None,
    }
}

/// Whether two names differ only in how their words are joined.
fn is_alike(one: &str, other: &str) -> bool {
    let letters = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    // One slip of the pen in five letters, and none in shorter names.
    let (one, other) = (letters(one), letters(other));
    one == other || one.len().min(other.len()) >= 5 && strsim::osa_distance(&one, &other) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/profiles/a.md";

    /// What `take` returns for `x: yaml`, and the warnings.
    fn taken<T>(yaml: &str, take: impl FnOnce(&mut Fields<'_>) -> T) -> (T, Vec<String>) {
        let mut document = Document::parse(format!("---\nx: {yaml}\n---\n").as_bytes()).unwrap();
        let mut fields = Fields::of(&mut document, Path::new(PATH));
        let value = take(&mut fields);
        let prefix = format!("{PATH}:2: ");
        let warnings = fields.finish();
        let texts = warnings
            .iter()
            .map(|warning| warning.to_string().strip_prefix(&prefix).map(str::to_owned).unwrap());
        (value, texts.collect())
    }

    #[test]
    fn text_is_text() {
        let take = |yaml| taken(yaml, |fields| fields.text("x"));
        assert_eq!(take("a b"), (Some("a b".to_owned()), vec![]));
        assert_eq!(take("'7'"), (Some("7".to_owned()), vec![]));
        assert_eq!(take("off"), (Some("off".to_owned()), vec![]));
        assert_eq!(take(""), (None, vec![]));
        assert_eq!(take("''"), (None, vec![]));
        for yaml in ["7", "true"] {
            let expected = "\"x\" is ignored: it must be text; put quotes around it".to_owned();
            assert_eq!(take(yaml), (None, vec![expected]), "{yaml}");
        }
        for yaml in ["[a]", "{a: b}"] {
            assert_eq!(take(yaml), (None, vec!["\"x\" is ignored: it must be text".to_owned()]));
        }
    }

    #[test]
    fn flags_are_true_or_false_and_nothing_else() {
        let take = |yaml| taken(yaml, |fields| fields.flag("x"));
        assert_eq!(take("true"), (true, vec![]));
        assert_eq!(take("false"), (false, vec![]));
        assert_eq!(take(""), (false, vec![]));
        for yaml in ["yes", "on", "1", "'true'", "[true]"] {
            let expected = "\"x\" is ignored: it must be true or false".to_owned();
            assert_eq!(take(yaml), (false, vec![expected]), "{yaml}");
        }
    }

    #[test]
    fn lists_are_lists_or_text_with_commas() {
        for (yaml, expected) in [
            ("a,b", &["a", "b"][..]),
            (" a , ,b,", &["a", "b"]),
            ("[a, b]", &["a", "b"]),
            ("\n- a\n- 'b, c'\n- 1\n- true", &["a", "b, c", "1", "true"]),
            ("[' a ', '']", &[" a ", ""]),
            ("[]", &[]),
            ("", &[]),
            ("' , '", &[]),
        ] {
            let (list, warnings) = taken(yaml, |fields| fields.list("x"));
            assert_eq!(list, expected, "{yaml}");
            assert_eq!(warnings, Vec::<String>::new(), "{yaml}");
        }
        for yaml in ["7", "true", "{a: b}", "[a, [b]]", "[a, null]", "[{a: b}]"] {
            let (list, warnings) = taken(yaml, |fields| fields.list("x"));
            let expected = "\"x\" is ignored: it must be a list, or text with commas";
            assert_eq!((list, warnings), (vec![], vec![expected.to_owned()]), "{yaml}");
        }
    }

    #[test]
    fn a_budget_is_understood_whole_or_not_at_all() {
        let take = |yaml| taken(yaml, |fields| fields.budget("x"));
        let whole = Budget { tokens: Some(5), cost_usd: Some(0.5), turns: Some(7) };
        assert_eq!(take("{tokens: 5, costUsd: 0.5, turns: 7}"), (Some(whole), vec![]));
        assert_eq!(
            take("\n  costUsd: 2"),
            (Some(Budget { cost_usd: Some(2.0), ..Budget::default() }), vec![])
        );
        assert_eq!(take(""), (None, vec![]));
        for yaml in [
            "5",
            "{cost: 1}",
            "{tokens: 1.5}",
            "{turns: 0}",
            "{costUsd: -1}",
            "{costUsd: x}",
            "[1]",
        ] {
            let (budget, warnings) = take(yaml);
            assert!(
                budget.is_none() && warnings[0].contains("\"x\" is ignored: it must be fields"),
                "{yaml}: {warnings:?}"
            );
        }
    }

    #[test]
    fn words_are_one_of_a_few() {
        let take = |yaml| taken(yaml, |fields| fields.word("x", &[("off", 0), ("on", 1)]));
        assert_eq!(take("off"), (Some(0), vec![]));
        assert_eq!(take(""), (None, vec![]));
        for yaml in ["Off", "7", "false", "[on]", "''"] {
            let expected = "\"x\" must be one of off, on; it is ignored".to_owned();
            assert_eq!(take(yaml), (None, vec![expected]), "{yaml}");
        }
    }

    #[test]
    fn what_nobody_takes_is_a_warning() {
        let unknown = |name: &str| {
            let text = format!("---\n{name}: secret\n---\n");
            let mut document = Document::parse(text.as_bytes()).unwrap();
            let mut fields = Fields::of(&mut document, Path::new(PATH));
            assert_eq!(fields.text("apiKey"), None);
            fields.finish().iter().map(ToString::to_string).collect::<Vec<String>>()
        };
        for (name, expected) in [
            ("colour", "/profiles/a.md:2: \"colour\" is unknown and ignored"),
            (
                "api_key",
                "/profiles/a.md:2: \"api_key\" is unknown and ignored, did you mean \"apiKey\"?",
            ),
            (
                "apikey",
                "/profiles/a.md:2: \"apikey\" is unknown and ignored, did you mean \"apiKey\"?",
            ),
            (
                "apiKye",
                "/profiles/a.md:2: \"apiKye\" is unknown and ignored, did you mean \"apiKey\"?",
            ),
            ("sk-proj-123", "/profiles/a.md:2: a field is unknown and ignored"),
        ] {
            assert_eq!(unknown(name), [expected]);
        }
    }
}
