//! A user at a shell, who runs one command after the other.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::PATIENCE;
use crate::agent::Agent;
use crate::log::{Ending, HitKind, Log, Reported, TaskEntry};
use crate::plan::{Action, ActionKind, Afterwards, Door, Pace, Planned, Project};
use crate::reading::PacedReader;
use crate::task::{Behaviour, Task};
use crate::testbed::Testbed;

pub(crate) struct Shell<'a> {
    testbed: &'a Testbed,
    log: &'a Log,
    /// How many lists were made: each is of another kind.
    lists: usize,
    /// A task of this user's that has completed where nothing happens to its files.
    completed: Option<String>,
}

/// What looks at runs. All of them recover those that were abandoned.
const LISTS: [&[&str]; 4] = [
    &["sessions", "list", "--json"],
    &["bg", "list", "--all", "--json"],
    &["watch", "--plain"],
    &["sessions", "prune", "--keep", "100000", "--json"],
];
/// How long a user watches.
const GLANCE: Duration = Duration::from_millis(700);

/// A command that has ended.
pub(crate) struct Ended {
    pid: u32,
    status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn is_success(&self) -> bool {
        self.status.success()
    }
}

enum Piece {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

impl<'a> Shell<'a> {
    pub(crate) fn new(testbed: &'a Testbed, log: &'a Log) -> Shell<'a> {
        Shell { testbed, log, lists: 0, completed: None }
    }

    /// Does the actions one after the other, each not before its time, until the time is over.
    pub(crate) fn act(&mut self, actions: &[Planned<Action>], length: Duration) {
        for Planned { at, what } in actions {
            thread::sleep(at.saturating_sub(self.log.now()));
            if self.log.now() >= length {
                return;
            }
            match &what.kind {
                ActionKind::One(task) => self.run(task, what),
                ActionKind::Many(tasks) => self.delegate(tasks, what),
                ActionKind::Background(task, afterwards) => {
                    self.start_background(task, *afterwards, what);
                }
                ActionKind::List => self.list(what.project, what.pace),
            }
        }
    }

    fn run(&mut self, task: &Task, action: &Action) {
        let timeout = task.timeout().map(|seconds| ["--timeout".to_owned(), seconds.to_string()]);
        let words = ["run", "--json", "--name", &task.token];
        let mut command = self.testbed.command(action.project, words);
        command.args(["--profile", &task.definition()]);
        command.args(self.testbed.place(action.project));
        // It finds the last script of what it is told; another model may look at the first.
        let is_resumable = action.project == Project::Steady && task.agent == Agent::Fake;
        let earlier = self.completed.take_if(|_| action.resumes && is_resumable);
        command.args(earlier.iter().flat_map(|earlier| ["--resume", earlier]));
        command.args(timeout.into_iter().flatten()).arg(task.prompt());
        self.run_tasks(command, &[task], action);
        // What goes on with a restricted session is restricted, too, and could not write its file.
        let is_free = is_resumable && task.access.is_none();
        if is_free && self.log.entries().has_completed(&task.token) {
            self.completed = Some(task.token.clone());
        }
    }

    fn delegate(&self, tasks: &[Task], action: &Action) {
        let path = self.testbed.world.path(&format!("tasks-{}.json", tasks[0].token));
        let document = json!({"tasks": tasks.iter().map(as_json).collect::<Vec<Value>>()});
        if let Err(error) = std::fs::write(&path, document.to_string()) {
            self.log.report_violation(&[], format!("{}: {error}", path.display()));
        }
        let mut command = self.testbed.command(action.project, ["delegate", "--json"]);
        command.args(self.testbed.place(action.project)).arg(&path);
        self.run_tasks(command, &tasks.iter().collect::<Vec<&Task>>(), action);
    }

    fn run_tasks(&self, command: Command, tasks: &[&Task], action: &Action) {
        let Some(ended) = self.submit(command, tasks, action, false) else {
            return;
        };
        let document: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
        let reported = document["tasks"].as_array().cloned().unwrap_or_default();
        let tokens: Vec<&str> = tasks.iter().map(|task| task.token.as_str()).collect();
        if reported.len() == tasks.len() {
            for (token, task) in tokens.iter().zip(&reported) {
                self.log.record_report(token, Reported::Ended(ending(task)));
            }
            let is_success = reported.iter().all(|task| task["status"] == "completed");
            // A command that was killed behind its last word has no exit code.
            if ended.status.code().is_some_and(|code| is_success != (code == 0)) {
                let what = format!("the exit is {}, but the tasks: {document}", ended.status);
                self.log.report_violation(&tokens, what);
            }
        } else if self.is_cut_off(&ended) {
            tokens.iter().for_each(|token| self.log.record_report(token, Reported::Unknown));
        } else {
            let reason = format!("{}: {}{}", ended.status, ended.stderr, ended.stdout);
            tokens
                .iter()
                .for_each(|token| self.log.record_report(token, Reported::Refused(reason.clone())));
        }
    }

