//! A word that the reader looks for.

use session::view::{Line, Role};

use crate::fit::add;
use crate::keys::Key;

#[derive(Debug, Default)]
pub(super) struct Search {
    /// What is being typed.
    typed: Option<String>,
    /// What is marked.
    sought: String,
}

impl Search {
    pub(super) fn typed(&self) -> Option<&str> {
        self.typed.as_deref()
    }

    pub(super) fn is_active(&self) -> bool {
        !self.sought.is_empty()
    }

    pub(super) fn begin(&mut self) {
        self.typed = Some(String::new());
    }

    pub(super) fn end(&mut self) {
        *self = Search::default();
    }

    /// Takes a key; true if the search begins with it.
    pub(super) fn type_key(&mut self, key: Key) -> bool {
        let Some(typed) = &mut self.typed else { return false };
        match key {
            Key::Character(character) => typed.push(character),
            Key::Backspace if typed.is_empty() => self.typed = None,
            Key::Backspace => {
                typed.pop();
            }
            Key::Enter => {
                self.sought = std::mem::take(typed);
                self.typed = None;
                return self.is_active();
            }
            Key::Escape => self.typed = None,
            _ => {}
        }
        false
    }

    pub(super) fn is_in(&self, line: &Line) -> bool {
        self.is_active() && self.next_in(&line.text()).is_some()
    }

    /// The line, with what was found in it marked.
    pub(super) fn marked(&self, line: &Line) -> Line {
        if !self.is_in(line) {
            return line.clone();
        }
        let mut marked = Line::default();
        for span in line.spans() {
            let mut rest = span.text();
            while let Some((start, end)) = self.next_in(rest) {
                let (head, tail) = rest.split_at(end);
                let (before, found) = head.split_at(start);
                marked = add(marked, span, before).with(Role::Found, found);
                rest = tail;
            }
            marked = add(marked, span, rest);
        }
        marked
    }

    /// Where it begins and ends. Without capital letters, capital letters do not matter.
    fn next_in(&self, text: &str) -> Option<(usize, usize)> {
        if self.sought.is_empty() {
            return None;
        }
        if self.sought.chars().any(char::is_uppercase) {
            return text.find(&self.sought).map(|at| (at, at + self.sought.len()));
        }
        text.char_indices().find_map(|(at, _)| {
            let mut letters = text.get(at..)?.char_indices();
            let mut end = at;
            for sought in self.sought.chars() {
                let (offset, letter) = letters.next()?;
                if !letter.to_lowercase().eq(sought.to_lowercase()) {
                    return None;
                }
                end = at + offset + letter.len_utf8();
            }
            Some((at, end))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(sought: &str) -> Search {
        Search { typed: None, sought: sought.to_owned() }
    }

    #[test]
    fn capital_letters_matter_only_if_there_are_some() {
        for (sought, text, expected) in [
            ("token", "the Token", Some((4, 9))),
            ("Token", "the token", None),
            ("Token", "the Token", Some((4, 9))),
            ("ż", "aŻb", Some((1, 3))),
            ("x", "", None),
            ("", "abc", None),
        ] {
            assert_eq!(search(sought).next_in(text), expected, "{sought:?} in {text:?}");
        }
    }

    #[test]
    fn what_is_found_is_marked_and_the_rest_stays() {
        let line = Line::of(Role::Plain, "a Token, a token").with(Role::Error, "tok");
        let marked = search("token").marked(&line);
        let found: Vec<&str> = marked
            .spans()
            .iter()
            .filter(|span| span.role() == Role::Found)
            .map(session::view::Span::text)
            .collect();
        assert_eq!(found, ["Token", "token"]);
        assert_eq!(marked.text(), line.text());
    }
}
