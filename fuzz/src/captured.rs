//! The output of a server, for targets that talk to one.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A writer that keeps everything, for another thread to read.
#[derive(Clone, Default)]
pub(crate) struct Captured(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    is_over: bool,
}

impl Captured {
    /// All messages so far. Fails if something else was written.
    pub(crate) fn messages(&self) -> Vec<Value> {
        messages(&self.state())
    }

    /// Waits until the messages satisfy the condition, the output has ended, or the time is over.
    pub(crate) fn wait_until(&self, limit: Duration, condition: impl Fn(&[Value]) -> bool) {
        let until = Instant::now() + limit;
        let mut state = self.state();
        while !state.is_over && !condition(&messages(&state)) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.0.1.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Marks the end of the output.
    pub(crate) fn end(&self) {
        self.state().is_over = true;
        self.0.1.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.state().bytes.extend_from_slice(bytes);
        self.0.1.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn messages(state: &State) -> Vec<Value> {
    let output = String::from_utf8_lossy(&state.bytes);
    let messages: Vec<Value> =
        output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(
        messages.len(),
        output.lines().count(),
        "not everything that was written is JSON: {output}"
    );
    messages
}