    fn start_background(&self, task: &Task, afterwards: Afterwards, action: &Action) {
        let words = ["bg", "start", "--preset", &task.definition(), "--name", &task.token];
        let mut command = self.testbed.command(action.project, words);
        command.args(self.testbed.place(action.project)).arg(task.prompt());
        // Never cancelled: after an interrupt, the soak could not know whether there is a run.
        let action = Action { cancelled_after: None, ..action.clone() };
        let Some(ended) = self.submit(command, &[task], &action, true) else {
            return;
        };
        let id = ended.stdout.trim().to_owned();
        if id.is_empty() {
            let is_cut_off = self.is_cut_off(&ended);
            let reason = format!("{}: {}", ended.status, ended.stderr);
            let reported = if is_cut_off { Reported::Unknown } else { Reported::Refused(reason) };
            return self.log.record_report(&task.token, reported);
        }
        self.log.record_report(&task.token, Reported::Started(id.clone()));
        let words: &[&str] = match afterwards {
            Afterwards::Leave => return,
            Afterwards::Wait => &["bg", "wait", "--json", "--timeout", "60", &id],
            Afterwards::Follow => &["bg", "logs", "-f", &id],
            Afterwards::Stop => &["bg", "stop", "--json", &id],
            Afterwards::StopNow => &["bg", "stop", "--now", "--json", &id],
        };
        if matches!(afterwards, Afterwards::Stop | Afterwards::StopNow) {
            self.log.record_cancellation(&task.token, words[1]);
        }
        let Some(ended) = self.execute(self.testbed.command(action.project, words), action.pace)
        else {
            return;
        };
        let document: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
        let run = &document["runs"][0];
        if run["runId"] == json!(id) && run["outcome"].is_string() {
            let mut ending = ending(run);
            ending.output = run["finalText"].as_str().map(str::to_owned);
            if ending.status != "completed" {
                "error".clone_into(&mut ending.status);
            }
            self.log.record_report(&task.token, Reported::Ended(ending));
        }
    }

    /// Looks at runs, each time in another way.
    fn list(&mut self, project: Project, pace: Pace) {
        let words = LISTS[self.lists % LISTS.len()];
        self.lists += 1;
        self.look(words, project, pace);
    }

    /// Lists all runs, those that were abandoned and those that nothing has notified of.
    pub(crate) fn list_all(&self, project: Project) {
        LISTS[..2].iter().for_each(|words| self.look(words, project, Pace::Eager));
    }

    fn look(&self, words: &[&str], project: Project, pace: Pace) {
        let glance = (words[0] == "watch").then_some(GLANCE);
        let Some(ended) = self.execute_until(self.testbed.command(project, words), pace, glance)
        else {
            return;
        };
        let document: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
        for notified in document["notifications"].as_array().into_iter().flatten() {
            self.log.record_notification(notified["runId"].as_str().unwrap_or_default(), "bg list");
        }
        // What is watched may end first, and fail.
        let is_over = glance.is_some() && matches!(ended.status.code(), Some(1 | 130));
        let is_fine = ended.status.code() == Some(0) || is_over || self.is_cut_off(&ended);
        if !is_fine && project == Project::Steady {
            let what = format!("`{}`: {}: {}", words.join(" "), ended.status, ended.stderr);
            self.log.report_violation(&[&ended.pid.to_string()], what);
        }
    }

    /// Whether the soak has killed the command, so that it may have printed nothing.
    pub(crate) fn is_cut_off(&self, ended: &Ended) -> bool {
        // An interrupt can arrive before the command handles it.
        let is_interrupted = matches!(ended.status.signal(), Some(libc::SIGINT));
        is_interrupted || self.log.entries().is_door_killed(ended.pid)
    }

    /// Submits tasks with a command, and waits for its end.
    fn submit(
        &self,
        mut command: Command,
        tasks: &[&Task],
        action: &Action,
        is_background: bool,
    ) -> Option<Ended> {
        let submitted_at = self.log.now();
        let child = self.spawn(&mut command)?;
        let entry = TaskEntry {
            task: tasks[0].clone(),
            door: Door::Shell,
            project: action.project,
            is_background,
            submitted_at,
            door_pid: child.id(),
            is_cancelled: false,
            reported: Reported::Nothing,
        };
        self.log.record_tasks(tasks, &entry);
        self.wait(child, action.pace, action.cancelled_after, tasks)
    }

