//! What callers, workers and the server's buckets tell each other. Each message has the version of its format, so that a
//! program of another version refuses what it does not understand.

use model::{
    Budget, Event, LeftAnswer, Message, Outcome, RemoteTask, RunId, RunResult, SessionId, Usage,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::TaskAddress;

/// The version of the messages. A higher one is refused.
pub const FORMAT: u32 = 1;

/// The version of a message: written always, and read only if this program understands it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Format;

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(FORMAT)
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Format, D::Error> {
        match u32::deserialize(deserializer)? {
            1..=FORMAT => Ok(Format),
            other => Err(serde::de::Error::custom(format_args!(
                "it has the format {other}, and this version understands up to {FORMAT}"
            ))),
        }
    }
}

/// A task in the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskMessage {
    #[expect(missing_docs, reason = "the type says it")]
    pub format: Format,
    #[expect(missing_docs, reason = "the type says it")]
    pub address: TaskAddress,
    /// The run that waits for it; a task of a batch has an id of its own, too.
    pub run_id: RunId,
    #[expect(missing_docs, reason = "the type says it")]
    pub session_id: SessionId,
    /// Whether a caller waits for the task, so that it ends with that caller.
    #[serde(default)]
    pub is_attended: bool,
    /// What the agent works on; an empty directory if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
    #[expect(missing_docs, reason = "the type says it")]
    pub task: RemoteTask,
}

/// The files on which an agent works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The commit, which is also the name of its bundle in [`crate::SNAPSHOTS`].
    pub commit: String,
    /// The directory of the task below the root, with `/` between its parts and none at its ends.
    #[serde(default)]
    pub directory: String,
    /// Whether what the agent changes comes back.
    #[serde(default)]
    pub wants_changes: bool,
}

/// What the server knows of a task besides its result. It changes by compare-and-set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskState {
    #[expect(missing_docs, reason = "the type says it")]
    pub format: Format,
    /// Whether the caller does not want the task any more.
    #[serde(default)]
    pub is_cancelled: bool,
    /// In their order; the last one runs unless it has an end.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
}

/// A worker's attempt to carry out a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Counts from one.
    pub number: u32,
    /// The id of the worker, as in [`crate::WORKERS`].
    pub worker: String,
    /// In milliseconds since 1970, by the clock of the worker.
    pub started_at: u64,
    /// In milliseconds: the worker stores the state of the task anew within this time. Another worker does not begin before it
    /// has passed by the server's clock without a change.
    pub lease: u64,
    /// The last attempt of a task has none while it runs, and none if its result is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<AttemptEnd>,
}

/// Why an attempt is not running any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// Its worker was told to end, and gave the task back. Such an attempt does not count.
    HandedBack,
    /// Its worker was not heard of any more.
    Lost,
    /// Something that a newer version knows.
    #[serde(other)]
    Other,
}

impl TaskState {
    /// How many attempts a task has. After so many that were lost it has failed.
    pub const ATTEMPTS: usize = 3;

    /// How many attempts ended with their workers.
    pub fn lost(&self) -> usize {
        self.attempts.iter().filter(|attempt| attempt.end == Some(AttemptEnd::Lost)).count()
    }

    /// The attempt that runs.
    pub fn running(&self) -> Option<&Attempt> {
        self.attempts.last().filter(|attempt| attempt.end.is_none())
    }
}

/// A part of the events of an attempt. The texts of all parts, one behind the other, are the lines of its `events.jsonl`, and
/// the last line is its terminal event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventChunk {
    #[expect(missing_docs, reason = "the type says it")]
    pub format: Format,
    /// Counts from one. What arrives twice has the same number.
    pub number: u64,
    /// Cut anywhere between two characters.
    pub text: String,
}

impl EventChunk {
    /// The longest text of a part. Written as JSON it stays below the largest message of a server with its usual settings.
    pub const TEXT_BYTES: usize = 128 * 1024;
}

