//! Standard output and standard error.

use std::cell::Cell;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use process::Writable;
use serde::Serialize;
use session::view::Line;
use tui::Palette;

use crate::error::CommandError;
use crate::terminal;

/// Prints answers to standard output and everything else to standard error.
///
/// Progress that cannot be printed is dropped, and the work continues. An answer that cannot be
/// printed is an error.
pub(crate) struct Printer {
    pub(crate) palette: Palette,
    /// Whether standard error is a terminal that can show the live view.
    pub(crate) can_draw: bool,
    /// Becomes readable when a signal asks this program to stop.
    interruption: Option<OwnedFd>,
    /// A signal has asked this program to stop, so it no longer waits long for a slow reader.
    is_hurried: Cell<bool>,
}

/// A message that is printed later, between two frames of the live view.
#[derive(Debug)]
pub(crate) enum Mention {
    Answer(String),
    Note(String),
    Warning(String),
}

/// How long an answer waits for its reader after a signal.
const HURRIED_ANSWER: Duration = Duration::from_secs(2);
/// How long a frame waits: half a frame would be worse than none.
const HURRIED_FRAME: Duration = Duration::from_millis(300);

impl Printer {
    pub(crate) fn new(is_plain: bool) -> Printer {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let variable =
            |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let (no_color, colorterm) = (variable("NO_COLOR"), variable("COLORTERM"));
        let can_draw = !is_plain && !is_dumb && io::stderr().is_terminal();
        let palette = if can_draw {
            Palette::of(no_color.as_deref(), colorterm.as_deref())
        } else {
            Palette::None
        };
        Printer { palette, can_draw, interruption: None, is_hurried: Cell::new(false) }
    }

    /// The width of the terminal that can be drawn on.
    pub(crate) fn columns(&self) -> Option<usize> {
        self.can_draw.then(terminal::size)?.map(|size| size.columns)
    }

    /// From now on, a reader that does not read cannot delay the signals that make `signals` readable.
    pub(crate) fn listen_to(&mut self, signals: impl AsFd) {
        self.interruption = signals.as_fd().try_clone_to_owned().ok();
    }

    pub(crate) fn hurry(&self) {
        self.is_hurried.set(true);
    }

    pub(crate) fn stop_listening(&mut self) {
        self.interruption = None;
    }

    /// Prints an answer, made safe for a terminal.
    pub(crate) fn answer(&self, text: &str) -> Result<(), CommandError> {
        let text = session::clean(text);
        let line_feed = if text.ends_with('\n') { "" } else { "\n" };
        self.print(format!("{text}{line_feed}"))
    }

    pub(crate) fn json(&self, document: &impl Serialize) -> Result<(), CommandError> {
        let mut writer = JsonWriter { printer: self, text: String::new(), failure: None };
        let written = serde_json::to_writer_pretty(&mut writer, document).map_err(Into::into);
        let written = written.and_then(|()| writeln!(writer)).and_then(|()| writer.flush());
        match (written, writer.failure) {
            (Ok(()), _) => Ok(()),
            (Err(_), Some(failure)) => Err(failure),
            (Err(error), None) => Err(CommandError::failure(error)),
        }
    }

    pub(crate) fn line(&self, json: &str) -> Result<(), CommandError> {
        self.print(format!("{}\n", session::escape_json(json)))
    }

    /// Prints text for another program, unchanged. Parts that come from an agent are clean already.
    pub(crate) fn script(&self, bytes: impl AsRef<[u8]>) -> Result<(), CommandError> {
        self.print(bytes)
    }

    fn print(&self, bytes: impl AsRef<[u8]>) -> Result<(), CommandError> {
        let mut stdout = io::stdout();
        if process::was_stdout_closed() {
            return Err(unprintable("standard output is closed"));
        }
        let wrote = self.write(bytes.as_ref(), stdout.as_fd(), &mut stdout.lock(), HURRIED_ANSWER);
        match wrote.and_then(|()| stdout.flush()) {
            // The reader has read enough, as `head` does.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(unprintable(error)),
            Ok(()) => Ok(()),
        }
    }

    /// Prints what the parser of the command line has to say: the help, or the version.
    pub(crate) fn help(help: &clap::Error) -> Result<(), CommandError> {
        let fail = |error: &dyn fmt::Display| {
            Err(CommandError::failure(format!("the help cannot be printed: {error}")))
        };
        if process::was_stdout_closed() {
            return fail(&"standard output is closed");
        }
        match help.print().and_then(|()| io::stdout().flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(&error),
            _ => Ok(()),
        }
    }

    /// Writes bytes to the terminal on standard error, unchanged. False if that failed.
    pub(crate) fn frame(&self, bytes: &str) -> bool {
        let stderr = io::stderr();
        self.write(bytes.as_bytes(), stderr.as_fd(), &mut stderr.lock(), HURRIED_FRAME).is_ok()
    }

