//! Questions to the user in a terminal.

use std::io::{self, IsTerminal, Write};

use inquire::{Confirm, InquireError, MultiSelect, Select, Text};
use session::clean;
use tools::{Dialogs, Level, Preselected};

use crate::editor;
use crate::error::CommandError;
use crate::printer::Printer;

/// Escape cancels a question, and Ctrl-C all of them.
pub(crate) struct TerminalDialogs<'a> {
    printer: &'a Printer,
    is_interrupted: bool,
    /// Why the terminal could not be used.
    pub(crate) failure: Option<CommandError>,
}

impl<'a> TerminalDialogs<'a> {
    /// `None` if standard input or standard error is not a terminal.
    pub(crate) fn new(printer: &'a Printer) -> Option<TerminalDialogs<'a>> {
        let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
        is_terminal.then_some(TerminalDialogs { printer, is_interrupted: false, failure: None })
    }

    /// The indexes of the options that the user chooses.
    pub(crate) fn select_several(
        &mut self,
        title: &str,
        options: Vec<String>,
    ) -> Option<Vec<usize>> {
        let chosen = MultiSelect::new(title, options).raw_prompt();
        let chosen = self.take(chosen)?;
        Some(chosen.into_iter().map(|option| option.index).collect())
    }

    fn take<T>(&mut self, answer: Result<T, InquireError>) -> Option<T> {
        match answer {
            Ok(answer) => Some(answer),
            Err(InquireError::OperationCanceled) => None,
            Err(InquireError::OperationInterrupted) => {
                self.is_interrupted = true;
                None
            }
            Err(error) => {
                let message = format!("cannot use the terminal: {error}");
                self.failure.get_or_insert(CommandError::failure(message));
                None
            }
        }
    }
}

impl Dialogs for TerminalDialogs<'_> {
    fn select(&mut self, title: &str, options: &[String]) -> Option<usize> {
        let options = options.iter().map(|option| clean(option)).collect();
        let chosen = Select::new(&clean(title), options).raw_prompt();
        self.take(chosen).map(|chosen| chosen.index)
    }

    fn input(&mut self, title: &str, current: Option<&str>) -> Option<String> {
        let (title, current) = (clean(title), clean(current.unwrap_or_default()));
        let text = Text::new(&title).with_initial_value(&current).prompt();
        self.take(text)
    }

    fn editor(&mut self, title: &str, prefill: &str) -> Option<String> {
        self.printer.note(&format!("{title} opening your editor"));
        match editor::edit_text(prefill) {
            Ok(text) => Some(text),
            Err(error) => {
                self.failure.get_or_insert(error);
                None
            }
        }
    }

    fn confirm(&mut self, title: &str, message: &str, preselected: Preselected) -> bool {
        // The last line of the message, or else the title, is the question; the rest is shown first.
        let (before, last) = message.rsplit_once('\n').unwrap_or(("", message));
        let (before, question) =
            if last.ends_with('?') { (before, last) } else { (message, title) };
        if !before.trim().is_empty() {
            self.printer.note(before.trim_end());
        }
        let is_yes = preselected == Preselected::Yes;
        let answer = Confirm::new(&clean(question)).with_default(is_yes).prompt();
        self.take(answer).unwrap_or(false)
    }

    fn has_left(&self) -> bool {
        self.is_interrupted || self.failure.is_some()
    }

    fn notify(&mut self, message: &str, level: Level) {
        match level {
            Level::Info => self.printer.note(message),
            Level::Warning => self.printer.warning(message),
            Level::Error => self.printer.error(&CommandError::failure(message)),
        }
        let _ = io::stderr().flush();
    }
}
