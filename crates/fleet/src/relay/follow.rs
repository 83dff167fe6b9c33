//! Follows a task that was sent: one attempt at a time, until the task has ended.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use async_nats::jetstream::Message as StoredMessage;
use async_nats::jetstream::consumer::pull;
use async_nats::{Message, Subscriber};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use model::{Event, Outcome};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::attempts::{FollowedAttempt, OnResult};
use super::dialogue::Dialogue;
use super::{Printer, Relay, RelayInput, ended, warning};
use crate::{CallerPing, CommandReply, FleetError, TaskResult};

/// How long the end of a cancelled task is waited for. The supervisor kills its child a little later.
const CANCEL_PATIENCE: Duration = Duration::from_millis(4_500);
/// How often the result is looked for while nothing arrives: its worker may have died before it said so.
const LOOK: Duration = Duration::from_secs(5);
/// When a command is sent again that its worker did not take.
const AGAIN: Duration = Duration::from_millis(300);
/// How long the fate of a message may stay open behind the end of the run.
const SETTLED: Duration = Duration::from_secs(2);
/// When the events are asked for again after the server has broken off.
const RECONNECT: Duration = Duration::from_millis(100);
/// As good as never.
const LONG: Duration = Duration::from_secs(3600);

type Reply = Result<CommandReply, FleetError>;

pub(super) struct Following<'f, 'a, W> {
    relay: &'f mut Relay<'a>,
    printer: &'f mut Printer<W>,
    inputs: &'f mut UnboundedReceiver<RelayInput>,
    pings: Subscriber,
    chunks: pull::Ordered,
    attempt: FollowedAttempt,
    dialogue: Dialogue,
    /// One command at a time, so that they arrive in their order.
    sending: FuturesUnordered<BoxFuture<'static, Reply>>,
    send_at: Instant,
    look_at: Instant,
    give_up_at: Option<Instant>,
    refused_by: BTreeSet<String>,
}

impl<'f, 'a, W: Write> Following<'f, 'a, W> {
    /// Listens to the workers of a task that was sent.
    pub(super) async fn begin(
        relay: &'f mut Relay<'a>,
        inputs: &'f mut UnboundedReceiver<RelayInput>,
        printer: &'f mut Printer<W>,
    ) -> Result<Self, FleetError> {
        for message in std::mem::take(&mut relay.warnings) {
            printer.print(warning(message));
        }
        let client = relay.fleet.client();
        let pings = relay
            .fleet
            .patiently("listen to its worker", async || {
                client.subscribe(relay.address.caller_subject()).await
            })
            .await?;
        let chunks = relay.chunks(&relay.address.event_subjects()).await?;
        Ok(Following {
            relay,
            printer,
            inputs,
            pings,
            chunks,
            attempt: FollowedAttempt::default(),
            dialogue: Dialogue::default(),
            sending: FuturesUnordered::new(),
            send_at: Instant::now(),
            look_at: Instant::now() + LOOK,
            give_up_at: None,
            refused_by: BTreeSet::new(),
        })
    }

    /// Prints what happens until the task has ended, and returns how.
    pub(super) async fn until_end(mut self) -> Result<Event, FleetError> {
        loop {
            if let Some(ended) = self.step().await? {
                return Ok(ended);
            }
        }
    }

    /// Waits for one thing to happen. Returns how the task has ended, if it has.
    async fn step(&mut self) -> Result<Option<Event>, FleetError> {
        let command = self.dialogue.next().filter(|_| self.sending.is_empty());
        let has_command = command.is_some();
        if let Some(command) = command.filter(|_| Instant::now() >= self.send_at) {
            self.sending.push(Box::pin(self.relay.command(command)));
            return Ok(None);
        }
        let give_up = self.give_up_at.unwrap_or_else(|| Instant::now() + LONG);
        tokio::select! {
            Some(ping) = self.pings.next() => self.on_ping(ping).await,
            Some(reply) = self.sending.next(), if !self.sending.is_empty() => self.on_reply(reply),
            () = sleep_until(self.send_at), if has_command => {}
            chunk = self.chunks.next() => match chunk {
                Some(Ok(chunk)) => return self.on_chunk(&chunk).await,
                // The stream's leader is gone, for example.
                Some(Err(_)) | None => {
                    sleep(RECONNECT).await;
                    self.chunks = self.relay.chunks(&self.relay.address.event_subjects()).await?;
                }
            },
            input = self.inputs.recv() => return self.on_input(input).await,
            () = sleep_until(give_up) => {
                let words = "Cancelled; its worker has not said yet that nothing is left";
                return Ok(Some(ended(Outcome::Cancelled, words)));
            }
            () = sleep_until(self.look_at) => return self.on_silence().await,
        }
        Ok(None)
    }

    /// A worker asks whether this caller is there, or says that it does not take the task.
    async fn on_ping(&mut self, ping: Message) {
        if let Some(reply) = ping.reply {
            let _ = self.relay.fleet.client().publish(reply, "here".into()).await;
        } else if let Ok(CallerPing { worker, refusal: Some(reason), .. }) =
            serde_json::from_slice(&ping.payload)
            && self.refused_by.insert(worker.clone())
        {
            let words = format!("The worker {worker} does not take the task: {reason}");
            self.printer.print(warning(words));
        }
    }

