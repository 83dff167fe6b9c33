//! Questions and messages to the user: by pi's dialogs, or in a terminal.

/// What a door offers to talk with its user. Whoever has been asked can also turn away, which is
/// `None`.
pub trait Dialogs {
    /// Which of the options is chosen, by its place.
    fn select(&mut self, title: &str, options: &[String]) -> Option<usize>;

    /// One line. It must be possible to change what is there now instead of typing it again: a
    /// door whose input cannot be filled has to use its editor then.
    fn input(&mut self, title: &str, current: Option<&str>) -> Option<String>;

    /// A text of many lines, which begins as `prefill`.
    fn editor(&mut self, title: &str, prefill: &str) -> Option<String>;

    /// Yes or no; whoever turns away says no.
    fn confirm(&mut self, title: &str, message: &str) -> bool;

    /// Tells something.
    fn notify(&mut self, message: &str, level: Level);
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
