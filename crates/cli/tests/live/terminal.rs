//! A terminal in memory, with the program under test on a real pseudo-terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use insta::internals::SnapshotContents;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use test_support::{World, pseudo_terminal};

/// A program on a terminal.
pub(crate) struct Terminal {
    master: File,
    child: Child,
    screen: vt100::Parser,
    /// Everything that was ever written.
    bytes: Vec<u8>,
    before: Termios,
    is_closed: bool,
}

/// What is on the program's standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// The terminal is on all of them.
    Terminal,
    /// Standard input is empty.
    NoKeys,
    /// Standard output is a file.
    AnswersElsewhere,
    /// The terminal is on all of them, but the program is in the background of a shell.
    Background,
}

/// How long to wait before the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

impl Terminal {
    pub(crate) fn start(command: &Command, columns: u16, rows: u16) -> Terminal {
        Terminal::start_on(command, columns, rows, Streams::Terminal)
    }

    pub(crate) fn start_on(
        command: &Command,
        columns: u16,
        rows: u16,
        streams: Streams,
    ) -> Terminal {
        let (master, inside) = pseudo_terminal::open(columns, rows).unwrap();
        let before = tcgetattr(&master).unwrap();
        // `setsid` takes the terminal of the session from standard input, which is changed afterwards.
        let line = match streams {
            Streams::Terminal => "exec \"$@\"",
            Streams::NoKeys => "exec \"$@\" < /dev/null",
            Streams::AnswersElsewhere => "exec \"$@\" > answers",
            Streams::Background => "set -m; \"$@\" & wait $!",
        };
        let mut shell = World::behind(&["setsid", "--ctty", "sh", "-c", line, "sh"], command);
        shell.stdin(inside.try_clone().unwrap()).stdout(inside.try_clone().unwrap()).stderr(inside);
        let child = shell.spawn().unwrap();
        let screen = emulator(columns, rows);
        let master = File::from(master);
        Terminal { master, child, screen, bytes: Vec::new(), before, is_closed: false }
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Changes the size between two frames: one that was drawn for the old size and is shown at the
    /// new one looks torn, on every terminal. What runs moves ten times a second, so there is time
    /// behind a frame.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.read(Duration::from_millis(1_500));
        while self.read(Duration::from_millis(20)) {}
        self.screen.screen_mut().set_size(size(rows), size(columns));
        set_size(&self.master, columns, rows);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// What is seen.
    pub(crate) fn text(&self) -> String {
        normal(&self.screen.screen().contents())
    }

    /// Everything that stays on the terminal, from the first line on: what a larger terminal shows.
    pub(crate) fn record(&self) -> String {
        let mut large = emulator(400, 4_000);
        large.process(&self.bytes);
        normal(&large.screen().contents())
    }

    /// Everything that scrolled away, and what is seen.
    pub(crate) fn scrollback(&self) -> String {
        let (rows, columns) = self.screen.screen().size();
        let mut parser = vt100::Parser::new(rows, columns, 10_000);
        parser.process(&self.bytes);
        let screen = parser.screen_mut();
        screen.set_scrollback(usize::MAX);
        let mut lines = Vec::new();
        for back in (1..=screen.scrollback()).rev() {
            screen.set_scrollback(back);
            lines.extend(screen.rows(0, columns.get()).next());
        }
        screen.set_scrollback(0);
        lines.push(screen.contents());
        normal(&lines.join("\n"))
    }

    /// Everything that was written.
    pub(crate) fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Whether the cursor can be seen, and keys mean what they meant before.
    #[track_caller]
    pub(crate) fn assert_usable(&self) {
        assert!(!self.screen.screen().hide_cursor(), "the cursor is hidden");
        let now = tcgetattr(&self.master).unwrap();
        assert_eq!(format!("{now:?}"), format!("{:?}", self.before));
    }

    /// Waits until this is seen.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |terminal| terminal.text().contains(text));
    }