    fn on_reply(&mut self, reply: Reply) {
        match reply {
            Ok(reply) if !reply.is_early => {
                let events = self.dialogue.replied(reply);
                self.print(events);
            }
            // Its worker may be gone; then another one begins.
            Ok(_) | Err(_) => self.send_at = Instant::now() + AGAIN,
        }
    }

    async fn on_chunk(&mut self, chunk: &StoredMessage) -> Result<Option<Event>, FleetError> {
        self.look_at = Instant::now() + LOOK;
        let number = chunk.subject.rsplit('.').next().and_then(|text| text.parse().ok());
        let number: u32 = number.unwrap_or_default();
        if !self.attempt.accepts(number) {
            return Ok(None);
        }
        if number != self.attempt.number() {
            self.begin_attempt(number, false).await?;
        }
        for record in self.attempt.read(&chunk.payload) {
            match record.event {
                Event::RunEnded { .. } => return self.on_end().await,
                // The supervisor here keeps what has come back.
                Event::ChangesKept { .. } => {}
                event => {
                    let events = self.dialogue.translate(event);
                    self.print(events);
                }
            }
        }
        Ok(None)
    }

    /// The attempt has said that it has ended.
    async fn on_end(&mut self) -> Result<Option<Event>, FleetError> {
        let result = self.relay.await_result().await?;
        match self.attempt.on_end(&result) {
            OnResult::Switch => self.begin_attempt(result.attempt, true).await.map(|()| None),
            OnResult::Conclude | OnResult::LookAgain => Ok(Some(self.conclude(&result).await)),
            OnResult::ConcludeWithGap => Ok(Some(self.conclude_with_gap(&result).await)),
        }
    }

    /// Nothing has arrived for a while: the worker may have died before it could say that the attempt has ended.
    async fn on_silence(&mut self) -> Result<Option<Event>, FleetError> {
        self.look_at = Instant::now() + LOOK;
        let Some(result) = self.relay.tasks.result(&self.relay.address).await? else {
            return Ok(None);
        };
        match self.attempt.on_result(&result) {
            // What came before was sent before the result.
            OnResult::Conclude => return Ok(Some(self.conclude(&result).await)),
            OnResult::ConcludeWithGap => return Ok(Some(self.conclude_with_gap(&result).await)),
            OnResult::LookAgain => {
                let subject = self.relay.address.event_subject(self.attempt.number());
                self.chunks = self.relay.chunks(&subject).await?;
            }
            OnResult::Switch => self.begin_attempt(result.attempt, true).await?,
        }
        Ok(None)
    }

    /// Follows another attempt. What was said to the agent of the one before, and by it, is not this one's.
    async fn begin_attempt(&mut self, number: u32, is_final: bool) -> Result<(), FleetError> {
        let before = self.attempt.number();
        if number < before {
            self.printer.print(warning(format!("Attempt {number} has ended first")));
        } else if before > 0 {
            self.printer.print(self.relay.told_anew(number).await);
        }
        self.sending.clear();
        let withdrawn = self.dialogue.begin_attempt(number, is_final);
        self.print(withdrawn);
        self.attempt.switch_to(number, is_final);
        if is_final {
            self.chunks = self.relay.chunks(&self.relay.address.event_subject(number)).await?;
        }
        Ok(())
    }

    /// The followed attempt is the one that counts, and nothing more comes from it.
    async fn conclude(&mut self, result: &TaskResult) -> Event {
        // What the agent has heard is known of every message.
        if let Ok(Some(Ok(reply))) = timeout(SETTLED, self.sending.next()).await {
            let events = self.dialogue.replied(reply);
            self.print(events);
        }
        let events = self.dialogue.end();
        self.print(events);
        self.relay.conclude(result, self.printer).await
    }

    async fn conclude_with_gap(&mut self, result: &TaskResult) -> Event {
        let words = "Something of what the agent said has not arrived";
        self.printer.print(warning(words));
        self.conclude(result).await
    }

    async fn on_input(&mut self, input: Option<RelayInput>) -> Result<Option<Event>, FleetError> {
        match input {
            Some(RelayInput::Terminate) if !self.relay.is_cancelled => {
                if !self.relay.cancel().await? {
                    let words = "Cancelled before a worker had begun with it";
                    return Ok(Some(ended(Outcome::Cancelled, words)));
                }
                self.give_up_at = Some(Instant::now() + CANCEL_PATIENCE);
            }
            Some(RelayInput::Gone) | None => {
                self.relay.cancel().await?;
                return Ok(Some(ended(Outcome::Interrupted, "The supervisor is gone")));
            }
            Some(RelayInput::Message { number, message }) => self.dialogue.say(number, message),
            Some(RelayInput::Answer { number, answer }) => self.dialogue.answer(number, answer),
            Some(_) => {}
        }
        Ok(None)
    }

    fn print(&mut self, events: Vec<Event>) {
        events.into_iter().for_each(|event| self.printer.print(event));
    }
}
