//! What the fleet's server hands out: messages that callers and workers wrote, of which some may be of another version, and
//! names that stand in subjects and keys.

use std::fmt::Debug;

use fleet::{
    BatchEntry, CallerPing, Command, CommandReply, EventChunk, EventLines, Heartbeat, Overview,
    Pool, TaskAddress, TaskMessage, TaskName, TaskResult, TaskState,
};
use governor::{SharedLimit, SpentHere};
use model::Record;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::assertions::assert_reads_back;
use crate::folds;
use crate::scratch::parts;

/// The parts are messages of one batch, in the order in which they arrive.
pub(super) fn check(data: &[u8]) {
    let (mut overview, mut lines) = (Overview::default(), EventLines::default());
    let mut records: Vec<Record> = Vec::new();
    for part in parts(data) {
        check_messages(part);
        check_name(&String::from_utf8_lossy(part));
        enter(&mut overview, part);
        records.extend(lines.read(part));
        assert!(lines.read(part).is_empty(), "a chunk that arrives twice counts twice");
    }
    check_figures(&overview);
    folds::check(&records);
}

fn check_messages(message: &[u8]) {
    read::<TaskMessage>(message);
    read::<TaskState>(message);
    read::<TaskResult>(message);
    read::<EventChunk>(message);
    read::<Command>(message);
    read::<CommandReply>(message);
    read::<CallerPing>(message);
    read::<Heartbeat>(message);
    read::<BatchEntry>(message);
    read::<SpentHere>(message);
    read::<SharedLimit>(message);
    // Of words without a time there is none.
    governor::quota_ends(&String::from_utf8_lossy(message));
}

/// What is understood is understood by every other program of this version, too.
fn read<T: Serialize + DeserializeOwned + PartialEq + Debug>(message: &[u8]) -> Option<T> {
    let message = serde_json::from_slice(message).ok()?;
    assert_reads_back::<T>(&message);
    Some(message)
}

/// A name stands for itself in a subject, adds no part to it, and matches no other.
fn check_name(text: &str) {
    if let (Ok(name), Ok(pool)) = (TaskName::parse(text), Pool::parse(text)) {
        assert_eq!((name.as_str(), pool.as_str()), (text, text));
        let address = TaskAddress { pool, batch: name.clone(), task: name };
        let subject = address.task_subject();
        assert_eq!(subject.split('.').count(), 5, "{subject}");
        assert!(!subject.contains(['*', '>', ' ', '\r', '\n', '\t']), "{subject}");
        assert_eq!(TaskAddress::of_key(&address.key()), Some(address));
    }
    if let Some(address) = TaskAddress::of_key(text) {
        assert_eq!(address.key(), text);
    }
}

fn enter(overview: &mut Overview, part: &[u8]) {
    if let Some(entry) = read::<BatchEntry>(part) {
        overview.enter(entry);
    }
    if let Some(message) = read::<TaskMessage>(part) {
        overview.set_state(&message.address.task, None);
    }
    let Ok(task) = TaskName::parse("task") else { return };
    if let Some(state) = read::<TaskState>(part) {
        overview.set_state(&task, Some(state));
    }
    if let Some(result) = read::<TaskResult>(part) {
        overview.set_result(&task, Some(&result));
    }
}

fn check_figures(overview: &Overview) {
    for now in [0, 1_794_772_669_900, u64::MAX] {
        let figures = overview.figures(now);
        let phases = [figures.queued, figures.running, figures.completed, figures.failed];
        let sum = phases.iter().sum::<usize>() + figures.cancelled;
        assert_eq!(sum, figures.tasks, "a task is counted twice, or not at all: {figures:?}");
        let failures: usize = figures.failures.iter().map(|reason| reason.count).sum();
        assert!(failures <= figures.tasks, "{figures:?}");
        let is_moving = figures.rate.is_some_and(|rate| rate > 0.0);
        assert!(figures.left_ms.is_none() || is_moving, "{figures:?}");
    }
}
