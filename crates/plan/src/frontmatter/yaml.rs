//! YAML, as far as fields need it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use serde_saphyr::options::NonFiniteFloatPolicy;

/// One field of a frontmatter.
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(crate) struct Field {
    /// Its name.
    pub(crate) name: String,
    /// Where it stands, counted from one.
    pub(crate) line: usize,
    /// Its value.
    pub(crate) value: Value,
}

/// The value of a field.
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(crate) enum Value {
    /// Nothing, or `null`.
    Null,
    /// `true` or `false`. Words such as `off` and `yes` are text.
    Boolean(bool),
    /// A number, as text.
    Number(String),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// Fields within the field.
    Mapping(Vec<(String, Value)>),
}

/// The text is not a list of fields.
#[derive(Debug, PartialEq)]
pub(super) struct YamlError {
    /// Counted from one.
    pub(super) line: usize,
    /// Says nothing about what stands there: it could be a key.
    pub(super) reason: String,
}

/// The fields of a YAML mapping.
pub(super) fn parse(yaml: &str) -> Result<Vec<Field>, YamlError> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        // An excerpt of the file in a message could show a key.
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_depth: 16,
            max_nodes: 10_000,
            max_events: 40_000,
            max_aliases: 100,
            max_documents: 1,
        },
    };
    let fields: FieldList =
        serde_saphyr::from_str_with_options(yaml, options).map_err(|error| {
            // What is missing at the end is told at the last line, and what is nowhere at the first.
            let line = error.location().map_or(1, |location| to_line(location.line()));
            YamlError { line: line.min(yaml.lines().count().max(1)), reason: reason(&error) }
        })?;
    Ok(fields.0)
}

/// Puts quotes around plain one-line values that contain a colon, such as `description: Use it:
/// when needed`. They are not YAML, but common, and their meaning is clear. Returns the text and
/// the lines, or nothing if there is no such line.
pub(super) fn repair(yaml: &str) -> Option<(String, Vec<usize>)> {
    let mut lines: Vec<String> = yaml.lines().map(str::to_owned).collect();
    let mut repaired = Vec::new();
    for index in 0..lines.len() {
        let continues = lines.get(index + 1).is_some_and(|next| next.starts_with([' ', '\t']));
        if let Some(line) = lines.get_mut(index)
            && !continues
            && let Some(quoted) = quote_plain_value(line)
        {
            *line = quoted;
            repaired.push(index + 1);
        }
    }
    (!repaired.is_empty()).then(|| (lines.join("\n"), repaired))
}

fn quote_plain_value(line: &str) -> Option<String> {
    let (name, rest) = line.split_once(": ")?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.is_empty() || name.starts_with('-') || !name.bytes().all(is_name) {
        return None;
    }
    let value = rest.split(" #").next().unwrap_or(rest).trim();
    let is_plain = value.starts_with(|first: char| first.is_alphanumeric() || first == '(');
    let has_colon = value.contains(": ") || value.ends_with(':');
    (is_plain && has_colon).then(|| format!("{name}: '{}'", value.replace('\'', "''")))
}

/// What went wrong, in words that quote nothing but the names of fields.
fn reason(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;
    match error.without_snippet() {
        // The scanner's messages are fixed, but for single characters.
        Error::ExternalMessage { msg, .. } => msg.clone(),
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("{} is there twice", presentable_name(key))
        }
        Error::UnknownAnchor { .. } => "it refers to something that is not there".to_owned(),
        Error::AliasError { error, .. } => reason(error),
        Error::Budget { .. } => "it is too large or too deep".to_owned(),
        Error::Unexpected { .. } | Error::NullIntoString { .. } => {
            "it must be fields, `name: value`".to_owned()
        }
        _ => "it is not valid YAML".to_owned(),
    }
}

/// The name of a field for a message. No known field has a digit in its name, but a key that slipped
/// to the wrong side of a colon does.
pub(super) fn presentable_name(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-');
    let is_presentable = name.len() <= 40 && name.bytes().all(is_plain);
    if is_presentable { format!("\"{name}\"") } else { "a field".to_owned() }
}

fn to_line(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX).max(1)
}

struct FieldList(Vec<Field>);

impl<'de> Deserialize<'de> for FieldList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FieldList, D::Error> {
        deserializer.deserialize_map(FieldListVisitor)
    }
}

struct FieldListVisitor;

impl<'de> Visitor<'de> for FieldListVisitor {
    type Value = FieldList;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("fields")
    }

    fn visit_unit<E>(self) -> Result<FieldList, E> {
        Ok(FieldList(Vec::new()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FieldList, A::Error> {
        let mut fields = Vec::new();
        while let Some((name, value)) = map.next_entry::<Spanned<String>, Value>()? {
            fields.push(Field { name: name.value, line: to_line(name.referenced.line()), value });
        }
        Ok(FieldList(fields))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = sequence.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((name, value)) = map.next_entry::<Value, Value>()? {
            // A name that is no text names nothing that is known.
            let name = if let Value::Text(name) = name { name } else { String::new() };
            fields.push((name, value));
        }
        Ok(Value::Mapping(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_what_yaml_says_and_words_stay_words() {
        let text = |text: &str| Value::Text(text.to_owned());
        let number = |text: &str| Value::Number(text.to_owned());
        for (yaml, expected) in [
            ("", Value::Null),
            ("~", Value::Null),
            ("null", Value::Null),
            ("true", Value::Boolean(true)),
            ("False", Value::Boolean(false)),
            ("off", text("off")),
            ("no", text("no")),
            ("yes", text("yes")),
            ("'true'", text("true")),
            ("\"7\"", text("7")),
            ("7", number("7")),
            ("-1.5", number("-1.5")),
            (".inf", text(".inf")),
            ("1e999", text(".inf")),
            ("2026-01-01", text("2026-01-01")),
            ("a, b # c", text("a, b")),
            ("!anything x", text("x")),
            ("|\n  a\n  b", text("a\nb\n")),
            (">-\n  a\n  b", text("a b")),
            ("[a, {b: c}, [d]]", {
                let mapping = Value::Mapping(vec![("b".to_owned(), text("c"))]);
                Value::List(vec![text("a"), mapping, Value::List(vec![text("d")])])
            }),
            ("{a: b}", Value::Mapping(vec![("a".to_owned(), text("b"))])),
        ] {
            let fields = parse(&format!("x: {yaml}\n")).unwrap();
            assert_eq!(
                fields,
                [Field { name: "x".to_owned(), line: 1, value: expected }],
                "{yaml}"
            );
        }
    }

    #[test]
    fn messages_quote_only_what_can_be_the_name_of_a_field() {
        for yaml in [
            "apiKey: *sk-secret0",
            "apiKey: @sk-secret0",
            "apiKey: \"sk-secret0",
            "apiKey: \"sk-secret0\\q\"",
            "apiKey: [sk-secret0",
            "apiKey: {sk-secret0}}",
            "apiKey: !!int sk-secret0",
            "apiKey: !!float sk-secret0",
            "apiKey: sk-secret0\n sk-secret0: x",
            "sk-secret0: a\nsk-secret0: b",
            "apiKey: !sk-secret0! x",
            "? [sk-secret0]\n: x",
            "apiKey: &sk-secret0 [*sk-secret0]",
            "<<: sk-secret0",
        ] {
            let error = parse(yaml).unwrap_err();
            assert!(!error.reason.contains("secret"), "{yaml}: {error:?}");
        }
        let error = parse("model: a\nmodel: b").unwrap_err();
        assert_eq!(error, YamlError { line: 2, reason: "\"model\" is there twice".to_owned() });
    }
}
