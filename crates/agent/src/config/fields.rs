//! Reads fields of JSON, with errors that name the field and never show a value: any value may be a
//! misplaced key.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{path}\" {reason}")]
pub(super) struct WrongField {
    path: String,
    reason: String,
}

/// An object and its path in the file.
pub(super) struct Fields<'a> {
    object: &'a Map<String, Value>,
    path: String,
}

pub(super) type Taken<T> = Result<Option<T>, WrongField>;

impl<'a> Fields<'a> {
    pub(super) fn new(value: &'a Value, path: &str) -> Result<Fields<'a>, WrongField> {
        match value {
            Value::Object(object) => Ok(Fields { object, path: path.to_owned() }),
            _ => Err(WrongField { path: path.to_owned(), reason: "must be an object".to_owned() }),
        }
    }

    pub(super) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    pub(super) fn wrong(&self, name: &str, reason: &str) -> WrongField {
        WrongField { path: self.path(name), reason: reason.to_owned() }
    }

    /// The value, if it is not `null`.
    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.object.keys().map(String::as_str)
    }

    fn take<T>(
        &self,
        name: &str,
        kind: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Taken<T> {
        match self.value(name) {
            None => Ok(None),
            Some(value) => match read(value) {
                Some(taken) => Ok(Some(taken)),
                None => Err(self.wrong(name, &format!("must be {kind}"))),
            },
        }
    }

    pub(super) fn text(&self, name: &str) -> Taken<String> {
        self.take(name, "a text that is not empty", |value| {
            value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
        })
    }

    pub(super) fn flag(&self, name: &str) -> Taken<bool> {
        self.take(name, "true or false", Value::as_bool)
    }

    /// A number of tokens, milliseconds or attempts. In pi's files it can have a fraction.
    pub(super) fn count(&self, name: &str) -> Taken<u64> {
        self.take(name, "a number that is not negative", as_count)
    }

    pub(super) fn positive(&self, name: &str) -> Taken<u64> {
        self.take(name, "a number above zero", |value| as_count(value).filter(|count| *count > 0))
    }

    pub(super) fn rate(&self, name: &str) -> Taken<f64> {
        self.take(name, "a number that is not negative", |value| {
            value.as_f64().filter(|number| *number >= 0.0)
        })
    }

    pub(super) fn object(&self, name: &str) -> Taken<Fields<'a>> {
        match self.value(name) {
            None => Ok(None),
            Some(value) => Fields::new(value, &self.path(name)).map(Some),
        }
    }

    pub(super) fn map(&self, name: &str) -> Taken<Map<String, Value>> {
        self.take(name, "an object", |value| value.as_object().cloned())
    }

    pub(super) fn list(&self, name: &str) -> Taken<&'a [Value]> {
        self.take(name, "an array", |value| value.as_array().map(Vec::as_slice))
    }

    pub(super) fn texts(&self, name: &str) -> Taken<Vec<String>> {
        self.take(name, "an array of texts", |value| {
            let texts = value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned));
            texts.collect()
        })
    }

    pub(super) fn text_map(&self, name: &str) -> Taken<BTreeMap<String, String>> {
        let Some(fields) = self.object(name)? else { return Ok(None) };
        let texts = fields.object.iter().map(|(key, value)| match value.as_str() {
            Some(text) => Ok((key.clone(), text.to_owned())),
            None => Err(fields.wrong(key, "must be a text")),
        });
        texts.collect::<Result<_, _>>().map(Some)
    }

    pub(super) fn optional_texts(&self, name: &str) -> Taken<BTreeMap<String, Option<String>>> {
        let Some(fields) = self.object(name)? else { return Ok(None) };
        let texts = fields.object.iter().map(|(key, value)| match value {
            Value::Null => Ok((key.clone(), None)),
            Value::String(text) => Ok((key.clone(), Some(text.clone()))),
            _ => Err(fields.wrong(key, "must be a text or null")),
        });
        texts.collect::<Result<_, _>>().map(Some)
    }
}

fn as_count(value: &Value) -> Option<u64> {
    // The largest integer that is exact in JavaScript.
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    let number = value.as_f64().filter(|number| (0.0..=LARGEST).contains(number))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it was checked to be in range, and a fraction of a token is nothing"
    )]
    Some(number as u64)
}