/// How a task ended: stored once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskResult {
    #[expect(missing_docs, reason = "the type says it")]
    pub format: Format,
    /// Zero if no attempt has made it: the task was cancelled while it waited.
    pub attempt: u32,
    /// The worker that stored it.
    pub worker: String,
    /// The number of the chunk with the terminal event.
    pub last_chunk: u64,
    /// As in the `result.json` of the attempt. What is too long in it is in the events.
    pub result: Box<RunResult>,
    /// The commit in the bundle of the attempt in [`crate::CHANGES`], if it changed something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// What is known of a task that no agent has begun with.
#[derive(Clone, Copy)]
pub(crate) struct Unrun<'a> {
    pub(crate) run_id: &'a RunId,
    pub(crate) session_id: &'a SessionId,
    pub(crate) name: &'a str,
    pub(crate) budget: Budget,
    /// In milliseconds since 1970.
    pub(crate) now: u64,
}

impl TaskResult {
    /// The longest answer in it. The rest of a longer one is in the events only.
    pub const OUTPUT_BYTES: usize = 256 * 1024;

    /// The result of a task that no agent has begun with.
    pub(crate) fn unrun(task: Unrun<'_>, outcome: Outcome, error: &str) -> TaskResult {
        let Unrun { run_id, session_id, name, budget, now } = task;
        let result = RunResult {
            format: model::FORMAT,
            run_id: run_id.clone(),
            session_id: session_id.clone(),
            name: name.to_owned(),
            status: outcome.status(),
            outcome,
            error: Some(error.to_owned()),
            output: String::new(),
            value: None,
            check: None,
            exit_code: None,
            signal: None,
            model: None,
            stop_reason: None,
            usage: Usage::default(),
            budget,
            tool_calls: 0,
            started_at: None,
            ended_at: now,
            duration_ms: 0,
            warnings: Vec::new(),
            leftovers: None,
            changes: None,
            resources: None,
        };
        let (worker, result) = (String::new(), Box::new(result));
        TaskResult { format: Format, attempt: 0, worker, last_chunk: 0, result, commit: None }
    }

    /// The terminal event of its run.
    pub(crate) fn end(&self) -> Event {
        let RunResult { outcome, error, exit_code, signal, leftovers, .. } = &*self.result;
        Event::RunEnded {
            outcome: *outcome,
            error: error.clone(),
            exit_code: *exit_code,
            signal: *signal,
            leftovers: leftovers.clone(),
        }
    }

    /// How it ended.
    pub fn outcome(&self) -> Outcome {
        self.result.outcome
    }
}

/// What a caller tells the worker that runs its task, which answers with a [`CommandReply`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Command {
    /// The task is not wanted any more. Told besides [`TaskState::is_cancelled`], which a worker sees later.
    Cancel {
        format: Format,
        #[serde(default)]
        is_forced: bool,
    },
    Tell {
        format: Format,
        /// The caller's. A message that is sent twice counts once.
        number: u64,
        message: Message,
    },
    Answer {
        format: Format,
        /// Of the question, in the attempt that runs.
        number: u64,
        answer: LeftAnswer,
    },
}

/// What became of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandReply {
    #[expect(missing_docs, reason = "the type says it")]
    pub format: Format,
    /// Why it was not carried out, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The number of the message, in the attempt that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Whether it is too early for it: the caller asks again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_early: bool,
}

/// What a worker asks the caller that waits for a task: whether it is still there. Any answer will do. With a refusal nothing is
/// asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct CallerPing {
    pub format: Format,
    pub attempt: u32,
    pub worker: String,
    /// Why this worker does not carry out the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

/// What a worker says of itself every few seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Heartbeat {
    pub format: Format,
    pub worker: String,
    /// Of the machine.
    pub host: String,
    pub pool: crate::Pool,
    pub version: String,
    pub slots: usize,
    pub running: usize,
    pub agents: Vec<OfferedAgent>,
    pub cores: usize,
    /// Of the machine, in bytes, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Whether it takes no more tasks, because it was told to end.
    #[serde(default)]
    pub is_draining: bool,
    /// Why it refused a task that it was offered last, such as one of a newer version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// In milliseconds since 1970.
    pub started_at: u64,
    /// In milliseconds since 1970.
    pub at: u64,
}

