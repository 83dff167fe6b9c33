//! What people are shown of a run: a fold of its events.

use std::borrow::Cow;
use std::collections::VecDeque;

use model::{Activity, Event, Record};
use serde_json::Value;

use crate::activity::Doing;
use crate::facts::Facts;
use crate::preview::{PreviewContext, preview};
use crate::progress_words::Progress;
use crate::text::one_line;
use crate::todos::Todos;
use crate::tool_summary::tool_summary;
use crate::window::{EntryNumber, LineKind, Window};

/// How a state is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Context {
    pub preview: PreviewContext,
    /// How many entries a collapsed window shows.
    pub window_lines: usize,
}

impl Default for Context {
    fn default() -> Context {
        Context { preview: PreviewContext::default(), window_lines: Window::SHOWN }
    }
}

/// Everything that people can be shown about a run after a number of its events.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct State {
    pub facts: Facts,
    pub window: Window,
    pub todos: Todos,
    pub doing: Doing,
    context: Context,
    progress: Progress,
    /// The latest calls by their ids, with their entries in the window: a summary is put below its
    /// call even if others were made in between.
    calls: VecDeque<(String, EntryNumber)>,
}

impl State {
    /// Older calls are forgotten.
    const CALLS: usize = 64;

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
    /// log; the window shows tools in a form of its own.
    pub fn apply(&mut self, record: &Record) -> Option<String> {
        self.facts.apply(record);
        let words = self.progress.words(&record.event);
        let has_open_calls = self.progress.open_call().is_some();
        self.doing.apply(&record.event, record.at, has_open_calls);
        match &record.event {
            Event::ToolCall { id, tool, args } => self.call(id, tool, args),
            Event::ToolResult { id, tool, is_error, text, limit_reached } => {
                if let Some(summary) = tool_summary(tool, text, *is_error, *limit_reached) {
                    self.summarise(id, tool, &summary);
                }
            }
            // The view shows the error below the window.
            Event::RunEnded { .. } => {}
            _ => {
                if let Some(words) = &words {
                    self.window.push(LineKind::Text, words);
                }
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
        match (self.doing.activity, self.progress.open_call()) {
            (Activity::Tool, Some(words)) => one_line(words),
            (activity, _) => Cow::Borrowed(activity.word()),
        }
    }

    /// As given to [`State::new`].
    pub fn context(&self) -> &Context {
        &self.context
    }

    fn call(&mut self, id: &str, tool: &str, args: &Value) {
        self.todos.observe(tool, args);
        let text = format!("→ {}", preview(tool, args, &self.context.preview));
        let Some(entry) = self.window.push_entry(LineKind::Tool, &text) else { return };
        if self.calls.len() == State::CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back((id.to_owned(), entry));
    }

    fn summarise(&mut self, id: &str, tool: &str, summary: &str) {
        let call = self.calls.iter().rev().find(|(call, _)| call == id);
        let is_below_call = call.is_some_and(|(_, entry)| {
            self.window.push_below(*entry, LineKind::Tool, &format!("  {summary}"))
        });
        if !is_below_call {
            // Without its call above it, the summary has to name the tool.
            self.window.push_entry(LineKind::Tool, &format!("  {tool}: {summary}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{Outcome, StopCause, Usage};
    use serde_json::json;

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
        let mut state = State::new(Context { preview, window_lines: 3 });
        for event in events {
            state.apply(&Record { seq: 1, at: 1, event });
        }
        state
    }

    fn lines(state: &State) -> Vec<(LineKind, &str)> {
        state.window.history().map(|line| (line.kind, line.text.as_str())).collect()
    }

    #[test]
    fn the_window_shows_what_happens() {
        use LineKind::{Text, Tool};
        let state = after(vec![
            Event::RunStarted { pid: 1 },
            Event::UserMessage { text: "Do it.".into() },
            said("I look\n\naround."),
            call("1", "ls", json!({"path": "/p/src"})),
            result("1", "ls", "a\nb/", false),
            call("2", "bash", json!({"command": "npm install && npm test && x"})),
            result("2", "bash", "fine", false),
            said(""),
            Event::Stderr { text: "careful".into() },
            Event::UnreadableLine { bytes: 9, text: "no record".into() },
            Event::UnreadableLine { bytes: 2, text: " ".into() },
            Event::Warning { message: "Odd.".into() },
            Event::TimeoutExtended,
            Event::Stopping { cause: StopCause::Timeout },
            Event::RunEnded {
                outcome: Outcome::Timeout,
                error: Some("Timed out".into()),
                exit_code: None,
                signal: Some(15),
            },
        ]);
        assert_eq!(
            lines(&state),
            [
                (Text, "I look"),
                (Text, "around."),
                (Tool, "→ ls → src"),
                (Tool, "  1 file, 1 dir"),
                (Tool, "→ bash → npm install && npm test &&\n│ x"),
                (Text, "[stderr]: careful"),
                (Text, "no record"),
                (Text, "Warning: Odd."),
                (Text, "The time is up, but a tool was active: waiting for it"),
                (Text, "Stopping: the time is up"),
            ]
        );
        assert_eq!((state.facts.tool_calls, state.context().window_lines), (2, 3));
    }

    #[test]
    fn summaries_stand_below_their_calls() {
        let state = after(vec![
            call("1", "ls", json!({})),
            call("2", "find", json!({"pattern": "*.rs"})),
            call("3", "ls", json!({"path": "lib"})),
            result("3", "ls", "", false),
            result("2", "find", "no such program", true),
            result("1", "ls", "a", false),
            result("0", "ls", "a", false),
        ]);
        let lines: Vec<&str> = lines(&state).into_iter().map(|(_, text)| text).collect();
        assert_eq!(
            lines,
            ["→ ls → .", "  1 file", "→ find → *.rs", "→ ls → lib", "  (empty)", "  ls: 1 file"]
        );
    }

    #[test]
    fn calls_without_end_do_not_pile_up() {
        let calls = (0..1_000).map(|id| call(&id.to_string(), "ls", json!({}))).collect();
        assert_eq!(after(calls).calls.len(), State::CALLS);
    }

    #[test]
    fn to_dos_are_followed() {
        let state = after(vec![
            call("1", "write_todos", json!({"todos": [{}, {}]})),
            call("2", "edit_todos", json!({"action": "complete", "indices": [1]})),
        ]);
        assert_eq!(state.todos, Todos { total: 2, done: 1 });
    }
}
