//! The terminal on standard error while the live view draws on it.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, Once, PoisonError};

use process::{TerminalNotice, TerminalSignals};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr,
};
use tui::Size;

/// Changes the terminal's modes, and restores them when it is dropped, when the program panics, and
/// while the program is suspended.
pub(crate) struct Terminal {
    signals: TerminalSignals,
    /// False if standard input is not a terminal, because it carries the prompt.
    pub(crate) has_keys: bool,
    /// Whether another job has the terminal: this program was suspended and continued in the
    /// background.
    pub(crate) is_away: bool,
}

pub(crate) enum Happened {
    Typed(Vec<u8>),
    Resized,
    /// The program was suspended and continued, and its drawing is gone.
    Returned,
}

/// The character code that disables a special key.
const DISABLED: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

/// The terminal's original modes. Static, because the panic hook restores them.
static ORIGINAL_MODES: Mutex<Option<Termios>> = Mutex::new(None);

impl Terminal {
    /// `None` if there is no terminal, or another job has it.
    pub(crate) fn open() -> Option<Terminal> {
        if !io::stderr().is_terminal() || !is_in_foreground() {
            return None;
        }
        let signals = TerminalSignals::new().ok()?;
        let has_keys = io::stdin().is_terminal();
        let mut terminal = Terminal { signals, has_keys, is_away: false };
        size().filter(|size| size.columns > 0 && size.rows > 0)?;
        restore_on_panic();
        terminal.enter();
        Some(terminal)
    }

    pub(crate) fn wakers<'a>(&'a self, stdin: &'a io::Stdin) -> Vec<BorrowedFd<'a>> {
        let keys = (self.has_keys && !self.is_away).then(|| stdin.as_fd());
        [self.signals.as_fd()].into_iter().chain(keys).collect()
    }

    /// What has happened since the last call. `leave` is called before the program is suspended.
    pub(crate) fn happened(&mut self, leave: impl FnOnce()) -> Vec<Happened> {
        let stdin = io::stdin();
        let mut fds: Vec<PollFd<'_>> = self
            .wakers(&stdin)
            .into_iter()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        // Most calls find nothing: agents cause far more wake-ups than the user.
        if !poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
            return Vec::new();
        }
        let is_typed = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
        let mut happened = Vec::new();
        if is_typed {
            happened.extend(self.typed(&stdin).map(Happened::Typed));
        }
        let notices: Vec<TerminalNotice> = self.signals.drain().collect();
        if notices.contains(&TerminalNotice::Suspend) {
            leave();
            restore();
            process::suspend();
            self.come_back();
            happened.push(Happened::Returned);
        } else if notices.contains(&TerminalNotice::Continued) {
            self.come_back();
            happened.push(Happened::Returned);
        }
        if notices.contains(&TerminalNotice::Resized) {
            happened.push(Happened::Resized);
        }
        happened
    }

    fn typed(&mut self, stdin: &io::Stdin) -> Option<Vec<u8>> {
        let mut buffer = [0; 1024];
        match rustix::io::read(stdin, &mut buffer) {
            Ok(length) if length > 0 => buffer.get(..length).map(<[u8]>::to_vec),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => None,
            // The terminal is gone; no key will arrive any more.
            Ok(_) | Err(_) => {
                self.has_keys = false;
                None
            }
        }
    }

    fn come_back(&mut self) {
        self.is_away = !is_in_foreground();
        if !self.is_away {
            self.enter();
        }
    }

    /// Reads keys one by one, without echo: echoed keys would appear in the view.
    fn enter(&mut self) {
        let Ok(before) = tcgetattr(io::stderr()) else { return };
        let mut ours = before.clone();
        ours.local_modes.remove(LocalModes::ECHO);
        // Otherwise a second Ctrl-C discards pending output, such as the sequence that shows the
        // cursor again.
        ours.local_modes.insert(LocalModes::NOFLSH);
        if self.has_keys {
            ours.local_modes.remove(LocalModes::ICANON | LocalModes::IEXTEN);
            ours.special_codes[SpecialCodeIndex::VMIN] = 1;
            ours.special_codes[SpecialCodeIndex::VTIME] = 0;
            // Ctrl-\ would end the program without restoring the terminal; `Controls` handles it.
            ours.special_codes[SpecialCodeIndex::VQUIT] = DISABLED;
        }
        original_modes().get_or_insert(before);
        let _ = tcsetattr(io::stderr(), OptionalActions::Now, &ours);
        write_now(tui::OPEN);
    }
}

pub(crate) fn size() -> Option<Size> {
    let size = tcgetwinsize(io::stderr()).ok()?;
    Some(Size { columns: size.ws_col.into(), rows: size.ws_row.into() })
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

fn restore() {
    if let Some(before) = original_modes().take() {
        write_now(tui::CLOSE);
        let _ = tcsetattr(io::stderr(), OptionalActions::Now, &before);
    }
}

fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            hook(panic);
        }));
    });
}

fn original_modes() -> std::sync::MutexGuard<'static, Option<Termios>> {
    ORIGINAL_MODES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes bytes that are not part of a frame.
fn write_now(text: &str) {
    let _ = rustix::io::write(io::stderr(), text.as_bytes());
}

/// The system suspends a background job that changes the terminal's modes or reads a key.
fn is_in_foreground() -> bool {
    tcgetpgrp(io::stderr()).is_ok_and(|group| group == rustix::process::getpgrp())
}
