//! Views as they are sent: lines of spans, `[role, text]` or, in bold, `[role, text, true]`.

use serde_json::{Value, json};
use session::cut_chars;
use session::view::{Line, Role};

/// How much of a line is sent in what pi keeps; no terminal shows more in its few lines.
const WIDEST: usize = 240;

/// Lines that pi keeps with the result of a call.
pub(crate) fn kept(lines: &[Line]) -> Value {
    lines.iter().map(|line| spans(line, WIDEST)).collect()
}

/// Lines that are only shown.
pub(crate) fn whole(lines: &[Line]) -> Value {
    lines.iter().map(|line| spans(line, usize::MAX)).collect()
}

fn spans(line: &Line, widest: usize) -> Value {
    let mut left = widest;
    let mut spans = Vec::new();
    for span in line.spans() {
        let text = cut_chars(span.text(), left);
        left -= text.chars().count();
        if !text.is_empty() {
            let role = word(span.role());
            spans.push(if span.is_bold() {
                json!([role, text, true])
            } else {
                json!([role, text])
            });
        }
    }
    Value::Array(spans)
}

fn word(role: Role) -> &'static str {
    match role {
        Role::Plain => "plain",
        Role::Title => "title",
        Role::Accent => "accent",
        Role::Muted => "muted",
        Role::Dim => "dim",
        Role::Success => "success",
        Role::Warning => "warning",
        Role::Error => "error",
        Role::Added => "added",
        Role::Removed => "removed",
    }
}

#[cfg(test)]
mod tests {
    use session::view::{call_line, truncated};

    use super::*;

    #[test]
    fn a_line_is_its_spans_and_what_is_kept_is_short() {
        let line = call_line("get_subagent_output", &json!({"sessionId": "0a"}));
        assert_eq!(
            kept(&[line, Line::default()]),
            json!([[["title", "get_subagent_output", true], ["plain", " "], ["accent", "0a"]], []])
        );
        let long = truncated(&"ä".repeat(1_000), 5);
        assert_eq!(kept(&long)[0][0][1].as_str().unwrap().chars().count(), WIDEST);
        assert_eq!(whole(&long)[0][0][1].as_str().unwrap().chars().count(), 1_000);
    }
}
