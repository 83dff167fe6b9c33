//! The caller's end of a task: a child of the local supervisor that prints what happens on the machine that carries it out.
//!
//! It prints the events of one attempt at a time, in our own format. When another attempt begins, its events follow, behind a
//! warning. The result that the server has decides which attempt counts.

mod attempts;
mod dialogue;
mod follow;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt;
use model::{Event, LeftAnswer, Message, Outcome, Record, RemoteTask, RunId, SessionId};
use serde::Deserialize;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use self::follow::Following;
use crate::connection::KEPT;
use crate::departure::{send_directory_by_way_of, send_worktree};
use crate::tasks::{fetch_file, has_object};
use crate::{
    CHANGES, Command, CommandReply, EVENTS, Fleet, FleetError, Format, Pool, ServerAddress,
    TaskAddress, TaskMessage, TaskName, TaskResult, Tasks, WORKERS,
};

/// How long the supervisor may take to acknowledge the end.
const ACKNOWLEDGEMENT: Duration = Duration::from_secs(20);

/// What a relay must know.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct RelayOptions {
    pub server: ServerAddress,
    pub pool: Pool,
    pub task: RemoteTask,
    pub run_id: RunId,
    pub session_id: SessionId,
    /// What the runs of one call share.
    pub call: String,
    /// A worktree of ours, or a directory that is in no repository.
    pub directory: PathBuf,
    pub is_worktree: bool,
    /// Where files are on their way. The supervisor removes it if the relay cannot.
    pub scratch: PathBuf,
}

/// What the supervisor tells its child.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum RelayInput {
    Prompt,
    /// Something for the agent.
    Message {
        number: u64,
        #[serde(flatten)]
        message: Message,
    },
    Answer {
        number: u64,
        #[serde(flatten)]
        answer: LeftAnswer,
    },
    Acknowledged,
    /// A signal asks this process to end.
    #[serde(skip)]
    Terminate,
    /// The supervisor is gone.
    #[serde(skip)]
    Gone,
}

/// Sends a task, and prints what becomes of it until it has ended.
pub async fn relay(
    options: RelayOptions,
    inputs: UnboundedReceiver<RelayInput>,
    output: impl Write,
) -> Result<(), FleetError> {
    let mut printer = Printer { output, seq: 0 };
    let mut inputs = inputs;
    let begun = {
        let begin = Relay::begin(&options);
        tokio::pin!(begin);
        loop {
            tokio::select! {
                begun = &mut begin => break Some(begun),
                input = inputs.recv() => match input {
                    Some(RelayInput::Terminate | RelayInput::Gone) | None => break None,
                    Some(_) => {}
                },
            }
        }
    };
    let ended = match begun {
        None => ended(Outcome::Cancelled, "Cancelled before it was sent to the fleet"),
        Some(Err(error)) => {
            ended(Outcome::SpawnFailure, &format!("The task was not sent: {error}"))
        }
        Some(Ok(mut relay)) => match follow(&mut relay, &mut inputs, &mut printer).await {
            Ok(ended) => {
                relay.clean_up().await;
                ended
            }
            Err(error) => {
                ended(Outcome::Interrupted, &format!("The task was lost sight of: {error}"))
            }
        },
    };
    let is_stopped =
        matches!(ended, Event::RunEnded { outcome: Outcome::Cancelled | Outcome::Interrupted, .. });
    printer.print(ended);
    if is_stopped {
        // A supervisor that stops its child says nothing more to it.
        return Ok(());
    }
    let acknowledged = async {
        while let Some(input) = inputs.recv().await {
            if matches!(input, RelayInput::Acknowledged | RelayInput::Gone) {
                return;
            }
        }
    };
    let _ = timeout(ACKNOWLEDGEMENT, acknowledged).await;
    Ok(())
}

async fn follow(
    relay: &mut Relay<'_>,
    inputs: &mut UnboundedReceiver<RelayInput>,
    printer: &mut Printer<impl Write>,
) -> Result<Event, FleetError> {
    Following::begin(relay, inputs, printer).await?.until_end().await
}

fn ended(outcome: Outcome, error: &str) -> Event {
    let error = Some(error.to_owned());
    Event::RunEnded { outcome, error, exit_code: None, signal: None, leftovers: None }
}

