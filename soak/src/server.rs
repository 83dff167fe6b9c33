//! A client of `pi-subagents bridge` or of `pi-subagents mcp`: many calls at once to one server, which
//! is started anew when it was killed.

use std::fs;
use std::io::Write;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::PATIENCE;
use crate::ledger::{Account, Blow, BlowKind, Fate, Ledger};
use crate::place::Place;
use crate::plan::{Action, ActionKind, Door, Lane, Pace, Project};
use crate::protocol;
use crate::reading::Tempo;
use crate::task::Task;

pub(crate) struct Server<'a> {
    place: &'a Place,
    ledger: &'a Ledger,
    door: Door,
    project: Project,
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    unread: Vec<u8>,
    tempo: Tempo,
    calls: Vec<Call>,
    next_id: u64,
    /// Whether its directory is not the project's any more, so that it refuses everything.
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

/// The server does not say anything any more.
#[derive(Debug)]
pub(crate) struct Gone;

/// As many calls as a busy client has.
const MOST_CALLS: usize = 4;

/// Does everything that is planned for a lane, until the time is over. Returns the last server, with
/// all its calls answered.
pub(crate) fn act<'a>(
    place: &'a Place,
    ledger: &'a Ledger,
    lane: &Lane,
    session: &str,
    length: Duration,
) -> Option<Server<'a>> {
    let mut actions = lane.actions.iter().peekable();
    let mut server = None;
    loop {
        let is_over = ledger.now() >= length;
        let Some(serving) = &mut server else {
            if is_over {
                return None;
            }
            server = Server::start(place, ledger, (lane.door, lane.project), session);
            continue;
        };
        let next = actions.next_if(|action| {
            !is_over && action.at <= ledger.now() && serving.calls.len() < MOST_CALLS
        });
        let is_alive = match next {
            Some(action) => serving.begin(&action.what),
            None => serving.attend(Duration::from_millis(20)),
        };
        if is_alive.is_err() {
            if let Some(server) = server.take() {
                server.bury();
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
    /// Starts a server and greets it. `None` if that is not possible at the moment.
    pub(crate) fn start(
        place: &'a Place,
        ledger: &'a Ledger,
        (door, project): (Door, Project),
        session: &str,
    ) -> Option<Server<'a>> {
        let log = place.world.path(&format!("stderr-of-{session}.log"));
        let log = fs::OpenOptions::new().create(true).append(true).open(log).ok()?;
        let mut command = place.command(project, [door.word()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let Ok(mut child) = command.spawn() else {
            // The project is just not there.
            thread::sleep(Duration::from_millis(50));
            return None;
        };
        ledger.note(format!("{session}: {} is process {}", door.word(), child.id()));
        let input = child.stdin.take();
        let stdout = child.stdout.take()?;
        let (sender, output) = channel();
        let tempo = Tempo::new(Pace::Eager);
        thread::spawn({
            let tempo = tempo.clone();
            move || tempo.read(stdout, &sender, |bytes| bytes)
        });
        let (unread, calls) = (Vec::new(), Vec::new());
        let mut server = Server {
            place,
            ledger,
            door,
            project,
            child,
            input,
            output,
            unread,
            tempo,
            calls,
            next_id: 1,
            is_stranded: false,
        };
        let agent: Value = serde_json::from_str(&place.fake_agent).unwrap_or_default();
        let greeted = protocol::greeting(door, session, &agent).into_iter().try_for_each(
            |(method, params, is_answered)| {
                if is_answered {
                    server.request(method, &params, Call::of(&[], false))?;
                    server.settle()
                } else {
                    server.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
                }
            },
        );
        match greeted {
            Ok(()) => Some(server),
            Err(Gone) => {
                server.bury();
                None
            }
        }
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Begins what a client is planned to do.
    pub(crate) fn begin(&mut self, action: &Action) -> Result<(), Gone> {
        self.tempo.set(action.pace);
        let (tasks, is_background): (&[Task], bool) = match &action.kind {
            ActionKind::One(task) => (std::slice::from_ref(task), false),
            ActionKind::Many(tasks) => (tasks, false),
            ActionKind::Background(task, _) => (std::slice::from_ref(task), true),
            ActionKind::Look => (&[], false),
        };
        let account = |task: &Task| Account {
            task: task.clone(),
            door: self.door,
            project: self.project,
            is_background,
            issued: self.ledger.now(),
            door_pid: self.pid(),
            is_cancelled: false,
            fate: Fate::Open,
        };
        if let Some(account) = tasks.first().map(account) {
            self.ledger.issue(&tasks.iter().collect::<Vec<&Task>>(), &account);
        }
        let mut call = Call::of(tasks, is_background);
        let cancelled_after =
            action.cancelled_after.filter(|_| !is_background && !tasks.is_empty());
        call.cancelled_at = cancelled_after.map(|after| self.ledger.now() + after);
        let params = protocol::call(self.door, self.next_id, &action.kind);
        self.request("tools/call", &params, call)
    }

    fn request(&mut self, method: &str, params: &Value, call: Call) -> Result<(), Gone> {
        let id = self.next_id;
        self.next_id += 1;
        self.calls.push(Call { id, begun: self.ledger.now(), ..call });
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    fn say(&mut self, message: &Value) -> Result<(), Gone> {
        let line = format!("{message}\n");
        let input = self.input.as_mut().ok_or(Gone)?;
        input.write_all(line.as_bytes()).and_then(|()| input.flush()).map_err(|_| Gone)
    }

    /// Waits until everything is answered.
    pub(crate) fn settle(&mut self) -> Result<(), Gone> {
        while !self.calls.is_empty() {
            self.attend(Duration::from_millis(50))?;
        }
        Ok(())
    }

    /// Listens for so long, and cancels what is to be cancelled.
    pub(crate) fn attend(&mut self, length: Duration) -> Result<(), Gone> {
        let until = self.ledger.now() + length;
        loop {
            self.cancel_what_is_due()?;
            match self.output.recv_timeout(until.saturating_sub(self.ledger.now())) {
                Ok(bytes) => self.unread.extend(bytes),
                Err(RecvTimeoutError::Timeout) => return self.check_patience(),
                Err(RecvTimeoutError::Disconnected) => return Err(Gone),
            }
            while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                match serde_json::from_slice(&line) {
                    Ok(message) => self.hear(&message),
                    Err(error) => {
                        let line = String::from_utf8_lossy(&line).into_owned();
                        self.complain(&format!("this is not a message: {error}: {line}"));
                    }
                }
            }
        }
    }

    fn cancel_what_is_due(&mut self) -> Result<(), Gone> {
        let now = self.ledger.now();
        let is_due = |call: &Call| call.cancelled_at.is_some_and(|at| at <= now);
        while let Some(place) = self.calls.iter().position(is_due) {
            self.calls[place].cancelled_at = None;
            for task in &self.calls[place].tasks {
                self.ledger.cancel(&task.token, "its client");
            }
            let id = self.calls[place].id;
            if self.door == Door::Mcp {
                // Whoever cancels is not answered.
                self.forget(place);
            }
            self.say(&protocol::cancellation(self.door, id))?;
        }
        Ok(())
    }

    fn check_patience(&mut self) -> Result<(), Gone> {
        let now = self.ledger.now();
        let Some(call) = self.calls.iter().find(|call| call.begun + PATIENCE < now) else {
            return Ok(());
        };
        let tokens: Vec<&str> = call.tasks.iter().map(|task| task.token.as_str()).collect();
        self.ledger.complain(&tokens, format!("request {} is not answered", call.id));
        self.kill();
        Err(Gone)
    }

    fn hear(&mut self, message: &Value) {
        if let Some(run_id) = protocol::notification(message) {
            self.ledger.hear(run_id, self.door.word());
        }
        if message.get("method").is_some() {
            return;
        }
        let Some(place) = self.calls.iter().position(|call| message["id"] == json!(call.id)) else {
            return;
        };
        let call = self.calls.remove(place);
        let fates = protocol::fates(self.door, message, call.tasks.len(), call.is_background);
        for (task, fate) in call.tasks.iter().zip(&fates) {
            self.is_stranded |= matches!(fate, Fate::Refused(_)) && self.project == Project::Doomed;
            self.ledger.settle(&task.token, fate.clone());
        }
        if call.tasks.is_empty() && message.get("error").is_some() {
            self.is_stranded |= self.project == Project::Doomed;
            if self.project == Project::Steady {
                self.complain(&format!("a look is refused: {message}"));
            }
        }
    }

    /// Does not wait for a call any more.
    fn forget(&mut self, place: usize) {
        for task in self.calls.remove(place).tasks {
            self.ledger.settle(&task.token, Fate::Unknown);
        }
    }

    /// The server is gone; so it must be if we have killed it, and only then.
    fn bury(mut self) {
        while !self.calls.is_empty() {
            self.forget(0);
        }
        drop(self.input.take());
        let deadline = self.ledger.now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if self.ledger.now() >= deadline {
                self.complain("it says nothing any more, and does not end");
                self.kill();
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let status = self.child.wait().map(|status| status.to_string());
        self.ledger.note(format!("process {} has ended: {status:?}", self.pid()));
        if !self.ledger.pages().is_door_killed(self.pid()) {
            self.complain(&format!("it has ended by itself: {status:?}"));
        }
    }

    fn kill(&self) {
        let blow = Blow { pid: self.pid(), run_id: None, kind: BlowKind::DoorKilled };
        self.ledger.strike(blow, "SIGKILL because of that");
        // It has not been waited for, so that the id is its own.
        let _ = kill_process(Pid::from_child(&self.child), Signal::KILL);
    }

    /// Closes its input, upon which it must end, and well.
    pub(crate) fn close(mut self) {
        drop(self.input.take());
        let deadline = self.ledger.now() + PATIENCE;
        loop {
            // What it still says is read: nobody can end who is not listened to.
            match self.output.recv_timeout(Duration::from_millis(20)) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) if self.ledger.now() < deadline => {}
                Err(RecvTimeoutError::Timeout) => {
                    self.complain("it does not end although its input has");
                    self.kill();
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = self.child.wait();
        let is_well = status.as_ref().is_ok_and(std::process::ExitStatus::success);
        self.ledger.note(format!("process {} has ended: {status:?}", self.pid()));
        if !is_well && !self.ledger.pages().is_door_killed(self.pid()) {
            self.complain(&format!("it ended with {status:?}"));
        }
    }

    fn complain(&self, what: &str) {
        let words = format!("{} in {}: {what}", self.door.word(), self.project.word());
        self.ledger.complain(&[&format!("process {}", self.pid())], words);
    }

    /// What it has open, by kind, in order.
    pub(crate) fn descriptors(&self) -> Vec<String> {
        let entries = fs::read_dir(format!("/proc/{}/fd", self.pid())).into_iter().flatten();
        let mut kinds: Vec<String> = entries
            .flatten()
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .map(|target| target.to_string_lossy().into_owned())
            // The number of a pipe or socket is another one in every process, and so is the log that
            // we have made of its standard error.
            .map(|target| match target.split_once(":[") {
                Some((kind, _)) => kind.to_owned(),
                None if target.contains("/stderr-of-") => "standard error".to_owned(),
                None => target,
            })
            .collect();
        kinds.sort();
        kinds
    }

    /// Where it is, for a message.
    pub(crate) fn name(&self) -> String {
        format!("{} {} in {}", self.door.word(), self.pid(), self.project.word())
    }

    /// The door and the project.
    pub(crate) fn kind(&self) -> (Door, Project) {
        (self.door, self.project)
    }

    /// Where its project is, if it still is.
    pub(crate) fn is_there(&self) -> bool {
        self.place.project(self.project).exists()
    }
}

impl Call {
    fn of(tasks: &[Task], is_background: bool) -> Call {
        let (id, begun, cancelled_at) = (0, Duration::ZERO, None);
        Call { id, tasks: tasks.to_vec(), is_background, begun, cancelled_at }
    }
}
