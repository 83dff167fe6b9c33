//! What an agent asks, in no agent's words, and what is remembered of it to put the answer into the
//! agent's words.

use std::time::Duration;

use model::{Question, ToolEffect};
use serde_json::Value;

/// A question of the agent, which waits for the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Counts the questions of one agent, from one.
    pub number: u64,
    /// What is asked.
    pub question: Question,
    /// What the agent would do, if it asks for a permission.
    pub effect: ToolEffect,
    /// How long the agent itself waits, if it says so.
    pub patience: Option<Duration>,
}

/// The questions of one agent that have no answer yet, with what the answer must say.
#[derive(Debug)]
pub(crate) struct OpenQuestions<T> {
    last: u64,
    open: Vec<(u64, T)>,
}

impl<T> Default for OpenQuestions<T> {
    fn default() -> OpenQuestions<T> {
        OpenQuestions { last: 0, open: Vec::new() }
    }
}

impl<T> OpenQuestions<T> {
    /// Remembers a question, and returns its number.
    pub(crate) fn add(&mut self, what: T) -> u64 {
        self.last += 1;
        self.open.push((self.last, what));
        self.last
    }

    /// Takes a question out that is answered now. Nothing if it was withdrawn.
    pub(crate) fn take(&mut self, number: u64) -> Option<T> {
        let position = self.open.iter().position(|(open, _)| *open == number)?;
        Some(self.open.remove(position).1)
    }

    /// What is asked and has no answer yet.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.open.iter().map(|(_, what)| what)
    }

    /// Forgets the questions that the agent does not ask any more, and returns their numbers.
    pub(crate) fn withdraw(&mut self, is_meant: impl Fn(&T) -> bool) -> Vec<u64> {
        let withdrawn = self.open.extract_if(.., |(_, what)| is_meant(what));
        withdrawn.map(|(number, _)| number).collect()
    }
}

/// So much of a file's new contents is shown. The command of a shell is shown in full.
const CHANGE_BYTES: usize = 4 * 1024;

/// What a user must see of a call, in our words, to permit it.
pub(crate) fn permission_text(tool: &str, args: &Value) -> String {
    if let Some(command) = args["command"].as_str().filter(|_| tool == "bash") {
        return command.to_owned();
    }
    match args["path"].as_str() {
        Some(path) if matches!(tool, "edit" | "write") => {
            let mut rest = args.clone();
            if let Some(fields) = rest.as_object_mut() {
                fields.shift_remove("path");
            }
            let change = match rest["content"].as_str() {
                Some(content) => content.to_owned(),
                None => rest.to_string(),
            };
            let shown = &change[..change.floor_char_boundary(CHANGE_BYTES)];
            let sign = if shown.len() < change.len() {
                format!("\n… ({} bytes in all)", change.len())
            } else {
                String::new()
            };
            format!("{path}\n{shown}{sign}")
        }
        Some(path) if args.as_object().is_some_and(|fields| fields.len() == 1) => path.to_owned(),
        _ => args.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_command_is_shown_in_full_and_of_a_change_the_beginning() {
        let long = format!("echo {}; rm -rf ~", "x".repeat(10_000));
        assert_eq!(permission_text("bash", &json!({"command": long, "description": "hi"})), long);
        assert_eq!(permission_text("read", &json!({"path": "/etc/passwd"})), "/etc/passwd");
        let text = permission_text("write", &json!({"path": "a", "content": "ż".repeat(9_000)}));
        assert!(text.starts_with("a\nżż") && text.ends_with("ż\n… (18000 bytes in all)"), "{text}");
        assert_eq!(
            permission_text("mcp__x__y", &json!({"path": "a", "n": 1})),
            r#"{"path":"a","n":1}"#
        );
        assert_eq!(permission_text("bash", &json!("odd")), "\"odd\"");
    }

    #[test]
    fn a_question_is_answered_or_withdrawn_once() {
        let mut open = OpenQuestions::default();
        assert_eq!((open.add("a"), open.add("b"), open.add("a")), (1, 2, 3));
        assert_eq!(open.withdraw(|what| *what == "a"), [1, 3]);
        assert_eq!((open.take(1), open.take(2), open.take(2)), (None, Some("b"), None));
        assert_eq!(open.add("c"), 4);
    }
}
