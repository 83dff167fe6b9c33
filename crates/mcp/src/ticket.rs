//! A call on its way to the desk and back.

use std::time::Instant;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::{mpsc, oneshot};

use crate::answer::Reply;
use crate::desk::{Asked, CallNumber, Counter, Request};
use crate::pending::Caller;

/// A call that is under way. Whoever drops it unanswered gives it up.
pub(crate) struct Ticket {
    counter: Counter,
    number: CallNumber,
    pub(crate) answer: oneshot::Receiver<Reply>,
    words: mpsc::UnboundedReceiver<String>,
    progress: Option<Progress>,
}

impl Ticket {
    /// Hands a call in. With a token, the client is told how it stands.
    pub(crate) fn hand_in(
        counter: Counter,
        token: Option<ProgressToken>,
        asked: impl FnOnce(Caller) -> Asked,
    ) -> Ticket {
        let (answer, answered) = oneshot::channel();
        let (sender, words) = mpsc::unbounded_channel();
        let progress = token.map(|token| Progress { token, began: Instant::now(), last: 0.0 });
        let asked = asked(Caller { answer, progress: progress.is_some().then_some(sender) });
        let number = asked.number;
        counter.hand_in(Request::Call(Box::new(asked)));
        Ticket { counter, number, answer: answered, words, progress }
    }

    /// Waits for the answer, and tells the client how things stand until then.
    pub(crate) async fn wait(&mut self, peer: &Peer<RoleServer>) -> Option<Reply> {
        loop {
            tokio::select! {
                biased;
                reply = &mut self.answer => return reply.ok(),
                Some(words) = self.words.recv() => {
                    let Some(progress) = &mut self.progress else { continue };
                    // Nobody may take these words any more, and then there is no answer, either.
                    tokio::select! {
                        biased;
                        reply = &mut self.answer => return reply.ok(),
                        () = progress.tell(peer, words) => {}
                    }
                }
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // The desk expects nothing from one that was answered, so that this does nothing then.
        self.counter.hand_in(Request::Cancel(self.number));
    }
}

/// How far a call is.
struct Progress {
    token: ProgressToken,
    began: Instant,
    last: f64,
}

impl Progress {
    async fn tell(&mut self, peer: &Peer<RoleServer>, words: String) {
        // Seconds, since nobody knows how much is left. The protocol wants them to grow.
        self.last = self.began.elapsed().as_secs_f64().max(self.last + 0.001);
        let progress = ProgressNotificationParam::new(self.token.clone(), self.last);
        // A client that is gone is told so elsewhere.
        let _ = peer.notify_progress(progress.with_message(words)).await;
    }
}
