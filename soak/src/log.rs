//! What has happened: every task that was submitted, what its door reported about it, every fault, and a
//! timeline of all of it for the developer who reads about a failure.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::plan::{Door, Project};
use crate::task::Task;

/// All lanes write to it, and the audit reads it.
#[derive(Debug)]
pub(crate) struct Log {
    started: Instant,
    entries: Mutex<Entries>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    pub(crate) timeline: Vec<(Duration, String)>,
    /// By token.
    pub(crate) tasks: BTreeMap<String, TaskEntry>,
    pub(crate) hits: Vec<Hit>,
    pub(crate) removals: Vec<Removal>,
    /// When the disk was filled, and when it was emptied again.
    pub(crate) full_disks: Vec<(Duration, Option<Duration>)>,
    /// When the server of tmux was killed, and when there was another one.
    pub(crate) tmux_outages: Vec<(Duration, Option<Duration>)>,
    /// How often the end of each background run was notified, by the id of the run.
    pub(crate) notifications: BTreeMap<String, usize>,
    /// What became of messages to agents, as the programs that sent them have told.
    pub(crate) messages: Vec<Message>,
    /// What became of answers to agents, as the programs that gave them have told.
    pub(crate) replies: Vec<GivenReply>,
    pub(crate) batches: Vec<Batch>,
    /// How many faults were injected: some find no process.
    pub(crate) faults: usize,
    pub(crate) violations: Vec<Violation>,
}

/// A task that was submitted.
#[derive(Clone, Debug)]
pub(crate) struct TaskEntry {
    pub(crate) task: Task,
    pub(crate) door: Door,
    pub(crate) project: Project,
    pub(crate) is_background: bool,
    pub(crate) submitted_at: Duration,
    /// The process that it was submitted to.
    pub(crate) door_pid: u32,
    /// Whether the soak has cancelled it.
    pub(crate) is_cancelled: bool,
    pub(crate) reported: Reported,
}

/// What a door has reported about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reported {
    /// Nothing yet.
    Nothing,
    /// It was accepted and runs in the background, in the run with this id.
    Started(String),
    Ended(Ending),
    /// It was refused, for this reason.
    Refused(String),
    /// The door was killed, or does not have to answer any more.
    Unknown,
}

/// How a task ended, according to its door.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) run_id: Option<String>,
    /// `completed` or `error`.
    pub(crate) status: String,
    pub(crate) outcome: Option<String>,
    pub(crate) output: Option<String>,
    pub(crate) error: Option<String>,
    /// The warnings of the door, in one text.
    pub(crate) warnings: String,
}

/// A message to an agent.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) run_id: String,
    /// Absent if it was refused before it had one.
    pub(crate) number: Option<u64>,
    /// `accepted`, `delivered` or `refused`.
    pub(crate) state: String,
}

/// An answer to what an agent asks.
#[derive(Clone, Debug)]
pub(crate) struct GivenReply {
    pub(crate) run_id: String,
    /// Of the question. Absent if there was none.
    pub(crate) number: Option<u64>,
    pub(crate) word: &'static str,
    /// `given` or `refused`.
    pub(crate) state: String,
}

/// Tasks that were queued for the fleet, and that no process here waits for.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) name: String,
    pub(crate) tasks: Vec<Task>,
    pub(crate) submitted_at: Duration,
    /// As the program prints them at the end.
    pub(crate) results: Vec<Value>,
}

/// A signal that the soak has sent to a process.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) pid: u32,
    pub(crate) at: Duration,
    /// The run to which the process belonged, unless it was a door. On a worker, whose runs have ids of their own, the token
    /// of its task.
    pub(crate) run_id: Option<String>,
    pub(crate) kind: HitKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HitKind {
    DoorKilled,
    SupervisorKilled,
    AgentKilled,
    /// A git of a supervisor or of a door.
    GitKilled,
    /// The program in a pane.
    ViewerKilled,
    WorkerKilled,
    WorkerPaused,
    Paused,
}

/// Directories that the soak has removed in [`Project::Doomed`]: that of one run, or all.
#[derive(Clone, Debug)]
pub(crate) struct Removal {
    pub(crate) at: Duration,
    pub(crate) run_id: Option<String>,
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// The tokens and ids that it is about, to look for in the timeline.
    pub(crate) about: Vec<String>,
    pub(crate) what: String,
}

impl Log {
    pub(crate) fn new() -> Log {
        Log { started: Instant::now(), entries: Mutex::default() }
    }

