//! A call on its way to the worker and back, as a task of the SDK waits for it.

use std::time::Instant;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use serde_json::Value;
use tokio::sync::{oneshot, watch};

use crate::answer::Reply;
use crate::flow::UnderWay;
use crate::worker::{CallHandle, CallNumber, CallRequest, Request, WaitingCaller};

/// A call that is under way. Dropping it before its answer cancels the call.
pub(crate) struct PendingCall {
    handle: CallHandle,
    number: CallNumber,
    answer: oneshot::Receiver<Reply>,
    reports: watch::Receiver<String>,
    progress: Option<Progress>,
}

impl PendingCall {
    /// Sends a call to the worker. With a token, the client gets reports about it.
    pub(crate) fn send(
        handle: CallHandle,
        token: Option<ProgressToken>,
        number: CallNumber,
        (name, arguments, is_full): (String, Value, bool),
        under_way: Option<UnderWay>,
    ) -> PendingCall {
        let (answer, answered) = oneshot::channel();
        let (sender, reports) = watch::channel(String::new());
        let progress = token.map(|token| Progress { token, began: Instant::now(), last: 0.0 });
        let sender = progress.is_some().then_some(sender);
        let caller =
            WaitingCaller { number, is_full, answer, progress: sender, _under_way: under_way };
        handle.send(Request::Call(Box::new(CallRequest { name, arguments, caller })));
        PendingCall { handle, number, answer: answered, reports, progress }
    }

    /// Waits for the answer, and passes on how the call stands until then.
    pub(crate) async fn wait(&mut self, peer: &Peer<RoleServer>) -> Option<Reply> {
        loop {
            tokio::select! {
                biased;
                reply = &mut self.answer => return reply.ok(),
                Ok(()) = self.reports.changed() => {
                    let report = self.reports.borrow_and_update().clone();
                    let Some(progress) = &mut self.progress else { continue };
                    // A client that reads nothing must not hold up the end of its call.
                    tokio::select! {
                        biased;
                        reply = &mut self.answer => return reply.ok(),
                        () = progress.notify(peer, report) => {}
                    }
                }
            }
        }
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        // The worker has forgotten the caller of a call that was answered, and does nothing then.
        self.handle.send(Request::Cancel(self.number));
    }
}

/// How far a call is.
struct Progress {
    token: ProgressToken,
    began: Instant,
    last: f64,
}

impl Progress {
    async fn notify(&mut self, peer: &Peer<RoleServer>, report: String) {
        // In seconds, since it is not known how much is left. The protocol wants them to grow.
        self.last = self.began.elapsed().as_secs_f64().max(self.last + 0.001);
        let progress = ProgressNotificationParam::new(self.token.clone(), self.last);
        // A client that is gone has closed its end.
        let _ = peer.notify_progress(progress.with_message(report)).await;
    }
}
