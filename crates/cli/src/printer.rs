//! The terminal, or whatever stands in its place.

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::error::CommandError;

/// Prints answers to standard output and everything else to standard error.
///
/// Nobody who listens may be left; that is not a reason to stop what is under way, so failures to
/// print are ignored.
pub(crate) struct Printer {
    has_colours: bool,
}

impl Printer {
    pub(crate) fn new(is_plain: bool) -> Printer {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Printer { has_colours: !is_plain && !is_dumb && !no_colour && io::stderr().is_terminal() }
    }

    /// An answer. What came from a child is made safe for a terminal.
    pub(crate) fn answer(&self, text: &str) {
        let text = session::clean(text);
        let line_feed = if text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(io::stdout(), "{text}{line_feed}");
        let _ = io::stdout().flush();
    }

    /// An answer as a JSON document.
    pub(crate) fn json(&self, document: &impl Serialize) {
        let mut stdout = io::stdout().lock();
        let _ = serde_json::to_writer_pretty(&mut stdout, document);
        let _ = stdout.write_all(b"\n");
        let _ = stdout.flush();
    }

    /// Something that happens.
    pub(crate) fn progress(&self, name: &str, words: &str) {
        let name = self.paint(AnsiColor::Cyan.on_default(), name);
        for line in words.lines().filter(|line| !line.trim().is_empty()) {
            let _ = writeln!(io::stderr(), "{name}: {}", session::clean(line));
        }
    }

    /// The last line about a task.
    pub(crate) fn summary(&self, line: &str, is_success: bool) {
        let colour = if is_success { AnsiColor::Green } else { AnsiColor::Red };
        let _ = writeln!(io::stderr(), "{}", self.paint(colour.on_default(), line));
    }

    /// Something that people should know.
    pub(crate) fn note(&self, text: &str) {
        let _ = writeln!(io::stderr(), "{}", session::clean(text));
    }

    /// Something that may be wrong.
    pub(crate) fn warning(&self, text: &str) {
        let label = self.paint(AnsiColor::Yellow.on_default(), "warning:");
        let _ = writeln!(io::stderr(), "{label} {}", session::clean(text));
    }

    /// What to do next.
    pub(crate) fn hint(&self, text: &str) {
        let label = self.paint(AnsiColor::Cyan.on_default(), "hint:");
        let _ = writeln!(io::stderr(), "{label} {}", session::clean(text));
    }

    /// Why a command could not do its work.
    pub(crate) fn error(&self, error: &CommandError) {
        let label = self.paint(AnsiColor::Red.on_default().bold(), "error:");
        let _ = writeln!(io::stderr(), "{label} {}", session::clean(&error.to_string()));
        if let Some(hint) = error.what_to_do() {
            self.hint(hint);
        }
    }

    fn paint(&self, style: Style, text: &str) -> String {
        let text = session::clean(text);
        if self.has_colours {
            format!("{}{text}{}", style.render(), style.render_reset())
        } else {
            text.into_owned()
        }
    }
}
