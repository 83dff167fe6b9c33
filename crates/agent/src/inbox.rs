//! What the agent waits for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use crate::commands::Command;
use crate::provider::{Piece, Provider, ProviderError, Request};
use crate::tools::{ToolError, ToolOutput};

#[derive(Debug)]
pub(crate) enum Input {
    Stop,
    /// A command from standard input.
    Command(Command),
    /// A piece of the answer to this request.
    Piece(u64, Piece),
    /// The answer to this request has ended.
    Answered(u64, Result<(), ProviderError>),
    /// The output so far of the tool call with this number.
    Report(usize, ToolOutput),
    /// The tool call with this number has ended.
    ToolEnded(usize, Result<ToolOutput, ToolError>),
}

/// How many inputs may be queued. Producers of more have to wait, so that a slow reader of our stream
/// slows down the provider instead of filling our memory.
const CAPACITY: usize = 64;

#[derive(Debug)]
pub(crate) struct Inbox {
    sender: SyncSender<Input>,
    receiver: Receiver<Input>,
    requests: u64,
}

impl Inbox {
    pub(crate) fn new() -> Inbox {
        let (sender, receiver) = sync_channel(CAPACITY);
        Inbox { sender, receiver, requests: 0 }
    }

    pub(crate) fn sender(&self) -> SyncSender<Input> {
        self.sender.clone()
    }

    /// Asks the provider on a thread of its own, which is abandoned when the agent stops. Returns
    /// the number of the request.
    pub(crate) fn ask(
        &mut self,
        provider: &Arc<dyn Provider>,
        request: Request,
    ) -> Result<u64, ProviderError> {
        self.requests += 1;
        let number = self.requests;
        let (provider, sender) = (Arc::clone(provider), self.sender.clone());
        let ask = move || {
            let mut sink = |piece| drop(sender.send(Input::Piece(number, piece)));
            let answered = catch_unwind(AssertUnwindSafe(|| provider.stream(&request, &mut sink)));
            let answered = answered.unwrap_or_else(|_| {
                Err(ProviderError::permanent("the answer of the provider could not be read"))
            });
            let _ = sender.send(Input::Answered(number, answered));
        };
        thread::Builder::new().spawn(ask).map(|_| number).map_err(|error| {
            ProviderError::temporary(format!("the provider could not be asked: {error}"))
        })
    }

    /// The next input, if there is one already.
    pub(crate) fn poll(&self) -> Option<Input> {
        self.receiver.try_recv().ok()
    }

    /// Waits for the next input, at most until the deadline.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Option<Input> {
        match deadline {
            // Cannot fail: we hold a sender ourselves.
            None => self.receiver.recv().ok(),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                self.receiver.recv_timeout(left).ok()
            }
        }
    }
}
