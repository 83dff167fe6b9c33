//! Signals as something that can be polled.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use signal_hook::consts::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH, SIGXFSZ};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

/// Undoes what this process has inherited about signals: none stays blocked, the end of a child is
/// reported and waits to be reaped, and a write beyond the limit of a file's size fails instead of
/// killing this process.
pub fn reset_signals() {
    // A handler, because children would inherit it if the signal were ignored.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    // SAFETY: an empty set is made and given to the kernel, and no handler is replaced by a
    // function of ours; nothing else is touched.
    #[expect(unsafe_code, reason = "there is no safe way to change what a signal means")]
    unsafe {
        let mut none = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
}

/// Why a [`SignalPipe`] woke us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: a request to end.
    Terminate,
    /// SIGHUP: the terminal is gone.
    Hangup,
    /// A child of this process ended.
    ChildEnded,
}

/// Becomes readable when a signal has arrived.
pub struct SignalPipe(Delivery);

type Delivery = SignalDelivery<UnixStream, SignalOnly>;

impl SignalPipe {
    /// Catches the signals that ask this process to end.
    pub fn for_quitting() -> io::Result<SignalPipe> {
        open(&[SIGINT, SIGTERM, SIGHUP]).map(SignalPipe)
    }

    /// Catches those and the end of children.
    pub fn for_supervising() -> io::Result<SignalPipe> {
        open(&[SIGINT, SIGTERM, SIGHUP, SIGCHLD]).map(SignalPipe)
    }

    /// What has arrived since the last call. Equal signals may have become one.
    pub fn drain(&mut self) -> impl Iterator<Item = Notice> + use<> {
        self.0.pending().map(|signal| match signal {
            SIGCHLD => Notice::ChildEnded,
            SIGINT => Notice::Interrupt,
            SIGHUP => Notice::Hangup,
            _ => Notice::Terminate,
        })
    }
}

impl AsFd for SignalPipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_read().as_fd()
    }
}

/// What a process that draws on a terminal has to react to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalNotice {
    /// SIGWINCH: the terminal has another size.
    Resized,
    /// SIGTSTP: Ctrl-Z. Give the terminal back, and call [`suspend`].
    Suspend,
    /// SIGCONT: this process continues after it was stopped.
    Continued,
}

/// Becomes readable when something has happened to the terminal.
pub struct TerminalSignals(Delivery);

impl TerminalSignals {
    /// Catches the signals of [`TerminalNotice`].
    pub fn new() -> io::Result<TerminalSignals> {
        open(&[SIGWINCH, SIGTSTP, SIGCONT]).map(TerminalSignals)
    }

    /// What has happened since the last call.
    pub fn drain(&mut self) -> impl Iterator<Item = TerminalNotice> + use<> {
        self.0.pending().map(|signal| match signal {
            SIGTSTP => TerminalNotice::Suspend,
            SIGCONT => TerminalNotice::Continued,
            _ => TerminalNotice::Resized,
        })
    }
}

impl AsFd for TerminalSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_read().as_fd()
    }
}

fn open(signals: &[i32]) -> io::Result<Delivery> {
    // A signal that `nohup` and the like have ignored stays ignored.
    let ignored = ignored_signals();
    let signals = signals.iter().filter(|signal| ignored & (1 << (**signal - 1)) == 0);
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    write.set_nonblocking(true)?;
    SignalDelivery::with_pipe(read, write, SignalOnly, signals)
}

/// Stops this process as Ctrl-Z does without a handler. Returns when the process is continued.
pub fn suspend() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
}

/// The signals that this process was started to ignore, a bit for each.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
