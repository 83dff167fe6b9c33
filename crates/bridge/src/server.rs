//! The requests of pi, and what it gets back.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;

use model::{Message, MessageTiming, Owner, OwnerKind, RunId};
use plan::Surroundings;
use process::{LineBuffer, ReadStatus};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;
use serde_json::{Value, json};
use session::view::{self, Extent};
use tools::{
    COMPLETE_MESSAGE, CallContext, CallEvent, CallReply, CallServer, Caller, FinishedCall,
    ListedAgent, OpenCallId, QuestionId, ShownTask, StopForce, now_ms,
};

use crate::call::{self, PendingCall};
use crate::client::{Client, RequestId};
use crate::handshake::Hello;
use crate::message::{self, INVALID_PARAMS, Incoming, METHOD_NOT_FOUND, REFUSED};
use crate::{agents, dialogs, wire};

/// One conversation of pi, and everything that runs for it.
pub(crate) struct Server {
    /// Whether pi draws windows on a terminal.
    is_drawn: bool,
    client: Client,
    calls: CallServer,
    pending: BTreeMap<OpenCallId, PendingCall>,
    /// The dialogs about what agents ask.
    asked: BTreeMap<QuestionId, RequestId>,
}

/// A request cannot be carried out.
struct Refusal {
    code: i64,
    message: String,
}

impl Server {
    pub(crate) fn new(hello: Hello, mut surroundings: Surroundings, client: Client) -> Server {
        surroundings.pi = hello.agent.filter(|command| !command.is_empty());
        let owner = Owner { kind: OwnerKind::Pi, id: Some(hello.session_id) };
        let caller = Caller {
            approval: Some(hello.trusted),
            columns: hello.columns,
            has_windows: true,
            remembers_sessions: true,
            keeps_log: true,
            ..Caller::new(surroundings, owner)
        };
        Server {
            is_drawn: hello.mode == "tui",
            client,
            calls: CallServer::new(caller),
            pending: BTreeMap::new(),
            asked: BTreeMap::new(),
        }
    }

    /// Serves until the input ends.
    pub(crate) fn run(mut self, lines: &mut LineBuffer, input: BorrowedFd<'_>) -> io::Result<()> {
        loop {
            while let Some(line) = lines.next_line() {
                let incoming = message::parse(line);
                self.receive(incoming);
            }
            let events = self.calls.wait(&[input], None);
            self.pass_on(events);
            if can_be_read(input) && lines.read_from(input)? == ReadStatus::EndOfFile {
                return Ok(());
            }
        }
    }