fn warning(message: impl Into<String>) -> Event {
    Event::Warning { message: message.into() }
}

/// Prints events, numbered anew: they come from more than one attempt.
struct Printer<W> {
    output: W,
    seq: u64,
}

impl<W: Write> Printer<W> {
    fn print(&mut self, event: Event) {
        self.seq += 1;
        let record = Record { seq: self.seq, at: runner::now_ms(), event };
        let Ok(mut line) = serde_json::to_vec(&record) else { return };
        line.push(b'\n');
        // A supervisor that does not read any more has closed the input, too.
        let _ = self.output.write_all(&line).and_then(|()| self.output.flush());
    }
}

struct Relay<'a> {
    options: &'a RelayOptions,
    fleet: Fleet,
    tasks: Tasks,
    events: Stream,
    address: TaskAddress,
    /// Where the task stands in the queue's stream.
    sequence: u64,
    /// What should be said before anything else.
    warnings: Vec<String>,
    is_cancelled: bool,
    /// Whether the server still has what the agent changed because it could not be brought back.
    has_left_changes: bool,
}

impl<'a> Relay<'a> {
    /// Sends the files and the task.
    async fn begin(options: &'a RelayOptions) -> Result<Relay<'a>, FleetError> {
        let fleet = Fleet::connect(&options.server, "pi-subagents relay").await?;
        fleet.set_up().await?;
        let name = |text: &str| {
            TaskName::parse(text).map_err(|error| FleetError::Failed {
                what: "name the task".to_owned(),
                reason: error.to_string(),
            })
        };
        let address = TaskAddress {
            pool: options.pool.clone(),
            batch: name(&format!("call-{}", options.call))?,
            task: name(options.run_id.as_str())?,
        };
        let (directory, scratch) = (&options.directory, &options.scratch);
        let snapshot = match options.is_worktree {
            true => send_worktree(&fleet, directory, scratch).await?,
            false => send_directory_by_way_of(&fleet, directory, false, scratch).await?,
        };
        let (tasks, events) = (Tasks::open(&fleet).await?, fleet.stream(EVENTS).await?);
        let message = TaskMessage {
            format: Format,
            address: address.clone(),
            run_id: options.run_id.clone(),
            session_id: options.session_id.clone(),
            is_attended: true,
            snapshot: Some(snapshot),
            task: options.task.clone(),
        };
        // A worker asks at once whether this caller is there.
        let warnings = match workers_of(&fleet, &options.pool).await {
            0 => {
                vec![format!("No worker of the pool \"{}\" is there; the task waits", options.pool)]
            }
            _ => Vec::new(),
        };
        let mut relay = Relay {
            options,
            fleet,
            tasks,
            events,
            address,
            sequence: 0,
            warnings,
            is_cancelled: false,
            has_left_changes: false,
        };
        let (subject, value) = (message.address.task_subject(), serde_json::to_vec(&message)?);
        let id = message.address.key();
        relay.sequence = relay.fleet.publish("queue the task", subject, &id, value).await?;
        Ok(relay)
    }

    /// Brings back what the agent changed. Returns the end of the run.
    async fn conclude(&mut self, result: &TaskResult, printer: &mut Printer<impl Write>) -> Event {
        if let Err(problem) = self.bring_back(result).await {
            self.has_left_changes = true;
            printer.print(warning(format!(
                "What the agent changed could not be brought back: {problem}. The server keeps it for {} days, as a git \
                 bundle: {} in the object store {CHANGES}",
                KEPT.as_secs() / (24 * 60 * 60),
                self.address.changes_name(result.attempt)
            )));
        }
        result.end()
    }

    async fn chunks(&self, subject: &str) -> Result<pull::Ordered, FleetError> {
        let config = || pull::OrderedConfig {
            filter_subject: subject.to_owned(),
            ..pull::OrderedConfig::default()
        };
        self.fleet
            .patiently("read the events", async || -> Result<pull::Ordered, String> {
                let consumer = self.events.create_consumer(config()).await;
                let consumer = consumer.map_err(|error| error.to_string())?;
                consumer.messages().await.map_err(|error| error.to_string())
            })
            .await
    }

    async fn told_anew(&self, attempt: u32) -> Event {
        let state = self.tasks.state(&self.address).await.unwrap_or_default();
        let find = |number| state.attempts.iter().find(|attempt| attempt.number == number);
        let before = find(attempt.saturating_sub(1));
        let worker = |found: Option<&crate::Attempt>| {
            found.map_or_else(
                || "a worker".to_owned(),
                |found| format!("the worker {}", found.worker),
            )
        };
        let why = match before.and_then(|before| before.end) {
            Some(crate::AttemptEnd::HandedBack) => "was told to end and gave the task back",
            _ => "was lost",
        };
        warning(format!(
            "{} {why}; attempt {attempt} begins anew on {}",
            capitalized(&worker(before)),
            worker(find(attempt))
        ))
    }

    async fn await_result(&self) -> Result<TaskResult, FleetError> {
        self.fleet
            .patiently("read the result", async || match self.tasks.result(&self.address).await {
                Ok(Some(result)) => Ok(result),
                Ok(None) => Err("it is not there yet".to_owned()),
                Err(error) => Err(error.to_string()),
            })
            .await
    }

    /// Brings what the agent changed into the worktree, which the supervisor keeps.
    async fn bring_back(&self, result: &TaskResult) -> Result<(), String> {
        let Some(commit) = result.commit.clone().filter(|_| self.options.is_worktree) else {
            return Ok(());
        };
        let changes = self.fleet.objects(CHANGES).await.map_err(|error| error.to_string())?;
        let bundle = self.options.scratch.join("changes.bundle");
        let name = self.address.changes_name(result.attempt);
        let fetched = fetch_file(&self.fleet, &changes, &name, &bundle).await;
        fetched.map_err(|error| error.to_string())?;
        workspace::receive_result(&self.options.directory, &bundle, &commit)
            .map_err(|error| error.to_string())
    }

    /// Marks the task as not wanted, and tells its worker. Returns whether there is one.
    async fn cancel(&mut self) -> Result<bool, FleetError> {
        self.is_cancelled = true;
        let marked = self.tasks.change(&self.address, |state| {
            state.is_cancelled = true;
            Ok::<bool, ()>(state.running().is_some())
        });
        let is_running = marked.await?.unwrap_or_default();
        if is_running {
            let _ = self.command(Command::Cancel { format: Format, is_forced: false }).await;
        } else if let Ok(queue) = self.fleet.jetstream().get_stream(crate::TASKS).await {
            let _ = queue.delete_message(self.sequence).await;
        }
        Ok(is_running)
    }

    /// Tells the worker something, and returns what it says to that.
    fn command(
        &self,
        command: Command,
    ) -> impl Future<Output = Result<CommandReply, FleetError>> + use<> {
        let (client, subject) = (self.fleet.client().clone(), self.address.command_subject());
        async move {
            let failed =
                |reason: String| FleetError::Failed { what: "reach the worker".to_owned(), reason };
            let value = serde_json::to_vec(&command)?;
            let reply = client.request(subject, value.into()).await;
            let reply = reply.map_err(|error| failed(error.to_string()))?;
            Ok(serde_json::from_slice(&reply.payload)?)
        }
    }

    /// Removes what is kept here by now. What cannot be removed goes by its age.
    async fn clean_up(&self) {
        let _ = self.events.purge().filter(self.address.event_subjects()).await;
        if self.has_left_changes {
            return;
        }
        if let Ok(changes) = self.fleet.jetstream().get_object_store(CHANGES).await {
            let state = self.tasks.state(&self.address).await.unwrap_or_default();
            for attempt in state.attempts {
                let name = self.address.changes_name(attempt.number);
                if has_object(&changes, &name).await {
                    let _ = changes.delete(&name).await;
                }
            }
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

async fn workers_of(fleet: &Fleet, pool: &Pool) -> usize {
    let Ok(bucket) = fleet.jetstream().get_key_value(WORKERS).await else { return 0 };
    let Ok(keys) = bucket.keys().await else { return 0 };
    let prefix = format!("{}.", pool.token());
    keys.filter(|key| {
        let is_of_pool = key.as_ref().is_ok_and(|key| key.starts_with(&prefix));
        async move { is_of_pool }
    })
    .count()
    .await
}
