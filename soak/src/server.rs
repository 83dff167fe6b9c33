//! A client of `pi-subagents bridge` or of `pi-subagents mcp`: makes many calls at once to one server, and
//! starts another when the server was killed.

use std::fs;
use std::io::Write;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::PATIENCE;
use crate::log::{HitKind, Log, Reported, TaskEntry};
use crate::plan::{Action, ActionKind, Door, Lane, Pace, Project};
use crate::protocol;
use crate::reading::PacedReader;
use crate::task::Task;
use crate::testbed::Testbed;

pub(crate) struct Server<'a> {
    testbed: &'a Testbed,
    log: &'a Log,
    door: Door,
    project: Project,
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    unread: Vec<u8>,
    reader: PacedReader,
    calls: Vec<Call>,
    next_id: u64,
    /// Whether its directory was deleted, so that it refuses everything.
    is_stranded: bool,
}

/// A request that is not answered yet.
struct Call {
    id: u64,
    tasks: Vec<Task>,
    is_background: bool,
    begun: Duration,
    cancelled_at: Option<Duration>,
}

/// The server has closed its output.
#[derive(Debug)]
pub(crate) struct Gone;

/// The most calls that a client has at once.
const MOST_CALLS: usize = 4;

/// Does the actions of a lane until the time is over. Returns the last server, when all its calls are
/// answered.
pub(crate) fn act<'a>(
    testbed: &'a Testbed,
    log: &'a Log,
    lane: &Lane,
    session: &str,
    length: Duration,
) -> Option<Server<'a>> {
    let mut actions = lane.actions.iter().peekable();
    let mut server = None;
    loop {
        let is_over = log.now() >= length;
        let Some(serving) = &mut server else {
            if is_over {
                return None;
            }
            server = Server::start(testbed, log, (lane.door, lane.project), session);
            continue;
        };
        let next = actions.next_if(|action| {
            !is_over && action.at <= log.now() && serving.calls.len() < MOST_CALLS
        });
        let is_alive = match next {
            Some(action) => serving.start_action(&action.what),
            None => serving.poll(Duration::from_millis(20)),
        };
        if is_alive.is_err() {
            if let Some(server) = server.take() {
                server.reap();
            }
        } else if serving.calls.is_empty() && (is_over || serving.is_stranded) {
            if is_over && !serving.is_stranded {
                return server;
            }
            if let Some(server) = server.take() {
                server.close();
            }
        }
    }
}

