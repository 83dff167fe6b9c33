//! The extension, as the bridge talks to it.

use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::message::{Outgoing, Problem};

/// The other end. Several threads can talk to it: one answers calls, and each command that asks the
/// user something has its own.
#[derive(Clone)]
pub(crate) struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    output: Mutex<Box<dyn Write + Send>>,
    /// Who waits for the answer to which request.
    asked: Mutex<HashMap<u64, Sender<Value>>>,
    next: AtomicU64,
}

impl Client {
    pub(crate) fn new(output: Box<dyn Write + Send>) -> Client {
        let (output, asked) = (Mutex::new(output), Mutex::default());
        Client { shared: Arc::new(Shared { output, asked, next: AtomicU64::new(1) }) }
    }

    pub(crate) fn answer(&self, id: &Value, result: &Value) {
        self.send(&Outgoing { id: Some(id), result: Some(result), ..Outgoing::default() });
    }

    pub(crate) fn refuse(&self, id: &Value, code: i64, message: &str) {
        let error = Some(Problem { code, message: &session::clean(message) });
        self.send(&Outgoing { id: Some(id), error, ..Outgoing::default() });
    }

    pub(crate) fn tell(&self, method: &str, params: &Value) {
        let (method, params) = (Some(method), Some(params));
        self.send(&Outgoing { method, params, ..Outgoing::default() });
    }

    /// Shows the user something.
    pub(crate) fn notify(&self, text: &str, level: &str) {
        self.tell("ui/notify", &json!({"message": session::clean(text), "level": level}));
    }

    /// Puts a message into the conversation.
    pub(crate) fn say_in_conversation(&self, kind: &str, text: &str, details: &Value) {
        let content = session::clean(text);
        let message = json!({"customType": kind, "content": content, "details": details});
        self.tell("session/message", &message);
    }

    /// Asks the user for something and waits until it is answered. Nothing if nobody answers any more. Not
    /// for the thread that reads the answers.
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Option<Value> {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = channel();
        lock(&self.shared.asked).insert(id, sender);
        let (method, params, id) = (Some(method), Some(params), json!(id));
        self.send(&Outgoing { id: Some(&id), method, params, ..Outgoing::default() });
        receiver.recv().ok()
    }

    /// Hands an answer to whoever waits for it.
    pub(crate) fn resolve(&self, id: u64, result: Option<Value>) {
        // Without a result the sender is dropped, which tells as much.
        if let (Some(sender), Some(result)) = (lock(&self.shared.asked).remove(&id), result) {
            let _ = sender.send(result);
        }
    }

    fn send(&self, message: &Outgoing<'_>) {
        // Plain data with string keys always serialises.
        let mut line = serde_json::to_string(message).unwrap_or_default();
        line.push('\n');
        let mut output = lock(&self.shared.output);
        // An end that does not listen is gone, which its silence tells as well.
        let _ = output.write_all(line.as_bytes()).and_then(|()| output.flush());
    }
}

/// A thread that panicked with the lock has left nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
