//! The names of streams, buckets and subjects. A subject carries the pool, the batch and the task, so that the server can
//! limit a role to some of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The stream with the tasks that wait: each message goes to one worker, and is removed when its task has a result.
pub const TASKS: &str = "SUBAGENTS_TASKS";
/// The stream with the events of all attempts.
pub const EVENTS: &str = "SUBAGENTS_EVENTS";
/// The bucket with a [`crate::TaskState`] for each task that a worker has taken or a caller has cancelled.
pub const STATES: &str = "SUBAGENTS_STATES";
/// The bucket with a [`crate::TaskResult`] for each task that has ended.
pub const RESULTS: &str = "SUBAGENTS_RESULTS";
/// The bucket with a [`crate::Heartbeat`] for each worker that lives.
pub const WORKERS: &str = "SUBAGENTS_WORKERS";
/// The bucket with what the machines of workers have learned of providers, and with what each has spent.
pub const LIMITS: &str = "SUBAGENTS_LIMITS";
/// The key-value buckets.
pub const BUCKETS: [&str; 4] = [STATES, RESULTS, WORKERS, LIMITS];
/// The object store with the bundles that callers send, each under the id of its commit.
pub const SNAPSHOTS: &str = "SUBAGENTS_SNAPSHOTS";
/// The object store with the bundles that workers send back, each under the key of its task and the number of its attempt.
pub const CHANGES: &str = "SUBAGENTS_CHANGES";

/// The text cannot name a pool, a batch or a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} cannot name a {kind}: a name has 1 to 128 letters, digits, dots, hyphens and underscores, and begins with \
     none of the last three"
)]
pub struct InvalidName {
    kind: &'static str,
    text: String,
}

/// Names a group of workers, and the tasks that they take.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pool(TaskName);

/// The name of a batch, or of a task within its batch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskName(String);

impl TaskName {
    /// Accepts what can be a name, and nothing else.
    pub fn parse(text: &str) -> Result<TaskName, InvalidName> {
        TaskName::of_kind("task or batch", text)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn of_kind(kind: &'static str, text: &str) -> Result<TaskName, InvalidName> {
        if model::is_fleet_name(text) {
            return Ok(TaskName(text.to_owned()));
        }
        Err(InvalidName { kind, text: text.chars().take(80).collect() })
    }

    /// The name as one part of a subject or key, in which a dot would begin another part.
    pub(crate) fn token(&self) -> String {
        self.0.replace('.', "=")
    }

    pub(crate) fn of_token(token: &str) -> Option<TaskName> {
        TaskName::parse(&token.replace('=', ".")).ok()
    }
}

impl Pool {
    /// Accepts what can be a name, and nothing else.
    pub fn parse(text: &str) -> Result<Pool, InvalidName> {
        TaskName::of_kind("pool", text).map(Pool)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The name as one part of a subject or key.
    pub fn token(&self) -> String {
        self.0.token()
    }
}

impl Default for Pool {
    fn default() -> Pool {
        Pool(TaskName(model::FleetPool::DEFAULT.to_owned()))
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl TryFrom<String> for TaskName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<TaskName, InvalidName> {
        TaskName::parse(&text)
    }
}

impl From<TaskName> for String {
    fn from(name: TaskName) -> String {
        name.0
    }
}

impl TryFrom<String> for Pool {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Pool, InvalidName> {
        Pool::parse(&text)
    }
}

impl From<Pool> for String {
    fn from(pool: Pool) -> String {
        pool.0.0
    }
}

/// Where a task is found: in every subject and key that is about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct TaskAddress {
    pub pool: Pool,
    /// A task without a batch has that of its call: `call-ID`.
    pub batch: TaskName,
    /// The key of the task in its batch, or the id of the run that waits for it.
    pub task: TaskName,
}

impl TaskAddress {
    /// The key in the buckets of states and results.
    pub fn key(&self) -> String {
        format!("{}.{}.{}", self.pool.0.token(), self.batch.token(), self.task.token())
    }

    /// The address that this is the key of.
    pub fn of_key(key: &str) -> Option<TaskAddress> {
        let mut tokens = key.split('.').map(TaskName::of_token);
        let address = TaskAddress {
            pool: Pool(tokens.next()??),
            batch: tokens.next()??,
            task: tokens.next()??,
        };
        tokens.next().is_none().then_some(address)
    }

    /// Where the task itself is published, in [`TASKS`].
    pub fn task_subject(&self) -> String {
        format!("subagents.task.{}", self.key())
    }

    /// Where the events of an attempt are published, in [`EVENTS`].
    pub fn event_subject(&self, attempt: u32) -> String {
        format!("subagents.event.{}.{attempt}", self.key())
    }

    /// The events of all attempts.
    pub fn event_subjects(&self) -> String {
        format!("subagents.event.{}.*", self.key())
    }

    /// Where the worker that runs the task takes a [`crate::Command`].
    pub fn command_subject(&self) -> String {
        format!("subagents.command.{}", self.key())
    }

    /// Where the caller that waits for the task answers a [`crate::CallerPing`].
    pub fn caller_subject(&self) -> String {
        format!("subagents.caller.{}", self.key())
    }

    /// The name of what an attempt changed, in [`CHANGES`].
    pub fn changes_name(&self, attempt: u32) -> String {
        format!("{}.{attempt}", self.key())
    }
}

/// The subjects of all tasks of a pool, and the consumer by which its workers share them.
pub fn consumer(pool: &Pool) -> (String, String) {
    let token = pool.0.token();
    (format!("subagents.task.{token}.>"), format!("workers-{}", token.replace('=', "_")))
}

/// The subjects of a stream.
pub(crate) fn subjects(stream: &str) -> String {
    format!("subagents.{}.>", if stream == TASKS { "task" } else { "event" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(task: &str) -> TaskAddress {
        let batch = TaskName::parse("nightly.2").unwrap();
        TaskAddress { pool: Pool::default(), batch, task: TaskName::parse(task).unwrap() }
    }

    #[test]
    fn a_key_leads_back_to_its_task_whatever_dots_the_names_have() {
        let address = address("src.main-1_x");
        assert_eq!(address.key(), "default.nightly=2.src=main-1_x");
        assert_eq!(TaskAddress::of_key(&address.key()), Some(address.clone()));
        assert_eq!(address.task_subject(), "subagents.task.default.nightly=2.src=main-1_x");
        assert_eq!(address.event_subject(2), "subagents.event.default.nightly=2.src=main-1_x.2");
        for other in ["", "a.b", "a.b.c.d", "a..c", "a.*.c", "a.>.c"] {
            assert_eq!(TaskAddress::of_key(other), None, "{other}");
        }
    }

    #[test]
    fn what_a_subject_would_read_in_another_way_is_no_name() {
        for text in ["", "*", ">", "a b", "a/b", "..", ".a", "-a", "_a", "a=b", "ä", "a\n", "$JS"]
        {
            assert!(TaskName::parse(text).is_err(), "{text:?}");
            assert!(Pool::parse(text).is_err(), "{text:?}");
        }
        assert!(TaskName::parse(&"a".repeat(129)).is_err());
        let read = serde_json::from_str::<TaskName>("\"a.>\"");
        assert!(read.unwrap_err().to_string().contains("cannot name"));
    }

    #[test]
    fn the_workers_of_a_pool_share_a_consumer() {
        let (subjects, name) = consumer(&Pool::parse("gpu.large").unwrap());
        assert_eq!(
            (subjects.as_str(), name.as_str()),
            ("subagents.task.gpu=large.>", "workers-gpu_large")
        );
    }
}
