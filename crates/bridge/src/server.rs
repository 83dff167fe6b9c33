//! What is asked, and who does it.

mod answers;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use model::{Owner, OwnerKind};
use plan::Surroundings;
use process::{LineBuffer, ReadStatus};
use runner::{Change, Dispatcher, Update};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;
use serde_json::{Value, json};
use session::view::{self, Extent, TaskView};
use store::Store;
use tools::{
    Appearance, BackgroundBook, SESSION_ENTRY, SessionBook, ShownTask, StartedRun, Workspace,
    now_ms,
};

use crate::background::BackgroundWatch;
use crate::call::Call;
use crate::client::Client;
use crate::handshake::Hello;
use crate::message::{self, INVALID_PARAMS, Incoming, METHOD_NOT_FOUND, REFUSED};
use crate::{dialogs, wire};

/// One conversation of pi, and everything that runs for it.
pub(crate) struct Server {
    hello: Hello,
    surroundings: Surroundings,
    owner: Owner,
    client: Client,
    store: Store,
    dispatcher: Dispatcher,
    calls: Vec<Call>,
    book: SessionBook,
    background: BackgroundWatch,
    /// What the user was warned of: once is enough.
    warned: BTreeSet<String>,
}

/// A request cannot be carried out.
struct Refusal {
    code: i64,
    message: String,
}

impl Refusal {
    fn because(error: &dyn Display) -> Refusal {
        Refusal { code: REFUSED, message: error.to_string() }
    }
}

impl Server {
    pub(crate) fn new(hello: Hello, mut surroundings: Surroundings, client: Client) -> Server {
        surroundings.pi = hello.agent.clone().filter(|command| !command.is_empty());
        let owner = Owner { kind: OwnerKind::Pi, id: Some(hello.session_id.clone()) };
        let store = Store::in_project(surroundings.project_root());
        Server {
            dispatcher: Dispatcher::new(store.clone()).adopting_orphans(),
            hello,
            surroundings,
            owner,
            client,
            store,
            calls: Vec::new(),
            book: SessionBook::default(),
            background: BackgroundWatch::new(),
            warned: BTreeSet::new(),
        }
    }

    /// Serves until the input ends.
    pub(crate) fn run(mut self, lines: &mut LineBuffer, input: BorrowedFd<'_>) -> io::Result<()> {
        loop {
            while let Some(line) = lines.next_line() {
                let incoming = message::parse(line.head());
                self.receive(incoming);
            }
            for update in self.await_something(input) {
                self.take(update);
            }
            if can_be_read(input) && lines.read_from(input)? == ReadStatus::EndOfFile {
                return Ok(());
            }
            let is_changed = self.background.waker().is_some_and(can_be_read);
            if is_changed || self.background.next_look().is_some_and(|left| left.is_zero()) {
                self.background.look(&self.store, &self.client);
            }
            for call in &mut self.calls {
                if let Some(word) = call.word() {
                    self.client.tell("tools/update", &word);
                }
            }
        }
    }

    fn await_something(&mut self, input: BorrowedFd<'_>) -> Vec<Update> {
        let words = self.calls.iter().map(Call::next_word);
        let limit: Option<Duration> = words.chain(self.background.next_look()).min();
        let wakers: Vec<BorrowedFd<'_>> =
            [input].into_iter().chain(self.background.waker()).collect();
        self.dispatcher.wait(&wakers, limit)
    }

