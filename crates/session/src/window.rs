//! The rolling window of a run, and its longer history.

use std::collections::VecDeque;

use crate::text::{clean, cut_chars};

/// What a line of a window is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// The agent's own words, or something else that is plain text.
    Text,
    /// A tool at work.
    Tool,
}

/// One line of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowLine {
    /// What it is about.
    pub kind: LineKind,
    /// Its text, safe to show.
    pub text: String,
}

/// The last lines of a run: few to show, more to look back at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    history: VecDeque<WindowLine>,
}

impl Window {
    /// How many lines are shown by default.
    pub const SHOWN: usize = 15;
    /// How many lines are remembered.
    pub const REMEMBERED: usize = 500;
    /// Longer lines are cut.
    const LINE_CHARS: usize = 2_000;

    /// Adds every line of a text that is not blank.
    pub fn push(&mut self, kind: LineKind, text: &str) {
        // Only the last lines of a long text can stay.
        let lines: Vec<&str> = text.lines().rev().take(Window::REMEMBERED).collect();
        for line in lines.into_iter().rev() {
            let line = clean(cut_chars(line, Window::LINE_CHARS));
            let line = line.trim_end();
            if line.is_empty() {
                continue;
            }
            if self.history.len() == Window::REMEMBERED {
                self.history.pop_front();
            }
            self.history.push_back(WindowLine { kind, text: line.to_owned() });
        }
    }

    /// The last `count` lines, oldest first.
    pub fn last(&self, count: usize) -> impl Iterator<Item = &WindowLine> {
        self.history.iter().skip(self.history.len().saturating_sub(count))
    }

    /// Everything that is remembered, oldest first.
    pub fn history(&self) -> impl Iterator<Item = &WindowLine> {
        self.history.iter()
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
}
