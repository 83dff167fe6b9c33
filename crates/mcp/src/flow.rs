//! How much of a client's work is taken on at a time.
//!
//! A client can send faster than it reads, or not read at all. Then its requests wait in the pipe, and
//! nothing here grows: a request is begun only while there is room for its answer, and only so many
//! are read ahead. Reading ahead at all is what lets a client cancel a request behind others.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// How many messages are read ahead of those that are under way.
const READ_AHEAD: usize = 64;
/// How many bytes all messages may have that were read and not answered. One may have more.
const INPUT_BYTES: usize = 64 * 1024 * 1024;
/// How many requests are under way. Most of them are calls that wait for their tasks.
const UNDER_WAY: usize = 256;
/// How many of them may have a long answer.
const LONG_UNDER_WAY: usize = 8;
/// With so many bytes that the client has not taken, no further request is begun.
const UNSENT_BYTES: usize = 1024 * 1024;

/// How long the answer to a request can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerSize {
    Short,
    /// As long as a session, or a list of all.
    Long,
}

/// Counts what is under way. All clones count the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Wakes the thread that reads.
    has_room: Condvar,
    /// Wakes the task that begins requests.
    has_changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    read_ahead: usize,
    input_bytes: usize,
    under_way: usize,
    long_under_way: usize,
    unsent_bytes: usize,
    is_closed: bool,
}

/// A request that is under way. It counts until the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct UnderWay {
    _request: Arc<Counted>,
}

#[derive(Debug)]
struct Counted {
    flow: Flow,
    bytes: usize,
    size: AnswerSize,
}

impl Flow {
    /// Waits until a message of this length may be read ahead, but not for long. True if it may, and
    /// then it counts until [`Flow::begin`] or [`Flow::skip`].
    pub(crate) fn wait_to_read(&self, bytes: usize, limit: Duration) -> bool {
        let is_full = |state: &mut State| {
            let is_too_long = state.input_bytes > 0 && state.input_bytes + bytes > INPUT_BYTES;
            !state.is_closed && (state.read_ahead >= READ_AHEAD || is_too_long)
        };
        let waited = self.shared.has_room.wait_timeout_while(self.lock(), limit, is_full);
        let (mut state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() && is_full(&mut state) {
            return false;
        }
        state.read_ahead += 1;
        state.input_bytes += bytes;
        true
    }

    /// Begins a request that was read ahead, if there is room for it and its answer.
    pub(crate) fn begin(&self, bytes: usize, size: AnswerSize) -> Option<UnderWay> {
        let mut state = self.lock();
        let is_long = size == AnswerSize::Long;
        let has_room = state.unsent_bytes < UNSENT_BYTES
            && state.under_way < UNDER_WAY
            && (!is_long || state.long_under_way < LONG_UNDER_WAY);
        if !has_room && !state.is_closed {
            return None;
        }
        state.read_ahead = state.read_ahead.saturating_sub(1);
        state.under_way += 1;
        state.long_under_way += usize::from(is_long);
        drop(state);
        self.wake();
        Some(UnderWay { _request: Arc::new(Counted { flow: self.clone(), bytes, size }) })
    }

    /// Whether there is room for a short answer that is given at once.
    pub(crate) fn can_answer(&self) -> bool {
        let state = self.lock();
        state.is_closed || state.unsent_bytes < UNSENT_BYTES
    }

    /// Forgets a message that was read ahead and needs nothing more.
    pub(crate) fn skip(&self, bytes: usize) {
        let mut state = self.lock();
        state.read_ahead = state.read_ahead.saturating_sub(1);
        state.input_bytes = state.input_bytes.saturating_sub(bytes);
        drop(state);
        self.wake();
    }

    /// These bytes are on their way to the client.
    pub(crate) fn send(&self, bytes: usize) {
        self.lock().unsent_bytes += bytes;
    }

    /// The client has taken these bytes.
    pub(crate) fn sent(&self, bytes: usize) {
        let mut state = self.lock();
        state.unsent_bytes = state.unsent_bytes.saturating_sub(bytes);
        drop(state);
        self.wake();
    }

    /// Nothing more will be read, so what was read ahead is begun without waiting.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.wake();
    }

    /// Waits until something here may have changed.
    pub(crate) async fn changed(&self) {
        self.shared.has_changed.notified().await;
    }

    fn end(&self, bytes: usize, size: AnswerSize) {
        let mut state = self.lock();
        state.under_way = state.under_way.saturating_sub(1);
        let is_long = size == AnswerSize::Long;
        state.long_under_way = state.long_under_way.saturating_sub(usize::from(is_long));
        state.input_bytes = state.input_bytes.saturating_sub(bytes);
        drop(state);
        self.wake();
    }

    fn wake(&self) {
        self.shared.has_room.notify_all();
        self.shared.has_changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked while it held the lock has left nothing half done.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.flow.end(self.bytes, self.size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Duration = Duration::ZERO;

    #[test]
    fn only_so_many_messages_and_bytes_are_read_ahead() {
        let flow = Flow::default();
        for _ in 0..READ_AHEAD {
            assert!(flow.wait_to_read(10, AT_ONCE));
        }
        assert!(!flow.wait_to_read(10, AT_ONCE));
        let begun = flow.begin(10, AnswerSize::Short);
        assert!(
            begun.is_some() && flow.wait_to_read(10, AT_ONCE) && !flow.wait_to_read(0, AT_ONCE)
        );
        flow.skip(10);
        assert!(!flow.wait_to_read(INPUT_BYTES, AT_ONCE), "others have bytes, too");
        assert!(Flow::default().wait_to_read(2 * INPUT_BYTES, AT_ONCE), "one may have more");
        flow.close();
        assert!(flow.wait_to_read(INPUT_BYTES, AT_ONCE));
    }

    #[test]
    fn nothing_is_begun_while_the_client_does_not_read() {
        let flow = Flow::default();
        flow.send(UNSENT_BYTES);
        assert!(!flow.can_answer() && flow.begin(1, AnswerSize::Short).is_none());
        flow.sent(1);
        assert!(flow.can_answer() && flow.begin(1, AnswerSize::Short).is_some());
    }

    #[test]
    fn few_requests_with_long_answers_are_under_way_at_a_time() {
        let flow = Flow::default();
        let mut begun: Vec<UnderWay> =
            (0..LONG_UNDER_WAY).filter_map(|_| flow.begin(1, AnswerSize::Long)).collect();
        assert!(begun.len() == LONG_UNDER_WAY && flow.begin(1, AnswerSize::Long).is_none());
        while begun.len() < UNDER_WAY {
            begun.extend(flow.begin(1, AnswerSize::Short));
        }
        assert!(flow.begin(1, AnswerSize::Short).is_none());
        let kept = begun[0].clone();
        begun.remove(0);
        assert!(flow.begin(1, AnswerSize::Long).is_none(), "a clone is kept");
        drop(kept);
        assert!(flow.begin(1, AnswerSize::Long).is_some());
    }
}