impl<'a> Server<'a> {
    /// Starts a server and initializes it. `None` if that is not possible at the moment.
    pub(crate) fn start(
        testbed: &'a Testbed,
        log: &'a Log,
        (door, project): (Door, Project),
        session: &str,
    ) -> Option<Server<'a>> {
        let stderr = testbed.world.path(&format!("stderr-of-{session}.log"));
        let stderr = fs::OpenOptions::new().create(true).append(true).open(stderr).ok()?;
        let mut command = testbed.command(project, [door.word()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let Ok(mut child) = command.spawn() else {
            // The project is removed at the moment.
            thread::sleep(Duration::from_millis(50));
            return None;
        };
        log.note(format!("{session}: {} is process {}", door.word(), child.id()));
        let input = child.stdin.take();
        let stdout = child.stdout.take()?;
        let (sender, output) = channel();
        let reader = PacedReader::new(Pace::Eager);
        thread::spawn({
            let reader = reader.clone();
            move || reader.read(stdout, &sender, |bytes| bytes)
        });
        let (unread, calls) = (Vec::new(), Vec::new());
        let mut server = Server {
            testbed,
            log,
            door,
            project,
            child,
            input,
            output,
            unread,
            reader,
            calls,
            next_id: 1,
            is_stranded: false,
        };
        let agent: Value = serde_json::from_str(&testbed.fake_agent).unwrap_or_default();
        let initialized = protocol::initialization(door, session, &agent).into_iter().try_for_each(
            |(method, params, has_response)| {
                if has_response {
                    server.request(method, &params, Call::of(&[], false))?;
                    server.finish_calls()
                } else {
                    server.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
                }
            },
        );
        match initialized {
            Ok(()) => Some(server),
            Err(Gone) => {
                server.reap();
                None
            }
        }
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts an action.
    pub(crate) fn start_action(&mut self, action: &Action) -> Result<(), Gone> {
        self.reader.set(action.pace);
        let (tasks, is_background): (&[Task], bool) = match &action.kind {
            ActionKind::One(task) => (std::slice::from_ref(task), false),
            ActionKind::Many(tasks) => (tasks, false),
            ActionKind::Background(task, _) => (std::slice::from_ref(task), true),
            ActionKind::List => (&[], false),
        };
        let entry = |task: &Task| TaskEntry {
            task: task.clone(),
            door: self.door,
            project: self.project,
            is_background,
            submitted_at: self.log.now(),
            door_pid: self.pid(),
            is_cancelled: false,
            reported: Reported::Nothing,
        };
        if let Some(entry) = tasks.first().map(entry) {
            self.log.record_tasks(&tasks.iter().collect::<Vec<&Task>>(), &entry);
        }
        let mut call = Call::of(tasks, is_background);
        let cancelled_after =
            action.cancelled_after.filter(|_| !is_background && !tasks.is_empty());
        call.cancelled_at = cancelled_after.map(|after| self.log.now() + after);
        if self.door == Door::Mcp && tasks.is_empty() && self.next_id.is_multiple_of(2) {
            return self.request("resources/list", &json!({}), call);
        }
        let params = protocol::call(self.door, self.next_id, &action.kind);
        self.request("tools/call", &params, call)
    }

    fn request(&mut self, method: &str, params: &Value, call: Call) -> Result<(), Gone> {
        let id = self.next_id;
        self.next_id += 1;
        self.calls.push(Call { id, begun: self.log.now(), ..call });
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    fn send(&mut self, message: &Value) -> Result<(), Gone> {
        let line = format!("{message}\n");
        let input = self.input.as_mut().ok_or(Gone)?;
        input.write_all(line.as_bytes()).and_then(|()| input.flush()).map_err(|_| Gone)
    }

    /// Waits until all calls are answered.
    pub(crate) fn finish_calls(&mut self) -> Result<(), Gone> {
        while !self.calls.is_empty() {
            self.poll(Duration::from_millis(50))?;
        }
        Ok(())
    }

    /// Reads messages for so long, and cancels the calls whose time has come.
    pub(crate) fn poll(&mut self, length: Duration) -> Result<(), Gone> {
        let until = self.log.now() + length;
        loop {
            self.cancel_what_is_due()?;
            match self.output.recv_timeout(until.saturating_sub(self.log.now())) {
                Ok(bytes) => self.unread.extend(bytes),
                Err(RecvTimeoutError::Timeout) => return self.check_time_limit(),
                Err(RecvTimeoutError::Disconnected) => return Err(Gone),
            }
            while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                match serde_json::from_slice(&line) {
                    Ok(message) => self.receive(&message),
                    Err(error) => {
                        let line = String::from_utf8_lossy(&line).into_owned();
                        self.report_violation(&format!("this is not a message: {error}: {line}"));
                    }
                }
            }
        }
    }

    fn cancel_what_is_due(&mut self) -> Result<(), Gone> {
        let now = self.log.now();
        let is_due = |call: &Call| call.cancelled_at.is_some_and(|at| at <= now);
        while let Some(index) = self.calls.iter().position(is_due) {
            self.calls[index].cancelled_at = None;
            for task in &self.calls[index].tasks {
                self.log.record_cancellation(&task.token, "its client");
            }
            let id = self.calls[index].id;
            if self.door == Door::Mcp {
                // A cancelled request has no response in this protocol.
                self.forget(index);
            }
            self.send(&protocol::cancellation(self.door, id))?;
        }
        Ok(())
    }

    fn check_time_limit(&mut self) -> Result<(), Gone> {
        let now = self.log.now();
        let Some(call) = self.calls.iter().find(|call| call.begun + PATIENCE < now) else {
            return Ok(());
        };
        let tokens: Vec<&str> = call.tasks.iter().map(|task| task.token.as_str()).collect();
        self.log.report_violation(&tokens, format!("request {} has no response", call.id));
        self.kill();
        Err(Gone)
    }

    fn receive(&mut self, message: &Value) {
        if let Some(run_id) = protocol::notification(message) {
            self.log.record_notification(run_id, self.door.word());
        }
        if message.get("method").is_some() {
            if let Some(answer) = protocol::dialog_answer(message) {
                // A server that is gone is noticed when its output ends.
                let _ = self.send(&answer);
            }
            return;
        }
        let Some(index) = self.calls.iter().position(|call| message["id"] == json!(call.id)) else {
            return;
        };
        let call = self.calls.remove(index);
        if let Some(uri) = message["result"]["resources"][0]["uri"].as_str() {
            // A server that is gone is noticed when its output ends.
            let _ = self.request("resources/read", &json!({"uri": uri}), Call::of(&[], false));
        }
        let reports = protocol::reports(self.door, message, call.tasks.len(), call.is_background);
        for (task, reported) in call.tasks.iter().zip(&reports) {
            self.is_stranded |=
                matches!(reported, Reported::Refused(_)) && self.project == Project::Doomed;
            self.log.record_report(&task.token, reported.clone());
        }
        if call.tasks.is_empty() && message.get("error").is_some() {
            self.is_stranded |= self.project == Project::Doomed;
            if self.project == Project::Steady {
                self.report_violation(&format!("a list is refused: {message}"));
            }
        }
    }

    /// Stops waiting for a call.
    fn forget(&mut self, index: usize) {
        for task in self.calls.remove(index).tasks {
            self.log.record_report(&task.token, Reported::Unknown);
        }
    }

    /// Waits for the end of a server that has closed its output. It must end if the soak has killed it, and
    /// only then.
    fn reap(mut self) {
        while !self.calls.is_empty() {
            self.forget(0);
        }
        drop(self.input.take());
        let deadline = self.log.now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if self.log.now() >= deadline {
                self.report_violation("it has closed its output, and does not end");
                self.kill();
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let status = self.child.wait().map(|status| status.to_string());
        self.log.note(format!("process {} has ended: {status:?}", self.pid()));
        if !self.log.entries().is_door_killed(self.pid()) {
            self.report_violation(&format!("it has ended by itself: {status:?}"));
        }
    }

    fn kill(&self) {
        let hit = (self.pid(), None, HitKind::DoorKilled);
        self.log.record_hit(hit, "SIGKILL because it did not answer or end");
        // It was not waited for, so the id is still its own.
        let _ = kill_process(Pid::from_child(&self.child), Signal::KILL);
    }

    /// Closes its input. Then it must end with success.
    pub(crate) fn close(mut self) {
        drop(self.input.take());
        let deadline = self.log.now() + PATIENCE;
        loop {
            // Its output is read to the end, because a full pipe would keep it from ending.
            match self.output.recv_timeout(Duration::from_millis(20)) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) if self.log.now() < deadline => {}
                Err(RecvTimeoutError::Timeout) => {
                    self.report_violation("it does not end although its input has");
                    self.kill();
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = self.child.wait();
        let is_well = status.as_ref().is_ok_and(std::process::ExitStatus::success);
        self.log.note(format!("process {} has ended: {status:?}", self.pid()));
        if !is_well && !self.log.entries().is_door_killed(self.pid()) {
            self.report_violation(&format!("it ended with {status:?}"));
        }
    }

    fn report_violation(&self, what: &str) {
        let words = format!("{} in {}: {what}", self.door.word(), self.project.word());
        self.log.report_violation(&[&format!("process {}", self.pid())], words);
    }

    /// The kinds of its open descriptors, sorted.
    pub(crate) fn descriptors(&self) -> Vec<String> {
        let entries = fs::read_dir(format!("/proc/{}/fd", self.pid())).into_iter().flatten();
        let mut kinds: Vec<String> = entries
            .flatten()
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .map(|target| target.to_string_lossy().into_owned())
            // The numbers of pipes and sockets, and the file for standard error, differ in every process.
            .map(|target| match target.split_once(":[") {
                Some((kind, _)) => kind.to_owned(),
                None if target.contains("/stderr-of-") => "standard error".to_owned(),
                None => target,
            })
            .collect();
        kinds.sort();
        kinds
    }

    /// Its name for a message.
    pub(crate) fn name(&self) -> String {
        format!("{} {} in {}", self.door.word(), self.pid(), self.project.word())
    }

    /// The door and the project.
    pub(crate) fn kind(&self) -> (Door, Project) {
        (self.door, self.project)
    }

    /// Whether its project exists.
    pub(crate) fn has_project(&self) -> bool {
        self.testbed.project(self.project).exists()
    }
}

impl Call {
    fn of(tasks: &[Task], is_background: bool) -> Call {
        let (id, begun, cancelled_at) = (0, Duration::ZERO, None);
        Call { id, tasks: tasks.to_vec(), is_background, begun, cancelled_at }
    }
}
