//! Questions and messages to the user: by pi's dialogs, or in a terminal.

/// How a door talks with its user. `None` means that the user cancelled the dialog.
pub trait Dialogs {
    /// The index of the option that the user chooses.
    fn select(&mut self, title: &str, options: &[String]) -> Option<usize>;

    /// One line. The user must be able to change the current text instead of typing it again: a door
    /// whose input cannot begin with a text uses its editor for that.
    fn input(&mut self, title: &str, current: Option<&str>) -> Option<String>;

    /// A text of many lines, which is `prefill` at first.
    fn editor(&mut self, title: &str, prefill: &str) -> Option<String>;

    /// Yes or no; cancelling the dialog means no. The preselected answer is the one that harms nothing: who
    /// presses Enter all the way through has changed as little as possible.
    fn confirm(&mut self, title: &str, message: &str, preselected: Preselected) -> bool;

    /// Whether the user answers nothing any more: the next question would be cancelled, too.
    fn has_left(&self) -> bool;

    /// Shows a message, and asks nothing.
    fn notify(&mut self, message: &str, level: Level);
}

/// The answer to a question that Enter gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Preselected {
    Yes,
    No,
}

/// How serious a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Level {
    Info,
    Warning,
    Error,
}

impl Level {
    /// The word for the level.
    pub fn word(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

#[cfg(test)]
pub(crate) mod testing;
