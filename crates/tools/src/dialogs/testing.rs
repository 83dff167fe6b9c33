//! A user who has made up his mind beforehand.

use std::collections::VecDeque;

use super::{Dialogs, Level, Preselected};

/// What is answered to one question.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// The option at this place.
    Pick(usize),
    /// A text, in an input or in an editor.
    Type(&'static str),
    /// What is there already.
    Leave,
    /// The preselected answer, or what is there already.
    Enter,
    Yes,
    No,
    Cancel,
}

/// Gives the answers one by one, and leaves at the question after them.
#[derive(Default)]
pub(crate) struct Script {
    answers: VecDeque<Answer>,
    has_left: bool,
    /// All questions, in full.
    pub(crate) asked: Vec<String>,
    /// All notices.
    pub(crate) notices: Vec<(String, Level)>,
}

impl Script {
    pub(crate) fn new(answers: &[Answer]) -> Script {
        Script { answers: answers.iter().copied().collect(), ..Script::default() }
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.answers.is_empty()
    }

    fn answer(&mut self, question: String) -> Answer {
        self.asked.push(question);
        self.answers.pop_front().unwrap_or_else(|| {
            self.has_left = true;
            Answer::Cancel
        })
    }

    fn text(&mut self, question: String, current: &str) -> Option<String> {
        match self.answer(question) {
            Answer::Type(text) => Some(text.to_owned()),
            Answer::Leave | Answer::Enter => Some(current.to_owned()),
            Answer::Cancel => None,
            other => panic!("{other:?} is no answer to {:?}", self.asked.last()),
        }
    }
}

impl Dialogs for Script {
    fn select(&mut self, title: &str, options: &[String]) -> Option<usize> {
        match self.answer(format!("{title} {}", options.join(" | "))) {
            Answer::Pick(place) => Some(place),
            Answer::Enter => Some(0),
            Answer::Cancel => None,
            other => panic!("{other:?} is no answer to {:?}", self.asked.last()),
        }
    }

    fn input(&mut self, title: &str, current: Option<&str>) -> Option<String> {
        let question = current.map_or_else(|| title.to_owned(), |text| format!("{title} {text}"));
        self.text(question, current.unwrap_or_default())
    }

    fn editor(&mut self, title: &str, prefill: &str) -> Option<String> {
        self.text(format!("{title} {prefill}"), prefill)
    }

    fn confirm(&mut self, title: &str, message: &str, preselected: Preselected) -> bool {
        match self.answer(format!("{title} {message}")) {
            Answer::Yes => true,
            Answer::Enter => preselected == Preselected::Yes,
            Answer::No | Answer::Cancel => false,
            other => panic!("{other:?} is no answer to {:?}", self.asked.last()),
        }
    }

    fn has_left(&self) -> bool {
        self.has_left
    }

    fn notify(&mut self, message: &str, level: Level) {
        self.notices.push((message.to_owned(), level));
    }
}
