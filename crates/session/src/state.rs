//! What people are shown of a run: a fold of its events.

use std::borrow::Cow;

use model::{Activity, Event, Record};

use crate::activity::Doing;
use crate::conversation::Conversation;
use crate::facts::Facts;
use crate::preview::PreviewContext;
use crate::progress_words::Progress;
use crate::text::{one_line, shorten};
use crate::todos::Todos;

/// How a state is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Context {
    pub preview: PreviewContext,
    /// How many lines a window has.
    pub window_lines: usize,
    /// Whether there is a window at all. Where there is none, only facts and words are kept, which is
    /// most of the time and of the memory of a call with many tasks.
    pub has_window: bool,
}

impl Context {
    /// How many lines a window has by default.
    pub const WINDOW_LINES: usize = 15;
}

impl Default for Context {
    fn default() -> Context {
        let preview = PreviewContext::default();
        Context { preview, window_lines: Context::WINDOW_LINES, has_window: true }
    }
}

/// Everything that people can be shown about a run after a number of its events.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct State {
    pub facts: Facts,
    pub todos: Todos,
    pub doing: Doing,
    /// The last things that were said and done.
    pub recent: Conversation,
    context: Context,
    progress: Progress,
    /// What the agent said or did last, in words of one line.
    latest_words: Option<String>,
}

impl State {
    /// Of longer words, only the beginning is progress.
    const LATEST_CHARS: usize = 200;

    /// The state before the first event.
    pub fn new(context: Context) -> State {
        State { context, ..State::default() }
    }

    /// The state after all these events.
    pub fn replay(records: impl IntoIterator<Item = Record>) -> State {
        let mut state = State::default();
        for record in records {
            state.apply(&record);
        }
        state
    }

    /// Takes the next event, and returns its progress words if it has any. They are for a running
    /// log; windows show tools in a form of their own.
    pub fn apply(&mut self, record: &Record) -> Option<String> {
        self.facts.apply(record);
        let words = self.progress.words(&record.event);
        if let (Some(words), true) = (&words, is_progress(&record.event)) {
            self.latest_words = Some(shorten(&one_line(words), State::LATEST_CHARS).into_owned());
        }
        let has_open_calls = self.progress.open_call().is_some();
        self.doing.apply(&record.event, record.at, has_open_calls);
        if self.context.has_window {
            self.recent.apply(record, &self.context.preview);
            if let Event::ToolCall { tool, args, .. } = &record.event {
                self.todos.observe(tool, args);
            }
        }
        words
    }

    /// Takes the activity that the supervisor reports, at a time in milliseconds since 1970.
    pub fn observe(&mut self, activity: Activity, at: u64) {
        self.doing.observe(activity, at);
    }

    /// The agent's current activity in words.
    pub fn doing_words(&self) -> Cow<'_, str> {
        if self.facts.stopping.is_some() {
            return Cow::Borrowed("stopping");
        }
        if let Some(waiting) = &self.facts.waiting {
            return Cow::Owned(waiting.words());
        }
        if let Some(open) = self.facts.open_questions.first() {
            let words = open.question.words();
            return Cow::Owned(format!("asks: {}", one_line(&words)));
        }
        match (self.doing.activity, self.progress.open_call()) {
            (Activity::Tool, Some(words)) => one_line(words),
            (activity, _) => Cow::Borrowed(activity.word()),
        }
    }

    /// What the agent said or did last; its current activity before it has said or done anything.
    pub fn latest_words(&self) -> Cow<'_, str> {
        self.latest_words.as_deref().map_or_else(|| self.doing_words(), Cow::Borrowed)
    }

    /// As given to [`State::new`].
    pub fn context(&self) -> &Context {
        &self.context
    }
}

/// Whether the words for an event tell what the agent does, rather than what happens to it.
fn is_progress(event: &Event) -> bool {
    matches!(
        event,
        Event::AssistantMessage { .. }
            | Event::ToolCall { .. }
            | Event::ToolResult { .. }
            | Event::RetryScheduled { .. }
            | Event::ModelFallback { .. }
            | Event::PreparationStarted { .. }
            | Event::CheckStarted { .. }
    )
}