    fn receive(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Request { id, method, params } => {
                let answer = self.answer(&id, &method, params);
                // What happened meanwhile comes before the answer.
                let events = self.calls.take_events();
                self.pass_on(events);
                match answer {
                    Ok(Some(result)) => self.client.answer(&id, &result),
                    // It is answered later.
                    Ok(None) => {}
                    Err(Refusal { code, message }) => self.client.refuse(&id, code, &message),
                }
            }
            Incoming::Notification { method, params } => {
                let id = params.get("callId").and_then(Value::as_str);
                let is_meant = |pending: &PendingCall| Some(&*pending.id) == id;
                if method == "tools/cancel" {
                    for (call, _) in self.pending.iter().filter(|(_, pending)| is_meant(pending)) {
                        self.calls.cancel(*call, StopForce::Gracefully);
                    }
                }
            }
            Incoming::Answer { id, result } => self.client.resolve(id, result),
            Incoming::Garbage { id, code, message } => self.client.refuse(&id, code, &message),
        }
    }

    fn pass_on(&mut self, events: Vec<CallEvent>) {
        let Server { client, calls, pending, asked, .. } = self;
        for event in events {
            match event {
                CallEvent::Warning(warning) => client.show(&warning, "warning"),
                CallEvent::ReportDue(id) => {
                    if let (Some(call), Some(running)) = (pending.get(&id), calls.running(id)) {
                        let report = call::report(&call.id, running, self.is_drawn);
                        client.notify("tools/update", &report);
                    }
                }
                CallEvent::Over(id) => match (pending.remove(&id), calls.finish(id)) {
                    (Some(call), Some(FinishedCall::Tasks(tasks))) => {
                        client.answer(&call.request, &call::answer(&tasks));
                    }
                    (Some(call), Some(FinishedCall::Answer(Ok(answer)))) => {
                        client.answer(&call.request, &call::tool_answer(answer));
                    }
                    (Some(call), Some(FinishedCall::Answer(Err(error)))) => {
                        client.refuse(&call.request, REFUSED, &error.to_string());
                    }
                    _ => {}
                },
                CallEvent::LogEntry { kind, data } => {
                    client.notify("session/append", &json!({"customType": kind, "data": data}));
                }
                CallEvent::Footer(text) => client.notify("ui/status", &json!({"text": text})),
                CallEvent::BackgroundEnded(ended) => {
                    client.show(&ended.notice, ended.level());
                    client.add_message(COMPLETE_MESSAGE, &ended.message, &call::ended(&ended));
                }
                CallEvent::QuestionAsked(question) => {
                    asked.insert(question.id(), dialogs::ask_question(client, *question));
                }
                CallEvent::QuestionSettled(question) => {
                    if let Some(request) = asked.remove(&question) {
                        client.take_back(request);
                    }
                }
                CallEvent::TaskEvent { .. }
                | CallEvent::TaskChanged(_)
                | CallEvent::TaskEnded { .. }
                | CallEvent::AnswerDue { .. } => {}
            }
        }
    }

    /// The answer to a request, if there is one at once.
    fn answer(
        &mut self,
        id: &Value,
        method: &str,
        params: Value,
    ) -> Result<Option<Value>, Refusal> {
        let surroundings = self.calls.surroundings();
        match method {
            "tools/list" => {
                let Models { models } = read(params)?;
                // A session starts with this, so that the user learns early what cannot be loaded.
                let workspace = self.calls.load_workspace();
                let choices = tools::Choices::of(models, &workspace.presets);
                let tools = tools::describe_tools(&choices, workspace.settings.tools);
                Ok(Some(json!({"tools": tools})))
            }
            "tools/call" => self.call(id, read(params)?),
            "session/start" => {
                let SessionStart { entries } = read(params)?;
                let entries = entries.iter().map(|entry| (&*entry.custom_type, &entry.data));
                self.calls.restore(entries);
                Ok(Some(json!({})))
            }
            "command/run" => {
                let Command { name, arguments } = read(params)?;
                known_command(&name)?;
                let (client, surroundings) = (self.client.clone(), surroundings.clone());
                let (id, is_drawn) = (id.clone(), self.is_drawn);
                dialogs::run_profile_command(client, id, surroundings, arguments, is_drawn)
                    .map_err(|error| {
                        refusal(&format!("the command cannot wait for an answer: {error}"))
                    })?;
                Ok(None)
            }
            "command/complete" => {
                let Completion { name, prefix } = read(params)?;
                known_command(&name)?;
                let items = tools::complete_profile_command(surroundings, &prefix);
                let items = items.iter().map(|item| json!({"value": item, "label": item}));
                Ok(Some(json!({"items": items.collect::<Vec<Value>>()})))
            }
            "view/call" => {
                let ShownCall { name, arguments } = read(params)?;
                let [lines, expanded] = [Extent::Collapsed, Extent::Expanded]
                    .map(|extent| wire::whole(&view::call_heading(&name, &arguments, extent)));
                Ok(Some(json!({"lines": lines, "expanded": expanded})))
            }
            "view/expand" => {
                let Runs { runs } = read(params)?;
                Ok(Some(json!({"lines": self.expand(&runs)})))
            }
            "agents/list" => {
                let listed = self.calls.agents().map_err(|error| refusal(&error.to_string()))?;
                let live = |agent: &ListedAgent| self.calls.task_of(&agent.task.meta.run_id);
                Ok(Some(agents::list(&listed, live, now_ms())))
            }
            "agents/act" => self.act(id, read(params)?),
            _ => Err(Refusal {
                code: METHOD_NOT_FOUND,
                message: format!("there is no method {method}"),
            }),
        }
    }

    /// Calls a tool. There is no answer yet if it runs tasks.
    fn call(&mut self, request: &Value, call: ToolCall) -> Result<Option<Value>, Refusal> {
        let context = CallContext {
            models: Some(call.models).filter(|models| !models.is_empty()),
            all_tools: Some(call.all_tools),
            reporting: call::reporting(self.is_drawn),
            ..CallContext::default()
        };
        let reply = self.calls.call(&call.name, &call.arguments, &context);
        match reply.map_err(|error| Refusal { code: REFUSED, message: error.to_string() })? {
            CallReply::Answer(answer) => Ok(Some(call::tool_answer(answer))),
            CallReply::Pending(id) => {
                let request = request.clone();
                self.pending.insert(id, PendingCall { id: call.call_id, request });
                Ok(None)
            }
        }
    }

    /// Does with a run what the user of `/agents` wants.
    fn act(&mut self, request: &Value, act: Act) -> Result<Option<Value>, Refusal> {
        match act.action.as_str() {
            "stop" => {
                let stop = tools::stop_agent(self.calls.store(), &act.run_id)
                    .map_err(|error| refusal(&error.to_string()))?;
                let stop = move || stop().map(|message| agents::notice(&message));
                agents::answer_later(self.client.clone(), request.clone(), stop)
                    .map_err(|error| refusal(&format!("The run cannot be stopped: {error}")))?;
                Ok(None)
            }
            "changes" => {
                let read = tools::changes_of_agent(self.calls.store(), &act.run_id)
                    .map_err(|error| refusal(&error.to_string()))?;
                let read = move || read().map(agents::changes);
                agents::answer_later(self.client.clone(), request.clone(), read)
                    .map_err(|error| refusal(&format!("The changes cannot be read: {error}")))?;
                Ok(None)
            }
            "message" => {
                let message = Message { text: act.text, timing: MessageTiming::Steer };
                let call = self.calls.tell(&act.run_id, message);
                let call = call.map_err(|error| refusal(&error.to_string()))?;
                let request = request.clone();
                self.pending.insert(call, PendingCall { id: String::new(), request });
                Ok(None)
            }
            "resume" => {
                let context = CallContext {
                    models: Some(act.models).filter(|models| !models.is_empty()),
                    all_tools: Some(act.all_tools),
                    ..CallContext::default()
                };
                let resumed = self.calls.resume(&act.run_id, &act.text, &context);
                let record = resumed.map_err(|error| refusal(&error.to_string()))?;
                Ok(Some(agents::resumed(&record)))
            }
            action => Err(Refusal {
                code: INVALID_PARAMS,
                message: format!("there is no action {action}"),
            }),
        }
    }

    /// The windows of these runs, with everything that is remembered of them.
    fn expand(&mut self, runs: &[String]) -> Value {
        let workspace = self.calls.load_workspace();
        let appearance = self.calls.appearance(&workspace);
        let runs: Vec<RunId> = runs.iter().filter_map(|run| RunId::parse(run).ok()).collect();
        let recorded = runs.iter().map(|run| match self.calls.task_of(run) {
            Some(_) => None,
            None => ShownTask::recorded(self.calls.store(), run, &appearance).ok(),
        });
        let recorded: Vec<Option<ShownTask>> = recorded.collect();
        let now = now_ms();
        let tasks = runs.iter().zip(&recorded);
        let tasks = tasks.filter_map(|(run, task)| task.as_ref().or(self.calls.task_of(run)));
        let tasks: Vec<_> = tasks.map(|task| (task.view(now), task.asked())).collect();
        wire::whole(&view::opened_blocks(&tasks))
    }
}

fn read<T: for<'de> Deserialize<'de>>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params)
        .map_err(|error| Refusal { code: INVALID_PARAMS, message: error.to_string() })
}

fn refusal(message: &str) -> Refusal {
    Refusal { code: REFUSED, message: message.to_owned() }
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
struct ToolCall {
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
#[serde(rename_all = "camelCase")]
struct Act {
    run_id: String,
    action: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    models: Vec<String>,
    #[serde(default)]
    all_tools: Vec<String>,
}

#[derive(Deserialize)]
struct Runs {
    runs: Vec<String>,
}
