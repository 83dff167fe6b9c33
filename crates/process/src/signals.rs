//! Signals as something that can be polled.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
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

/// What a signal means to a process that does not draw.
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
    /// SIGCONT, which does nothing else to a process that runs.
    Continued,
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

/// Becomes readable when a signal has arrived.
pub struct Signals<Meaning> {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    meaning: fn(i32) -> Meaning,
}

/// The signals that ask a process to end, and perhaps the ends of its children.
pub type SignalPipe = Signals<Notice>;

/// The signals about a terminal.
pub type TerminalSignals = Signals<TerminalNotice>;

impl SignalPipe {
    /// Catches the signals that ask this process to end.
    pub fn for_quitting() -> io::Result<SignalPipe> {
        Signals::open(&[SIGINT, SIGTERM, SIGHUP], notice)
    }

    /// Catches those, the end of children, and what wakes a process.
    pub fn for_supervising() -> io::Result<SignalPipe> {
        Signals::open(&[SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGCONT], notice)
    }
}

impl TerminalSignals {
    /// Catches the signals of [`TerminalNotice`].
    pub fn new() -> io::Result<TerminalSignals> {
        Signals::open(&[SIGWINCH, SIGTSTP, SIGCONT], |signal| match signal {
            SIGTSTP => TerminalNotice::Suspend,
            SIGCONT => TerminalNotice::Continued,
            _ => TerminalNotice::Resized,
        })
    }
}

fn notice(signal: i32) -> Notice {
    match signal {
        SIGCHLD => Notice::ChildEnded,
        SIGCONT => Notice::Continued,
        SIGINT => Notice::Interrupt,
        SIGHUP => Notice::Hangup,
        _ => Notice::Terminate,
    }
}

impl<Meaning> Signals<Meaning> {
    fn open(signals: &[i32], meaning: fn(i32) -> Meaning) -> io::Result<Signals<Meaning>> {
        // A signal that `nohup` and the like have ignored stays ignored.
        let ignored = ignored_signals();
        let signals = signals.iter().filter(|signal| ignored & (1 << (**signal - 1)) == 0);
        let (read, write) = UnixStream::pair()?;
        read.set_nonblocking(true)?;
        write.set_nonblocking(true)?;
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, signals)?;
        Ok(Signals { delivery, meaning })
    }

    /// Whether a signal has arrived since the last call of [`Signals::drain`].
    pub fn is_told(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut fds = [PollFd::new(self, PollFlags::IN)];
        poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }

    /// What has arrived since the last call. Equal signals may have become one.
    pub fn drain(&mut self) -> impl Iterator<Item = Meaning> + use<Meaning> {
        self.delivery.pending().map(self.meaning)
    }
}

impl<Meaning> AsFd for Signals<Meaning> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }
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
