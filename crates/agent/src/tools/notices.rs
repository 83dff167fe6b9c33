//! Notices of a tool about a result that is not complete.

use serde_json::{Map, Value};

use super::ToolOutput;
use super::truncation::{MAX_BYTES, Truncation, size};
use crate::message::Content;

/// Notices, each as text for the model and as a field for views.
#[derive(Debug, Default)]
pub(super) struct Notices {
    words: Vec<String>,
    details: Map<String, Value>,
}

impl Notices {
    pub(super) fn add(&mut self, field: &str, value: impl Into<Value>, words: String) {
        self.words.push(words);
        self.details.insert(field.to_owned(), value.into());
    }

    /// Adds the notice that only `limit` things were looked for.
    pub(super) fn add_limit(&mut self, field: &str, limit: usize, things: &str, advice: &str) {
        let more = limit.saturating_mul(2);
        let words = format!("{limit} {things} limit reached. Use limit={more} for more{advice}");
        self.add(field, limit, words);
    }

    /// Adds the notice about the size, if something was cut off.
    pub(super) fn add_truncation(&mut self, truncation: &Truncation) {
        if truncation.truncated {
            let details = serde_json::to_value(truncation).unwrap_or_default();
            self.add("truncation", details, format!("{} limit reached", size(MAX_BYTES)));
        }
    }

    pub(super) fn output(self, mut text: String) -> ToolOutput {
        if !self.words.is_empty() {
            text.push_str(&format!("\n\n[{}]", self.words.join(". ")));
        }
        let details = (!self.details.is_empty()).then_some(Value::Object(self.details));
        ToolOutput { content: vec![Content::text(text)], details }
    }
}
