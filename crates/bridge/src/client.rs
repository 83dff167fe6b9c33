//! The extension, as the bridge talks to it.

use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::message::{Outgoing, Problem};

/// Names a request of ours.
pub(crate) type RequestId = u64;

/// The other end of the wire. One thread serves calls, and each command that asks the user something has
/// a thread of its own, so that several can send.
#[derive(Clone)]
pub(crate) struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    output: Mutex<Box<dyn Write + Send>>,
    /// Our requests that are not answered yet; none any more once the extension is gone.
    unanswered: Mutex<Option<HashMap<RequestId, Sender<Value>>>>,
    next_id: AtomicU64,
}

impl Client {
    pub(crate) fn new(output: Box<dyn Write + Send>) -> Client {
        let (output, unanswered) = (Mutex::new(output), Mutex::new(Some(HashMap::new())));
        Client { shared: Arc::new(Shared { output, unanswered, next_id: AtomicU64::new(1) }) }
    }

    pub(crate) fn answer(&self, id: &Value, result: &Value) {
        self.send(&Outgoing { id: Some(id), result: Some(result), ..Outgoing::default() });
    }

    pub(crate) fn refuse(&self, id: &Value, code: i64, message: &str) {
        let error = Some(Problem { code, message: &session::clean(message) });
        self.send(&Outgoing { id: Some(id), error, ..Outgoing::default() });
    }

    pub(crate) fn notify(&self, method: &str, params: &Value) {
        let (method, params) = (Some(method), Some(params));
        self.send(&Outgoing { method, params, ..Outgoing::default() });
    }

    /// Shows a message to the user.
    pub(crate) fn show(&self, text: &str, level: &str) {
        self.notify("ui/notify", &json!({"message": session::clean(text), "level": level}));
    }

    /// Adds a message to the conversation.
    pub(crate) fn add_message(&self, kind: &str, text: &str, details: &Value) {
        let content = session::clean(text);
        let message = json!({"customType": kind, "content": content, "details": details});
        self.notify("session/message", &message);
    }

    /// Asks the user something and waits for the answer. Nothing if the extension refuses, or is gone. The
    /// thread that reads the answers must not call this.
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Option<Value> {
        self.begin(method, params).1.recv().ok()
    }

    /// Asks the user something. The answer comes to the receiver; nothing if the extension refuses, is gone, or
    /// the request is taken back.
    pub(crate) fn begin(&self, method: &str, params: &Value) -> (RequestId, Receiver<Value>) {
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = channel();
        if let Some(unanswered) = lock(&self.shared.unanswered).as_mut() {
            unanswered.insert(id, sender);
        }
        let (method, params, json) = (Some(method), Some(params), json!(id));
        self.send(&Outgoing { id: Some(&json), method, params, ..Outgoing::default() });
        (id, receiver)
    }

    /// Takes a request back, unless it has its answer: the user is not asked any more.
    pub(crate) fn take_back(&self, id: RequestId) {
        if self.forget(id).is_some() {
            self.notify("ui/cancel", &json!({"id": id}));
        }
    }

    /// Passes an answer to the thread that waits for it.
    pub(crate) fn resolve(&self, id: RequestId, result: Option<Value>) {
        // Without a result the sender is dropped, which ends the waiting.
        if let (Some(sender), Some(result)) = (self.forget(id), result) {
            let _ = sender.send(result);
        }
    }

    /// Ends the waiting for all answers: the extension is gone.
    pub(crate) fn hang_up(&self) {
        lock(&self.shared.unanswered).take();
    }

    fn forget(&self, id: RequestId) -> Option<Sender<Value>> {
        lock(&self.shared.unanswered).as_mut()?.remove(&id)
    }

    fn send(&self, message: &Outgoing<'_>) {
        // Plain data with string keys always serialises.
        let mut line = serde_json::to_string(message).unwrap_or_default();
        line.push('\n');
        let mut output = lock(&self.shared.output);
        // An extension that does not read is gone, and then the input ends as well.
        let _ = output.write_all(line.as_bytes()).and_then(|()| output.flush());
    }
}

/// A thread that panicked while it held the lock has left nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
