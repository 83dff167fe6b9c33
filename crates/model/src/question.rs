//! Questions of an agent that is at work, and the answers to them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Access, clean};

/// What an agent wants to know before it goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// What can be answered.
    pub kind: QuestionKind,
    /// The tool that needs a permission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What is asked, in full: the command, or the words of the agent.
    pub text: String,
    /// What can be chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// What can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Whether the agent may use a tool: `yes`, `always`, `no`, or why not.
    Permission,
    /// One of the options, or `no` for none.
    Choice,
    /// `yes` or `no`.
    Confirmation,
    /// Any text; an empty one for none.
    Text,
}

/// A question of the agent that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct OpenQuestion {
    pub number: u64,
    #[serde(flatten)]
    pub question: Question,
    /// In milliseconds since 1970.
    pub asked_at: u64,
}

/// What a tool does that needs a permission, as far as the access can decide on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ToolEffect {
    ReadFiles,
    ChangeFiles,
    /// A command, the network, the tool of a server, or not known.
    Other,
}

impl Access {
    /// What the access says to a question, if it answers it: the system keeps a restricted agent from
    /// changing more than it may, so that there is nothing left to ask about files.
    pub fn answers(self, effect: ToolEffect) -> Option<bool> {
        match (self, effect) {
            (Access::Full, _) | (_, ToolEffect::Other) => None,
            (Access::Read, ToolEffect::ChangeFiles) => Some(false),
            (Access::Read | Access::Workspace, _) => Some(true),
        }
    }
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Allowed, this once.
    Yes,
    /// Allowed, and for this tool until the run ends.
    Always,
    /// Denied, or not answered, for a reason that the model reads if there is one.
    No(Option<String>),
    /// The option with this index.
    Option(usize),
    /// These words.
    Text(String),
}

/// The word for an answer, in events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum AnswerKind {
    Yes,
    Always,
    No,
    Option,
    Text,
}

impl AnswerKind {
    /// The word for it, the same in files and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            AnswerKind::Yes => "yes",
            AnswerKind::Always => "always",
            AnswerKind::No => "no",
            AnswerKind::Option => "option",
            AnswerKind::Text => "text",
        }
    }
}

/// What has answered a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// What the agent may change.
    Access,
    /// An earlier `always` of this run.
    Always,
    /// The user, with the command `answer`.
    Shell,
    /// The user, in the live view.
    View,
    /// The user, in pi.
    Pi,
    /// The user, in an MCP client.
    Mcp,
    /// Its deadline.
    Deadline,
    /// A limit: of questions, of their length, of the record.
    Limit,
    /// The agent, which does not want to know any more.
    Agent,
    /// The end of the run.
    End,
    /// Something that a newer version knows.
    #[serde(other)]
    Other,
}

impl AnsweredBy {
    /// Whether a user has answered.
    pub fn is_user(self) -> bool {
        matches!(self, AnsweredBy::Shell | AnsweredBy::View | AnsweredBy::Pi | AnsweredBy::Mcp)
    }

    /// What has answered, in words, with the name of the MCP client if it was one.
    pub fn words(self, client: Option<&str>) -> Cow<'static, str> {
        if let (AnsweredBy::Mcp, Some(client)) = (self, client) {
            return Cow::Owned(format!("by the user in the MCP client {client}"));
        }
        Cow::Borrowed(match self {
            AnsweredBy::Access => "by its access",
            AnsweredBy::Always => "by an earlier answer for this run",
            AnsweredBy::Shell => "by the user on the command line",
            AnsweredBy::View => "by the user in the live view",
            AnsweredBy::Pi => "by the user in pi",
            AnsweredBy::Mcp => "by the user in an MCP client",
            AnsweredBy::Deadline => "by its deadline",
            AnsweredBy::Limit => "by a limit",
            AnsweredBy::Agent => "by the agent, which withdrew it",
            AnsweredBy::End => "by the end of the run",
            AnsweredBy::Other => "in a way that a newer version knows",
        })
    }
}

/// An answer that a program has left for a run: the contents of a file of its directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftAnswer {
    /// What the user has said. What it means depends on the question.
    pub text: String,
    /// Where the user has said it.
    pub by: AnsweredBy,
    /// The name of the MCP client in which the user has said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

impl LeftAnswer {
    /// The longest text.
    pub const TEXT_BYTES: usize = 64 * 1024;
    /// The longest name of a client that is kept.
    pub const CLIENT_BYTES: usize = 320;