    /// Runs a command to its end.
    pub(crate) fn execute(&self, command: Command, pace: Pace) -> Option<Ended> {
        self.execute_until(command, pace, None)
    }

    /// The same, with Ctrl-C after so long.
    fn execute_until(
        &self,
        mut command: Command,
        pace: Pace,
        interrupted_after: Option<Duration>,
    ) -> Option<Ended> {
        let child = self.spawn(&mut command)?;
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        self.log.note(format!("process {}: {}", child.id(), words.join(" ")));
        self.wait(child, pace, interrupted_after, &[])
    }

    /// Starts a command, unless its directory is removed at the moment.
    fn spawn(&self, command: &mut Command) -> Option<Child> {
        match command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
            Ok(child) => Some(child),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                self.log.report_violation(&[], format!("a command cannot be started: {error}"));
                None
            }
        }
    }

    fn wait(
        &self,
        mut child: Child,
        pace: Pace,
        cancelled_after: Option<Duration>,
        tasks: &[&Task],
    ) -> Option<Ended> {
        let begun = self.log.now();
        let (sender, pieces) = channel();
        for stream in [
            child.stdout.take().map(|stream| Box::new(stream) as Box<dyn std::io::Read + Send>),
            child.stderr.take().map(|stream| Box::new(stream) as Box<dyn std::io::Read + Send>),
        ]
        .into_iter()
        .enumerate()
        {
            let (number, Some(stream)) = stream else { continue };
            let (sender, reader) = (sender.clone(), PacedReader::new(pace));
            let wrap = if number == 0 { Piece::Stdout } else { Piece::Stderr };
            thread::spawn(move || reader.read(stream, &sender, wrap));
        }
        drop(sender);
        let mut cancelled_at = cancelled_after.map(|after| begun + after);
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        loop {
            let now = self.log.now();
            if cancelled_at.is_some_and(|at| at <= now) {
                cancelled_at = None;
                tasks.iter().for_each(|task| self.log.record_cancellation(&task.token, "SIGINT"));
                // It was not waited for, so the id is still its own.
                let _ = kill_process(Pid::from_child(&child), Signal::INT);
            }
            let deadline = begun + PATIENCE;
            if now >= deadline {
                self.give_up(&mut child, tasks);
                return None;
            }
            let next = cancelled_at.unwrap_or(deadline).max(now + Duration::from_millis(1));
            match pieces.recv_timeout(next - now) {
                Ok(Piece::Stdout(bytes)) => stdout.extend(bytes),
                Ok(Piece::Stderr(bytes)) => stderr.extend(bytes),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let pid = child.id();
        let status = child.wait().ok()?;
        let [stdout, stderr] =
            [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if stderr.contains("panicked at") {
            self.log.report_violation(&[&pid.to_string()], format!("a panic: {stderr}"));
        }
        self.log.note(format!("process {pid} has ended: {status}"));
        Some(Ended { pid, status, stdout, stderr })
    }

    /// Kills a command that does not end, so that everything else can continue.
    fn give_up(&self, child: &mut Child, tasks: &[&Task]) {
        let pid = child.id().to_string();
        let about: Vec<&str> =
            tasks.iter().map(|task| task.token.as_str()).chain([pid.as_str()]).collect();
        self.log.report_violation(&about, format!("a command has not ended after {PATIENCE:?}"));
        let hit = (child.id(), None, HitKind::DoorKilled);
        self.log.record_hit(hit, "SIGKILL because it did not end");
        let _ = child.kill().and_then(|()| child.wait());
    }
}

/// A task as `delegate` takes it.
pub(crate) fn as_json(task: &Task) -> Value {
    let mut fields = json!({"name": task.token, "prompt": task.prompt()});
    if task.agent != Agent::Fake || task.behaviour == Behaviour::SpendsTooMuch {
        fields["profile"] = json!(task.definition());
    }
    if let Some(access) = task.access {
        fields["access"] = json!(access);
    }
    if let Some(seconds) = task.timeout() {
        fields["timeout"] = json!(seconds);
    }
    if task.is_isolated {
        fields["isolation"] = json!("worktree");
    }
    fields
}

/// How a task ended, according to a document that we print.
pub(crate) fn ending(task: &Value) -> Ending {
    let text = |field: &str| task[field].as_str().map(str::to_owned);
    Ending {
        run_id: text("runId"),
        status: text("status").unwrap_or_default(),
        outcome: text("outcome"),
        output: text("output"),
        error: text("error"),
        warnings: task["warnings"].to_string(),
    }
}
