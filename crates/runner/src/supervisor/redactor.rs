//! Keeping secrets out of everything that is stored or shown.

use memchr::memmem;
use model::Secrets;
use process::Line;

/// What stands in the place of a secret.
const MASK: &[u8] = b"****";
/// Shorter values occur by chance, and hiding them would only garble what the child says.
const SHORTEST: usize = 6;

/// Finds the values of secrets in what a child prints.
#[derive(Debug)]
pub(crate) struct Redactor {
    finders: Vec<memmem::Finder<'static>>,
}

/// A line in which something was hidden.
#[derive(Debug)]
pub(crate) enum Redacted {
    Whole(Vec<u8>),
    Cut { head: Vec<u8>, tail: Vec<u8>, bytes: u64 },
}

impl Redactor {
    pub(crate) fn new(secrets: &Secrets) -> Redactor {
        let mut finders = Vec::new();
        for (_, value) in secrets.reveal().filter(|(_, value)| value.len() >= SHORTEST) {
            // A record holds it as JSON writes it, a plain line as it is.
            let quoted = serde_json::Value::from(value).to_string();
            let escaped = quoted[1..quoted.len() - 1].to_owned();
            finders.push(memmem::Finder::new(value).into_owned());
            if escaped != value {
                finders.push(memmem::Finder::new(&escaped).into_owned());
            }
        }
        Redactor { finders }
    }

    /// The line without secrets, if it has any.
    pub(crate) fn redact(&self, line: Line<'_>) -> Option<Redacted> {
        if self.finders.is_empty() {
            return None;
        }
        match line {
            Line::Whole(bytes) => self.hide(bytes).map(Redacted::Whole),
            Line::Cut { head, tail, bytes } => {
                let (hidden_head, hidden_tail) = (self.hide(head), self.hide(tail));
                (hidden_head.is_some() || hidden_tail.is_some()).then(|| Redacted::Cut {
                    head: hidden_head.unwrap_or_else(|| head.to_vec()),
                    tail: hidden_tail.unwrap_or_else(|| tail.to_vec()),
                    bytes,
                })
            }
        }
    }

    fn hide(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut hidden: Option<Vec<u8>> = None;
        for finder in &self.finders {
            let text = hidden.as_deref().unwrap_or(bytes);
            let mut result = Vec::new();
            let mut rest = 0;
            for found in finder.find_iter(text) {
                result.extend_from_slice(&text[rest..found]);
                result.extend_from_slice(MASK);
                rest = found + finder.needle().len();
            }
            if rest > 0 {
                result.extend_from_slice(&text[rest..]);
                hidden = Some(result);
            }
        }
        hidden
    }
}

impl Redacted {
    pub(crate) fn line(&self) -> Line<'_> {
        match self {
            Redacted::Whole(bytes) => Line::Whole(bytes),
            Redacted::Cut { head, tail, bytes } => Line::Cut { head, tail, bytes: *bytes },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(secret: &str, text: &str) -> Option<String> {
        let mut secrets = Secrets::default();
        secrets.insert("PI_API_KEY", secret.to_owned());
        let redacted = Redactor::new(&secrets).redact(Line::Whole(text.as_bytes()))?;
        Some(String::from_utf8_lossy(redacted.line().head()).into_owned())
    }

    #[test]
    fn every_occurrence_is_hidden_as_text_and_as_json() {
        assert_eq!(redacted("sk-12345", "a sk-12345sk-12345 b").unwrap(), "a ******** b");
        assert_eq!(redacted("sk-12345", "nothing here"), None);
        let quoted = serde_json::json!({"key": "a\"b\\c-1"}).to_string();
        assert_eq!(redacted("a\"b\\c-1", &quoted).unwrap(), r#"{"key":"****"}"#);
    }

    #[test]
    fn what_is_too_short_to_be_a_secret_is_left_alone() {
        assert_eq!(redacted("k", "kick"), None);
        assert!(Redactor::new(&Secrets::default()).redact(Line::Whole(b"x")).is_none());
    }

    #[test]
    fn both_ends_of_a_cut_line_are_searched() {
        let mut secrets = Secrets::default();
        secrets.insert("PI_API_KEY", "sk-12345".to_owned());
        let line = Line::Cut { head: b"head", tail: b"sk-12345", bytes: 99 };
        let redacted = Redactor::new(&secrets).redact(line).unwrap();
        assert_eq!(redacted.line(), Line::Cut { head: b"head", tail: b"****", bytes: 99 });
    }
}