    /// An answer of the user, given in one of our own programs or in pi.
    pub fn new(text: impl Into<String>, by: AnsweredBy) -> LeftAnswer {
        LeftAnswer { text: text.into(), by, client: None }
    }
}

impl Question {
    /// The longest text. What cannot be shown in full is denied: a user must not allow what is not seen.
    pub const TEXT_BYTES: usize = 16 * 1024;
    /// The longest option, and the longest name of a tool.
    pub const OPTION_BYTES: usize = 1024;
    /// More options than this are not offered.
    pub const OPTIONS: usize = 64;
    /// How many questions of a run wait for a user, one after another.
    pub const MOST: u64 = 1_000;
    /// How many can wait at a time.
    pub const OPEN: usize = 16;

    /// Asks whether a tool may be used. Nothing of the text is hidden: what a terminal would obey is
    /// written as an escape, because a shell reads it as well.
    pub fn permission(tool: &str, text: &str) -> Question {
        let tool = Some(visible(tool));
        let (kind, text) = (QuestionKind::Permission, visible(text));
        Question { kind, tool, text, options: Vec::new() }
    }

    /// A question of another kind, in the words of the agent.
    pub fn dialog(kind: QuestionKind, text: &str, options: Vec<String>) -> Question {
        Question { kind, tool: None, text: visible(text), options }
    }

    /// What a text means as an answer, or why it is none.
    pub fn read_answer(&self, text: &str) -> Result<Answer, String> {
        if text.len() > LeftAnswer::TEXT_BYTES {
            return Err(format!(
                "the answer has {} bytes, and the limit is {}",
                text.len(),
                LeftAnswer::TEXT_BYTES
            ));
        }
        let text = text.trim();
        let word = text.to_ascii_lowercase();
        match (self.kind, word.as_str()) {
            (QuestionKind::Text, "") => Ok(Answer::No(None)),
            (_, "") => Err(format!("the answer is empty; {}", self.ways())),
            (QuestionKind::Text, _) => Ok(Answer::Text(text.to_owned())),
            (QuestionKind::Choice, word) => match self.option(text) {
                Some(index) => Ok(Answer::Option(index)),
                None if matches!(word, "no" | "n") => Ok(Answer::No(None)),
                None => Err(format!("there is no option {text:?}; {}", self.ways())),
            },
            (_, "yes" | "y") => Ok(Answer::Yes),
            (_, "no" | "n") => Ok(Answer::No(None)),
            (QuestionKind::Permission, "always") => Ok(Answer::Always),
            (QuestionKind::Permission, _) => Ok(Answer::No(Some(text.to_owned()))),
            (QuestionKind::Confirmation, _) => {
                Err(format!("{text:?} is no answer; {}", self.ways()))
            }
        }
    }

    /// The ways to answer it, in words.
    pub fn ways(&self) -> String {
        match self.kind {
            QuestionKind::Permission => "answer yes, always, no, or why not".to_owned(),
            QuestionKind::Confirmation => "answer yes or no".to_owned(),
            QuestionKind::Text => "answer with any text".to_owned(),
            QuestionKind::Choice => {
                let options = self.options.iter().zip(1..);
                let options: Vec<String> =
                    options.map(|(option, number)| format!("{number} ({option})")).collect();
                format!("answer {}, or no for none", options.join(", "))
            }
        }
    }

    /// What is asked, in words.
    pub fn words(&self) -> String {
        match &self.tool {
            Some(tool) => format!("may it use {tool}? {}", self.text),
            None => self.text.clone(),
        }
    }

    /// Changes every text that came from the agent.
    pub fn for_each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.text);
        self.tool.iter_mut().chain(&mut self.options).for_each(change);
    }

    /// The word that denies, or chooses nothing. There is none if it would choose an option.
    pub fn refusal(&self) -> Option<&'static str> {
        match self.kind {
            QuestionKind::Permission | QuestionKind::Confirmation => Some("no"),
            QuestionKind::Choice => {
                ["no", "n"].into_iter().find(|word| self.option(word).is_none())
            }
            QuestionKind::Text => Some(""),
        }
    }

    /// The option that is meant: by its words, or else by its number.
    fn option(&self, text: &str) -> Option<usize> {
        let is_exact = |option: &String| option.trim() == text;
        let is_meant = |option: &String| option.trim().eq_ignore_ascii_case(text);
        let numbered = || {
            let number = text.parse::<usize>().ok()?.checked_sub(1)?;
            (number < self.options.len()).then_some(number)
        };
        let mut options = self.options.iter();
        options
            .position(is_exact)
            .or_else(|| self.options.iter().position(is_meant))
            .or_else(numbered)
    }
}