    /// The time since the beginning.
    pub(crate) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn entries(&self) -> MutexGuard<'_, Entries> {
        // A lane that panics is reported as a violation; what it has written so far is still valid.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, line: impl Into<String>) {
        let now = self.now();
        self.entries().timeline.push((now, line.into()));
    }

    pub(crate) fn report_violation(&self, about: &[&str], what: impl Into<String>) {
        let what = what.into();
        let line = format!("VIOLATION {}: {what}", about.join(" "));
        // At once, so that a developer sees it before the end of the soak.
        println!("{:>8.3} s  {line}", self.now().as_secs_f64());
        self.note(line);
        let about = about.iter().map(|word| (*word).to_owned()).collect();
        self.entries().violations.push(Violation { about, what });
    }

    pub(crate) fn record_message(&self, message: Message) {
        self.note(format!("message to {}: {:?} {}", message.run_id, message.number, message.state));
        self.entries().messages.push(message);
    }

    pub(crate) fn record_reply(&self, reply: GivenReply) {
        let GivenReply { run_id, number, word, state } = &reply;
        self.note(format!("answer {word} to {run_id}: {number:?} {state}"));
        self.entries().replies.push(reply);
    }

    /// Records tasks that are submitted now.
    pub(crate) fn record_tasks(&self, tasks: &[&Task], entry: &TaskEntry) {
        let submitted_at = self.now();
        for task in tasks {
            let (door, pid) = (entry.door.word(), entry.door_pid);
            let project = entry.project.word();
            let kind = if entry.is_background { "background " } else { "" };
            self.note(format!(
                "{} is submitted to {door} {pid} in {project}: {kind}{:?} {:?}",
                task.token, task.agent, task.behaviour
            ));
            let entry = TaskEntry { task: (*task).clone(), submitted_at, ..entry.clone() };
            self.entries().tasks.insert(task.token.clone(), entry);
        }
    }

    /// Records what the door has reported about a task.
    pub(crate) fn record_report(&self, token: &str, reported: Reported) {
        self.note(format!("{token}: {reported:?}"));
        if let Some(entry) = self.entries().tasks.get_mut(token) {
            entry.reported = reported;
        }
    }

    /// Records that the soak cancels a task now.
    pub(crate) fn record_cancellation(&self, token: &str, how: &str) {
        self.note(format!("{token} is cancelled by {how}"));
        if let Some(entry) = self.entries().tasks.get_mut(token) {
            entry.is_cancelled = true;
        }
    }

    /// Records a signal to a process.
    pub(crate) fn record_hit(
        &self,
        (pid, run_id, kind): (u32, Option<String>, HitKind),
        words: &str,
    ) {
        let hit = Hit { pid, at: self.now(), run_id, kind };
        let of_run = hit.run_id.as_deref().unwrap_or("no run");
        self.note(format!("FAULT {words}: process {} of {of_run}", hit.pid));
        let mut entries = self.entries();
        entries.faults += 1;
        entries.hits.push(hit);
    }

    /// Records a fault that is not a signal.
    pub(crate) fn record_fault(&self, words: &str) {
        self.note(format!("FAULT {words}"));
        self.entries().faults += 1;
    }

    /// Records that a door has notified the end of a background run.
    pub(crate) fn record_notification(&self, run_id: &str, by: &str) {
        self.note(format!("{by} notifies the end of {run_id}"));
        *self.entries().notifications.entry(run_id.to_owned()).or_default() += 1;
    }
}

impl Entries {
    /// Whether a git was killed, of whatever run.
    pub(crate) fn is_git_killed(&self) -> bool {
        self.hits.iter().any(|hit| hit.kind == HitKind::GitKilled)
    }

    /// Whether the soak has killed this process of a door.
    pub(crate) fn is_door_killed(&self, pid: u32) -> bool {
        self.hits.iter().any(|hit| hit.pid == pid && hit.kind == HitKind::DoorKilled)
    }

    /// Whether its door has said that the task completed.
    pub(crate) fn has_completed(&self, token: &str) -> bool {
        let reported = self.tasks.get(token).map(|entry| &entry.reported);
        matches!(reported, Some(Reported::Ended(ending)) if ending.status == "completed")
    }

    /// Whether a process of the run was hit in this way.
    pub(crate) fn is_hit(&self, run_id: &str, kind: HitKind) -> bool {
        self.hits.iter().any(|hit| hit.run_id.as_deref() == Some(run_id) && hit.kind == kind)
    }

    /// Whether a run of [`Project::Doomed`] that was submitted then may have lost its directory.
    pub(crate) fn is_removed(&self, run_id: &str, submitted_at: Duration) -> bool {
        self.removals.iter().any(|removal| {
            removal.at >= submitted_at && removal.run_id.as_deref().is_none_or(|id| id == run_id)
        })
    }

    /// Whether so many runs were started there that the oldest are removed, which may look older than a day by the clock.
    pub(crate) fn is_pruned(&self, project: Project) -> bool {
        const KEPT: usize = 2_000;
        self.tasks.values().filter(|entry| entry.project == project).count() > KEPT
    }

    /// How many workers were killed, or perhaps taken for dead, since then.
    pub(crate) fn workers_hit_since(&self, submitted_at: Duration) -> usize {
        let kinds = [HitKind::WorkerKilled, HitKind::WorkerPaused];
        kinds.map(|kind| self.hits_since(submitted_at, kind)).iter().sum()
    }

    /// Whether the disk was full at any time since then.
    pub(crate) fn was_full_since(&self, submitted_at: Duration) -> bool {
        lasted_until(&self.full_disks, submitted_at)
    }

    /// Whether there was no tmux at any time since then.
    pub(crate) fn was_without_tmux_since(&self, submitted_at: Duration) -> bool {
        lasted_until(&self.tmux_outages, submitted_at)
    }

    /// How often something of this kind was hit since then, whatever it belonged to.
    pub(crate) fn hits_since(&self, submitted_at: Duration, kind: HitKind) -> usize {
        self.hits.iter().filter(|hit| hit.kind == kind && hit.at >= submitted_at).count()
    }

    /// The last lines of the timeline that contain any of these words.
    pub(crate) fn timeline_about(&self, words: &[String]) -> Vec<String> {
        const MOST: usize = 40;
        let is_about = |line: &str| words.iter().any(|word| line.contains(word.as_str()));
        let lines = self.timeline.iter().filter(|(_, line)| is_about(line));
        let lines: Vec<String> = lines
            .map(|(at, line)| {
                let cut: String = line.chars().take(400).collect();
                format!("{:>8.3} s  {cut}", at.as_secs_f64())
            })
            .collect();
        lines[lines.len().saturating_sub(MOST)..].to_vec()
    }
}

/// Whether any of these times lasted until then, or longer.
fn lasted_until(times: &[(Duration, Option<Duration>)], then: Duration) -> bool {
    times.iter().any(|(_, until)| until.is_none_or(|until| until >= then))
}
