//! Tasks to look at.

use serde_json::json;

use model::{Changes, Event, Outcome, Record, SessionId, Usage};
use session::State;
use session::view::{Phase, TaskView};

pub(crate) struct TestTask {
    name: String,
    phase: Phase,
    state: State,
    session: SessionId,
}

fn task(name: &str, phase: Phase, events: Vec<Event>) -> TestTask {
    let mut state = State::default();
    for (seq, event) in (1..).zip(events) {
        state.apply(&Record { seq, at: 1_000, event });
    }
    let session = SessionId::parse("0123456789abcdef").unwrap();
    TestTask { name: name.to_owned(), phase, state, session }
}

pub(crate) fn queued(name: &str) -> TestTask {
    task(name, Phase::Queued, Vec::new())
}

/// A message of a model, as it is recorded.
pub(crate) fn said(text: &str) -> Record {
    Record { seq: 1, at: 1_000, event: message(text) }
}

fn message(text: &str) -> Event {
    Event::AssistantMessage {
        text: text.to_owned(),
        model: None,
        stop_reason: None,
        error: None,
        usage: Usage::default(),
    }
}

fn call(id: &str, tool: &str, args: serde_json::Value) -> Event {
    Event::ToolCall { id: id.to_owned(), tool: tool.to_owned(), args }
}

/// A task whose command is at work.
pub(crate) fn calling(name: &str, command: &str) -> TestTask {
    let call = call("1", "bash", json!({"command": command}));
    let started = Event::RunStarted { pid: 1, agent: None };
    task(name, Phase::Running, vec![started, message("I test."), call])
}

/// A task that uses tools.
pub(crate) fn working(name: &str) -> TestTask {
    let result = |id: &str, tool: &str, text: &str, is_error| Event::ToolResult {
        id: id.to_owned(),
        tool: tool.to_owned(),
        is_error,
        text: text.to_owned(),
        limit_reached: false,
    };
    let edit = json!({"path": "src/errors.rs", "edits": [{"oldText": "a", "newText": "b\nc"}]});
    let events = vec![
        Event::RunStarted { pid: 1, agent: None },
        call("1", "bash", json!({"command": "cargo test -p auth"})),
        result("1", "bash", "running\ntest result: ok. 41 passed", false),
        call("2", "edit", edit),
        result("2", "edit", "Replaced.", false),
        call("3", "read", json!({"path": "missing.rs"})),
        result("3", "read", "No such file", true),
        call("4", "bash", json!({"command": "sleep 9"})),
    ];
    task(name, Phase::Running, events)
}

/// A task that has said these things.
pub(crate) fn running(name: &str, said: &[&str]) -> TestTask {
    let said = said.iter().map(|text| message(text));
    let events = [Event::RunStarted { pid: 1, agent: None }].into_iter().chain(said).collect();
    task(name, Phase::Running, events)
}

pub(crate) fn done(name: &str) -> TestTask {
    ended(name, Outcome::Completed, None)
}

/// A task that has ended in a worktree of its own.
pub(crate) fn changing(name: &str, files: u64) -> TestTask {
    let reference = Some("refs/pi-subagents/1/result".to_owned());
    let changes = Changes { files, insertions: 40, deletions: 2, reference, ..Changes::default() };
    let mut task = done(name);
    task.state.apply(&Record { seq: 3, at: 1_000, event: Event::ChangesKept { changes } });
    task
}

pub(crate) fn failed(name: &str, error: &str) -> TestTask {
    ended(name, Outcome::Timeout, Some(error.to_owned()))
}

fn ended(name: &str, outcome: Outcome, error: Option<String>) -> TestTask {
    let end = Event::RunEnded { outcome, error, exit_code: None, signal: None, leftovers: None };
    task(name, Phase::Ended, vec![Event::RunStarted { pid: 1, agent: None }, end])
}

pub(crate) fn views(tasks: &[TestTask]) -> Vec<TaskView<'_>> {
    tasks
        .iter()
        .map(|task| TaskView {
            name: &task.name,
            profile: None,
            agent: Some("pi"),
            model: Some("anthropic/claude-haiku-4-5"),
            thinking: None,
            state: &task.state,
            phase: task.phase,
            elapsed_ms: 12_000,
            doing_ms: 3_000,
            timeout_ms: Some(600_000),
            session: &task.session,
            access: model::Access::Full,
            budget: model::Budget::default(),
        })
        .collect()
}