    fn receive(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Request { id, method, params } => {
                match self.answer(&id, &method, params) {
                    Ok(Some(result)) => self.client.answer(&id, &result),
                    // It is answered later.
                    Ok(None) => {}
                    Err(Refusal { code, message }) => self.client.refuse(&id, code, &message),
                }
            }
            Incoming::Notification { method, params } => {
                let call = params.get("callId").and_then(Value::as_str);
                let is_meant = |known: &&Call| method == "tools/cancel" && Some(&*known.id) == call;
                for call in self.calls.iter().filter(is_meant) {
                    call.running.stop(&mut self.dispatcher);
                }
            }
            Incoming::Answer { id, result } => self.client.resolve(id, result),
            Incoming::Garbage { id, code, message } => self.client.refuse(&id, code, &message),
        }
    }

    /// The answer to a request, if there is one at once.
    fn answer(
        &mut self,
        id: &Value,
        method: &str,
        params: Value,
    ) -> Result<Option<Value>, Refusal> {
        match method {
            "tools/list" => {
                let Models { models } = read(params)?;
                let settings = self.workspace().settings;
                let tools = tools::describe_tools(&models, settings.tools);
                Ok(Some(json!({"tools": tools})))
            }
            "tools/call" => self.call(id, read(params)?),
            "session/start" => {
                self.start_session(&read(params)?);
                Ok(Some(json!({})))
            }
            "command/run" => {
                let Command { name, arguments } = read(params)?;
                known_command(&name)?;
                dialogs::run_profile_command(
                    self.client.clone(),
                    id.clone(),
                    self.surroundings.clone(),
                    arguments,
                );
                Ok(None)
            }
            "command/complete" => {
                let Completion { name, prefix } = read(params)?;
                known_command(&name)?;
                let items = tools::complete_profile_command(&self.surroundings, &prefix);
                let items = items.iter().map(|item| json!({"value": item, "label": item}));
                Ok(Some(json!({"items": items.collect::<Vec<Value>>()})))
            }
            "view/call" => {
                let ShownCall { name, arguments } = read(params)?;
                let line = view::call_line(&name, &arguments);
                Ok(Some(json!({"lines": wire::kept(&[line])})))
            }
            "view/expand" => {
                let Runs { runs } = read(params)?;
                Ok(Some(json!({"lines": self.expand(&runs)})))
            }
            _ => Err(Refusal {
                code: METHOD_NOT_FOUND,
                message: format!("there is no method {method}"),
            }),
        }
    }

    /// Takes up what was written down about earlier runs of this conversation.
    fn start_session(&mut self, session: &SessionStart) {
        let of_kind = |kind: &'static str| {
            session.entries.iter().filter(move |entry| entry.custom_type == kind)
        };
        let calls = self.calls.iter();
        let running: Vec<StartedRun> =
            calls.flat_map(|call| call.running.running().cloned()).collect();
        self.book = SessionBook::restore(of_kind(SESSION_ENTRY).map(|entry| &entry.data));
        for run in running {
            // The user moved in the tree meanwhile. What runs for him stays known.
            self.book.start(run);
        }
        for run in self.book.catch_up(&self.store) {
            self.append(&run);
        }
        let entries = session.entries.iter();
        let entries = entries.map(|entry| (entry.custom_type.as_str(), &entry.data));
        let book = BackgroundBook::restore(entries);
        self.background.restore(book, &self.store, &self.owner, &self.client);
    }

    fn append(&self, run: &model::RunId) {
        if let Some(entry) = self.book.to_entry(run) {
            let params = json!({"customType": SESSION_ENTRY, "data": entry});
            self.client.tell("session/append", &params);
        }
    }

    fn take(&mut self, update: Update) {
        let task = update.task;
        let Some(position) = self.calls.iter().position(|call| call.running.has(task)) else {
            return;
        };
        let call = &mut self.calls[position];
        call.is_changed |= !matches!(update.change, Change::Activity(_));
        if let Some(run) = call.running.take(update, &mut self.book) {
            self.append(&run);
        }
        if self.calls[position].running.is_over() {
            let call = self.calls.remove(position);
            self.client.answer(&call.request, &call.answer().into_json());
        }
    }

    /// The windows of these runs with everything that is remembered of them.
    fn expand(&self, runs: &[String]) -> Value {
        let appearance = self.appearance(&self.workspace());
        let mut recorded = Vec::new();
        for run in runs {
            let is_live = self.calls.iter().any(|call| call.shown(run).is_some());
            let id = model::RunId::parse(run).ok().filter(|_| !is_live);
            let task = id.and_then(|id| ShownTask::recorded(&self.store, &id, &appearance).ok());
            recorded.extend(task.map(|task| (run.as_str(), task)));
        }
        let now = now_ms();
        let views = runs.iter().filter_map(|run| {
            let live = self.calls.iter().find_map(|call| call.shown(run));
            let recorded = recorded.iter().find(|(id, _)| id == run).map(|(_, task)| task);
            live.or(recorded).map(|task| task.view(now))
        });
        let views: Vec<TaskView<'_>> = views.collect();
        wire::whole(&view::render(&views, Extent::Expanded))
    }

    /// Everything that is read anew for each call: whoever changes a profile sees it at once.
    fn workspace(&self) -> Workspace {
        Workspace::load(self.surroundings.clone(), Some(self.hello.trusted))
    }

    fn appearance(&self, workspace: &Workspace) -> Appearance {
        Appearance::new(workspace, self.hello.columns)
    }

    fn warn<'a>(&mut self, warnings: impl IntoIterator<Item = &'a String>) {
        for warning in warnings {
            if self.warned.insert(warning.clone()) {
                self.client.notify(warning, "warning");
            }
        }
    }
}

fn read<T: for<'de> Deserialize<'de>>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params)
        .map_err(|error| Refusal { code: INVALID_PARAMS, message: error.to_string() })
}

fn known_command(name: &str) -> Result<(), Refusal> {
    if name == "profile" {
        return Ok(());
    }
    Err(Refusal { code: INVALID_PARAMS, message: format!("there is no command {name}") })
}

/// Whether reading would not wait, also because there is nothing to read ever again.
fn can_be_read(fd: BorrowedFd<'_>) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&at_once))
        .is_ok_and(|ready| ready > 0)
}

#[derive(Deserialize)]
struct Models {
    models: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    call_id: String,
    name: String,
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    models: Vec<String>,
    #[serde(default)]
    all_tools: Vec<String>,
}

#[derive(Deserialize)]
struct SessionStart {
    #[serde(default)]
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    custom_type: String,
    #[serde(default)]
    data: Value,
}

#[derive(Deserialize)]
struct Command {
    name: String,
    #[serde(default)]
    arguments: String,
}

#[derive(Deserialize)]
struct Completion {
    name: String,
    #[serde(default)]
    prefix: String,
}

#[derive(Deserialize)]
struct ShownCall {
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
struct Runs {
    runs: Vec<String>,
}
