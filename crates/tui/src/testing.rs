//! Tasks to look at.

use model::{Event, Outcome, Record, SessionId, Usage};
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

/// A task that has said these things.
pub(crate) fn running(name: &str, said: &[&str]) -> TestTask {
    let said = said.iter().map(|text| Event::AssistantMessage {
        text: (*text).to_owned(),
        model: None,
        stop_reason: None,
        error: None,
        usage: Usage::default(),
    });
    let events = [Event::RunStarted { pid: 1 }].into_iter().chain(said).collect();
    task(name, Phase::Running, events)
}

pub(crate) fn done(name: &str) -> TestTask {
    ended(name, Outcome::Completed, None)
}

pub(crate) fn failed(name: &str, error: &str) -> TestTask {
    ended(name, Outcome::Timeout, Some(error.to_owned()))
}

fn ended(name: &str, outcome: Outcome, error: Option<String>) -> TestTask {
    let end = Event::RunEnded { outcome, error, exit_code: None, signal: None };
    task(name, Phase::Ended, vec![Event::RunStarted { pid: 1 }, end])
}

pub(crate) fn views(tasks: &[TestTask]) -> Vec<TaskView<'_>> {
    tasks
        .iter()
        .map(|task| TaskView {
            name: &task.name,
            profile: None,
            state: &task.state,
            phase: task.phase,
            elapsed_ms: 12_000,
            doing_ms: 3_000,
            timeout_ms: Some(600_000),
            session: &task.session,
        })
        .collect()
}