#[cfg(test)]
mod tests {
    use model::Usage;
    use serde_json::{Value, json};

    use super::*;

    fn call(id: &str, tool: &str, args: Value) -> Event {
        Event::ToolCall { id: id.into(), tool: tool.into(), args }
    }

    fn result(id: &str, tool: &str, text: &str, is_error: bool) -> Event {
        Event::ToolResult {
            id: id.into(),
            tool: tool.into(),
            is_error,
            text: text.into(),
            limit_reached: false,
        }
    }

    fn said(text: &str) -> Event {
        Event::AssistantMessage {
            text: text.into(),
            model: None,
            stop_reason: None,
            error: None,
            usage: Usage::default(),
        }
    }

    fn after(events: Vec<Event>) -> State {
        let preview = PreviewContext { cwd: "/p".into(), home: None, width: 30 };
        let mut state = State::new(Context { preview, window_lines: 3, has_window: true });
        for event in events {
            state.apply(&Record { seq: 1, at: 1, event });
        }
        state
    }

    #[test]
    fn the_latest_words_are_what_the_agent_said_or_did_last() {
        let mut state = after(vec![Event::RunStarted { pid: 1, agent: None }]);
        assert_eq!(state.latest_words(), "starting");
        let long = "x".repeat(500);
        for (event, expected) in [
            (said("I look\naround."), "I look around."),
            (call("1", "read", json!({"path": "a.ts"})), "Reading a.ts"),
            (result("1", "read", "text", false), "Finished reading a.ts"),
            (said(" "), "Finished reading a.ts"),
            (Event::Stderr { text: "careful".into() }, "Finished reading a.ts"),
            (said(&long), &format!("{}...", "x".repeat(197))),
        ] {
            state.apply(&Record { seq: 1, at: 1, event });
            assert_eq!(state.latest_words(), expected);
        }
    }

    #[test]
    fn without_a_window_words_are_the_same_and_nothing_else_is_kept() {
        let mut shown = State::default();
        let mut told = State::new(Context { has_window: false, ..Context::default() });
        for event in [
            said("I look."),
            call("1", "read", json!({"path": "a.ts"})),
            result("1", "read", "text", false),
            call("2", "bash", json!({"command": "make"})),
        ] {
            let record = Record { seq: 1, at: 1, event };
            assert_eq!(told.apply(&record), shown.apply(&record));
            assert_eq!(told.doing_words(), shown.doing_words());
            assert_eq!(told.latest_words(), shown.latest_words());
        }
        assert_eq!((&told.facts, &told.doing), (&shown.facts, &shown.doing));
        assert!(told.recent.is_empty());
    }

    #[test]
    fn to_dos_are_followed() {
        let state = after(vec![
            call("1", "write_todos", json!({"todos": [{}, {}]})),
            call("2", "edit_todos", json!({"action": "complete", "indices": [1]})),
        ]);
        assert_eq!(state.todos, Todos { total: 2, done: 1 });
    }

    #[test]
    fn a_preparation_and_a_check_are_what_a_run_does_now() {
        let mut state = State::default();
        let mut at = 0;
        let mut apply = |state: &mut State, event| {
            at += 1;
            state.apply(&Record { seq: at, at, event });
        };
        apply(&mut state, Event::PreparationStarted { command: "npm ci".into() });
        assert_eq!(state.doing_words(), "Preparing: npm ci");
        let (exit_code, signal, problem, output) = (Some(0), None, None, String::new());
        let ended = Event::PreparationEnded { succeeded: true, problem, exit_code, signal, output };
        apply(&mut state, ended);
        apply(&mut state, Event::RunStarted { pid: 1, agent: None });
        assert_eq!(state.doing_words(), "starting");
        apply(&mut state, Event::CheckStarted { command: "make test".into() });
        assert_eq!((&*state.doing_words(), state.doing.since), ("Checking: make test", 4));
        let (problem, output) = (None, String::new());
        apply(&mut state, Event::CheckEnded { passed: true, problem, exit_code, signal, output });
        assert_eq!(state.doing_words(), "waiting");
    }
}