    /// Waits until the screen is that of the snapshot.
    #[track_caller]
    pub(crate) fn expect(&mut self, name: &str) {
        if is_updating() {
            let settled = Instant::now() + Duration::from_secs(2);
            while Instant::now() < settled {
                self.read(Duration::from_millis(100));
            }
        } else {
            let expected = snapshot(name);
            self.reaches(|terminal| terminal.text().trim() == expected.trim());
        }
        assert_snapshot(name, &self.text());
    }

    #[track_caller]
    pub(crate) fn wait_until(&mut self, what: &str, condition: impl Fn(&Terminal) -> bool) {
        assert!(self.reaches(condition), "not {what}\nbut:\n{}", self.text());
    }

    /// Reads output until the condition is true; false if it does not become true.
    fn reaches(&mut self, condition: impl Fn(&Terminal) -> bool) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while !condition(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.read(left) {
                return condition(self);
            }
        }
        true
    }

    /// Waits for the end of the program, and returns its exit code.
    #[track_caller]
    pub(crate) fn finish(&mut self) -> Option<i32> {
        while self.read(PATIENCE) {}
        assert!(self.is_closed, "it does not end:\n{}", self.text());
        self.child.wait().unwrap().code()
    }

    /// Reads what is written within the time; false if there was nothing.
    fn read(&mut self, limit: Duration) -> bool {
        let mut fds = [PollFd::new(&self.master, PollFlags::IN)];
        let limit = Timespec::try_from(limit).unwrap();
        if self.is_closed || !poll(&mut fds, Some(&limit)).is_ok_and(|ready| ready > 0) {
            return false;
        }
        let mut buffer = [0; 16 * 1024];
        // An error means that no process has the terminal open any more.
        let length = self.master.read(&mut buffer).unwrap_or(0);
        self.is_closed = length == 0;
        self.screen.process(&buffer[..length]);
        self.bytes.extend_from_slice(&buffer[..length]);
        length > 0
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that has failed must not wait for the program.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn emulator(columns: u16, rows: u16) -> vt100::Parser {
    vt100::Parser::new(size(rows), size(columns), 0)
}

fn size(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

/// Compares the record with its snapshot.
#[track_caller]
pub(crate) fn assert_record(terminal: &Terminal, name: &str) {
    assert_snapshot(name, &terminal.record());
}

#[track_caller]
fn assert_snapshot(name: &str, text: &str) {
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}

/// The text of a snapshot, which is empty if there is none yet.
fn snapshot(name: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/snapshots");
    let snapshot = insta::Snapshot::from_file(&Path::new(path).join(format!("{name}.snap")));
    match snapshot.as_ref().map(insta::Snapshot::contents) {
        Ok(SnapshotContents::Text(text)) => text.to_string(),
        _ => String::new(),
    }
}

/// Whether snapshots are written anew, so that there is no text to wait for.
fn is_updating() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|value| value != "no")
}

fn set_size(master: impl std::os::fd::AsFd, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(master, size).unwrap();
}

/// The text without times, ids and what moves, which are never the same, and without blank ends.
fn normal(text: &str) -> String {
    let is_spinner = |letter: char| ('\u{2801}'..='\u{28ff}').contains(&letter);
    let text = text.replace(is_spinner, "⠋");
    let lines = text.lines().map(|line| words(line.trim_end()));
    let text = lines.collect::<Vec<String>>().join("\n");
    format!("{}\n", text.trim_end())
}

fn words(line: &str) -> String {
    let words = line.split(' ').map(|word| {
        let bare = word.trim_matches(['(', ')', '`']);
        // The end of one may be cut off.
        let is_id = bare.len() >= 8 && bare.chars().all(|letter| letter.is_ascii_hexdigit());
        if let Some(id) = "0123456789abcdef".get(..bare.len()).filter(|_| is_id) {
            return word.replace(bare, id);
        }
        let (time, limit) = word.split_at(word.find('/').unwrap_or(word.len()));
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_clock = time.contains(':') && time.split(':').all(is_number);
        let none = match time.strip_suffix('s') {
            Some(seconds) if is_number(seconds) => "0s",
            _ if is_clock => "0:00",
            _ => return word.to_owned(),
        };
        // Columns stay where they are.
        format!("{none:>width$}{limit}", width = time.len())
    });
    words.collect::<Vec<String>>().join(" ")
}
