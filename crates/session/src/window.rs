//! The rolling window of a run, and its longer history.

use std::collections::VecDeque;

use crate::text::{clean, cut_chars};

/// What an entry of a window is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// A message of the agent, or other plain text.
    Text,
    /// A call of a tool, or the summary of its result.
    Tool,
}

/// One entry of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowLine {
    /// Decides how it is drawn.
    pub kind: LineKind,
    /// Safe to show. Only an entry of a tool can have several lines.
    pub text: String,
}

/// Identifies an entry for as long as the window remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryNumber(u64);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    number: EntryNumber,
    line: WindowLine,
}

/// The last entries of a run: few are shown, more are remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    history: VecDeque<Entry>,
    pushed: u64,
}

impl Window {
    /// How many entries are shown by default.
    pub const SHOWN: usize = 15;
    /// How many entries are remembered.
    pub const REMEMBERED: usize = 500;
    /// Longer entries are cut.
    const LINE_CHARS: usize = 2_000;

    /// Adds every line of a text that is not blank.
    pub fn push(&mut self, kind: LineKind, text: &str) {
        // Only the last lines of a long text can be remembered.
        let lines: Vec<&str> = text.lines().rev().take(Window::REMEMBERED).collect();
        for line in lines.into_iter().rev() {
            self.push_entry(kind, line);
        }
    }

    /// Adds a text of any number of lines as one entry. A blank text is not added.
    pub(crate) fn push_entry(&mut self, kind: LineKind, text: &str) -> Option<EntryNumber> {
        self.insert(self.history.len(), kind, text)
    }

    /// Adds a text as one entry directly below another entry. False if that entry is forgotten.
    pub(crate) fn push_below(&mut self, above: EntryNumber, kind: LineKind, text: &str) -> bool {
        let position = self.history.iter().rposition(|entry| entry.number == above);
        if let Some(position) = position {
            self.insert(position + 1, kind, text);
        }
        position.is_some()
    }

    /// The last `count` entries, oldest first.
    pub fn last(&self, count: usize) -> impl Iterator<Item = &WindowLine> {
        self.history().skip(self.history.len().saturating_sub(count))
    }

    /// All remembered entries, oldest first.
    pub fn history(&self) -> impl Iterator<Item = &WindowLine> {
        self.history.iter().map(|entry| &entry.line)
    }

    fn insert(&mut self, position: usize, kind: LineKind, text: &str) -> Option<EntryNumber> {
        let text = clean(cut_chars(text, Window::LINE_CHARS));
        let text = text.trim_end();
        if text.is_empty() {
            return None;
        }
        self.pushed += 1;
        let number = EntryNumber(self.pushed);
        let line = WindowLine { kind, text: text.to_owned() };
        self.history.insert(position.min(self.history.len()), Entry { number, line });
        if self.history.len() > Window::REMEMBERED {
            self.history.pop_front();
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_are_dropped_and_others_trimmed_and_cleaned() {
        let mut window = Window::default();
        window.push(LineKind::Text, "one  \n\n \u{1b}[31m\n  two\u{1b}[0m\t\n");
        let lines: Vec<&str> = window.history().map(|line| line.text.as_str()).collect();
        assert_eq!(lines, ["one", "  two"]);
    }

    #[test]
    fn the_window_shows_the_last_lines_and_the_history_is_bounded() {
        let mut window = Window::default();
        for number in 0..10_000 {
            window.push(LineKind::Text, &format!("line {number}"));
        }
        assert_eq!(window.history().count(), Window::REMEMBERED);
        let shown: Vec<&str> = window.last(Window::SHOWN).map(|line| line.text.as_str()).collect();
        assert_eq!(shown.len(), 15);
        assert_eq!((shown[0], shown[14]), ("line 9985", "line 9999"));
        window.push(LineKind::Tool, &"x\n".repeat(100_000));
        window.push(LineKind::Tool, &"y".repeat(100_000));
        assert_eq!(window.history().count(), Window::REMEMBERED);
        assert_eq!(window.history().last().unwrap().text.len(), Window::LINE_CHARS);
    }

    #[test]
    fn an_entry_of_several_lines_stays_one() {
        let mut window = Window::default();
        window.push_entry(LineKind::Tool, "→ bash → a &&\n│ b\n");
        window.push_entry(LineKind::Tool, " \n");
        let lines: Vec<&str> = window.history().map(|line| line.text.as_str()).collect();
        assert_eq!(lines, ["→ bash → a &&\n│ b"]);
    }

    #[test]
    fn an_entry_can_be_put_below_another_one() {
        let mut window = Window::default();
        let first = window.push_entry(LineKind::Tool, "first").unwrap();
        let second = window.push_entry(LineKind::Tool, "second").unwrap();
        assert!(window.push_below(second, LineKind::Tool, "  of second"));
        assert!(window.push_below(first, LineKind::Tool, "  of first"));
        let lines: Vec<&str> = window.history().map(|line| line.text.as_str()).collect();
        assert_eq!(lines, ["first", "  of first", "second", "  of second"]);
        for _ in 0..Window::REMEMBERED {
            window.push(LineKind::Text, "more");
        }
        assert!(!window.push_below(first, LineKind::Tool, "  of first"));
        assert_eq!(window.history().count(), Window::REMEMBERED);
    }
}
