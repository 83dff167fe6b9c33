//! What has happened: every task that was handed in, what became of it according to its door, every
//! fault, and a timeline of it all for whoever reads about a failure.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::plan::{Door, Project};
use crate::task::Task;

/// Written by all, read by the audit.
#[derive(Debug)]
pub(crate) struct Ledger {
    started: Instant,
    pages: Mutex<Pages>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    pub(crate) timeline: Vec<(Duration, String)>,
    /// By their tokens.
    pub(crate) accounts: BTreeMap<String, Account>,
    pub(crate) blows: Vec<Blow>,
    pub(crate) removals: Vec<Removal>,
    /// When the disk was full, and when it was not any more.
    pub(crate) full_disks: Vec<(Duration, Option<Duration>)>,
    /// How often the end of a background run was told, by its id.
    pub(crate) told: BTreeMap<String, usize>,
    /// How many faults have fallen: some find nobody to fall on.
    pub(crate) faults: usize,
    pub(crate) violations: Vec<Violation>,
}

/// A task that was handed in.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) task: Task,
    pub(crate) door: Door,
    pub(crate) project: Project,
    pub(crate) is_background: bool,
    pub(crate) issued: Duration,
    /// The process that it was handed in to.
    pub(crate) door_pid: u32,
    /// Whether somebody asked for its end.
    pub(crate) is_cancelled: bool,
    pub(crate) fate: Fate,
}

/// What is known of a task at its door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing yet.
    Open,
    /// It was taken in, and runs on its own; the id of its run.
    Started(String),
    Ended(Ending),
    /// It was not taken in, for this reason.
    Refused(String),
    /// The door is gone, or need not answer any more.
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
    /// What the door has warned of, in one text.
    pub(crate) warnings: String,
}

/// A signal of ours.
#[derive(Clone, Debug)]
pub(crate) struct Blow {
    pub(crate) pid: u32,
    /// The run to which the process belonged, unless it was a door.
    pub(crate) run_id: Option<String>,
    pub(crate) kind: BlowKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlowKind {
    DoorKilled,
    SupervisorKilled,
    AgentKilled,
    Paused,
}

/// Directories that vanished in [`Project::Doomed`]: those of one run, or all.
#[derive(Clone, Debug)]
pub(crate) struct Removal {
    pub(crate) at: Duration,
    pub(crate) run_id: Option<String>,
}

/// Something that must never be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// What to look for in the timeline: the tokens and ids of what it is about.
    pub(crate) about: Vec<String>,
    pub(crate) what: String,
}

impl Ledger {
    pub(crate) fn new() -> Ledger {
        Ledger { started: Instant::now(), pages: Mutex::default() }
    }

    /// The time since the beginning.
    pub(crate) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn pages(&self) -> MutexGuard<'_, Pages> {
        // A lane that panics is a violation of its own; what it has written so far still counts.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, line: impl Into<String>) {
        let now = self.now();
        self.pages().timeline.push((now, line.into()));
    }

    pub(crate) fn complain(&self, about: &[&str], what: impl Into<String>) {
        let what = what.into();
        let line = format!("VIOLATION {}: {what}", about.join(" "));
        // At once, so that nobody has to wait for the end to see it.
        println!("{:>8.3} s  {line}", self.now().as_secs_f64());
        self.note(line);
        let about = about.iter().map(|word| (*word).to_owned()).collect();
        self.pages().violations.push(Violation { about, what });
    }

    /// Opens the accounts of tasks that are handed in now.
    pub(crate) fn issue(&self, tasks: &[&Task], account: &Account) {
        let issued = self.now();
        for task in tasks {
            let (door, pid) = (account.door.word(), account.door_pid);
            let place = account.project.word();
            let kind = if account.is_background { "background " } else { "" };
            self.note(format!(
                "{} is handed in at {door} {pid} in {place}: {kind}{:?} {:?}",
                task.token, task.agent, task.behaviour
            ));
            let account = Account { task: (*task).clone(), issued, ..account.clone() };
            self.pages().accounts.insert(task.token.clone(), account);
        }
    }

    /// Writes down what is known of a task now.
    pub(crate) fn settle(&self, token: &str, fate: Fate) {
        self.note(format!("{token}: {fate:?}"));
        if let Some(account) = self.pages().accounts.get_mut(token) {
            account.fate = fate;
        }
    }

    /// Somebody asks for the end of a task from now on.
    pub(crate) fn cancel(&self, token: &str, how: &str) {
        self.note(format!("{token} is cancelled by {how}"));
        if let Some(account) = self.pages().accounts.get_mut(token) {
            account.is_cancelled = true;
        }
    }

    pub(crate) fn strike(&self, blow: Blow, words: &str) {
        let of_run = blow.run_id.as_deref().unwrap_or("no run");
        self.note(format!("FAULT {words}: process {} of {of_run}", blow.pid));
        let mut pages = self.pages();
        pages.faults += 1;
        pages.blows.push(blow);
    }

    /// A fault that fell on no process.
    pub(crate) fn befall(&self, words: &str) {
        self.note(format!("FAULT {words}"));
        self.pages().faults += 1;
    }

    /// The owner of a background run was told of its end.
    pub(crate) fn hear(&self, run_id: &str, by: &str) {
        self.note(format!("{by} tells of the end of {run_id}"));
        *self.pages().told.entry(run_id.to_owned()).or_default() += 1;
    }
}

impl Pages {
    /// What was done to the process of a door.
    pub(crate) fn is_door_killed(&self, pid: u32) -> bool {
        self.blows.iter().any(|blow| blow.pid == pid && blow.kind == BlowKind::DoorKilled)
    }

    /// Whether a blow of this kind fell on something of a run.
    pub(crate) fn is_struck(&self, run_id: &str, kind: BlowKind) -> bool {
        self.blows.iter().any(|blow| blow.run_id.as_deref() == Some(run_id) && blow.kind == kind)
    }

    /// Whether a run of [`Project::Doomed`] that was handed in then may have lost its directory.
    pub(crate) fn is_removed(&self, run_id: &str, issued: Duration) -> bool {
        self.removals.iter().any(|removal| {
            removal.at >= issued && removal.run_id.as_deref().is_none_or(|id| id == run_id)
        })
    }

    /// Whether the disk was full at any time since then.
    pub(crate) fn was_full_since(&self, issued: Duration) -> bool {
        self.full_disks.iter().any(|(_, until)| until.is_none_or(|until| until >= issued))
    }

    /// What the timeline tells about any of these words, and the last faults before the end of that.
    pub(crate) fn timeline_about(&self, words: &[String]) -> Vec<String> {
        const MOST: usize = 40;
        let is_meant = |line: &str| words.iter().any(|word| line.contains(word.as_str()));
        let lines = self.timeline.iter().filter(|(_, line)| is_meant(line));
        let lines: Vec<String> = lines
            .map(|(at, line)| {
                let cut: String = line.chars().take(400).collect();
                format!("{:>8.3} s  {cut}", at.as_secs_f64())
            })
            .collect();
        lines[lines.len().saturating_sub(MOST)..].to_vec()
    }
}