/// An agent that a worker has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct OfferedAgent {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[cfg(test)]
mod tests {
    use model::{Limits, MessageTiming};
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;
    use crate::{Pool, TaskName};

    fn reads_back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(message: &T) {
        let value = serde_json::to_value(message).unwrap();
        assert_eq!(value["format"], FORMAT, "{value}");
        assert_eq!(&serde_json::from_value::<T>(value.clone()).unwrap(), message);
        let mut newer = value.clone();
        newer["format"] = json!(FORMAT + 1);
        let refused = serde_json::from_value::<T>(newer).unwrap_err().to_string();
        assert!(refused.contains("this version understands up to"), "{refused}");
        let mut nameless = value;
        nameless.as_object_mut().unwrap().remove("format");
        assert!(serde_json::from_value::<T>(nameless).is_err());
    }

    fn task() -> TaskMessage {
        let task = RemoteTask {
            name: "scout".to_owned(),
            prompt: "Look around.".to_owned(),
            task: "Look around.".to_owned(),
            agent: Some("builtin".to_owned()),
            definition: None,
            model: None,
            fallback_models: Vec::new(),
            access: None,
            limits: Limits::default(),
            schema: None,
            check: None,
            check_timeout: None,
            ask: false,
        };
        TaskMessage {
            format: Format,
            address: TaskAddress {
                pool: Pool::default(),
                batch: TaskName::parse("nightly").unwrap(),
                task: TaskName::parse("a.b").unwrap(),
            },
            run_id: RunId::parse("01a1e067-9fdf-74f3-92a0-b653fa59fb30").unwrap(),
            session_id: SessionId::parse("0123456789abcdef").unwrap(),
            is_attended: true,
            snapshot: Some(Snapshot {
                commit: "c".repeat(40),
                directory: "src".to_owned(),
                wants_changes: true,
            }),
            task,
        }
    }

    #[test]
    fn every_message_reads_back_and_one_of_a_newer_format_is_refused() {
        reads_back(&task());
        let attempt = Attempt {
            number: 1,
            worker: "w".to_owned(),
            started_at: 17,
            lease: 18,
            end: Some(AttemptEnd::Lost),
        };
        reads_back(&TaskState { attempts: vec![attempt], ..TaskState::default() });
        reads_back(&EventChunk { format: Format, number: 3, text: "{\"seq\":1".to_owned() });
        reads_back(&Command::Cancel { format: Format, is_forced: true });
        let message = Message { text: "Stop that".to_owned(), timing: MessageTiming::After };
        reads_back(&Command::Tell { format: Format, number: 1, message });
        reads_back(&CommandReply::default());
        reads_back(&CallerPing {
            format: Format,
            attempt: 2,
            worker: "w".to_owned(),
            refusal: Some("no such agent".to_owned()),
        });
        reads_back(&Heartbeat {
            format: Format,
            worker: "w".to_owned(),
            host: "h".to_owned(),
            pool: Pool::default(),
            version: "0.1.0".to_owned(),
            slots: 4,
            running: 1,
            agents: vec![OfferedAgent { name: "pi".to_owned(), version: None }],
            cores: 2,
            memory: None,
            is_draining: false,
            refusal: None,
            started_at: 17,
            at: 18,
        });
    }

    #[test]
    fn only_lost_attempts_count_against_a_task() {
        let attempt =
            |end| Attempt { number: 1, worker: "w".to_owned(), started_at: 17, lease: 18, end };
        let ends = [Some(AttemptEnd::Lost), Some(AttemptEnd::HandedBack), None];
        let state = TaskState { attempts: ends.map(attempt).into(), ..TaskState::default() };
        assert_eq!((state.lost(), state.running().is_some()), (1, true));
    }
}