    /// Writes a line to standard error. A line that cannot be written is dropped.
    fn tell(&self, text: &str) {
        let stderr = io::stderr();
        let _ = self.write(
            format!("{text}\n").as_bytes(),
            stderr.as_fd(),
            &mut stderr.lock(),
            Duration::ZERO,
        );
    }

    pub(crate) fn mention(&self, mention: &Mention) -> Result<(), CommandError> {
        match mention {
            Mention::Answer(text) => return self.answer(text),
            Mention::Note(text) => self.note(text),
            Mention::Warning(text) => self.warning(text),
        }
        Ok(())
    }

    fn write(
        &self,
        bytes: &[u8],
        fd: BorrowedFd<'_>,
        output: &mut dyn Write,
        hurried: Duration,
    ) -> io::Result<()> {
        let Some(interruption) = &self.interruption else {
            return output.write_all(bytes);
        };
        for piece in bytes.chunks(Writable::PIECE) {
            loop {
                let writable = if self.is_hurried.get() {
                    process::wait_until_writable(fd, None, Some(hurried))
                } else {
                    process::wait_until_writable(fd, Some(interruption.as_fd()), None)
                };
                match writable {
                    Writable::Yes => break,
                    Writable::No => return Err(io::ErrorKind::TimedOut.into()),
                    Writable::Interrupted => self.hurry(),
                }
            }
            output.write_all(piece).and_then(|()| output.flush())?;
        }
        Ok(())
    }

    /// Prints progress, with the task's name before each line.
    pub(crate) fn progress(&self, name: &str, words: &str) {
        let name = self.paint(AnsiColor::Cyan.on_default(), name);
        for line in words.lines().filter(|line| !line.trim().is_empty()) {
            self.tell(&format!("{name}: {}", session::clean(line)));
        }
    }

    pub(crate) fn summary(&self, line: &str, is_success: bool) {
        let colour = if is_success { AnsiColor::Green } else { AnsiColor::Red };
        self.tell(&self.paint(colour.on_default(), line));
    }

    /// Prints lines of a view.
    pub(crate) fn lines(&self, lines: &[Line]) {
        for line in lines {
            self.tell(&tui::styled(line, self.palette));
        }
    }

    pub(crate) fn note(&self, text: &str) {
        self.tell(&session::clean(text));
    }

    pub(crate) fn diff(&self, lines: &str) {
        for line in lines.lines() {
            let style = match line.as_bytes().first() {
                Some(b'+') => AnsiColor::Green.on_default(),
                Some(b'-') => AnsiColor::Red.on_default(),
                Some(b'@') => AnsiColor::Cyan.on_default(),
                _ => Style::new(),
            };
            self.tell(&self.paint(style, line));
        }
    }

    pub(crate) fn warning(&self, text: &str) {
        self.labelled(AnsiColor::Yellow.on_default(), "warning:", text);
    }

    pub(crate) fn hint(&self, text: &str) {
        self.labelled(AnsiColor::Cyan.on_default(), "hint:", text);
    }

    pub(crate) fn error(&self, error: &CommandError) {
        self.labelled(AnsiColor::Red.on_default().bold(), "error:", &error.to_string());
        if let Some(hint) = &error.hint {
            self.hint(hint);
        }
    }

    fn labelled(&self, style: Style, label: &str, text: &str) {
        self.tell(&format!("{} {}", self.paint(style, label), session::clean(text)));
    }

    fn paint(&self, style: Style, text: &str) -> String {
        let text = session::clean(text);
        if self.palette != Palette::None {
            format!("{}{text}{}", style.render(), style.render_reset())
        } else {
            text.into_owned()
        }
    }
}

fn unprintable(reason: impl fmt::Display) -> CommandError {
    CommandError::failure(format!("the answer cannot be printed: {reason}"))
        .hint("read it with `pi-subagents sessions list` and `pi-subagents sessions output ID`")
}
/// Prints a document in parts: that of many tasks is large.
struct JsonWriter<'a> {
    printer: &'a Printer,
    /// What is not printed yet.
    text: String,
    failure: Option<CommandError>,
}

impl JsonWriter<'_> {
    const PART: usize = 64 * 1024;
}

impl io::Write for JsonWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.push_str(std::str::from_utf8(bytes).map_err(io::Error::other)?);
        if self.text.len() >= JsonWriter::PART {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let printed = self.printer.print(session::escape_json(&self.text).as_bytes());
        self.text.clear();
        printed.map_err(|failure| {
            self.failure = Some(failure);
            io::Error::other("the document cannot be printed")
        })
    }
}
