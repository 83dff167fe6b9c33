//! `--notify`: tells the user that the work is done, or waits for an answer.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::arguments::NAME;
use crate::error::Exit;

#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct NotifyArguments {
    /// Ring the terminal's bell at the end, and when an agent asks something; `--notify=desktop` shows a notification
    /// instead
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "bell"
    )]
    notify: Option<Notify>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Notify {
    /// Ring the terminal's bell
    Bell,
    /// Show a notification, with `notify-send` or else with the terminal
    Desktop,
}

impl NotifyArguments {
    /// Notifies the user that `what` has ended, unless the user interrupted it. A notification that
    /// cannot be shown is not reported.
    pub(crate) fn tell(self, what: &str, exit: Exit) {
        let how = match exit {
            Exit::Completed => "completed",
            Exit::TaskFailed | Exit::Usage => "failed",
            Exit::Interrupted => return,
        };
        self.show(what, how);
    }

    /// Notifies the user that `what` asks something.
    pub(crate) fn tell_question(self, what: &str) {
        self.show(what, "asks something");
    }

    fn show(self, what: &str, how: &str) {
        match self.notify {
            None => {}
            Some(Notify::Bell) => print("\u{7}"),
            Some(Notify::Desktop) => {
                let body = body(what, how);
                if !has_desktop() || !send(&body) {
                    let program = env::var("TERM_PROGRAM").unwrap_or_default();
                    print(&sequence(&body, &program));
                }
            }
        }
    }
}

/// The server behind `notify-send` may hang.
const SEND_TIMEOUT: Duration = Duration::from_secs(2);

fn has_desktop() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

fn send(body: &str) -> bool {
    let sent = process::command_output("notify-send", &["--", NAME, body], SEND_TIMEOUT, 64 * 1024);
    sent.is_ok_and(|output| output.exit == process::Exit::Code(0))
}

fn print(sequence: &str) {
    let mut stderr = io::stderr();
    if stderr.is_terminal() {
        let _ = stderr.write_all(sequence.as_bytes());
    }
}

fn body(what: &str, how: &str) -> String {
    // A semicolon would end a part of the sequence.
    let what = session::clean(what).replace(['\n', '\t', ';'], " ");
    format!("{}: {how}", session::cut_chars(what.trim(), 80))
}

/// The sequence that shows a notification, followed by a bell for terminals that support neither of
/// the two kinds. Only one kind is sent: some terminals would show both.
fn sequence(body: &str, terminal: &str) -> String {
    match terminal {
        "iTerm.app" | "WezTerm" | "ghostty" | "vscode" => format!("\u{1b}]9;{body}\u{1b}\\\u{7}"),
        _ => format!("\u{1b}]777;notify;{NAME};{body}\u{1b}\\\u{7}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_the_sequence() {
        let body = body("a;b\u{1b}]0;title\u{7}\nc\u{9c}", "failed");
        assert_eq!(body, "a b c: failed");
        assert_eq!(
            sequence(&body, ""),
            "\u{1b}]777;notify;pi-subagents;a b c: failed\u{1b}\\\u{7}"
        );
        assert_eq!(sequence(&body, "WezTerm"), "\u{1b}]9;a b c: failed\u{1b}\\\u{7}");
    }
}
