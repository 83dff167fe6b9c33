//! What a server has said, for targets that speak with one.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Takes what is said, and can be asked for it by another thread.
#[derive(Clone, Default)]
pub(crate) struct Said(Arc<(Mutex<Speech>, Condvar)>);

#[derive(Default)]
struct Speech {
    bytes: Vec<u8>,
    is_over: bool,
}

impl Said {
    /// All messages so far. Nothing else is ever said.
    pub(crate) fn messages(&self) -> Vec<Value> {
        messages(&self.speech())
    }

    /// Waits until the messages are as they should be, nothing more is said, or the time is over.
    pub(crate) fn await_that(&self, limit: Duration, are_right: impl Fn(&[Value]) -> bool) {
        let until = Instant::now() + limit;
        let mut speech = self.speech();
        while !speech.is_over && !are_right(&messages(&speech)) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.0.1.wait_timeout(speech, left);
            (speech, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Nothing more is said.
    pub(crate) fn end(&self) {
        self.speech().is_over = true;
        self.0.1.notify_all();
    }

    fn speech(&self) -> MutexGuard<'_, Speech> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.speech().bytes.extend_from_slice(bytes);
        self.0.1.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn messages(speech: &Speech) -> Vec<Value> {
    let said = String::from_utf8_lossy(&speech.bytes);
    let messages: Vec<Value> =
        said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(
        messages.len(),
        said.lines().count(),
        "not everything that was said is JSON: {said}"
    );
    messages
}