/// The text with every character written as an escape that [`clean`] would remove, and perhaps what
/// follows it.
fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    let mut buffer = [0; 4];
    for character in text.chars() {
        let is_safe = clean(character.encode_utf8(&mut buffer)).len() == character.len_utf8();
        if is_safe {
            visible.push(character);
        } else {
            visible.extend(character.escape_unicode());
        }
    }
    visible
}

impl Answer {
    /// The word for it in events.
    pub fn kind(&self) -> AnswerKind {
        match self {
            Answer::Yes => AnswerKind::Yes,
            Answer::Always => AnswerKind::Always,
            Answer::No(_) => AnswerKind::No,
            Answer::Option(_) => AnswerKind::Option,
            Answer::Text(_) => AnswerKind::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_means_what_its_question_asks() {
        let permission = Question::permission("bash", "rm -rf x");
        let choice = Question::dialog(
            QuestionKind::Choice,
            "Which?",
            vec!["Allow".into(), "No".into(), "2".into(), "ALLOW".into()],
        );
        let confirmation = Question::dialog(QuestionKind::Confirmation, "Sure?", Vec::new());
        let text = Question::dialog(QuestionKind::Text, "Name?", Vec::new());
        let said = |text: &str| Answer::Text(text.to_owned());
        for (question, typed, expected) in [
            (&permission, " YES\n", Some(Answer::Yes)),
            (&permission, "always", Some(Answer::Always)),
            (&permission, "n", Some(Answer::No(None))),
            // What is mistyped denies.
            (&permission, "yess", Some(Answer::No(Some("yess".into())))),
            (&permission, " ", None),
            (&choice, "allow", Some(Answer::Option(0))),
            (&choice, "ALLOW", Some(Answer::Option(3))),
            (&choice, "1", Some(Answer::Option(0))),
            (&choice, "no", Some(Answer::Option(1))),
            (&choice, "2", Some(Answer::Option(2))),
            (&choice, "n", Some(Answer::No(None))),
            (&choice, "5", None),
            (&choice, "0", None),
            (&choice, "yes", None),
            (&confirmation, "y", Some(Answer::Yes)),
            (&confirmation, "no", Some(Answer::No(None))),
            (&confirmation, "always", None),
            (&text, "no", Some(said("no"))),
            (&text, "", Some(Answer::No(None))),
        ] {
            assert_eq!(question.read_answer(typed).ok(), expected, "{typed:?}");
        }
        for (question, word) in
            [(&permission, "no"), (&choice, "n"), (&confirmation, "no"), (&text, "")]
        {
            assert_eq!(question.refusal(), Some(word));
            assert_eq!(question.read_answer(word), Ok(Answer::No(None)), "{question:?}");
        }
        let long = "x".repeat(LeftAnswer::TEXT_BYTES + 1);
        assert!(text.read_answer(&long).unwrap_err().contains("65537 bytes"));
    }

    #[test]
    fn nothing_of_a_command_is_hidden() {
        let question =
            Question::permission("bash", "echo \u{1b}]0;$(rm -rf ~)\u{7} \u{202e}x\n\tż");
        assert_eq!(question.text, "echo \\u{1b}]0;$(rm -rf ~)\\u{7} \\u{202e}x\n\tż");
        assert_eq!(clean(&question.text), question.text);
    }

    #[test]
    fn access_answers_what_the_system_keeps() {
        for (access, effect, expected) in [
            (Access::Full, ToolEffect::ChangeFiles, None),
            (Access::Full, ToolEffect::ReadFiles, None),
            (Access::Workspace, ToolEffect::ChangeFiles, Some(true)),
            (Access::Workspace, ToolEffect::Other, None),
            (Access::Read, ToolEffect::ChangeFiles, Some(false)),
            (Access::Read, ToolEffect::ReadFiles, Some(true)),
            (Access::Read, ToolEffect::Other, None),
        ] {
            assert_eq!(access.answers(effect), expected, "{access:?} {effect:?}");
        }
    }
}
